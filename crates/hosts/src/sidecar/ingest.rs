//! Events and messages of a session, recorded by the engine.
//!
//! A message may be seen twice, in a request to the model and in an event of the host. It carries
//! the host's ids, so that it is recorded once.

use std::collections::BTreeMap;

use flamestack_core::Author;
use flamestack_core::command::{Actor, Command};
use flamestack_core::id::Timestamp;
use flamestack_core::session::life::STOPPED;
use flamestack_core::session::{Description, DiffTotals};
use flamestack_core::text::Text;
use flamestack_core::transcript::{Entry, EntryKind, Todo};
use flamestack_engine::ingest::IngestOptions;
use flamestack_engine::sessions::NewSession;
use flamestack_engine::{EngineError, Request};

use super::session::ServedSession;
use super::wire::{ChildResult, HostEvent, HostMessage, SessionFacts};
use crate::opencode::entries::{EMPTY_ANSWER, Source, entries, running_calls};
use crate::opencode::message::HostError;
use crate::recordings::tools;

/// Maximum number of entries that wait for a store that cannot be written.
const MAX_WAITING: usize = 10_000;

/// The part of a session that is not recorded yet, and what has to be remembered until more of it
/// is seen.
#[derive(Default)]
pub(super) struct Ingest {
    /// Messages of the model's last request, which was answered before they were read.
    deferred: Vec<HostMessage>,
    waiting: Vec<Entry>,
    /// The newest message of the model in this turn.
    last: Option<String>,
    /// That message, if it says nothing and cost nothing, and the host has not asked again.
    empty: Option<String>,
    /// Times at which the messages began, in milliseconds since 1970.
    began: BTreeMap<String, i64>,
    turn: Turn,
    /// Time at which the host was idle; none since the next prompt. Calls of messages that began before
    /// are reported late, and start no turn.
    idle_at: Option<i64>,
    /// An error that ended the turn, and that no message has named yet, with the message that will.
    failed: Option<(String, Option<String>)>,
    history: History,
    /// True if messages were removed for good: what was reverted stays so.
    is_cut: bool,
    /// True once the process that serves the session is recorded.
    is_hosted: bool,
    /// True if anything of the session was recorded by this process.
    has_begun: bool,
}

/// The messages of a session from before this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum History {
    /// All that are needed are known.
    #[default]
    Known,
    /// Another process served the session last and may have ended without recording all of them: they come
    /// first.
    Awaited,
}

/// The progress of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Running,
    /// The user stopped it, and no message has said so yet.
    Stopping { was_idle: bool },
    /// The user stopped it, and that is recorded.
    Stopped,
}

impl Ingest {
    /// Starts the turn of a user's message.
    pub(super) fn begin_turn(&mut self) {
        self.is_cut = false;
        self.end_stopping();
        self.failed = None;
        self.last = None;
        self.empty = None;
        self.idle_at = None;
        self.turn = Turn::Running;
    }

    /// Keeps messages that are read once the host has its answer.
    ///
    /// The host asks the model, so that an empty answer before was not the end of the turn.
    pub(super) fn defer(&mut self, messages: Vec<HostMessage>) {
        self.empty = None;
        self.deferred.extend(messages);
    }

    /// Records nothing before the next request to the model, which has all messages.
    pub(super) fn await_history(&mut self) {
        self.history = History::Awaited;
    }

    pub(super) fn extend(&mut self, entries: Vec<Entry>) {
        self.waiting.extend(entries);
    }

    fn message(&mut self, message: &HostMessage, source: Source<'_>) {
        if let Some(at) = message.at {
            self.began.insert(message.id.clone(), at);
        }
        self.waiting.extend(entries(message, source));
    }

    fn add(&mut self, id: Option<String>, kind: EntryKind) {
        let entry = Entry::from(kind);
        self.waiting.push(Entry { id, ..entry });
    }

    /// Handles a stop of the turn by the user.
    fn stop(&mut self) {
        if self.turn == Turn::Running {
            self.turn = Turn::Stopping { was_idle: false };
        }
    }

    /// Records a stop that the host reports once: OpenCode names no error if it was about to ask the
    /// provider again.
    fn stop_at_last(&mut self) {
        if self.turn == Turn::Running {
            self.turn = Turn::Stopped;
            let (last, how) = (self.last.clone(), STOPPED.to_owned());
            self.add(last, EntryKind::Interrupted { how });
        }
    }

    /// Handles an error that ends the turn, unless a message says so.
    fn fail(&mut self, why: &str, message: Option<&str>) {
        if self.turn == Turn::Running {
            self.failed = Some((why.to_owned(), message.map(str::to_owned)));
        }
    }

    /// Handles the report that the host is idle, which is the ordinary end of a turn that was not stopped.
    ///
    /// OpenCode reports a stop as an error of the session, an idle session, a message with the same
    /// error, and an idle session again. That is one interruption, recorded with the message, whose
    /// id makes it count once, and neither of the two is the end of an ordinary turn. An error is reported in
    /// the same order, and recorded immediately under the id of its message.
    fn idle(&mut self, now: Timestamp) {
        self.idle_at = Some(now.0);
        match self.turn {
            Turn::Running => {
                let (last, failed) = (self.last.clone(), self.failed.take());
                // OpenCode asks again after an empty answer; one that nothing follows ends no turn.
                let empty = self.empty.as_ref().map(|_| EMPTY_ANSWER.to_owned());
                match failed.or(empty.map(|why| (why, None))) {
                    Some((why, message)) => self.add(message, EntryKind::Failed { why }),
                    None => self.add(last, EntryKind::TurnEnded),
                }
            }
            Turn::Stopping { was_idle: false } => self.turn = Turn::Stopping { was_idle: true },
            Turn::Stopping { was_idle: true } => self.end_stopping(),
            Turn::Stopped => {}
        }
    }

    /// Returns true if a message began before the host was idle: its calls ended with that turn.
    fn is_late(&self, message: &HostMessage) -> bool {
        let is_over = self.turn == Turn::Stopped || self.idle_at.is_some();
        let idle_at = self.idle_at.unwrap_or(i64::MAX);
        is_over && message.at.is_some_and(|began| began <= idle_at)
    }

    /// Records a stop that no message has confirmed: the model had not begun to answer.
    fn end_stopping(&mut self) {
        if matches!(self.turn, Turn::Stopping { .. }) {
            self.turn = Turn::Stopped;
            let how = STOPPED.to_owned();
            self.add(None, EntryKind::Interrupted { how });
        }
    }
}

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
