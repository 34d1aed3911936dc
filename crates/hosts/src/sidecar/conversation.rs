//! What is kept of one conversation while it is served.
//!
//! All of it can be had again: from the journal, or from the shim, which is asked to send the
//! messages once more.

use std::sync::Arc;

use flamestack_core::brief::Mode;
use flamestack_core::command::Actor;
use flamestack_core::context::{Delivery, Reason};
use flamestack_core::folding::{Folding, Leaf, LeafKind, Leaves};
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_engine::context::{Wanted, Whose};
use flamestack_engine::folding::Spans;
use flamestack_engine::{EngineError, Request};

use super::Sidecar;
use super::compacting::{Advice, rewritten};
use super::copying::Beginning;
use super::entries::came_back;
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
    /// Whether a frame may wait for a summary of it.
    pub(super) waits: bool,
    /// Whether the end of a frame was called a good place to compact since the last compaction.
    pub(super) advice: Advice,
    /// Whether it has begun, and of what it is a copy until then.
    pub(super) beginning: Beginning,
    /// Whether it is compacted again and again, so that nothing is added to it.
    loops: bool,
    /// The messages of the last `prepare`.
    leaves: Leaves,
    spans: Spans,
    /// What was last said of them.
    told: Option<Told>,
    /// What the system prompt ends with, once that is settled.
    header: Option<String>,
    /// The model that the journal knows of.
    model: Option<super::wire::Model>,
    /// When its host last asked for anything.
    asked: Option<Timestamp>,
    /// Whether the host says which conversation started which.
    pub(super) without_parents: bool,
    /// What is still to be handled, by conversation.
    pub(super) queues: Arc<Queues>,
}

