//! Deliveries: the part of a context that a session is sent next, given what it was sent before.
//!
//! The journal records every delivery, so that another process continues where one stopped. The
//! host adapter puts the text into a prompt.

use flamestack_context::deliver;
use flamestack_core::delivery::{Delivery, HeaderReason, Sending};
use flamestack_core::id::Seq;
use flamestack_core::{Actor, Command, Decided, Event, Recorded, SessionRef, decide};
use flamestack_store::{Reading, StoreError};

use super::{ContextOptions, Contexts};
use crate::error::Result;

/// Number of events that are read at a time.
const STEP: usize = 1000;
/// Number of events without news after which an empty delivery is recorded, so that they are not
/// read again with the session's next message.
const UNREAD: usize = 500;

/// A text that a session was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentText {
    /// The text, exactly as sent.
    pub text: String,
    /// The host's message that carried it, if the host names its messages.
    pub message: Option<String>,
    /// Sequence number of the delivery.
    pub seq: Seq,
    /// Reason for sending the whole context again, if there was one.
    pub after: Option<HeaderReason>,
}

/// Everything that a session was sent since its last header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentContext {
    /// The header; its text may be empty.
    pub header: SentText,
    /// The updates after it, oldest first.
    pub updates: Vec<SentText>,
}

impl SentContext {
    /// Returns the header and all updates as one text.
    pub fn text(&self) -> String {
        let parts = std::iter::once(&self.header).chain(&self.updates);
        parts.map(|part| part.text.as_str()).collect()
    }
}

/// The next delivery to a session, at one position of the journal.
enum Next {
    /// The delivery is recorded already.
    Again(Delivery),
    /// A delivery to record.
    New { position: Seq, sending: Sending },
    /// Nothing to send, and nothing to record.
    Unchanged,
}

impl Contexts<'_> {
    /// Decides what to send to a session with its next message, and records it.
    ///
    /// Without a reason the session's prompt is only ever appended to. A second call with the same
    /// message ([`Actor::message`]), or after the same compaction, returns the same bytes and
    /// records nothing. In a project without a store there is nothing to send, and nothing is
    /// recorded unless the session has a message to record it with.
    pub fn deliver(
        &self,
        actor: &Actor,
        after: Option<HeaderReason>,
        options: &ContextOptions,
    ) -> Result<Delivery> {
        let workspace = &self.engine.workspace;
        if workspace.is_empty() && actor.message.is_none() {
            return Ok(Delivery::Header(String::new()));
        }
        let next = |reading: &dyn Reading| self.next(reading, actor, after, options);
        // Prepared outside the write lock: most of the time there is nothing to record, and
        // otherwise assembling takes longer than other writers should wait.
        let mut prepared = match workspace.read(next)? {
            Next::Again(delivery) => return Ok(delivery),
            Next::Unchanged => return Ok(Delivery::Nothing),
            Next::New { position, sending } => Some((position, sending)),
        };
        let (committed, again) = workspace.commit(actor, |reading| {
            let position = reading.position()?;
            let next = match prepared.take() {
                Some((prepared_at, sending)) if prepared_at == position => {
                    Next::New { position, sending }
                }
                _ => next(reading)?,
            };
            Ok(match next {
                Next::New { sending, .. } => {
                    let command = Command::Send(Box::new(sending));
                    (decide(reading, actor, &command)?, Delivery::Nothing)
                }
                Next::Again(delivery) => (Decided::default(), delivery),
                Next::Unchanged => (Decided::default(), Delivery::Nothing),
            })
        })?;
        for recorded in &committed.events {
            tracing::debug!(session = %actor.session, "{}", crate::views::story::line(recorded));
        }
        // As recorded, that is, redacted: the journal must show what was sent.
        let recorded = committed.events.into_iter().find_map(delivery);
        Ok(recorded.unwrap_or(again))
    }

    /// Returns what a session was sent, or `None` if it never was sent anything.
    pub fn sent(&self, session: &SessionRef) -> Result<Option<SentContext>> {
        let sent = self.engine.read(|reading| Ok(reading.sent(session)?))?;
        let mut texts = sent.into_iter().filter_map(sent_text);
        Ok(texts.next().map(|header| SentContext {
            header,
            updates: texts.collect(),
        }))
    }

    fn next(
        &self,
        reading: &dyn Reading,
        actor: &Actor,
        after: Option<HeaderReason>,
        options: &ContextOptions,
    ) -> Result<Next> {
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
        let known = reading.session(session)?;
        let settings = self.settings(known.as_ref(), options)?;
        let frame = known.and_then(|known| known.frame());
        let around = frame
            .map(|frame| self.surroundings(reading, &frame, Some(session)))
            .transpose()?;
        let (sent, around) = (sent.as_ref(), around.as_ref());
        let sending = self
            .engine
            .counting(|tokenizer| deliver(sent, around, &since, after, &settings, tokenizer));
        let is_nothing = sending.delivery == Delivery::Nothing;
        if is_nothing && actor.message.is_none() && since.len() < UNREAD {
            return Ok(Next::Unchanged);
        }
        let position = reading.position()?;
        Ok(Next::New { position, sending })
    }
}

/// Returns the delivery that is recorded for the same message, or for the same reason.
fn sent_already(
    reading: &dyn Reading,
    actor: &Actor,
    after: Option<HeaderReason>,
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
        let is_counted = matches!(reason, HeaderReason::Compaction { .. });
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

fn sent_text(recorded: Recorded) -> Option<SentText> {
    let Event::ContextSent(sending) = recorded.event else {
        return None;
    };
    match sending.delivery {
        Delivery::Nothing => None,
        Delivery::Update(text) | Delivery::Header(text) => Some(SentText {
            text,
            message: recorded.message,
            seq: recorded.seq,
            after: sending.after,
        }),
    }
}

/// Returns the events after a point. Before them come the events up to that point that an undo, or
/// a session that was reverted or restored, has masked or unmasked since.
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
            | Event::SessionRestored { unmasked: seqs, .. } => {
                let known: Vec<Seq> = seqs.iter().copied().filter(|seq| *seq <= point).collect();
                events.extend(reading.recorded(&known)?);
            }
            _ => {}
        }
    }
    events.extend(new);
    Ok(events)
}

/// Returns the events of one command, which are consecutive.
fn of_batch(reading: &dyn Reading, batch: Seq) -> Result<Vec<Recorded>, StoreError> {
    let mut events = Vec::new();
    let mut last = Seq(batch.0 - 1);
    loop {
        let some = reading.events_after(last, STEP)?;
        let read = some.len();
        let before = events.len();
        events.extend(some.into_iter().take_while(|entry| entry.batch == batch));
        if read == 0 || events.len() - before < read {
            return Ok(events);
        }
        last = events.last().map_or(last, |entry| entry.seq);
    }
}
