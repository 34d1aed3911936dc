//! Sessions on a time line.

use std::collections::BTreeMap;

use flamestack_core::id::SessionRef;
use flamestack_core::{FrameId, Session};
use flamestack_store::Reading;
use serde::Serialize;

use super::Work;
use super::amounts::Amounts;
use crate::Engine;
use crate::error::Result;
use crate::workspace::lock;

/// Maximum number of steps in which new events are read for one answer.
const STEPS: usize = 10;
/// Maximum number of sessions shown.
const SESSIONS: usize = 200;
/// Maximum number of stretches of work shown of a session.
const STRETCHES: usize = 200;

/// A moment of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SessionMark {
    /// Time in milliseconds.
    pub at: i64,
    /// Kind.
    pub kind: MarkKind,
}

/// Kind of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// A prompt of the user.
    Prompt,
    /// The user interrupted the session.
    Interruption,
    /// The session asks the user.
    Wait,
    /// A summary replaced the history.
    Compaction,
}

/// A session on the time line.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineRow {
    /// Its name.
    pub key: String,
    /// Its host.
    pub host: String,
    /// Its goal or the title of its frame, if it has one.
    pub title: Option<String>,
    /// Its state in words.
    pub state: String,
    /// The session that started it.
    pub parent: Option<String>,
    /// The frame that it works on.
    pub active: Option<String>,
    /// Its worktree.
    pub worktree: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Tokens of its last call.
    pub size: u64,
    /// Maximum size of a prompt, in tokens.
    pub window: Option<u64>,
    /// Time of its first event.
    pub begun: i64,
    /// Time of its last event.
    pub last: i64,
    /// Number of compactions.
    pub compactions: u64,
    /// Number of interruptions.
    pub interruptions: u64,
    /// Everything that it spent.
    pub spent: Amounts,
    /// Moments.
    pub marks: Vec<SessionMark>,
    /// Stretches of work, the last ones: begin and end.
    pub stretches: Vec<(i64, i64)>,
}

impl Engine {
    /// Returns everything that a session spent, and what folding saved in it; `None` while the journal is
    /// still being read. Each call reads a bounded part of what is new.
    pub fn spent_in(&self, session: &SessionRef) -> Result<Option<Amounts>> {
        let mut work = lock(&self.work);
        self.read(|reading| {
            // The store may have been replaced by a shorter one.
            if reading.position()? < work.position() {
                *work = Work::default();
            }
            for _ in 0..STEPS {
                if work.catch_up(reading)? {
                    return Ok(work.spent_in(session));
                }
            }
            Ok(None)
        })
    }
}

impl Work {
    /// Returns everything that a session spent, and what folding saved in it.
    pub fn spent_in(&self, session: &SessionRef) -> Option<Amounts> {
        let (place, known) = self.ledger.session_named(session)?;
        let folds = self.ledger.saved().filter(|(_, it, _)| *it == place);
        Some(Amounts {
            saved: folds.map(|(_, _, saved)| saved).sum(),
            ..known.all
        })
    }

    /// Returns the names of all sessions, in the order in which they began.
    pub fn session_names(&self) -> impl Iterator<Item = SessionRef> {
        self.ledger.sessions().iter().map(|known| known.key.clone())
    }

    /// Returns the sessions, the one that was seen last first.
    pub fn sessions(&self, reading: &dyn Reading) -> Result<Vec<TimelineRow>> {
        let mut known: Vec<usize> = (0..self.ledger.sessions().len()).collect();
        let last = |place: &usize| self.ledger.session(*place).map(|it| (it.last, it.first));
        known.sort_by_key(|place| std::cmp::Reverse(last(place)));
        known.truncate(SESSIONS);
        let mut stretches = self.stretches();
        let mut saved: BTreeMap<usize, u64> = BTreeMap::new();
        for (_, session, tokens) in self.ledger.saved() {
            *saved.entry(session).or_default() += tokens;
        }
        let mut rows = Vec::with_capacity(known.len());
        for place in known {
            let Some(tally) = self.ledger.session(place) else {
                continue;
            };
            if let Some(session) = reading.session(&tally.key)? {
                let mut row = self.session_row(place, &session);
                row.stretches = stretches.remove(&place).unwrap_or_default();
                row.spent.saved = saved.remove(&place).unwrap_or_default();
                rows.push(row);
            }
        }
        Ok(rows)
    }

    fn session_row(&self, place: usize, session: &Session) -> TimelineRow {
        let key = &session.key;
        let tally = self.ledger.session(place);
        let goal = session.run.as_ref().and_then(|run| run.goal.as_ref());
        let frame = session.frame();
        let title = frame.and_then(|frame| self.place(&frame));
        let title = goal
            .map(|goal| goal.as_str().to_owned())
            .or_else(|| title.map(|place| place.title.clone()));
        let spent = tally.map(|tally| tally.all).unwrap_or_default();
        let parent = session.description.parent.as_ref();
        let parent = parent.or_else(|| tally.and_then(|tally| tally.parent.as_ref()));
        TimelineRow {
            key: key.to_string(),
            host: key.host().to_owned(),
            title,
            state: state(session, tally.is_some_and(|tally| tally.is_working)),
            parent: parent.map(SessionRef::to_string),
            active: session.active.as_ref().map(FrameId::to_string),
            worktree: session.worktree.clone(),
            model: session
                .model
                .as_ref()
                .map(|model| model.name.as_str().to_owned()),
            size: session.activity.size,
            window: session.window(),
            begun: tally.map_or(0, |tally| tally.first.0),
            last: tally.map_or(0, |tally| tally.last.0),
            compactions: session.activity.compactions,
            interruptions: session.activity.interruptions,
            spent,
            marks: tally.map(|tally| tally.marks.clone()).unwrap_or_default(),
            stretches: Vec::new(),
        }
    }

    /// Returns the last stretches of work of each session, without the changes of frame in them.
    fn stretches(&self) -> BTreeMap<usize, Vec<(i64, i64)>> {
        let mut all: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
        for segment in self.ledger.segments().iter().rev() {
            let is_full = all
                .get(&segment.session)
                .is_some_and(|it| it.len() >= STRETCHES);
            let stretches = all.entry(segment.session).or_default();
            match stretches.last_mut() {
                Some((from, _)) if *from == segment.to => *from = segment.from,
                _ if is_full => {}
                _ => stretches.push((segment.from, segment.to)),
            }
        }
        for stretches in all.values_mut() {
            stretches.reverse();
        }
        all
    }
}

fn state(session: &Session, is_working: bool) -> String {
    if let Some(run) = &session.run {
        return run.state.to_string();
    }
    if session.activity.interrupted {
        "interrupted".to_owned()
    } else if is_working && !session.key.is_shell() {
        "working".to_owned()
    } else if session.active.is_some() {
        "open".to_owned()
    } else {
        "idle".to_owned()
    }
}
