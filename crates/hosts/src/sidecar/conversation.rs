//! What is kept of one conversation while it is served.
//!
//! All of it can be had again: from the journal, or from the shim, which is asked to send the
//! messages once more.

use std::sync::Arc;

use flamestack_core::brief::Mode;
use flamestack_core::command::Actor;
use flamestack_core::context::{Delivery, Reason};
use flamestack_core::folding::{Leaf, LeafKind};
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_engine::context::{Wanted, Whose};
use flamestack_engine::folding::Spans;
use flamestack_engine::{EngineError, Request};

use super::Sidecar;
use super::compacting::rewritten;
use super::observing::Seen;
use super::queues::Queues;
use super::wire::{
    Insertion, Message, Part, Placement, Prepare, Prepared, Prompt, Prompted, Role, TodoItem,
};

/// A conversation that has been silent for so long is taken up anew: no provider keeps a prompt in
/// its cache for so long, so a new header costs nothing.
const RESUMED_AFTER_MS: i64 = 60 * 60 * 1000;

/// What hosts call the agent that plans and changes nothing.
const PLANNER: &str = "plan";

/// One conversation.
pub(super) struct Conversation {
    pub(super) session: SessionRef,
    /// The conversation that started it.
    pub(super) parent: Option<SessionRef>,
    /// What was seen of it.
    pub(super) seen: Seen,
    /// The host's to-do list.
    pub(super) todos: Vec<TodoItem>,
    /// Whether the host lets the model change anything.
    pub(super) mode: Mode,
    /// The messages of the last `prepare`.
    leaves: Vec<Leaf>,
    spans: Spans,
    /// What the system prompt ends with, once that is settled.
    header: Option<String>,
    /// The model that the journal knows of.
    model: Option<super::wire::Model>,
    /// Whether the host says which conversation started which.
    pub(super) without_parents: bool,
    /// What is still to be handled, by conversation.
    pub(super) queues: Arc<Queues>,
}

/// Whether a text in a conversation was put there by Flamestack.
pub(super) fn is_ours(text: &str) -> bool {
    let text = text.trim_start();
    ["<stack-update", "<stack-context", "<frame-results"]
        .iter()
        .any(|start| text.starts_with(start))
}

impl Conversation {
    pub(super) fn new(session: SessionRef, without_parents: bool, queues: Arc<Queues>) -> Self {
        Self {
            session,
            parent: None,
            seen: Seen::default(),
            todos: Vec::new(),
            mode: Mode::default(),
            leaves: Vec::new(),
            spans: Spans::default(),
            header: None,
            model: None,
            without_parents,
            queues,
        }
    }

    pub(super) fn actor(&self, sidecar: &Sidecar, message: Option<&str>) -> Actor {
        Actor {
            session: self.session.clone(),
            worktree: sidecar.worktree.clone(),
            message: message.map(str::to_owned),
        }
    }

    /// A user's message, before it is part of the conversation.
    pub(super) fn prompt(
        &mut self,
        sidecar: &Sidecar,
        prompt: &Prompt,
    ) -> Result<Prompted, EngineError> {
        self.saw(std::slice::from_ref(&prompt.message));
        if self.without_parents {
            sidecar.engine.settle_idle()?;
        }
        if let Some(agent) = &prompt.agent {
            self.mode = if agent == PLANNER {
                Mode::ReadOnly
            } else {
                Mode::Ordinary
            };
        }
        // What was handed over to a subagent is what it is told first; a person knows their own
        // words, and a conversation with nothing behind it is told nothing.
        if self.parent.is_some() {
            self.record(sidecar)?;
        }
        let mut append = None;
        if sidecar.placement == Placement::Auto {
            let actor = self.actor(sidecar, Some(&prompt.message.id));
            let resumed = self.was_resumed(sidecar)?.then_some(Reason::Resume);
            match sidecar
                .engine
                .deliver(&actor, resumed, &Wanted::default())?
            {
                Delivery::Update(text) => append = Some(text),
                Delivery::Header(text) => self.header = Some(text),
                Delivery::Nothing => {}
            }
        }
        Ok(Prompted { append })
    }

    /// Whether the conversation was left for so long that it begins anew.
    fn was_resumed(&self, sidecar: &Sidecar) -> Result<bool, EngineError> {
        let last = sidecar
            .engine
            .read(|reading| Ok(reading.last_sent(&self.session)?))?;
        let now = sidecar.engine.clock().now();
        Ok(last.is_some_and(|last| now.0.saturating_sub(last.at.0) > RESUMED_AFTER_MS))
    }

    /// The messages of the next request to the model.
    pub(super) fn prepare(
        &mut self,
        sidecar: &Sidecar,
        prepare: &Prepare,
    ) -> Result<Prepared, EngineError> {
        if prepare.compacting {
            return self.prepare_summary(sidecar, &prepare.messages);
        }
        if prepare.known > self.leaves.len() {
            return Ok(Prepared {
                resync: true,
                ..Prepared::default()
            });
        }
        self.leaves.truncate(prepare.known);
        self.leaves.extend(prepare.messages.iter().map(leaf));
        self.saw(&prepare.messages);
        self.take_back(sidecar, &prepare.messages)?;
        self.use_model(sidecar, prepare.model.as_ref())?;
        let leaves = std::mem::take(&mut self.leaves);
        let folded = self.folded(sidecar, &leaves);
        self.leaves = leaves;
        let mut prepared = folded?;
        match sidecar.placement {
            Placement::Auto => prepared.system = self.header(sidecar)?,
            Placement::System => prepared.system = self.everything(sidecar)?,
            Placement::Message => prepared.tail = self.everything(sidecar)?,
        }
        Ok(named(prepared, prepare.has.as_deref()))
    }

