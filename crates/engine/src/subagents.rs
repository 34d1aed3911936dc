//! Subagents of a project: how they are tracked here, what is told of them, and ending one by hand.
//!
//! What an event means for a subagent is `flamestack_core::subagent`'s to say. Titles matter only on
//! hosts that do not say which conversation started which.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::command::Actor;
use flamestack_core::frame::FrameHead;
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_core::session::Conversation;
use flamestack_core::subagent::{self, Framing, Run, State};
use flamestack_core::transcript::{Entry, Usage, What};
use flamestack_store::Reading;

use crate::Engine;
use crate::error::EngineError;
use crate::settings::{self, Change, Patterns, Settings};
use crate::witness::View;

/// How far down a tree of subagents is followed.
const DEEPEST: usize = 64;

/// Gathers the settings afresh, for whoever has just changed one.
pub type Gather = Box<dyn Fn() -> Result<Settings, EngineError> + Send + Sync>;

/// How subagents are tracked.
#[derive(Clone, Debug)]
pub struct Tracking {
    /// Which of them become frames.
    pub framing: Framing,
    /// Titles by which they are known where a host gives no ids.
    pub patterns: Patterns,
    /// After how many idle milliseconds one without ids is complete, if ever.
    pub complete_after: Option<i64>,
    /// For how many milliseconds those that have ended are listed.
    pub listed_for: i64,
}

impl Default for Tracking {
    /// Every subagent is a frame, and none is known by its title.
    fn default() -> Self {
        Self {
            framing: Framing::ALL,
            patterns: Patterns::default(),
            complete_after: None,
            listed_for: 60 * 60 * 1000,
        }
    }
}

impl Tracking {
    /// What the settings say.
    pub fn from_settings(settings: &Settings) -> Result<Self, EngineError> {
        let number = |name: &str| -> Result<i64, EngineError> {
            let number = settings.number(&format!("subagents.{name}"))?;
            Ok(i64::try_from(number).unwrap_or(i64::MAX))
        };
        let idle_delay = number("idle_delay")?;
        Ok(Self {
            framing: Framing {
                enabled: settings.switch("subagents.enabled")?,
                min_duration: number("min_duration")?,
                min_messages: settings.number("subagents.min_messages")?,
            },
            patterns: settings.patterns("subagents.patterns")?,
            complete_after: settings
                .switch("subagents.auto_complete")?
                .then_some(idle_delay),
            listed_for: number("cleanup_after")?,
        })
    }
}

/// A subagent with everything that is told of it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The subagent.
    pub run: Run,
    /// How many subagents there are above it.
    pub depth: usize,
    /// Its frame, if it has one.
    pub frame: Option<FrameHead>,
    /// What was seen of its own conversation.
    pub seen: Conversation,
    /// What it spent together with those that it started.
    pub spent: Usage,
}

impl Listed {
    /// What it is to do.
    pub fn goal(&self) -> &str {
        let frame = self.frame.as_ref().map(|frame| frame.title.as_str());
        let goal = self.run.goal.as_ref().map(flamestack_core::Title::as_str);
        goal.or(frame).unwrap_or("(not known yet)")
    }

    /// How many messages its conversation has.
    pub fn messages(&self) -> u64 {
        self.seen.prompts.saturating_add(self.seen.calls)
    }
}

/// Subagents, each behind the one that started it, and what they spent together.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// The subagents.
    pub listed: Vec<Listed>,
    /// What the conversation at the top spent itself.
    pub own: Usage,
    /// And together with all below it.
    pub spent: Usage,
}

/// The subagents below a conversation.
pub fn family(reading: &dyn Reading, session: &SessionRef) -> Result<Family, EngineError> {
    let mut family = Family {
        own: reading.conversation(session)?.spent,
        ..Family::default()
    };
    let mut met = BTreeSet::from([session.clone()]);
    family.spent = below(reading, session, 0, &mut met, &mut family.listed)?;
    family.spent.add(&family.own);
    Ok(family)
}