/// An answer, as far as it is needed to know whether the next one is the same.
struct Told {
    plan: String,
    folding: Folding,
    system: Option<String>,
    tail: Option<String>,
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
            // Another process may have left it so.
            waits: true,
            advice: Advice::default(),
            beginning: Beginning::default(),
            loops: false,
            leaves: Leaves::default(),
            spans: Spans::default(),
            told: None,
            header: None,
            model: None,
            asked: None,
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
        self.seen.removed = false;
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
        // What a copy has to be told is known once its messages are.
        if self.beginning.is_copy() {
            return Ok(Prompted { append: None });
        }
        // What was handed over to a subagent is what it is told first; a person knows their own
        // words, and a conversation with nothing behind it is told nothing.
        if self.parent.is_some() {
            self.record(sidecar)?;
        }
        let mut append = None;
        if sidecar.placement == Placement::Auto {
            let actor = self.actor(sidecar, Some(&prompt.message.id));
            let resumed = self.was_resumed(sidecar)?;
            if resumed {
                append = self.resuming(sidecar)?;
            }
            let after = resumed.then_some(Reason::Resume);
            match sidecar.engine.deliver(&actor, after, &Wanted::default())? {
                Delivery::Update(text) => append = Some(text),
                Delivery::Header(text) => self.header = Some(text),
                Delivery::Nothing => {}
            }
        }
        Ok(Prompted { append })
    }

    /// Whether the conversation was left for so long that it begins anew. One that has been told
    /// nothing for long, because nothing changed, may be in full swing.
    fn was_resumed(&mut self, sidecar: &Sidecar) -> Result<bool, EngineError> {
        let sent = sidecar
            .engine
            .read(|reading| Ok(reading.last_sent(&self.session)?))?;
        let now = sidecar.engine.clock().now();
        let asked = self.asked.replace(now);
        let Some(sent) = sent else {
            return Ok(false);
        };
        let last = asked.map_or(sent.at, |asked| asked.max(sent.at));
        Ok(now.0.saturating_sub(last.0) > RESUMED_AFTER_MS)
    }

    /// The messages of the next request to the model.
    pub(super) fn prepare(
        &mut self,
        sidecar: &Sidecar,
        prepare: Prepare,
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
        self.begin(sidecar, &prepare.messages)?;
        self.asked = Some(sidecar.engine.clock().now());
        if prepare.known < self.leaves.len() {
            self.leaves.truncate(prepare.known);
            // Something else is in those places now.
            self.told = None;
        }
        for message in &prepare.messages {
            self.leaves.push(leaf(message));
        }
        let delegated = came_back(&prepare.messages);
        self.seen.later(prepare.messages);
        if let Some(cut_off) = delegated {
            self.take_back(sidecar, cut_off)?;
        }
        self.use_model(sidecar, prepare.model.as_ref())?;
        let (mut system, mut tail) = (None, None);
        if self.loops && !self.is_looping(sidecar)? {
            self.compacted(sidecar)?;
        }
        match sidecar.placement {
            _ if self.loops => {}
            Placement::Auto => system = self.header(sidecar)?,
            Placement::System => system = self.everything(sidecar)?,
            Placement::Message => tail = self.everything(sidecar)?,
        }
        let folding =
            sidecar
                .engine
                .fold(&self.session, &mut self.spans, &self.leaves, sidecar.fold)?;
        // Most requests only add to the one before: what is left out of it stays what it was.
        let again = self.told.as_ref().filter(|told| {
            told.folding == folding
                && told.system == system
                && told.tail == tail
                && prepare.has.as_ref() == Some(&told.plan)
        });
        if let Some(told) = again {
            return Ok(Prepared {
                same: true,
                plan: told.plan.clone(),
                ..Prepared::default()
            });
        }
        let prepared = Prepared {
            system: system.clone(),
            tail: tail.clone(),
            ..folded(sidecar, &mut self.spans, &self.leaves, &folding)?
        };
        let prepared = named(prepared, prepare.has.as_deref());
        self.told = Some(Told {
            plan: prepared.plan.clone(),
            folding,
            system,
            tail,
        });
        Ok(prepared)
    }

    /// Learns of what was finished, so that the next request need not wait for that.
    pub(super) fn look_ahead(&mut self, sidecar: &Sidecar) -> Result<(), EngineError> {
        sidecar
            .engine
            .look_for_finished(&self.session, &mut self.spans, sidecar.fold)
    }

    /// What goes to the summariser: folded, and without what is ours. Nothing is added.
    fn prepare_summary(
        &mut self,
        sidecar: &Sidecar,
        messages: &[Message],
    ) -> Result<Prepared, EngineError> {
        let leaves: Leaves = messages.iter().map(leaf).collect();
        let spans = &mut self.spans;
        let folding = sidecar
            .engine
            .fold(&self.session, spans, &leaves, sidecar.fold)?;
        let mut prepared = folded(sidecar, spans, &leaves, &folding)?;
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

    /// Whether compactions follow each other without anything done in between.
    fn is_looping(&self, sidecar: &Sidecar) -> Result<bool, EngineError> {
        let seen = sidecar
            .engine
            .read(|reading| Ok(reading.conversation(&self.session)?))?;
        Ok(seen.streak.is_a_loop())
    }

    /// The history was replaced: what the conversation was told is gone with it.
    pub(super) fn compacted(&mut self, sidecar: &Sidecar) -> Result<(), EngineError> {
        self.advice = Advice::default();
        self.loops = self.is_looping(sidecar)?;
        if self.loops {
            return Ok(());
        }
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

/// A folding in the protocol's words.
fn folded(
    sidecar: &Sidecar,
    spans: &mut Spans,
    leaves: &Leaves,
    folding: &Folding,
) -> Result<Prepared, EngineError> {
    let mut insert = Vec::new();
    for (frame, place) in &folding.untold {
        let Some(next) = leaves.get(*place) else {
            continue;
        };
        insert.push(Insertion {
            before: next.id.clone(),
            id: format!("flame_{frame}"),
            text: sidecar.engine.results_in_place(spans, frame)?,
        });
    }
    Ok(Prepared {
        insert,
        drop: folding
            .dropped(leaves)
            .map(|leaf| leaf.id.clone())
            .collect(),
        ..Prepared::default()
    })
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
