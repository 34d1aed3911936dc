//! The state of one session while it is served.
//!
//! All of it can be restored: from the journal, or from the shim, which is asked to send the
//! messages once more.

use std::ops::{Deref, DerefMut};

use flamestack_brief::Mode;
use flamestack_core::Author;
use flamestack_core::autonomy::suggestion_line;
use flamestack_core::command::Actor;
use flamestack_core::delivery::{Delivery, HeaderReason};
use flamestack_core::folding::{Folding, MessageKind, PromptMessage, PromptMessages};
use flamestack_core::id::{Seq, SessionRef, Timestamp};
use flamestack_core::session::Activity;
use flamestack_core::session::state::{SessionState, Signal};
use flamestack_core::text::for_model;
use flamestack_core::transcript::Todo;
use flamestack_engine::context::{ContextOptions, ContextTarget};
use flamestack_engine::folding::Spans;
use flamestack_engine::{Engine, EngineError, Request};

use super::Sidecar;
use super::compaction::{CompactionProgress, without_restored_texts};
use super::fork::Origin;
use super::scheduler::Scheduler;
use super::turn::Ingest;
use super::wire::{
    HostMessage, HostRole, Insertion, ModelInfo, Placement, PrepareParams, PromptParams,
    PromptResult, RequestPlan,
};
use crate::opencode::entries::{cut_off_subagents, has_subagents};
use crate::opencode::message::HostPart;
use crate::opencode::{is_own, usable_window};

/// A session that was silent for this time is resumed: no provider keeps a prompt in its cache for
/// so long, so that a new header costs nothing.
const RESUMED_AFTER_MS: i64 = 60 * 60 * 1000;

/// The agent that hosts use for planning, which may not change anything.
const PLANNER: &str = "plan";

/// The state of one session.
pub(super) struct SessionMemory {
    pub(super) session: SessionRef,
    pub(super) facts: KnownFacts,
    pub(super) ingest: Ingest,
    pub(super) compaction: CompactionProgress,
    pub(super) origin: Origin,
    prompt: PromptState,
}

/// The host's account of a session.
#[derive(Default)]
pub(super) struct KnownFacts {
    /// The session that started it.
    pub(super) parent: Option<SessionRef>,
    /// True if the host does not say which session started which.
    pub(super) without_parents: bool,
    pub(super) title: Option<String>,
    /// The host's to-do list.
    pub(super) todos: Vec<Todo>,
    /// Read-only if the host lets the model change nothing.
    pub(super) mode: Mode,
    /// The model that the journal knows of.
    model: Option<ModelInfo>,
}

/// The requests to the model, as they were last prepared.
#[derive(Default)]
struct PromptState {
    /// The messages of the last request.
    messages: PromptMessages,
    spans: Spans,
    last: Option<LastPlan>,
    /// The end of the system prompt, once it is settled; empty for none.
    header: Option<String>,
    /// Time of the host's last request.
    asked_at: Option<Timestamp>,
    /// The suggestion that the model was sent last.
    suggested: Option<Seq>,
}

/// The last plan, with what it was made of.
struct LastPlan {
    name: String,
    folding: Folding,
    system: Option<String>,
    tail: Option<String>,
}

impl SessionMemory {
    pub(super) fn new(session: SessionRef, without_parents: bool) -> Self {
        Self {
            session,
            facts: KnownFacts {
                without_parents,
                ..KnownFacts::default()
            },
            ingest: Ingest::default(),
            compaction: CompactionProgress::default(),
            origin: Origin::default(),
            prompt: PromptState::default(),
        }
    }
}

/// A session while one of its requests is handled.
pub(super) struct ServedSession<'a> {
    pub(super) sidecar: &'a Sidecar,
    pub(super) engine: &'a Engine,
    pub(super) scheduler: &'a Scheduler,
    pub(super) state: &'a mut SessionMemory,
}

impl Deref for ServedSession<'_> {
    type Target = SessionMemory;

    fn deref(&self) -> &SessionMemory {
        self.state
    }
}

impl DerefMut for ServedSession<'_> {
    fn deref_mut(&mut self) -> &mut SessionMemory {
        self.state
    }
}

