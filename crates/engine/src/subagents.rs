//! Subagents of a project: tracking, lists with costs, and ending one by hand.
//!
//! `flamestack_core::subagent` folds their state from events. Titles matter only on hosts that do not
//! say which session started which.

use std::collections::BTreeSet;

use flamestack_core::id::Timestamp;
use flamestack_core::session::Activity;
use flamestack_core::subagent::{self, EndedBy, Framing, SubagentRun, SubagentState};
use flamestack_core::transcript::{Entry, EntryKind, Usage};
use flamestack_core::{Actor, Author, FrameHead, Session, SessionRef};
use flamestack_store::Reading;

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::ingest::IngestOptions;
use crate::ingest::topics::Track;
use crate::settings::{self, Change, Patterns, Settings};

/// Maximum depth of a tree of subagents.
const DEEPEST: usize = 64;

/// Reads the settings again after a change.
pub type Gather = Box<dyn Fn() -> Result<Settings> + Send + Sync>;

/// Ways to track subagents.
#[derive(Clone, Debug)]
pub struct Tracking {
    /// Selects the work that becomes a frame without a tool call.
    pub track: Track,
    /// Selects the subagents that become frames.
    pub framing: Framing,
    /// Titles that identify subagents where a host gives no ids.
    pub patterns: Patterns,
    /// Idle milliseconds after which a subagent without ids is complete, if ever.
    pub complete_after: Option<i64>,
    /// Milliseconds for which ended subagents are listed.
    pub listed_for: i64,
}

impl Default for Tracking {
    /// Makes every subagent a frame, and identifies none by its title.
    fn default() -> Self {
        Self {
            track: Track::default(),
            framing: Framing::ALL,
            patterns: Patterns::default(),
            complete_after: None,
            listed_for: 60 * 60 * 1000,
        }
    }
}

impl Tracking {
    /// Reads the settings.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        let number = |name: &str| -> Result<i64> {
            let number = settings.number(&format!("subagents.{name}"))?;
            Ok(i64::try_from(number).unwrap_or(i64::MAX))
        };
        let idle_delay = number("idle_delay")?;
        let track = Track::from_name(settings.get("track")?.text.trim()).unwrap_or_default();
        Ok(Self {
            track,
            framing: Framing {
                enabled: settings.switch("subagents.enabled")? && track != Track::Off,
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

/// A subagent with its frame, its activity and its costs.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The subagent.
    pub run: SubagentRun,
    /// Number of subagents above it.
    pub depth: usize,
    /// Its frame, if it has one.
    pub frame: Option<FrameHead>,
    /// Activity of its own session.
    pub seen: Activity,
    /// Cost of it and of the subagents that it started.
    pub spent: Usage,
}

impl Listed {
    /// Returns its goal.
    pub fn goal(&self) -> &str {
        let frame = self.frame.as_ref().map(|frame| frame.title.as_str());
        let goal = self.run.goal.as_ref().map(flamestack_core::Title::as_str);
        goal.or(frame).unwrap_or("(not known yet)")
    }

    /// Returns the number of messages in its session.
    pub fn messages(&self) -> u64 {
        self.seen.prompts.saturating_add(self.seen.calls)
    }
}

/// Subagents, each after the one that started it, and their total cost.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// The subagents.
    pub listed: Vec<Listed>,
    /// Cost of the session at the top and of all below it.
    pub spent: Usage,
}

/// Returns the subagents below a session.
pub fn family(reading: &dyn Reading, session: &SessionRef) -> Result<Family> {
    let mut walk = Walk::from(reading, session);
    let mut spent = walk.below(session, 0)?;
    let own = reading.session(session)?.map(|known| known.activity.spent);
    spent.add(&own.unwrap_or_default());
    let listed = walk.listed;
    Ok(Family { listed, spent })
}

/// Returns the subagents of the tree that a session belongs to, or the session itself if it is a
/// subagent without a known parent.
pub fn tree_of(reading: &dyn Reading, session: &SessionRef) -> Result<Family> {
    let top = top(reading, session)?;
    match reading.session(&top)?.and_then(|known| known.run) {
        Some(run) => {
            let mut walk = Walk::from(reading, &top);
            let spent = walk.add(run, 0)?;
            let listed = walk.listed;
            Ok(Family { listed, spent })
        }
        None => family(reading, &top),
    }
}

/// Returns the subagents of the tree that a session belongs to, and those that its host did not say
/// the parent of.
pub fn visible_to(reading: &dyn Reading, session: &SessionRef) -> Result<Family> {
    let mut family = tree_of(reading, session)?;
    let listed = family.listed.iter().map(|one| one.run.session.clone());
    let mut walk = Walk {
        reading,
        met: listed.chain([session.clone()]).collect(),
        listed: std::mem::take(&mut family.listed),
    };
    for run in reading.runs(false)? {
        let is_stray = run.parent.is_none() && run.session.host() == session.host();
        if is_stray && walk.met.insert(run.session.clone()) {
            family.spent.add(&walk.add(run, 0)?);
        }
    }
    family.listed = walk.listed;
    Ok(family)
}

/// Returns all subagents of a project, also those without a known parent.
pub fn everywhere(reading: &dyn Reading) -> Result<Family> {
    let runs = reading.runs(false)?;
    let known: BTreeSet<SessionRef> = runs.iter().map(|run| run.session.clone()).collect();
    let mut walk = Walk {
        reading,
        met: BTreeSet::new(),
        listed: Vec::new(),
    };
    let mut spent = Usage::default();
    for run in runs {
        let parent = run.parent.as_ref();
        let is_top = parent.is_none_or(|parent| !known.contains(parent));
        if is_top && walk.met.insert(run.session.clone()) {
            spent.add(&walk.add(run, 0)?);
        }
    }
    let listed = walk.listed;
    Ok(Family { listed, spent })
}

/// A walk through a tree of subagents, from the top.
struct Walk<'r> {
    reading: &'r dyn Reading,
    met: BTreeSet<SessionRef>,
    listed: Vec<Listed>,
}

