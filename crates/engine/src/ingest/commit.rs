//! Commits the steps of an ingest, with their raw text.

use std::collections::VecDeque;

use flamestack_core::frame::LogEntry;
use flamestack_core::id::Timestamp;
use flamestack_core::{Actor, Recorded, Title};
use flamestack_store::{Step, TextHold, transcript};

use super::IngestStep;
use super::observer::{Observation, Observer, StoredText};
use crate::Engine;
use crate::error::Result;

impl Engine {
    /// Stores the raw text of all steps with one write. The hold keeps it until it is recorded.
    fn store_texts(
        &self,
        steps: &[IngestStep<'_>],
    ) -> Result<(Option<TextHold>, VecDeque<StoredText>)> {
        let pieces = || {
            steps.iter().filter_map(|step| match step {
                IngestStep::Observe(_) => None,
                IngestStep::Log(thread, pending) => Some((thread, pending)),
            })
        };
        let texts: Vec<&str> = pieces().map(|(_, pending)| pending.text.as_str()).collect();
        if texts.is_empty() {
            return Ok((None, VecDeque::new()));
        }
        let hold = self.workspace.hold_texts()?;
        let blobs = self.workspace.keep_texts(&hold, &texts)?;
        let pieces = pieces()
            .zip(blobs)
            .map(|((thread, pending), blob)| StoredText {
                thread: thread.clone(),
                message: pending.message.clone(),
                at: pending.at,
                entry: LogEntry {
                    label: Title::recorded(transcript::LABEL.to_owned()),
                    blob: blob.id,
                    bytes: blob.bytes,
                },
                marks: pending.marks.clone(),
            });
        Ok((Some(hold), pieces.collect()))
    }

    /// Commits steps as one command, each on the state that the ones before it led to.
    pub(super) fn commit_ingest(
        &self,
        actor: &Actor,
        observer: &mut Observer,
        steps: Vec<IngestStep<'_>>,
    ) -> Result<Vec<Recorded>> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let (_hold, mut texts) = self.store_texts(&steps)?;
        let clock = self.clock();
        let now = clock.now();
        let mut steps = steps.into_iter();
        let mut waiting: VecDeque<Observation> = VecDeque::new();
        let mut done = false;
        let mut draw = || clock.draw_id();
        self.workspace.commit_steps(&mut |reading| {
            loop {
                if let Some(observation) = waiting.pop_front() {
                    return Ok(Some(step(observation, now)));
                }
                match steps.next() {
                    Some(IngestStep::Observe(entry)) => {
                        waiting.extend(observer.observe(reading, actor, &entry, &mut draw)?);
                    }
                    Some(IngestStep::Log(..)) => {
                        let Some(text) = texts.pop_front() else {
                            continue;
                        };
                        let logged = observer.log(reading, actor, &text, &mut draw)?;
                        waiting.extend((!logged.decision.events.is_empty()).then_some(logged));
                    }
                    None if done => return Ok(None),
                    None => {
                        done = true;
                        let known = observer.finish_batch(&actor.session);
                        return Ok(known.map(|event| Step {
                            at: now,
                            actor: actor.clone(),
                            events: vec![event],
                        }));
                    }
                }
            }
        })
    }
}

/// Makes the step that records an observation.
pub(super) fn step(observation: Observation, now: Timestamp) -> Step {
    Step {
        at: observation.at.unwrap_or(now),
        actor: observation.actor,
        events: observation.decision.events,
    }
}