impl ServedSession<'_> {
    pub(super) fn actor(&self, message: Option<&str>) -> Actor {
        Actor {
            session: self.session.clone(),
            worktree: self.sidecar.worktree.clone(),
            message: message.map(str::to_owned),
            by: Author::Agent,
        }
    }

    /// Takes a user's message before the host saves it.
    pub(super) fn prompt(&mut self, params: &PromptParams) -> Result<PromptResult, EngineError> {
        self.ingest.begin_turn();
        if self.is_unread()? {
            self.ingest.await_history();
        }
        self.see(std::slice::from_ref(&params.message));
        if self.facts.without_parents {
            self.engine.settle_idle()?;
        }
        if let Some(agent) = &params.agent {
            self.facts.mode = if agent == PLANNER {
                Mode::ReadOnly
            } else {
                Mode::Ordinary
            };
        }
        // A fork's update is known once its messages are.
        if self.origin.is_pending_fork() {
            return Ok(PromptResult { append: None });
        }
        // A subagent's first update is the work that it was given, so that is recorded first. In a
        // session of a user there is nothing to say about the user's own words.
        if self.facts.parent.is_some() {
            self.record()?;
        }
        let mut append: Vec<String> = Vec::new();
        let is_cut_off = self.is_cut_off()?;
        append.extend(self.engine.resume_notice(&self.actor(None))?);
        if self.facts.parent.is_none() && self.sidecar.placement == Placement::Auto {
            append.extend(
                self.engine
                    .left_open(&self.session, &params.message.words())?,
            );
        }
        if self.sidecar.placement == Placement::Auto {
            let is_resumed = self.is_resumed()? || is_cut_off;
            if is_resumed {
                append.extend(self.resume_brief()?);
            }
            let reason = is_resumed.then_some(HeaderReason::Resume);
            match self.deliver(Some(&params.message.id), reason)? {
                Delivery::Update(text) => append.push(text),
                Delivery::Header(text) => self.prompt.header = Some(text),
                Delivery::Nothing => {}
            }
        }
        append.extend(self.suggestion_line()?);
        let append = (!append.is_empty()).then(|| append.join("\n\n"));
        Ok(PromptResult { append })
    }

    /// Returns true if the session has earlier prompts and this process has not seen its messages. Those of
    /// a subagent are not waited for: its prompt is the work that it was given, and needed immediately.
    fn is_unread(&self) -> Result<bool, EngineError> {
        let is_first = matches!(self.origin, Origin::Unknown) && self.facts.parent.is_none();
        Ok(is_first && self.activity()?.prompts > 0)
    }

    /// Returns true if the last turn of the session was cut off with its host.
    fn is_cut_off(&self) -> Result<bool, EngineError> {
        let state = self
            .engine
            .read(|reading| Ok(reading.life(&self.session)?))?;
        Ok(state.is_some_and(|life| {
            let by_end_of_host = matches!(life.last.signal, Signal::Killed | Signal::Crashed);
            life.state == SessionState::Interrupted && by_end_of_host
        }))
    }

    /// Returns the pending suggestion as a line for the model, once, if the user wants that.
    fn suggestion_line(&mut self) -> Result<Option<String>, EngineError> {
        let autonomy = self.engine.autonomy();
        // A bad setting is reported elsewhere, and stops no prompt.
        if !autonomy.policy().is_ok_and(|policy| policy.in_context) {
            return Ok(None);
        }
        let pending = autonomy.pending(&self.session)?;
        let Some((seq, suggestion)) =
            pending.filter(|(seq, _)| self.prompt.suggested != Some(*seq))
        else {
            return Ok(None);
        };
        self.prompt.suggested = Some(seq);
        Ok(Some(for_model(&suggestion_line(&suggestion)).into_owned()))
    }

    /// Returns what the session has to be sent now, and records that it was.
    fn deliver(
        &self,
        message: Option<&str>,
        reason: Option<HeaderReason>,
    ) -> Result<Delivery, EngineError> {
        let actor = self.actor(message);
        let contexts = self.engine.contexts();
        contexts.deliver(&actor, reason, &ContextOptions::default())
    }

    /// Returns true if the session was silent for so long that it starts anew. The time of the last
    /// update alone would not do: a busy session gets none while nothing changes.
    fn is_resumed(&mut self) -> Result<bool, EngineError> {
        let sent = self
            .engine
            .read(|reading| Ok(reading.last_sent(&self.session)?))?;
        let now = self.engine.clock().now();
        let asked_at = self.prompt.asked_at.replace(now);
        let Some(sent) = sent else {
            return Ok(false);
        };
        let last = asked_at.map_or(sent.at, |asked_at| asked_at.max(sent.at));
        Ok(now.0.saturating_sub(last.0) > RESUMED_AFTER_MS)
    }

    /// Plans the next request to the model.
    pub(super) fn prepare(&mut self, params: PrepareParams) -> Result<RequestPlan, EngineError> {
        if params.compacting {
            return self.prepare_summary(&params.messages);
        }
        if params.known > self.prompt.messages.len() {
            return Ok(RequestPlan {
                resync: true,
                ..RequestPlan::default()
            });
        }
        self.begin(&params.messages)?;
        self.prompt.asked_at = Some(self.engine.clock().now());
        self.prompt.extend(params.known, &params.messages);
        let cut_off = has_subagents(&params.messages).then(|| cut_off_subagents(&params.messages));
        self.ingest.defer(params.messages);
        // The results of subagents are recorded before the model is asked to continue from them.
        if let Some(cut_off) = cut_off {
            self.record()?;
            self.ingest.extend(cut_off);
            self.record()?;
        }
        self.use_model(params.model.as_ref())?;
        let (system, tail) = self.context()?;
        let prompt = &mut self.state.prompt;
        let folding = self.engine.fold(
            &self.state.session,
            &mut prompt.spans,
            &prompt.messages,
            self.sidecar.fold,
        )?;
        // Most requests only add to the one before, and the same messages are left out of them.
        let unchanged = prompt.last.as_ref().filter(|last| {
            last.folding == folding
                && last.system == system
                && last.tail == tail
                && params.has.as_ref() == Some(&last.name)
        });
        if let Some(last) = unchanged {
            return Ok(same_plan(last.name.clone()));
        }
        let plan = RequestPlan {
            system: system.clone(),
            tail: tail.clone(),
            ..folded(self.engine, &mut prompt.spans, &prompt.messages, &folding)?
        };
        let name = plan_name(&plan);
        prompt.last = Some(LastPlan {
            name: name.clone(),
            folding,
            system,
            tail,
        });
        Ok(if params.has.as_ref() == Some(&name) {
            same_plan(name)
        } else {
            RequestPlan { plan: name, ..plan }
        })
    }

    /// Returns the texts for the end of the system prompt and of the newest user message.
    fn context(&mut self) -> Result<(Option<String>, Option<String>), EngineError> {
        if self.compaction.is_looping && !self.activity()?.compaction_loop.is_a_loop() {
            self.compacted()?;
        }
        Ok(match self.sidecar.placement {
            _ if self.compaction.is_looping => (None, None),
            Placement::Auto => (self.header()?, None),
            Placement::System => (self.whole_context()?, None),
            Placement::Message => (None, self.whole_context()?),
        })
    }

    /// Reads the frames that were finished, so that the next request need not wait for that.
    pub(super) fn look_ahead(&mut self) -> Result<(), EngineError> {
        let state = &mut *self.state;
        self.engine
            .look_for_finished(&state.session, &mut state.prompt.spans, self.sidecar.fold)
    }

    /// Plans the messages that a summary is made of: folded, and without the texts of Flamestack.
    fn prepare_summary(&mut self, messages: &[HostMessage]) -> Result<RequestPlan, EngineError> {
        let refs: PromptMessages = messages.iter().map(prompt_message).collect();
        let spans = &mut self.state.prompt.spans;
        let folding = self
            .engine
            .fold(&self.state.session, spans, &refs, self.sidecar.fold)?;
        let mut plan = folded(self.engine, spans, &refs, &folding)?;
        let parts = messages.iter().flat_map(|message| &message.parts);
        plan.strip = parts
            .filter_map(|part| match part {
                HostPart::Text { id, text, .. } if is_own(text) => Some(id.clone()),
                _ => None,
            })
            .collect();
        plan.rewrite = without_restored_texts(messages);
        Ok(plan)
    }

    /// Returns the header of the session, which its first request settles.
    fn header(&mut self) -> Result<Option<String>, EngineError> {
        if self.prompt.header.is_none() {
            let sent = self.engine.contexts().sent(&self.session)?;
            self.prompt.header = Some(match sent {
                Some(sent) => sent.header.text,
                None => match self.deliver(None, None)? {
                    Delivery::Header(text) => text,
                    Delivery::Update(_) | Delivery::Nothing => String::new(),
                },
            });
        }
        let header = self.prompt.header.clone();
        Ok(header.filter(|header| !header.is_empty()))
    }

    /// Returns the whole context as it is now.
    fn whole_context(&self) -> Result<Option<String>, EngineError> {
        let whose = ContextTarget::Session(self.session.clone());
        let context = self
            .engine
            .contexts()
            .context(&whose, &ContextOptions::default())?;
        Ok(context
            .map(|context| context.text.clone())
            .filter(|text| !text.is_empty()))
    }

    fn use_model(&mut self, model: Option<&ModelInfo>) -> Result<(), EngineError> {
        let Some(model) = model.filter(|model| self.facts.model.as_ref() != Some(model)) else {
            return Ok(());
        };
        let window = model
            .limit
            .and_then(|limit| usable_window(limit.context, limit.input, limit.output));
        let request = Request::UseModel {
            name: model.name.clone(),
            window,
        };
        self.engine
            .commands()
            .execute(&self.actor(None), &request)?;
        self.facts.model = Some(model.clone());
        Ok(())
    }

    fn activity(&self) -> Result<Activity, EngineError> {
        let known = self.engine.session(&self.session)?;
        Ok(known.map(|known| known.activity).unwrap_or_default())
    }

    /// Handles a compaction: everything that was sent is gone with the history.
    pub(super) fn compacted(&mut self) -> Result<(), EngineError> {
        self.compaction.forget_advice();
        let seen = self.activity()?;
        self.compaction.is_looping = seen.compaction_loop.is_a_loop();
        if self.compaction.is_looping || self.sidecar.placement != Placement::Auto {
            return Ok(());
        }
        let count = u32::try_from(seen.compactions).unwrap_or(u32::MAX);
        let reason = Some(HeaderReason::Compaction { count });
        if let Delivery::Header(text) = self.deliver(None, reason)? {
            self.prompt.header = Some(text);
        }
        Ok(())
    }
}

