//! Frames that wait for a summary, and what it brings them.

use super::{Ground, Remark, Ruling};
use crate::Rejected;
use crate::compaction::{self, Verdict, claims};
use crate::event::{Event, Results};
use crate::frame::{Awaiting, FrameHead, Outcome, Status};
use crate::id::FrameId;
use crate::neighbourhood::Neighbourhood;
use crate::note::Note;
use crate::refusal::Refusal;
use crate::text::Prose;

/// What a frame ends with of which nothing is known.
const UNKNOWN: &str = "Ended without results, and no summary of it was made.";

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    /// Everything that would refuse the frame's end refuses this: a summary costs a model call.
    pub(super) fn await_summary(
        &mut self,
        frame: Option<&FrameId>,
        outcome: Option<Outcome>,
        given: Option<&Results>,
        note: Option<&Prose>,
    ) -> Ruling<(), N> {
        let frame = if let Some(outcome) = outcome {
            self.would_end(frame, outcome)?
        } else {
            let frame = self.named_or_active(frame)?;
            match frame.status {
                Status::InProgress | Status::Blocked => frame.id,
                Status::Planned => return Err(Refusal::NotBegun { frame }.into()),
                _ => return Err(Refusal::AlreadyFinished { frame }.into()),
            }
        };
        self.events.push(Event::SummaryAwaited {
            frame,
            outcome,
            given: given.cloned(),
            note: note.cloned(),
        });
        Ok(())
    }

    /// The frame that a pop would end now.
    fn would_end(&mut self, frame: Option<&FrameId>, outcome: Outcome) -> Ruling<FrameId, N> {
        let (events, remarks) = (self.events.len(), self.remarks.len());
        let unknown = Results {
            full: Prose::recorded(UNKNOWN.to_owned()),
            compacted: None,
        };
        self.pop(frame, outcome, &unknown)?;
        let ended = self
            .events
            .iter()
            .skip(events)
            .find_map(|event| match event {
                Event::FrameClosed { frame, .. } | Event::FrameBlocked { frame, .. } => {
                    Some(frame.clone())
                }
                _ => None,
            });
        self.events.truncate(events);
        self.remarks.truncate(remarks);
        ended.ok_or_else(|| {
            Refusal::NoActiveFrame {
                session: self.actor.session.clone(),
            }
            .into()
        })
    }

    /// A text stands for the summary that a frame waits for.
    pub(super) fn take_summary(&mut self, frame: &FrameId, text: Option<&Prose>) -> Ruling<(), N> {
        let head = self.frame(frame)?;
        let waiting = self.tree.awaiting(&self.actor.session);
        let waiting = waiting.map_err(Rejected::Unreadable)?;
        let Some((_, awaiting)) = waiting.into_iter().find(|(id, _)| id == frame) else {
            return Ok(());
        };
        self.arrived(&head, &awaiting, text.map_or("", Prose::as_str), text)
    }

    /// The session's summary is there. The frames that wait for it have it; where none does, the
    /// one that the session works on has it.
    pub(super) fn summarise(&mut self, verdict: &Verdict) -> Ruling<(), N> {
        self.events
            .push(Event::CompactionChecked(Box::new(verdict.clone())));
        let summary = verdict.summary.as_ref().filter(|_| !verdict.said_nothing);
        let waiting = self.tree.awaiting(&self.actor.session);
        let waiting = waiting.map_err(Rejected::Unreadable)?;
        let Some(summary) = summary else {
            // Whoever waits goes on to wait: what is kept of the work will have to do.
            return Ok(());
        };
        if waiting.is_empty() {
            let place = self.active.clone().or_else(|| self.own.clone());
            if let Some(frame) = place {
                self.events.push(Event::SummaryArrived {
                    frame,
                    summary: Some(summary.clone()),
                });
            }
            return Ok(());
        }
        for (id, awaiting) in &waiting {
            let head = self.frame(id)?;
            self.arrived(&head, awaiting, summary.as_str(), Some(summary))?;
        }
        Ok(())
    }

    fn arrived(
        &mut self,
        frame: &FrameHead,
        awaiting: &Awaiting,
        text: &str,
        summary: Option<&Prose>,
    ) -> Ruling<(), N> {
        self.events.push(Event::SummaryArrived {
            frame: frame.id.clone(),
            summary: summary.cloned(),
        });
        let Some(outcome) = awaiting.outcome else {
            return Ok(());
        };
        let claims = claims(text);
        let notes = claims.artifacts.iter().filter_map(|path| {
            let path = Prose::new(path).ok()?;
            Some(Note::Artifact(path))
        });
        let decisions = claims.decisions.iter().filter_map(|text| {
            let text = Prose::new(text).ok()?;
            Some(Note::Decision { text, why: None })
        });
        for note in notes.chain(decisions).collect::<Vec<_>>() {
            let known = self.tree.has_note(&frame.id, &note);
            if !known.map_err(Rejected::Unreadable)? {
                self.events.push(Event::Noted {
                    frame: frame.id.clone(),
                    note,
                });
            }
        }
        let given = awaiting.given.as_ref();
        let full = compaction::results(given.map(|given| given.full.as_str()), &claims);
        let full = Prose::new(&full).unwrap_or_else(|_| match given {
            Some(given) => given.full.clone(),
            None => Prose::recorded(UNKNOWN.to_owned()),
        });
        let results = Results {
            full,
            compacted: given.and_then(|given| given.compacted.clone()),
        };
        match self.pop(Some(&frame.id), outcome, &results) {
            // Something was begun below it meanwhile: it has its summary and goes on.
            Err(Rejected::Refused(refusal)) => {
                self.remarks.push(Remark::NotEnded(refusal));
                Ok(())
            }
            ended => ended,
        }
    }
}