    /// What goes to the summariser: folded, and without what is ours. Nothing is added.
    fn prepare_summary(
        &mut self,
        sidecar: &Sidecar,
        messages: &[Message],
    ) -> Result<Prepared, EngineError> {
        let leaves: Vec<Leaf> = messages.iter().map(leaf).collect();
        let mut prepared = self.folded(sidecar, &leaves)?;
        let parts = messages.iter().flat_map(|message| &message.parts);
        prepared.strip = parts
            .filter_map(|part| match part {
                Part::Text { id, text, .. } if is_ours(text) => Some(id.clone()),
                _ => None,
            })
            .collect();
        prepared.rewrite = rewritten(messages);
        Ok(prepared)
    }

    fn folded(&mut self, sidecar: &Sidecar, leaves: &[Leaf]) -> Result<Prepared, EngineError> {
        let folded = sidecar
            .engine
            .fold(&self.session, &mut self.spans, leaves, sidecar.fold)?;
        let insert = folded.results.into_iter().map(|untold| Insertion {
            before: untold.before,
            id: format!("flame_{}", untold.frame),
            text: untold.text,
        });
        Ok(Prepared {
            insert: insert.collect(),
            drop: folded.dropped,
            ..Prepared::default()
        })
    }

    /// The header that this conversation was sent; it is settled by its first message.
    fn header(&mut self, sidecar: &Sidecar) -> Result<Option<String>, EngineError> {
        if self.header.is_none() {
            self.header = if let Some(sent) = sidecar.engine.sent(&self.session)? {
                Some(sent.header.text)
            } else {
                let actor = self.actor(sidecar, None);
                match sidecar.engine.deliver(&actor, None, &Wanted::default())? {
                    Delivery::Header(text) => Some(text),
                    Delivery::Update(_) | Delivery::Nothing => Some(String::new()),
                }
            };
        }
        Ok(self.header.clone().filter(|header| !header.is_empty()))
    }

    /// The whole context as it is now.
    fn everything(&self, sidecar: &Sidecar) -> Result<Option<String>, EngineError> {
        let whose = Whose::Session(self.session.clone());
        let context = sidecar.engine.context(&whose, &Wanted::default())?;
        Ok(context
            .map(|context| context.text.clone())
            .filter(|text| !text.is_empty()))
    }

    fn use_model(
        &mut self,
        sidecar: &Sidecar,
        model: Option<&super::wire::Model>,
    ) -> Result<(), EngineError> {
        let Some(model) = model.filter(|model| self.model.as_ref() != Some(model)) else {
            return Ok(());
        };
        let request = Request::UseModel {
            name: model.name.clone(),
            window: model.window.filter(|window| *window > 0),
        };
        sidecar
            .engine
            .execute(&self.actor(sidecar, None), &request)?;
        self.model = Some(model.clone());
        Ok(())
    }

    /// The history was replaced: what the conversation was told is gone with it.
    pub(super) fn compacted(&mut self, sidecar: &Sidecar) -> Result<(), EngineError> {
        if sidecar.placement != Placement::Auto {
            return Ok(());
        }
        let actor = self.actor(sidecar, None);
        let seen = sidecar
            .engine
            .read(|reading| Ok(reading.conversation(&self.session)?))?;
        let count = u32::try_from(seen.compactions).unwrap_or(u32::MAX);
        let reason = Some(Reason::Compaction { count });
        if let Delivery::Header(text) =
            sidecar.engine.deliver(&actor, reason, &Wanted::default())?
        {
            self.header = Some(text);
        }
        Ok(())
    }
}

/// Gives a plan its name, and leaves it out where the shim holds it already.
fn named(prepared: Prepared, held: Option<&str>) -> Prepared {
    let mut hash = blake3::Hasher::new();
    let mut add = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for text in prepared.drop.iter().chain(&prepared.strip) {
        add(text);
    }
    for Insertion { before, id, text } in &prepared.insert {
        for text in [before, id, text] {
            add(text);
        }
    }
    for text in [&prepared.system, &prepared.tail] {
        // One sign more than the text, so that none is not the same as an empty one.
        add(&text
            .as_ref()
            .map(|text| format!("+{text}"))
            .unwrap_or_default());
    }
    let plan = hash
        .finalize()
        .to_hex()
        .chars()
        .take(16)
        .collect::<String>();
    if held == Some(plan.as_str()) {
        Prepared {
            same: true,
            plan,
            ..Prepared::default()
        }
    } else {
        Prepared { plan, ..prepared }
    }
}

/// A message as far as folding cares.
fn leaf(message: &Message) -> Leaf {
    let mut calls = Vec::new();
    let mut spoken = false;
    for part in &message.parts {
        match part {
            Part::Text {
                text, synthetic, ..
            } => spoken |= !synthetic && !is_ours(text),
            Part::Call { call, .. } => calls.push(call.clone()),
            Part::Thinking { .. } | Part::Changed { .. } | Part::Compaction { .. } => {}
        }
    }
    let kind = match message.role {
        Role::Assistant if message.summary => LeafKind::Summary,
        Role::Assistant => LeafKind::Model,
        Role::User if spoken => LeafKind::Person,
        Role::User => LeafKind::Host,
    };
    Leaf {
        id: message.id.clone(),
        at: message.at.map(Timestamp),
        kind,
        calls,
    }
}
