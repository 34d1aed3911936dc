//! Keeps the finished spans of a session up to date and folds its prompt with them.
//!
//! `flamestack_core::folding` defines folding.

use std::collections::BTreeMap;

use flamestack_context::xml::Element;
use flamestack_core::folding::{Finished, Folding, PromptMessages, SpanEnd, fold};
use flamestack_core::frame::{CLAIMED, Origin};
use flamestack_core::id::{Seq, Timestamp};
use flamestack_core::{Event, FrameId, SessionRef, enum_names};
use flamestack_store::{FinishedSpan, Reading, StoreError};

use crate::Engine;
use crate::error::Result;
use crate::readers::JournalVersion;

enum_names! {
    /// Selects the frames that are folded.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum FoldPolicy {
        /// None.
        Off = "off",
        /// Frames that were pushed or started, and popped.
        #[default]
        Explicit = "explicit",
        /// Those, and observed frames once the user speaks again.
        Auto = "auto",
    }
}

/// The finished frames of one session, as of a point of the journal.
///
/// A session keeps one of these, so that a prompt costs what is new and not what is finished.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// Version of the store that was read last.
    version: Option<JournalVersion>,
    position: Seq,
    last: Seq,
    policy: FoldPolicy,
    finished: Vec<Finished>,
    results: BTreeMap<FrameId, String>,
}

impl Engine {
    /// Folds the messages of a session. `spans` is the state from the session's last prompt.
    pub fn fold(
        &self,
        session: &SessionRef,
        spans: &mut Spans,
        leaves: &PromptMessages,
        policy: FoldPolicy,
    ) -> Result<Folding> {
        self.look_for_finished(session, spans, policy)?;
        Ok(fold(leaves, &spans.finished))
    }

    /// Reads the frames that a session has finished since. Nothing is read if no process has written.
    pub fn look_for_finished(
        &self,
        session: &SessionRef,
        spans: &mut Spans,
        policy: FoldPolicy,
    ) -> Result<()> {
        if policy == FoldPolicy::Off {
            *spans = Spans::default();
            return Ok(());
        }
        let version = self.workspace.version()?;
        if version != spans.version || policy != spans.policy {
            self.read(|reading| Ok(spans.catch_up(reading, session, policy)?))?;
            spans.version = version;
        }
        Ok(())
    }

    /// Returns a finished frame's results, in the form that replaces its messages.
    pub fn results_in_place(&self, spans: &mut Spans, frame: &FrameId) -> Result<String> {
        if let Some(text) = spans.results.get(frame) {
            return Ok(text.clone());
        }
        let text = self.read(|reading| Ok(results(reading, frame)?))?;
        spans.results.insert(*frame, text.clone());
        Ok(text)
    }
}

impl Spans {
    fn catch_up(
        &mut self,
        reading: &dyn Reading,
        session: &SessionRef,
        policy: FoldPolicy,
    ) -> Result<(), StoreError> {
        let position = reading.position()?;
        if position == self.position && policy == self.policy {
            return Ok(());
        }
        // An undo may affect any span; it is rare, and then all are read again.
        if policy != self.policy || reading.undone_since(self.position)? {
            *self = Self {
                policy,
                ..Self::default()
            };
        }
        for span in reading.finished_spans(session, self.last)? {
            self.last = span.closed;
            let observed = span.origin != Origin::Asked;
            if !observed || policy == FoldPolicy::Auto {
                let finished = finished(reading, session, &span)?;
                self.finished.push(Finished {
                    after_prompt: observed,
                    has_result_message: finished.has_result_message && !observed,
                    ..finished
                });
            }
        }
        self.position = position;
        Ok(())
    }
}

fn finished(
    reading: &dyn Reading,
    session: &SessionRef,
    span: &FinishedSpan,
) -> Result<Finished, StoreError> {
    let moments = match (&span.first, &span.last) {
        (Some(_), Some(_)) => None,
        _ => Some(moments(reading, session, &span.frame)?),
    };
    let span_end = |message: Option<&String>, moment: Option<Timestamp>| match message {
        Some(message) => SpanEnd::recorded(message),
        None => SpanEnd::Moment(moment.unwrap_or(Timestamp(i64::MAX))),
    };
    Ok(Finished {
        begun: span_end(span.first.as_ref(), moments.map(|(begun, _)| begun)),
        ended: span_end(span.last.as_ref(), moments.map(|(_, ended)| ended)),
        has_result_message: span.last.is_some(),
        after_prompt: false,
        frame: span.frame,
    })
}

/// Returns when work on a frame started and ended.
fn moments(
    reading: &dyn Reading,
    session: &SessionRef,
    frame: &FrameId,
) -> Result<(Timestamp, Timestamp), StoreError> {
    let never = Timestamp(i64::MAX);
    let (mut begun, mut ended) = (never, never);
    reading.visit_history(frame, &mut |recorded| {
        match &recorded.event {
            Event::FrameOpened { planned: false, .. } | Event::FrameStarted { .. }
                if recorded.session == *session || begun == never =>
            {
                begun = recorded.at;
            }
            Event::FrameCopied { frame, .. } => {
                begun = frame.created_at;
                if !frame.status.is_open() {
                    ended = frame.updated_at;
                }
            }
            Event::FrameClosed { .. } => ended = recorded.at,
            _ => {}
        }
        Ok(true)
    })?;
    Ok((begun, ended))
}

fn results(reading: &dyn Reading, id: &FrameId) -> Result<String, StoreError> {
    let Some(frame) = reading.whole_frame(id)? else {
        return Ok(String::new());
    };
    let text = frame
        .results
        .as_ref()
        .map(|results| results.as_str().to_owned())
        .unwrap_or_default();
    let element = Element::text("frame-results", text)
        .with("id", id.as_str())
        .with("title", frame.title.as_str())
        .with("status", frame.status.as_str());
    let element = if frame.standing().is_claimed {
        element.with(CLAIMED, "true")
    } else {
        element
    };
    let mut text = String::new();
    element.write(&mut text);
    Ok(text)
}