impl<'r> Walk<'r> {
    fn from(reading: &'r dyn Reading, top: &SessionRef) -> Self {
        Self {
            reading,
            met: BTreeSet::from([top.clone()]),
            listed: Vec::new(),
        }
    }

    /// Lists the subagents that a session started, and returns their cost.
    fn below(&mut self, parent: &SessionRef, depth: usize) -> Result<Usage> {
        let mut spent = Usage::default();
        if depth >= DEEPEST {
            return Ok(spent);
        }
        for run in self.reading.runs_of(parent)? {
            if self.met.insert(run.session.clone()) {
                spent.add(&self.add(run, depth)?);
            }
        }
        Ok(spent)
    }

    /// Lists a subagent and those that it started, and returns their cost.
    fn add(&mut self, run: SubagentRun, depth: usize) -> Result<Usage> {
        let session = run.session.clone();
        let known = self.reading.session(&session)?;
        let known = known.unwrap_or_else(|| Session::new(session.clone()));
        let frame = match known.own {
            Some(own) => self.reading.frame(&own)?,
            None => None,
        };
        let place = self.listed.len();
        let mut spent = known.activity.spent.clone();
        self.listed.push(Listed {
            run,
            depth,
            frame,
            seen: known.activity,
            spent: Usage::default(),
        });
        spent.add(&self.below(&session, depth + 1)?);
        if let Some(entry) = self.listed.get_mut(place) {
            entry.spent = spent.clone();
        }
        Ok(spent)
    }
}

/// Returns the session at the top of the tree that a session belongs to.
fn top(reading: &dyn Reading, session: &SessionRef) -> Result<SessionRef> {
    let mut top = session.clone();
    for _ in 0..DEEPEST {
        let run = reading.session(&top)?.and_then(|known| known.run);
        match run.and_then(|run| run.parent) {
            Some(parent) if parent != *session => top = parent,
            _ => break,
        }
    }
    Ok(top)
}

impl Engine {
    /// Sets the ways to track subagents; `gather` reads the settings again after a change through this
    /// engine.
    #[must_use]
    pub fn with_subagents(mut self, tracking: Tracking, gather: Gather) -> Self {
        self.set_tracking(tracking);
        self.gather = Some(gather);
        self
    }