impl PromptState {
    /// Keeps the first `known` messages and adds the others.
    fn extend(&mut self, known: usize, messages: &[HostMessage]) {
        if known < self.messages.len() {
            self.messages.truncate(known);
            // The last plan was made of other messages.
            self.last = None;
        }
        for message in messages {
            self.messages.push(prompt_message(message));
        }
    }
}

/// Turns a folding into a plan.
fn folded(
    engine: &Engine,
    spans: &mut Spans,
    messages: &PromptMessages,
    folding: &Folding,
) -> Result<RequestPlan, EngineError> {
    let mut insert = Vec::new();
    for (frame, place) in &folding.missing_results {
        let Some(next) = messages.get(*place) else {
            continue;
        };
        insert.push(Insertion {
            before: next.id.clone(),
            id: format!("flame_{frame}"),
            text: engine.results_in_place(spans, frame)?,
        });
    }
    Ok(RequestPlan {
        insert,
        drop: folding
            .dropped(messages)
            .map(|message| message.id.clone())
            .collect(),
        ..RequestPlan::default()
    })
}

fn same_plan(plan: String) -> RequestPlan {
    RequestPlan {
        same: true,
        plan,
        ..RequestPlan::default()
    }
}

/// Returns a name for the content of a plan: equal names mean equal plans.
fn plan_name(plan: &RequestPlan) -> String {
    let mut hash = blake3::Hasher::new();
    let mut add = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for text in plan.drop.iter().chain(&plan.strip) {
        add(text);
    }
    for Insertion { before, id, text } in &plan.insert {
        for text in [before, id, text] {
            add(text);
        }
    }
    for text in [&plan.system, &plan.tail] {
        // The sign keeps an absent text apart from an empty one.
        add(&text
            .as_ref()
            .map(|text| format!("+{text}"))
            .unwrap_or_default());
    }
    hash.finalize().to_hex().chars().take(16).collect()
}

/// Returns the properties of a message that folding needs.
fn prompt_message(message: &HostMessage) -> PromptMessage {
    let mut calls = Vec::new();
    let mut is_spoken = false;
    for part in &message.parts {
        match part {
            HostPart::Text {
                text, is_synthetic, ..
            } => is_spoken |= !is_synthetic && !is_own(text),
            HostPart::Call(call) => calls.push(call.call.clone()),
            _ => {}
        }
    }
    let kind = match message.role {
        HostRole::Assistant if message.is_summary => MessageKind::Summary,
        HostRole::Assistant => MessageKind::Model,
        HostRole::User if is_spoken => MessageKind::Person,
        HostRole::User => MessageKind::Host,
    };
    PromptMessage {
        id: message.id.clone(),
        at: message.at.map(Timestamp),
        kind,
        calls,
    }
}
