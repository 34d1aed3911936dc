//! What a session is sent next, given what it was sent before.
//!
//! The journal remembers what was sent, so that another process goes on where one ended. Putting
//! it into a prompt is the business of whoever talks to the host.

use flamestack_core::command::{Actor, Command};
use flamestack_core::context::{Delivery, Reason, Sending, deliver};
use flamestack_core::decide::Rejected;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, SessionRef};
use flamestack_core::{Decision, decide};
use flamestack_store::{Reading, Rejection, Store, StoreError};

use super::{Wanted, Whose};
use crate::Engine;
use crate::error::EngineError;

/// How many events are read at once.
const STEP: usize = 1000;
/// A session that has been told nothing for this many events is noted to know them all, so that
/// they are not read again with its next message.
const UNREAD: usize = 500;

/// Something that a session was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The text, exactly as sent.
    pub text: String,
    /// The host's message that it came with, where the host names its messages.
    pub message: Option<String>,
    /// Where in the journal that stands.
    pub seq: Seq,
    /// Why everything was told again, if that is why.
    pub after: Option<Reason>,
}

/// What a session has been sent since its last header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsSent {
    /// The header; its text may be empty.
    pub header: Told,
    /// What came behind it, oldest first.
    pub updates: Vec<Told>,
}

impl AsSent {
    /// The header and everything behind it.
    pub fn text(&self) -> String {
        let parts = std::iter::once(&self.header).chain(&self.updates);
        parts.map(|told| told.text.as_str()).collect()
    }
}

/// What is to be sent, as far as one point of the journal knows.
enum Next {
    /// What was sent with this message before.
    Again(Delivery),
    /// Something new.
    New { position: Seq, sending: Sending },
    /// Nothing, and not worth a note.
    Unchanged,
}