/// The subagents of the tree that a conversation belongs to; itself, where it is one of nobody knows
/// whom.
pub fn tree_of(reading: &dyn Reading, session: &SessionRef) -> Result<Family, EngineError> {
    let top = top(reading, session)?;
    match reading.run(&top)? {
        Some(run) => {
            let mut family = Family::default();
            let mut met = BTreeSet::from([top]);
            family.spent = one(reading, run, 0, &mut met, &mut family.listed)?;
            Ok(family)
        }
        None => family(reading, &top),
    }
}

/// All subagents of a project, those without a known parent too.
pub fn everywhere(reading: &dyn Reading) -> Result<Family, EngineError> {
    let mut family = Family::default();
    let runs = reading.runs(false)?;
    let known: BTreeSet<&SessionRef> = runs.iter().map(|run| &run.session).collect();
    let mut met = BTreeSet::new();
    for run in &runs {
        let is_top = run
            .parent
            .as_ref()
            .is_none_or(|parent| !known.contains(parent));
        if is_top && met.insert(run.session.clone()) {
            let spent = one(reading, run.clone(), 0, &mut met, &mut family.listed)?;
            family.spent.add(&spent);
        }
    }
    Ok(family)
}

fn below(
    reading: &dyn Reading,
    parent: &SessionRef,
    depth: usize,
    met: &mut BTreeSet<SessionRef>,
    listed: &mut Vec<Listed>,
) -> Result<Usage, EngineError> {
    let mut spent = Usage::default();
    if depth >= DEEPEST {
        return Ok(spent);
    }
    for run in reading.runs_of(parent)? {
        if met.insert(run.session.clone()) {
            spent.add(&one(reading, run, depth, met, listed)?);
        }
    }
    Ok(spent)
}

fn one(
    reading: &dyn Reading,
    run: Run,
    depth: usize,
    met: &mut BTreeSet<SessionRef>,
    listed: &mut Vec<Listed>,
) -> Result<Usage, EngineError> {
    let session = run.session.clone();
    let own = reading.session(&session)?.and_then(|known| known.own);
    let frame = match own {
        Some(own) => reading.frame(&own)?,
        None => None,
    };
    let seen = reading.conversation(&session)?;
    let place = listed.len();
    let mut spent = seen.spent.clone();
    listed.push(Listed {
        run,
        depth,
        frame,
        seen,
        spent: Usage::default(),
    });
    spent.add(&below(reading, &session, depth + 1, met, listed)?);
    if let Some(entry) = listed.get_mut(place) {
        entry.spent = spent.clone();
    }
    Ok(spent)
}

/// The conversation at the top of the tree that a conversation belongs to.
fn top(reading: &dyn Reading, session: &SessionRef) -> Result<SessionRef, EngineError> {
    let mut top = session.clone();
    for _ in 0..DEEPEST {
        match reading.run(&top)?.and_then(|run| run.parent) {
            Some(parent) if parent != *session => top = parent,
            _ => break,
        }
    }
    Ok(top)
}

impl Engine {
    /// The same engine with other ways to track subagents; `gather` reads the settings again once
    /// somebody has changed them here.
    #[must_use]
    pub fn with_subagents(mut self, tracking: Tracking, gather: Gather) -> Self {
        self.set_tracking(tracking);
        self.gather = Some(gather);
        self
    }

    /// The settings as they are now.
    pub fn settings(&self) -> Result<Settings, EngineError> {
        match &self.gather {
            Some(gather) => gather(),
            None => Ok(Settings::built_in()),
        }
    }

    /// Changes settings of this project, on this machine. What is refused changes nothing.
    pub fn configure(&self, changes: &[Change]) -> Result<Settings, EngineError> {
        settings::change(&self.project().settings_file(), changes)?;
        let settings = self.settings()?;
        self.set_tracking(Tracking::from_settings(&settings)?);
        Ok(settings)
    }

