//! What happens in a conversation, as the engine is told it.
//!
//! A message may be seen twice, in a request to the model and in an event of the host; it carries
//! the host's names, by which it is recorded once.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use flamestack_core::command::Command;
use flamestack_core::compaction::without_restored;
use flamestack_core::id::Timestamp;
use flamestack_core::session::{Description, DiffTotals};
use flamestack_core::text::Prose;
use flamestack_core::transcript::{Entry, What};
use flamestack_engine::witness::View;
use flamestack_engine::{EngineError, Request};

use super::Sidecar;
use super::conversation::Conversation;
use super::entries::{self, cost_of, of_message, of_todos};
use super::wire::{Happening, Message, Part, Returned, Role, SessionFacts};

/// A text that a host says of a conversation, if it is one.
fn prose(text: &str) -> Option<Prose> {
    Prose::new(text).ok()
}

/// How many entries wait for a store that takes nothing.
const MOST_WAITING: usize = 10_000;

/// What has been seen of a conversation and is not recorded yet, and what has to be remembered
/// until more is seen.
#[derive(Default)]
pub(super) struct Seen {
    /// Messages of the model's next request, which waits for an answer first.
    unread: Vec<Message>,
    waiting: Vec<Entry>,
    /// The newest message of the model.
    last: Option<String>,
    /// The newest summary: its message and its words.
    summary: Option<(String, String)>,
    /// Whether the host itself asked for the newest summary.
    pub(super) automatic: bool,
    /// A summary that came with the messages, and when it was made.
    pub(super) found: Option<(String, Timestamp)>,
    /// The user stopped the work, and no message has said so yet.
    stopped: bool,
    /// What the conversation was last called.
    title: Option<String>,
    /// When messages began that were seen, as far as they say so.
    began: BTreeMap<String, i64>,
    /// Messages were taken out for good: what was wound back stays so.
    pub(super) removed: bool,
}

impl Seen {
    fn message(&mut self, message: &Message) {
        if let Some(at) = message.at {
            self.began.insert(message.id.clone(), at);
        }
        if message.role == Role::Assistant {
            self.last = Some(message.id.clone());
        }
        if message.error.as_deref() == Some("aborted") {
            self.stopped = false;
        }
        for part in &message.parts {
            match part {
                Part::Compaction { automatic, .. } => self.automatic = *automatic,
                Part::Text { text, .. } if message.summary => {
                    // What was put behind it is recorded already.
                    self.summary = Some((message.id.clone(), without_restored(text)));
                    if let Some(at) = message.at {
                        self.found = Some((text.clone(), Timestamp(at)));
                    }
                }
                _ => {}
            }
        }
        // A summary costs like anything else.
        if message.summary {
            self.waiting.extend(cost_of(message));
        } else {
            self.waiting.extend(of_message(message));
        }
    }

    /// Messages to look at when nobody waits for an answer.
    pub(super) fn later(&mut self, messages: Vec<Message>) {
        self.unread.extend(messages);
    }

    fn add(&mut self, id: Option<String>, what: What) {
        let entry = entries::plain(what);
        self.waiting.push(Entry { id, ..entry });
    }
}

impl Conversation {
    /// Messages that have not been seen before.
    pub(super) fn saw(&mut self, messages: &[Message]) {
        for message in messages {
            self.seen.message(message);
        }
    }

    /// Records what subagents came to, before the model is asked to go on from there.
    pub(super) fn take_back(
        &mut self,
        sidecar: &Sidecar,
        cut_off: Vec<Entry>,
    ) -> Result<(), EngineError> {
        self.record(sidecar)?;
        self.seen.waiting.extend(cut_off);
        self.record(sidecar)
    }

    /// A conversation that was made for a frame has ended.
    pub(super) fn ended(
        &mut self,
        sidecar: &Sidecar,
        returned: &Returned,
    ) -> Result<(), EngineError> {
        let ended = What::SubagentEnded {
            id: returned.child.clone(),
            ok: returned.ok,
            text: returned.text.clone(),
        };
        self.seen.add(None, ended);
        self.record(sidecar)
    }

    /// Something that happened.
    pub(super) fn observe(
        &mut self,
        sidecar: &Sidecar,
        happening: &Happening,
    ) -> Result<(), EngineError> {
        match happening {
            // What was copied comes again with the first request.
            Happening::Message(_) if self.beginning.is_copy() => {}
            Happening::Message(message) => self.seen.message(message),
            Happening::Copied { from, messages } => self.copied(sidecar, from, messages)?,
            Happening::Todos { items } => {
                self.todos.clone_from(items);
                self.seen.waiting.push(of_todos(items));
            }
            Happening::Session(facts) => self.describe(sidecar, facts)?,
            Happening::Interrupted => self.seen.stopped = true,
            Happening::Waiting { on } => {
                let on = on.clone();
                self.seen.add(None, What::Waiting { on });
            }
            Happening::Idle => {
                if std::mem::take(&mut self.seen.stopped) {
                    let how = "stopped by the user".to_owned();
                    self.seen.add(None, What::Interrupted { how });
                }
                let last = self.seen.last.clone();
                self.seen.add(last, What::TurnEnded);
                self.record(sidecar)?;
            }
            Happening::Compacted => {
                let (id, summary) = self.seen.summary.take().unzip();
                let automatic = self.seen.automatic;
                let compacted = What::Compacted {
                    automatic,
                    summary,
                    tokens_before: None,
                };
                self.seen.add(id, compacted);
                self.record(sidecar)?;
                self.compacted(sidecar)?;
            }
            Happening::Deleted => {
                if self.parent.is_some() {
                    let how = "the conversation was deleted".to_owned();
                    self.seen.add(None, What::Interrupted { how });
                }
                self.record(sidecar)?;
                let actor = self.actor(sidecar, None);
                sidecar.engine.settle(&actor)?;
                let archive = Request::Ready(Command::Archive);
                sidecar.engine.execute(&actor, &archive)?;
            }
            Happening::Reverted { message } => self.wound(sidecar, message.as_deref())?,
            Happening::Removed { .. } => self.seen.removed = true,
            Happening::Shim { .. } => {}
        }
        Ok(())
    }

