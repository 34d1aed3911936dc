//! What a session is sent next, given what it was sent before.
//!
//! Keeping what was sent is the caller's business, and so is putting it into a prompt.

use flamestack_core::context::{Delivery, Reason, Sent, deliver};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, SessionRef};
use flamestack_store::{Reading, StoreError};

use super::{Wanted, Whose, surroundings};
use crate::Engine;
use crate::error::EngineError;

/// How many events are read at once.
const STEP: usize = 1000;

impl Engine {
    /// What a session is to be sent, and what it has been sent then; nothing, if it works on no
    /// frame and has none of its own.
    ///
    /// Without a reason, what it has been sent is a prefix of what it will have been sent: a
    /// model's prompt is only ever added to.
    pub fn delivery(
        &self,
        session: &SessionRef,
        sent: Option<&Sent>,
        after: Option<Reason>,
        wanted: &Wanted,
    ) -> Result<Option<(Delivery, Sent)>, EngineError> {
        let settings = self.contexts.preferences.settings(wanted)?;
        let whose = Whose::Session(session.clone());
        let found = self.read(|reading| {
            let Some(frame) = whose.frame(reading)? else {
                return Ok(None);
            };
            let around = surroundings(reading, &frame, Some(session), self.kinship())?;
            let since = match (sent, after) {
                (Some(sent), None) => since(reading, sent.position)?,
                _ => Vec::new(),
            };
            Ok(Some((around, since)))
        })?;
        let tokenizer = self.contexts.preferences.tokenizer();
        Ok(found.map(|(around, since)| {
            deliver(sent, &around, &since, after, &settings, tokenizer.as_ref())
        }))
    }
}

/// The events behind a point, and with each undo the events that it took back.
fn since(reading: &dyn Reading, point: Seq) -> Result<Vec<Recorded>, StoreError> {
    let mut new = Vec::new();
    let mut last = point;
    loop {
        let some = reading.events_after(last, STEP)?;
        let Some(end) = some.last() else {
            break;
        };
        last = end.seq;
        new.extend(some);
    }
    let mut events = Vec::new();
    for recorded in &new {
        if let Event::CommandUndone { batch } = recorded.event
            && batch <= point
        {
            events.extend(of_batch(reading, batch)?);
        }
    }
    events.extend(new);
    Ok(events)
}

/// The events of one command, which stand together.
fn of_batch(reading: &dyn Reading, batch: Seq) -> Result<Vec<Recorded>, StoreError> {
    let mut events = Vec::new();
    let mut last = Seq(batch.0 - 1);
    loop {
        let some = reading.events_after(last, STEP)?;
        let full = some.len() == STEP;
        let before = events.len();
        events.extend(some.into_iter().take_while(|entry| entry.batch == batch));
        if !full || events.len() - before < STEP {
            return Ok(events);
        }
        last = events.last().map_or(last, |entry| entry.seq);
    }
}
