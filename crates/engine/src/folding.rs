//! Which messages of a session leave its prompt: recorded spans, read once and then kept up to date.
//!
//! What folding means is `flamestack_core::folding`'s to say.

use std::collections::BTreeMap;

use flamestack_core::event::Event;
use flamestack_core::folding::{Edge, Finished, Folding, Leaves, fold};
use flamestack_core::frame::Origin;
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::xml::Element;
use flamestack_store::{FinishedSpan, Reading, StoreError, Version};

use crate::Engine;
use crate::error::EngineError;

/// What is folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoldPolicy {
    /// Nothing.
    Off,
    /// Frames that somebody pushed or began, and popped.
    #[default]
    Explicit,
    /// Those, and frames that were only seen, once the user speaks again.
    Auto,
}

impl FoldPolicy {
    /// The policy that a setting's value stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "explicit" => Some(Self::Explicit),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

/// The finished frames of one session, as of a point of the journal.
///
/// A session keeps one of these, so that a prompt costs what is new and not what is finished.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// What of the store was looked at.
    version: Option<Version>,
    position: Seq,
    last: Seq,
    policy: FoldPolicy,
    finished: Vec<Finished>,
    results: BTreeMap<FrameId, String>,
}

impl Engine {
    /// Folds the messages of a session. `spans` is what this session's folding knew before.
    pub fn fold(
        &self,
        session: &SessionRef,
        spans: &mut Spans,
        leaves: &Leaves,
        policy: FoldPolicy,
    ) -> Result<Folding, EngineError> {
        self.look_for_finished(session, spans, policy)?;
        Ok(fold(leaves, &spans.finished))
    }

    /// Learns of the frames that a session has finished since. Where nobody has written, nothing is
    /// read.
    pub fn look_for_finished(
        &self,
        session: &SessionRef,
        spans: &mut Spans,
        policy: FoldPolicy,
    ) -> Result<(), EngineError> {
        if policy == FoldPolicy::Off {
            *spans = Spans::default();
            return Ok(());
        }
        let version = self.version()?;
        if version != spans.version || policy != spans.policy {
            self.read(|reading| Ok(spans.catch_up(reading, session, policy)?))?;
            spans.version = version;
        }
        Ok(())
    }

    /// A finished frame's results as a model is told them where its messages were.
    pub fn results_in_place(
        &self,
        spans: &mut Spans,
        frame: &FrameId,
    ) -> Result<String, EngineError> {
        if let Some(text) = spans.results.get(frame) {
            return Ok(text.clone());
        }
        let text = self.read(|reading| Ok(results(reading, frame)?))?;
        spans.results.insert(frame.clone(), text.clone());
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
        // What was taken back may be any of the spans; that is rare, and then all are read again.
        if policy != self.policy || reading.undone_since(self.position)? {
            *self = Self {
                policy,
                ..Self::default()
            };
        }
        for span in reading.finished_spans(session, self.last)? {
            self.last = span.closed;
            let seen_only = span.origin != Origin::Asked;
            if !seen_only || policy == FoldPolicy::Auto {
                let finished = finished(reading, session, span)?;
                self.finished.push(Finished {
                    patient: seen_only,
                    told: finished.told && !seen_only,
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
    span: FinishedSpan,
) -> Result<Finished, StoreError> {
    let moments = match (&span.first, &span.last) {
        (Some(_), Some(_)) => None,
        _ => Some(moments(reading, session, &span.frame)?),
    };
    let edge = |message: Option<&String>, moment: Option<Timestamp>| match message {
        Some(message) => Edge::recorded(message),
        None => Edge::Moment(moment.unwrap_or(Timestamp(i64::MAX))),
    };
    Ok(Finished {
        begun: edge(span.first.as_ref(), moments.map(|(begun, _)| begun)),
        ended: edge(span.last.as_ref(), moments.map(|(_, ended)| ended)),
        told: span.last.is_some(),
        patient: false,
        frame: span.frame,
    })
}

/// When work on a frame began and ended.
fn moments(
    reading: &dyn Reading,
    session: &SessionRef,
    frame: &FrameId,
) -> Result<(Timestamp, Timestamp), StoreError> {
    let never = Timestamp(i64::MAX);
    let (mut begun, mut ended) = (never, never);
    for recorded in reading.history(frame)? {
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
    }
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
    let mut told = String::new();
    element.write(&mut told);
    Ok(told)
}