    /// The conversation was wound back to before a message, or forward again.
    fn wound(&mut self, sidecar: &Sidecar, message: Option<&str>) -> Result<(), EngineError> {
        if message.is_none() && self.seen.removed {
            return Ok(());
        }
        self.record(sidecar)?;
        let (mut behind, mut earlier) = (Vec::new(), Vec::new());
        if let Some(message) = message {
            behind.push(message.to_owned());
            let began = |id: &str| self.seen.began.get(id).map(|at| (*at, id.to_owned()));
            if let Some(place) = began(message) {
                let mut others: Vec<(i64, String)> =
                    self.seen.began.keys().filter_map(|id| began(id)).collect();
                others.sort();
                for other in others {
                    match other.cmp(&place) {
                        Ordering::Less => earlier.push(other.1),
                        Ordering::Equal => {}
                        Ordering::Greater => behind.push(other.1),
                    }
                }
            }
        }
        let actor = self.actor(sidecar, None);
        sidecar.engine.wind(&actor, &behind, &earlier)?;
        Ok(())
    }

    fn describe(&mut self, sidecar: &Sidecar, facts: &SessionFacts) -> Result<(), EngineError> {
        if let Some(parent) = &facts.parent {
            self.parent = self.session.beside(parent);
        }
        let description = Description {
            directory: facts.directory.as_deref().and_then(prose),
            host_version: facts.host_version.as_deref().and_then(prose),
            agent: facts.agent.as_deref().and_then(prose),
            parent: self.parent.clone(),
            copy_of: facts
                .copy_of
                .as_deref()
                .and_then(|id| self.session.beside(id)),
            diff: facts.diff.map(|(added, deleted, files)| DiffTotals {
                added,
                deleted,
                files,
            }),
        };
        if let Some(original) = &description.copy_of {
            self.is_copy_of(sidecar, original)?;
        }
        if description != Description::default() {
            let describe = Request::Ready(Command::Describe(Box::new(description)));
            let actor = self.actor(sidecar, None);
            sidecar.engine.execute(&actor, &describe)?;
        }
        // It comes with every other fact of the conversation too.
        if let Some(title) = facts.title.clone()
            && self.seen.title.as_ref() != Some(&title)
        {
            self.seen.title = Some(title.clone());
            self.seen.add(None, What::Titled { title });
        }
        match &facts.frame {
            Some(frame) => self.take_up(sidecar, frame),
            None => Ok(()),
        }
    }

    /// The conversation was made for a planned frame: it is that frame, and begins it.
    fn take_up(&self, sidecar: &Sidecar, frame: &str) -> Result<(), EngineError> {
        let actor = self.actor(sidecar, None);
        let known = sidecar
            .engine
            .read(|reading| Ok(reading.session(&self.session)?))?;
        if known.is_some_and(|known| known.own.is_some()) {
            return Ok(());
        }
        let bind = Request::Bind {
            frame: frame.to_owned(),
            session: self.session.clone(),
        };
        sidecar.engine.execute(&actor, &bind)?;
        sidecar
            .engine
            .execute(&actor, &Request::Activate(frame.to_owned()))?;
        Ok(())
    }

    /// Records what was seen.
    pub(super) fn record(&mut self, sidecar: &Sidecar) -> Result<(), EngineError> {
        if self.beginning.is_copy() {
            return Ok(());
        }
        let unread = std::mem::take(&mut self.seen.unread);
        self.saw(&unread);
        if self.seen.waiting.is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.seen.waiting);
        let view = View {
            parent: self.parent.clone(),
            without_ids: self.without_parents,
            ..View::default()
        };
        // How a subagent fared is known once all is recorded that was said of it before.
        for entry in &entries {
            if let What::SubagentEnded { id, .. } = &entry.what
                && let Some(child) = self.session.beside(id).filter(|id| *id != self.session)
            {
                self.queues.drained(&child);
            }
        }
        let actor = self.actor(sidecar, None);
        let recorded = sidecar.engine.witness_as(&actor, &view, &entries);
        if let Err(error) = recorded {
            // Another time, unless that never comes: a host's memory is not ours to fill.
            if entries.len() < MOST_WAITING {
                self.seen.waiting = entries;
            }
            return Err(error);
        }
        Ok(())
    }
}
