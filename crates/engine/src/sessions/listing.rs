//! Sessions with their state, their level and their frame, for views.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flamestack_core::compaction::Compaction;
use flamestack_core::id::Timestamp;
use flamestack_core::session::checkpoint::InterruptionCheckpoint;
use flamestack_core::session::forest::Forest;
use flamestack_core::session::life::{Life, Transition};
use flamestack_core::session::link::{Level, SessionLink};
use flamestack_core::session::state::SessionState;
use flamestack_core::session::status::{LifeStatus, Thresholds};
use flamestack_core::{FrameHead, Session, SessionRef};
use flamestack_store::Reading;

use super::Sessions;
use crate::Engine;
use crate::error::{EngineError, Result};

/// Maximum number of changes of state that are shown of one session.
const MAX_HISTORY: usize = 10_000;
/// Maximum number of compactions that are shown of one session.
const MAX_COMPACTIONS: usize = 100;

/// A session in a list.
#[derive(Clone, Debug)]
pub struct SessionRow {
    /// Its life.
    pub life: Life,
    /// Its state now.
    pub status: LifeStatus,
    /// Everything else that is recorded about it.
    pub session: Session,
    /// Its place in the tree of sessions.
    pub level: Level,
    /// The frame that it works on.
    pub frame: Option<FrameHead>,
    /// True if it runs in the worktree of this project's engine.
    pub is_here: bool,
    /// True if its parent is closed or unknown.
    pub is_orphan: bool,
}

impl SessionRow {
    /// Returns the name of the session.
    pub fn key(&self) -> &SessionRef {
        &self.life.session
    }

    /// Returns the words that describe the session best: its purpose, or the title of its frame.
    pub fn title(&self) -> &str {
        let purpose = self.life.creation.as_ref();
        let purpose = purpose.map(|creation| creation.purpose.as_str());
        let frame = self.frame.as_ref().map(|frame| frame.title.as_str());
        frame.or(purpose).unwrap_or_default()
    }

    /// Returns the name of the agent that works in it.
    pub fn role(&self) -> Option<&str> {
        let described = self.session.description.agent.as_ref();
        let created = self.life.creation.as_ref();
        let kind = self.session.run.as_ref().and_then(|run| run.kind.as_ref());
        described
            .map(flamestack_core::Text::as_str)
            .or(kind.map(flamestack_core::Title::as_str))
            .or(created.and_then(|made| made.agent.as_ref().map(flamestack_core::Text::as_str)))
    }
}

/// A session in full.
#[derive(Clone, Debug)]
pub struct SessionDetails {
    /// The session.
    pub row: SessionRow,
    /// Changes of its state, oldest first.
    pub history: Vec<Transition>,
    /// Its last interruption, with its time.
    pub checkpoint: Option<(Timestamp, InterruptionCheckpoint)>,
    /// Its children.
    pub children: Vec<SessionRow>,
    /// Its ancestors, nearest first: the call stack of agents.
    pub ancestors: Vec<SessionRef>,
    /// Its forks and hand-offs.
    pub links: Vec<SessionLink>,
    /// Its compactions, oldest first.
    pub compactions: Vec<Compaction>,
}

impl Sessions<'_> {
    /// Returns the sessions of the project, those of this worktree first, each parent before its children,
    /// the newest first. Closed ones are only in it if `all` is true.
    pub fn list(&self, all: bool) -> Result<Vec<SessionRow>> {
        let thresholds = self.thresholds()?;
        self.engine.read(|reading| {
            let mut around = Around::read(self.engine, reading, thresholds)?;
            let lives = std::mem::take(&mut around.lives);
            let mut rows = BTreeMap::new();
            for life in lives.into_values() {
                if all || life.state != SessionState::Closed {
                    let row = around.row(life)?;
                    rows.insert(row.key().clone(), row);
                }
            }
            Ok(in_order(rows, &around.forest))
        })
    }

    /// Returns a session in full.
    pub fn show(&self, session: &SessionRef) -> Result<SessionDetails> {
        let thresholds = self.thresholds()?;
        self.engine.read(|reading| {
            let mut around = Around::read(self.engine, reading, thresholds)?;
            let Some(life) = around.lives.remove(session) else {
                return Err(EngineError::UnknownSession(session.to_string()));
            };
            let mut children = Vec::new();
            for child in around.forest.children(session).to_vec() {
                if let Some(life) = around.lives.remove(&child) {
                    children.push(around.row(life)?);
                }
            }
            children.sort_by_key(|row| (row.life.times.opened, row.key().clone()));
            Ok(SessionDetails {
                row: around.row(life)?,
                history: reading.transitions(session, MAX_HISTORY)?,
                checkpoint: reading.interruptions(session, 1)?.pop(),
                children,
                ancestors: around.forest.ancestors(session),
                links: reading.links(session)?,
                compactions: reading.compactions(session, MAX_COMPACTIONS)?,
            })
        })
    }

    /// Returns the forks and hand-offs of all sessions.
    pub fn links(&self) -> Result<Vec<SessionLink>> {
        self.engine.read(|reading| Ok(reading.all_links()?))
    }
}

