//! Events and messages of a session, recorded by the engine.
//!
//! A message may be seen twice, in a request to the model and in an event of the host. It carries
//! the host's ids, so that it is recorded once.

use flamestack_core::Author;
use flamestack_core::command::{Actor, Command};
use flamestack_core::session::{Description, DiffTotals};
use flamestack_core::text::Text;
use flamestack_core::transcript::{EntryKind, Todo};
use flamestack_engine::ingest::IngestOptions;
use flamestack_engine::sessions::NewSession;
use flamestack_engine::{EngineError, Request};

use super::session::ServedSession;
use super::turn::{History, Turn};
use super::wire::{ChildResult, HostEvent, HostMessage, SessionFacts};
use crate::opencode::entries::Source;
use crate::opencode::entries::running_calls;
use crate::opencode::message::HostError;
use crate::recordings::tools;

/// Maximum number of entries that wait for a store that cannot be written.
const MAX_WAITING: usize = 10_000;

impl ServedSession<'_> {
    /// Takes messages that may not have been seen before.
    pub(super) fn see(&mut self, messages: &[HostMessage]) {
        let in_tool_call = self.sidecar.in_tool_call;
        for message in messages {
            self.compaction.see(message);
            self.ingest.message(message, Source::Live { in_tool_call });
        }
    }

    /// Records what no message of the host can confirm any longer, and the raw text of a turn that it did
    /// not end.
    pub(super) fn record_rest(&mut self) -> Result<(), EngineError> {
        self.ingest.end_stopping();
        self.record_all()?;
        let life = self
            .engine
            .read(|reading| Ok(reading.life(&self.session)?))?;
        if life.is_some_and(|life| life.state.is_busy()) {
            self.engine.keep_pending(&self.actor(None))?;
        }
        Ok(())
    }

    /// Records the end of a session that was made for a frame.
    pub(super) fn child_ended(&mut self, child: &ChildResult) -> Result<(), EngineError> {
        let ended = EntryKind::SubagentEnded {
            id: child.child.clone(),
            ok: child.ok,
            text: child.text.clone(),
        };
        self.ingest.add(None, ended);
        self.record()
    }

    /// Takes an event of the host.
    pub(super) fn observe(&mut self, event: &HostEvent) -> Result<(), EngineError> {
        match event {
            // The messages of a fork come again with its first request.
            HostEvent::Message(_) if self.origin.is_pending_fork() => {}
            HostEvent::Message(message) => {
                self.see(std::slice::from_ref(message));
                if message.is_from_model() {
                    self.ingest.last = Some(message.id.clone());
                    let is_empty = message.is_empty_answer();
                    self.ingest.empty = is_empty.then(|| message.id.clone());
                }
                if !self.ingest.is_late(message) {
                    self.ingest.extend(running_calls(message));
                }
                match message.error {
                    Some(HostError::Aborted) => self.ingest.turn = Turn::Stopped,
                    Some(HostError::Failed(_)) => self.ingest.failed = None,
                    None => {}
                }
            }
            HostEvent::Copied { from, messages } => self.copied(from, messages)?,
            HostEvent::Todos { items } => {
                let todos = items.iter().map(|item| Todo {
                    text: item.text.clone(),
                    status: tools::todo_status(&item.status),
                });
                self.facts.todos = todos.collect();
                let todos = EntryKind::Todos(self.facts.todos.clone());
                self.ingest.add(None, todos);
            }
            HostEvent::Session(facts) => self.describe(facts)?,
            HostEvent::Created {
                from,
                purpose,
                agent,
                phase,
            } => self.made(from, purpose, agent.as_deref(), phase.as_deref())?,
            HostEvent::Failed { why, message } => self.ingest.fail(why, message.as_deref()),
            HostEvent::Interrupted => self.ingest.stop(),
            HostEvent::HookStats { .. } => {}
            HostEvent::Waiting { on } => {
                let on = on.clone();
                self.ingest.add(None, EntryKind::Waiting { on });
            }
            HostEvent::Idle { stopped } => {
                if *stopped {
                    self.ingest.stop_at_last();
                }
                let now = self.engine.clock().now();
                self.ingest.idle(now);
                self.record_all()?;
            }
            HostEvent::Compacted => {
                let (id, compacted) = self.compaction.replaced();
                self.ingest.add(id, compacted);
                self.record_all()?;
                self.compacted()?;
            }
            HostEvent::Deleted => self.deleted()?,
            HostEvent::Reverted { message } => self.revert(message.as_deref())?,
            HostEvent::Removed { .. } => self.ingest.is_cut = true,
        }
        Ok(())
    }

    /// Records that the user made this session by a command in another one.
    fn made(
        &mut self,
        from: &str,
        purpose: &str,
        agent: Option<&str>,
        phase: Option<&str>,
    ) -> Result<(), EngineError> {
        let Some(from) = self.session.beside(from) else {
            return Ok(());
        };
        let actor = Actor {
            session: from,
            by: Author::User,
            ..self.actor(None)
        };
        let new = NewSession {
            purpose: purpose.to_owned(),
            agent: agent.map(str::to_owned),
            phase: phase.map(str::to_owned),
            session: Some(self.session.clone()),
            ..NewSession::default()
        };
        self.engine.sessions().create(&actor, &new)?;
        Ok(())
    }

    fn deleted(&mut self) -> Result<(), EngineError> {
        if self.facts.parent.is_some() {
            let how = "the session was deleted".to_owned();
            self.ingest.add(None, EntryKind::Interrupted { how });
        }
        self.record_all()?;
        let actor = self.actor(None);
        self.engine.settle(&actor)?;
        let archive = Command::Archive;
        self.engine.commands().run(&actor, &archive)?;
        Ok(())
    }

    /// Takes back everything from a message on, or restores it.
    fn revert(&mut self, message: Option<&str>) -> Result<(), EngineError> {
        if message.is_none() && self.ingest.is_cut {
            return Ok(());
        }
        self.record()?;
        let mut known: Vec<(&i64, &String)> =
            self.ingest.began.iter().map(|(id, at)| (at, id)).collect();
        known.sort();
        let mut known: Vec<String> = known.into_iter().map(|(_, id)| id.clone()).collect();
        let place = known.iter().position(|id| Some(id.as_str()) == message);
        let (earlier, later) = match place {
            Some(place) => {
                let later = known.split_off(place);
                (known, later)
            }
            None => (Vec::new(), message.map(str::to_owned).into_iter().collect()),
        };
        let actor = self.actor(None);
        self.engine.apply_revert(&actor, &later, &earlier)?;
        Ok(())
    }

    fn describe(&mut self, facts: &SessionFacts) -> Result<(), EngineError> {
        if let Some(parent) = &facts.parent {
            self.facts.parent = self.session.beside(parent);
        }
        let description = Description {
            directory: facts.directory.as_deref().and_then(to_text),
            host_version: facts.host_version.as_deref().and_then(to_text),
            agent: facts.agent.as_deref().and_then(to_text),
            parent: self.facts.parent.clone(),
            copy_of: facts
                .copy_of
                .as_deref()
                .and_then(|id| self.session.beside(id)),
            diff: facts.diff.map(|(added, deleted, files)| DiffTotals {
                added,
                deleted,
                files,
            }),
            language: facts.language.as_deref().and_then(to_text),
            governance: facts.governance.as_deref().and_then(to_text),
            phase: facts.phase.as_deref().and_then(to_text),
        };
        if let Some(original) = &description.copy_of {
            self.start_fork(original)?;
        }
        if description != Description::default() {
            let describe = Command::Describe(Box::new(description));
            let actor = self.actor(None);
            self.engine.commands().run(&actor, &describe)?;
        }
        // The host repeats the title with every other fact.
        if let Some(title) = facts.title.clone()
            && self.facts.title.as_ref() != Some(&title)
        {
            self.facts.title = Some(title.clone());
            self.ingest.add(None, EntryKind::Titled { title });
        }
        match &facts.frame {
            Some(frame) => self.begin_frame(frame),
            None => Ok(()),
        }
    }

    /// Binds a session that was made for a planned frame to it, and begins the frame.
    fn begin_frame(&self, frame: &str) -> Result<(), EngineError> {
        let actor = self.actor(None);
        let known = self.engine.session(&self.session)?;
        if known.is_some_and(|known| known.own.is_some()) {
            return Ok(());
        }
        let bind = Request::Bind {
            frame: frame.to_owned(),
            session: self.session.clone(),
        };
        self.engine.commands().execute(&actor, &bind)?;
        self.engine
            .commands()
            .execute(&actor, &Request::Activate(frame.to_owned()))?;
        Ok(())
    }

    /// Records everything that was seen, whether or not earlier messages are still to come.
    fn record_all(&mut self) -> Result<(), EngineError> {
        self.ingest.history = History::Known;
        self.record()
    }

    /// Records everything that was seen.
    pub(super) fn record(&mut self) -> Result<(), EngineError> {
        if self.origin.is_pending_fork() {
            return Ok(());
        }
        let deferred = std::mem::take(&mut self.ingest.deferred);
        if self.ingest.history == History::Awaited {
            if deferred.is_empty() {
                return Ok(());
            }
            self.ingest.history = History::Known;
            let newer = std::mem::take(&mut self.ingest.waiting);
            self.see(&deferred);
            self.ingest.waiting.extend(newer);
        } else {
            self.see(&deferred);
        }
        if self.ingest.waiting.is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.ingest.waiting);
        let view = IngestOptions {
            parent: self.facts.parent.clone(),
            without_ids: self.facts.without_parents,
            ..IngestOptions::default()
        };
        // The frame of a subagent is below the one that its parent works on.
        if let Some(parent) = self
            .facts
            .parent
            .as_ref()
            .filter(|_| !self.ingest.has_begun)
        {
            self.scheduler.wait_for(parent);
        }
        // The outcome of a subagent is known once all of its own messages are recorded.
        for entry in &entries {
            if let EntryKind::SubagentEnded { id, .. } = &entry.kind
                && let Some(child) = self.session.beside(id).filter(|id| *id != self.session)
            {
                self.scheduler.wait_for(&child);
            }
        }
        let actor = self.actor(None);
        let recorded = self.engine.ingest_with(&actor, &view, &entries);
        if let Err(error) = recorded {
            // Kept for another try, within limits: the store may never come back.
            if entries.len() < MAX_WAITING {
                self.ingest.waiting = entries;
            }
            return Err(error);
        }
        self.ingest.has_begun = true;
        self.note_process();
        Ok(())
    }

    /// Records the process that serves the session, once the session is known.
    fn note_process(&mut self) {
        let Some(process) = self
            .sidecar
            .process
            .clone()
            .filter(|_| !self.ingest.is_hosted)
        else {
            return;
        };
        let actor = self.actor(None);
        let noted = match self.engine.session(&self.session) {
            Ok(Some(_)) => self.engine.sessions().host(&actor, &process),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        match noted {
            Ok(()) => self.ingest.is_hosted = true,
            Err(error) => tracing::warn!(session = %self.session, "process not noted: {error}"),
        }
    }
}

fn to_text(text: &str) -> Option<Text> {
    Text::new(text).ok()
}