impl Engine {
    /// What a session is sent with its next message, and remembers that it was sent.
    ///
    /// Without a reason, what it has been sent is a prefix of what it will have been sent: a
    /// model's prompt is only ever added to. Whoever asks again with the same message
    /// ([`Actor::message`]), or after the same compaction, gets the same bytes, and nothing is
    /// remembered twice. In a project that has no store there is nothing to tell, and nothing is
    /// remembered unless the session has a message to remember it by.
    pub fn deliver(
        &self,
        actor: &Actor,
        after: Option<Reason>,
        wanted: &Wanted,
    ) -> Result<Delivery, EngineError> {
        if self.version()?.is_none() && actor.message.is_none() {
            return Ok(Delivery::Header(String::new()));
        }
        // Read first: most of the time there is nothing to write, and what there is takes longer
        // to make than writers should wait.
        let mut next = Some(self.read(|reading| self.next(reading, actor, after, wanted))?);
        match next {
            Some(Next::Again(delivery)) => return Ok(delivery),
            Some(Next::Unchanged) => return Ok(Delivery::Nothing),
            _ => {}
        }
        let mut again = None;
        let mut failed = None;
        let mut send = |reading: &dyn Reading| -> Result<Decision, Rejection> {
            let now = reading.position().map_err(Rejected::Unreadable)?;
            let next = match next.take() {
                Some(next @ Next::New { position, .. }) if position == now => Ok(next),
                _ => self.next(reading, actor, after, wanted),
            };
            match next {
                Ok(Next::New { sending, .. }) => {
                    return decide(reading, actor, &Command::Send(Box::new(sending)));
                }
                Ok(Next::Again(delivery)) => again = Some(delivery),
                Ok(Next::Unchanged) => again = Some(Delivery::Nothing),
                Err(EngineError::Store(error)) => return Err(Rejected::Unreadable(error)),
                Err(error) => failed = Some(error),
            }
            Ok(Decision::default())
        };
        let committed = self.with_store(|store| {
            let committed = store.commit(self.clock().now(), actor, &mut send);
            committed.map_err(|rejected| match rejected {
                Rejected::Refused(refusal) => EngineError::Refused(refusal),
                Rejected::Unreadable(error) => EngineError::Store(error),
            })
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        for recorded in &committed.events {
            tracing::debug!(session = %actor.session, "{}", crate::views::story::line(recorded));
        }
        // As recorded: what the journal says was sent is what is sent.
        let recorded = committed.events.into_iter().find_map(delivery);
        Ok(recorded.or(again).unwrap_or(Delivery::Nothing))
    }

    /// What a session has been sent; nothing, if it never was sent anything.
    pub fn sent(&self, session: &SessionRef) -> Result<Option<AsSent>, EngineError> {
        let sent = self.read(|reading| Ok(reading.sent(session)?))?;
        let mut told = sent.into_iter().filter_map(told);
        Ok(told.next().map(|header| AsSent {
            header,
            updates: told.collect(),
        }))
    }

    fn next(
        &self,
        reading: &dyn Reading,
        actor: &Actor,
        after: Option<Reason>,
        wanted: &Wanted,
    ) -> Result<Next, EngineError> {
        let session = &actor.session;
        if let Some(delivery) = sent_already(reading, actor, after)? {
            return Ok(Next::Again(delivery));
        }
        let sent = reading
            .last_sent(session)?
            .and_then(|last| match last.event {
                Event::ContextSent(sending) => Some(sending.sent_at(last.seq)),
                _ => None,
            });
        let since = match (&sent, after) {
            (Some(sent), None) => since(reading, sent.position)?,
            _ => Vec::new(),
        };
        let whose = Whose::Session(session.clone());
        let settings = self.assembly(reading, &whose, wanted)?;
        let frame = whose.frame(reading)?;
        let around = frame
            .map(|frame| self.told_around(reading, &frame, Some(session)))
            .transpose()?;
        let (sent, around) = (sent.as_ref(), around.as_ref());
        let sending =
            self.counting(|tokenizer| deliver(sent, around, &since, after, &settings, tokenizer));
        let is_nothing = sending.delivery == Delivery::Nothing;
        if is_nothing && actor.message.is_none() && since.len() < UNREAD {
            return Ok(Next::Unchanged);
        }
        let position = reading.position()?;
        Ok(Next::New { position, sending })
    }
}

/// What was sent with the same message, or for the same reason, before.
fn sent_already(
    reading: &dyn Reading,
    actor: &Actor,
    after: Option<Reason>,
) -> Result<Option<Delivery>, StoreError> {
    let session = &actor.session;
    let Some(reason) = after else {
        return match &actor.message {
            Some(message) => Ok(reading.sent_with(session, message)?.and_then(delivery)),
            None => Ok(None),
        };
    };
    let header = reading.sent(session)?.into_iter().next();
    let same = |header: &Recorded| {
        let same_message = actor.message.is_some() && header.message == actor.message;
        let is_counted = matches!(reason, Reason::Compaction { .. });
        let Event::ContextSent(sending) = &header.event else {
            return false;
        };
        sending.after == Some(reason) && (is_counted || same_message)
    };
    Ok(header.filter(same).and_then(delivery))
}

fn delivery(recorded: Recorded) -> Option<Delivery> {
    match recorded.event {
        Event::ContextSent(sending) => Some(sending.delivery),
        _ => None,
    }
}

fn told(recorded: Recorded) -> Option<Told> {
    let Event::ContextSent(sending) = recorded.event else {
        return None;
    };
    match sending.delivery {
        Delivery::Nothing => None,
        Delivery::Update(text) | Delivery::Header(text) => Some(Told {
            text,
            message: recorded.message,
            seq: recorded.seq,
            after: sending.after,
        }),
    }
}

/// The events behind a point, and with each undo and each conversation that was wound back or
/// forward the events in front of it that count otherwise since.
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
        match &recorded.event {
            Event::CommandUndone { batch } if *batch <= point => {
                events.extend(of_batch(reading, *batch)?);
            }
            Event::SessionReverted { masked: seqs, .. }
            | Event::SessionRestored { shown: seqs, .. } => {
                let told: Vec<Seq> = seqs.iter().copied().filter(|seq| *seq <= point).collect();
                events.extend(reading.recorded(&told)?);
            }
            _ => {}
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
