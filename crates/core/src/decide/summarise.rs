//! Frames that wait for a summary, and their end once it arrives.

use super::{DecideResult, Decider, Remark};
use crate::DecideError;
use crate::compaction::{AnchorReport, Summary, SummaryClaims};
use crate::event::{Event, Results};
use crate::frame::{Awaiting, FrameHead, Outcome, Status};
use crate::id::{FrameId, Timestamp};
use crate::refusal::Refusal;
use crate::text::Text;
use crate::tree_query::TreeQuery;

/// Results of a frame without any.
pub const NO_RESULTS: &str = "Closed without results.";

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    /// Makes a frame wait for a summary. Refuses whatever a pop would refuse, before the summary
    /// costs a model call.
    pub(super) fn await_summary(
        &mut self,
        frame: Option<&FrameId>,
        outcome: Option<Outcome>,
        given: Option<&Results>,
        note: Option<&Text>,
        until: Timestamp,
    ) -> DecideResult<(), N> {
        let frame = self.summarizable(frame, outcome)?;
        self.events.push(Event::SummaryAwaited {
            frame,
            outcome,
            given: given.cloned(),
            note: note.cloned(),
            until: Some(until),
        });
        Ok(())
    }

    /// Gives a frame a summary, and closes it if it has an outcome.
    pub(super) fn summarize_now(
        &mut self,
        frame: Option<&FrameId>,
        outcome: Option<Outcome>,
        given: Option<&Results>,
        summary: Option<&Summary>,
    ) -> DecideResult<(), N> {
        let id = self.summarizable(frame, outcome)?;
        let head = self.frame(&id)?;
        let claims = summary.map(|summary| summary.claims.clone());
        let text = summary.map(|summary| &summary.text);
        self.arrived(&head, outcome, given, text, &claims.unwrap_or_default())
    }

    /// Returns the frame that is to be summarised, if it can be: one that a pop could end now, or an
    /// open one that stays open.
    fn summarizable(
        &mut self,
        frame: Option<&FrameId>,
        outcome: Option<Outcome>,
    ) -> DecideResult<FrameId, N> {
        if let Some(outcome) = outcome {
            return self.would_end(frame, outcome);
        }
        let frame = self.named_or_active(frame)?;
        match frame.status {
            Status::InProgress | Status::Blocked => Ok(frame.id),
            Status::Planned => Err(Refusal::NotBegun(frame).into()),
            _ => Err(Refusal::AlreadyFinished(frame).into()),
        }
    }

    /// Returns the frame that a pop would end now.
    fn would_end(&mut self, frame: Option<&FrameId>, outcome: Outcome) -> DecideResult<FrameId, N> {
        let (events, remarks) = (self.events.len(), self.remarks.len());
        let unknown = Results {
            full: Text::recorded(NO_RESULTS.to_owned()),
            compacted: None,
        };
        self.pop(frame, outcome, &unknown)?;
        let ended = self
            .events
            .iter()
            .skip(events)
            .find_map(|event| match event {
                Event::FrameClosed { frame, .. } | Event::FrameBlocked { frame, .. } => {
                    Some(*frame)
                }
                _ => None,
            });
        self.events.truncate(events);
        self.remarks.truncate(remarks);
        ended.ok_or_else(|| Refusal::NoActiveFrame(self.actor.session.clone()).into())
    }

    /// Ends the wait of a frame, with or without a summary.
    pub(super) fn take_summary(
        &mut self,
        frame: &FrameId,
        summary: Option<&Summary>,
        if_over: Option<Timestamp>,
    ) -> DecideResult<(), N> {
        let head = self.frame(frame)?;
        let waiting = self.tree.awaiting(&self.actor.session)?;
        let ends = |(id, awaiting): &(FrameId, Awaiting)| {
            id == frame && if_over.is_none_or(|now| awaiting.is_over(now))
        };
        let Some((_, awaiting)) = waiting.into_iter().find(ends) else {
            return Ok(());
        };
        let claims = summary.map(|summary| summary.claims.clone());
        let text = summary.map(|summary| &summary.text);
        let Awaiting { outcome, given, .. } = &awaiting;
        let claims = claims.unwrap_or_default();
        self.arrived(&head, *outcome, given.as_ref(), text, &claims)
    }

    /// Records the session's summary and hands it to the frames that wait for it, or else to the
    /// frame that the session works on. With an empty summary, they keep waiting.
    pub(super) fn summarise(
        &mut self,
        report: &AnchorReport,
        claims: &SummaryClaims,
    ) -> DecideResult<(), N> {
        self.events
            .push(Event::CompactionChecked(Box::new(report.clone())));
        let Some(summary) = report.summary.as_ref().filter(|_| !report.said_nothing) else {
            return Ok(());
        };
        let waiting = self.tree.awaiting(&self.actor.session)?;
        if waiting.is_empty() {
            if let Some(frame) = self.active.or(self.own) {
                self.events.push(Event::SummaryArrived {
                    frame,
                    summary: Some(summary.clone()),
                });
            }
            return Ok(());
        }
        for (id, awaiting) in &waiting {
            let head = self.frame(id)?;
            let Awaiting { outcome, given, .. } = awaiting;
            self.arrived(&head, *outcome, given.as_ref(), Some(summary), claims)?;
        }
        Ok(())
    }

    fn arrived(
        &mut self,
        frame: &FrameHead,
        outcome: Option<Outcome>,
        given: Option<&Results>,
        summary: Option<&Text>,
        claims: &SummaryClaims,
    ) -> DecideResult<(), N> {
        self.events.push(Event::SummaryArrived {
            frame: frame.id,
            summary: summary.cloned(),
        });
        let Some(outcome) = outcome else {
            return Ok(());
        };
        for note in &claims.notes {
            if !self.tree.has_note(&frame.id, note)? {
                self.events.push(Event::Noted {
                    frame: frame.id,
                    note: note.clone(),
                });
            }
        }
        let results = results(given, &claims.results);
        let decided = self.events.len();
        match self.pop(Some(&frame.id), outcome, &results) {
            // Work was begun below it meanwhile: the frame keeps its summary and continues.
            Err(DecideError::Refused(refusal)) => {
                self.events.truncate(decided);
                self.remarks.push(Remark::NotEnded(refusal));
                Ok(())
            }
            ended => ended,
        }
    }
}

/// Appends the results that a summary claims to those that were given.
fn results(given: Option<&Results>, claimed: &str) -> Results {
    let parts = [given.map_or("", |given| given.full.as_str()), claimed];
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim_end())
        .filter(|part| !part.is_empty())
        .collect();
    let unknown = || Text::recorded(NO_RESULTS.to_owned());
    Results {
        full: Text::new(&parts.join("\n\n"))
            .unwrap_or_else(|_| given.map_or_else(unknown, |given| given.full.clone())),
        compacted: given.and_then(|given| given.compacted.clone()),
    }
}