/// All sessions around one that is shown.
struct Around<'r> {
    reading: &'r dyn Reading,
    lives: BTreeMap<SessionRef, Life>,
    states: BTreeMap<SessionRef, SessionState>,
    forest: Forest,
    thresholds: Thresholds,
    now: Timestamp,
    worktree: &'r str,
}

impl<'r> Around<'r> {
    fn read(engine: &'r Engine, reading: &'r dyn Reading, thresholds: Thresholds) -> Result<Self> {
        let lives = reading.lives(false)?;
        let forest = Forest::of(&lives);
        let state = |life: &Life| (life.session.clone(), life.state);
        Ok(Self {
            reading,
            states: lives.iter().map(state).collect(),
            lives: lives
                .into_iter()
                .map(|life| (life.session.clone(), life))
                .collect(),
            forest,
            thresholds,
            now: engine.clock().now(),
            worktree: &engine.project().worktree,
        })
    }

    fn row(&self, life: Life) -> Result<SessionRow> {
        let session = self.reading.session(&life.session)?;
        let session = session.unwrap_or_else(|| Session::new(life.session.clone()));
        let frame = session.frame();
        let frame = frame.map(|frame| self.reading.frame(&frame)).transpose()?;
        let is_lost = |parent: &SessionRef| {
            let state = self.states.get(parent);
            state.is_none_or(|state| *state == SessionState::Closed)
        };
        Ok(SessionRow {
            status: life.status(self.now, &self.thresholds),
            level: self.forest.level(&life.session),
            frame: frame.flatten(),
            is_here: session.worktree.as_deref() == Some(self.worktree),
            is_orphan: !life.state.is_over() && life.parent.as_ref().is_some_and(is_lost),
            session,
            life,
        })
    }
}

/// Orders sessions: trees of this worktree first, then the newest, each parent before its children.
fn in_order(mut rows: BTreeMap<SessionRef, SessionRow>, forest: &Forest) -> Vec<SessionRow> {
    // A tree is as new as the newest session in it.
    let mut tops: BTreeMap<SessionRef, (bool, Timestamp)> = BTreeMap::new();
    for row in rows.values() {
        let ancestors = forest.ancestors(row.key());
        let shown = ancestors
            .iter()
            .rev()
            .find(|session| rows.contains_key(session));
        let top = shown.unwrap_or(row.key()).clone();
        let known = tops.entry(top).or_insert((false, Timestamp(i64::MIN)));
        known.0 |= row.is_here;
        known.1 = known.1.max(row.life.times.active);
    }
    let mut tops: Vec<(Reverse<(bool, Timestamp)>, SessionRef)> = tops
        .into_iter()
        .map(|(session, rank)| (Reverse(rank), session))
        .collect();
    tops.sort();
    let mut ordered = Vec::with_capacity(rows.len());
    for (_, top) in tops {
        let mut next = vec![top];
        while let Some(session) = next.pop() {
            // Below a session that is not shown, others may be.
            let mut below: Vec<SessionRef> = forest.children(&session).to_vec();
            if let Some(row) = rows.remove(&session) {
                ordered.push(row);
            }
            below.retain(|child| rows.contains_key(child));
            let opened = |child: &SessionRef| rows.get(child).map(|row| row.life.times.opened);
            below.sort_by_key(|child| Reverse((opened(child), child.clone())));
            next.extend(below);
        }
    }
    ordered.extend(rows.into_values());
    ordered
}