    /// A subagent that is given the same task as one that has not ended, started in another
    /// message: those of one message are meant to run beside each other.
    pub fn already_running(
        &self,
        session: &SessionRef,
        message: Option<&str>,
        kind: Option<&str>,
        prompt: &str,
    ) -> Result<Option<Listed>, EngineError> {
        let Some(task) = subagent::task(session, kind, prompt) else {
            return Ok(None);
        };
        self.read(|reading| {
            let family = tree_of(reading, session)?;
            let same = |listed: &Listed| {
                let run = &listed.run;
                let beside = run.parent.as_ref() == Some(session)
                    && message.is_some()
                    && run.message.as_deref() == message;
                run.state.is_in_flight() && run.task == Some(task) && !beside
            };
            Ok(family.listed.into_iter().find(same))
        })
    }

    /// Completes subagents that a host gives no ids for once they have been idle for long enough:
    /// there, nothing else says that they have ended.
    pub fn settle_idle(&self) -> Result<(), EngineError> {
        let Some(delay) = self.tracking().complete_after else {
            return Ok(());
        };
        let now = self.clock().now();
        let idle = self.read(|reading| {
            let mut idle = BTreeMap::new();
            for run in reading.runs(true)? {
                let long = now.0.saturating_sub(run.active.0) >= delay;
                if run.parent.is_none() && run.state == State::Idle && long {
                    let said = reading.conversation(&run.session)?.said;
                    idle.insert(run.session, said);
                }
            }
            Ok(idle)
        })?;
        for (session, said) in idle {
            let text = said.map(|said| said.as_str().to_owned());
            self.end(&session, None, true, text.unwrap_or_default(), false)?;
        }
        Ok(())
    }

    /// Ends a subagent because somebody says so: its frame keeps what it came to.
    pub fn end_subagent(
        &self,
        session: &SessionRef,
        ok: bool,
        summary: Option<&str>,
    ) -> Result<(), EngineError> {
        let (run, said) = self.read(|reading| {
            let said = reading.conversation(session)?.said;
            Ok((reading.run(session)?, said))
        })?;
        let run = run.ok_or_else(|| EngineError::BadInput(format!("{session} is no subagent")))?;
        if !run.state.is_in_flight() {
            return Err(EngineError::BadInput(format!(
                "{session} has ended already: it is {}",
                run.state
            )));
        }
        let text = summary.map(str::to_owned);
        let text = text.or_else(|| said.map(|said| said.as_str().to_owned()));
        self.end(session, run.parent, ok, text.unwrap_or_default(), true)
    }

    fn end(
        &self,
        session: &SessionRef,
        parent: Option<SessionRef>,
        ok: bool,
        text: String,
        kept: bool,
    ) -> Result<(), EngineError> {
        let actor = Actor {
            session: parent.unwrap_or_else(|| session.clone()),
            worktree: None,
            message: None,
        };
        let ended = Entry {
            id: None,
            message: None,
            at: None,
            agent: None,
            what: What::SubagentEnded {
                id: session.id().to_owned(),
                ok,
                text,
            },
        };
        let view = View {
            keeps_frames: kept,
            ..View::default()
        };
        self.witness_as(&actor, &view, &[ended])?;
        Ok(())
    }

    /// From when on statistics count.
    pub(crate) fn counted_since(&self) -> Option<Timestamp> {
        let text = fs_err::read_to_string(self.since_file()).ok()?;
        text.trim().parse().ok().map(Timestamp)
    }

    /// Statistics count from now on.
    pub(crate) fn count_from_now(&self) -> Result<(), EngineError> {
        flamestack_store::private_dir(&self.project().dir)?;
        let now = self.clock().now().0;
        crate::engine::write_private(&self.since_file(), &format!("{now}\n"))
    }

    fn since_file(&self) -> std::path::PathBuf {
        self.project().dir.join("subagents-since")
    }
}