    /// Returns the current settings.
    pub fn settings(&self) -> Result<Settings> {
        match &self.gather {
            Some(gather) => gather(),
            None => Ok(Settings::built_in()),
        }
    }

    /// Changes settings of this project on this machine. A refused change changes nothing.
    pub fn configure(&self, changes: &[Change]) -> Result<Settings> {
        settings::change(&self.project().settings_file(), changes)?;
        let settings = self.settings()?;
        self.set_tracking(Tracking::from_settings(&settings)?);
        Ok(settings)
    }

    /// Returns a subagent in flight with the same task that was started by another message: those of one
    /// message are meant to run in parallel.
    pub fn already_running(
        &self,
        session: &SessionRef,
        message: Option<&str>,
        kind: Option<&str>,
        prompt: &str,
    ) -> Result<Option<Listed>> {
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

    /// Completes subagents without ids once they have been idle for long enough: on such hosts nothing
    /// else says that they have ended.
    pub fn settle_idle(&self) -> Result<()> {
        let Some(delay) = self.tracking().complete_after else {
            return Ok(());
        };
        let now = self.clock().now();
        let idle = self.read(|reading| {
            let mut idle = Vec::new();
            for run in reading.runs(true)? {
                let long = now.0.saturating_sub(run.active.0) >= delay;
                if run.parent.is_none() && run.state == SubagentState::Idle && long {
                    idle.extend(reading.session(&run.session)?);
                }
            }
            Ok(idle)
        })?;
        for Session { key, activity, .. } in idle {
            let text = last_words(&activity);
            let options = IngestOptions {
                ended_by: EndedBy::Idle,
                ..IngestOptions::default()
            };
            self.end(&key, None, true, text, &options)?;
        }
        Ok(())
    }

    /// Ends a subagent at the request of the user or the model; its frame keeps its output.
    pub fn end_subagent(
        &self,
        session: &SessionRef,
        ok: bool,
        summary: Option<&str>,
    ) -> Result<()> {
        let known = self.session(session)?;
        let Some((run, activity)) = known.and_then(|known| Some((known.run?, known.activity)))
        else {
            let problem = format!("{session} is not a subagent");
            return Err(EngineError::BadInput(problem));
        };
        if !run.state.is_in_flight() {
            let problem = format!("{session} has ended already: it is {}", run.state);
            return Err(EngineError::BadInput(problem));
        }
        let text = summary.map_or_else(|| last_words(&activity), str::to_owned);
        let options = IngestOptions {
            keeps_frames: true,
            ended_by: EndedBy::Request,
            ..IngestOptions::default()
        };
        self.end(session, run.parent, ok, text, &options)
    }

    fn end(
        &self,
        session: &SessionRef,
        parent: Option<SessionRef>,
        ok: bool,
        text: String,
        options: &IngestOptions,
    ) -> Result<()> {
        let actor = Actor {
            session: parent.unwrap_or_else(|| session.clone()),
            worktree: None,
            message: None,
            by: Author::Agent,
        };
        let id = session.id().to_owned();
        let ended = Entry::from(EntryKind::SubagentEnded { id, ok, text });
        self.ingest_with(&actor, options, &[ended])?;
        Ok(())
    }

    /// Returns the time from which statistics count.
    pub(crate) fn counted_since(&self) -> Option<Timestamp> {
        let text = fs_err::read_to_string(self.since_file()).ok()?;
        text.trim().parse().ok().map(Timestamp)
    }

    /// Restarts the statistics.
    pub(crate) fn count_from_now(&self) -> Result<()> {
        flamestack_store::private_dir(&self.project().dir)?;
        let now = self.clock().now().0;
        crate::workspace::write_private(&self.since_file(), &format!("{now}\n"))
    }

    fn since_file(&self) -> std::path::PathBuf {
        self.project().dir.join("subagents-since")
    }
}

/// Returns the model's last words in a session, if there are any.
fn last_words(activity: &Activity) -> String {
    let said = activity.said.as_ref();
    said.map(|said| said.as_str().to_owned())
        .unwrap_or_default()
}
