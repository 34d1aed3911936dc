//! Which messages of a session leave its prompt: recorded spans, read once and then kept up to date.
//!
//! What folding means is `flamestack_core::folding`'s to say.

use std::collections::BTreeMap;

use flamestack_core::event::Event;
use flamestack_core::folding::{Edge, Finished, Folding, Leaf, fold};
use flamestack_core::frame::Origin;
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::xml::Element;
use flamestack_store::{FinishedSpan, Reading, StoreError};

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
    position: Seq,
    last: Seq,
    policy: FoldPolicy,
    finished: Vec<Finished>,
    results: BTreeMap<FrameId, String>,
}

/// A folded prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Messages to leave out, in order.
    pub dropped: Vec<String>,
    /// Results to put in front of a message, because no message carries them.
    pub results: Vec<Untold>,
}

/// Results that no message of the conversation carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untold {
    /// Whose.
    pub frame: FrameId,
    /// In front of which message.
    pub before: String,
    /// What the model is told.
    pub text: String,
}

impl Engine {
    /// Folds the messages of a session. `spans` is what this session's folding knew before.
    pub fn fold(
        &self,
        session: &SessionRef,
        spans: &mut Spans,
        leaves: &[Leaf],
        policy: FoldPolicy,
    ) -> Result<Folded, EngineError> {
        if policy == FoldPolicy::Off {
            return Ok(Folded::default());
        }
        self.read(|reading| Ok(spans.catch_up(reading, session, policy)?))?;
        let Folding { dropped, untold } = fold(leaves, &spans.finished);
        let results = untold
            .into_iter()
            .map(|(frame, before)| {
                let text = if let Some(text) = spans.results.get(&frame) {
                    text.clone()
                } else {
                    let text = self.read(|reading| Ok(results(reading, &frame)?))?;
                    spans.results.insert(frame.clone(), text.clone());
                    text
                };
                Ok(Untold {
                    frame,
                    before,
                    text,
                })
            })
            .collect::<Result<_, EngineError>>()?;
        Ok(Folded { dropped, results })
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
            Event::FrameClosed { .. } => ended = recorded.at,
            _ => {}
        }
    }
    Ok((begun, ended))
}

/// A frame's results as a model is told them where its messages were.
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
