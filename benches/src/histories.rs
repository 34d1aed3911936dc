//! Histories of any size and three shapes, and an ordinary `tree_query` inside them.
//!
//! A history is written through the store's own `commit`, ten thousand frames a time: one frame a
//! time would wait for the disk a million times. Large ones are kept between runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::decide::Decided;
use flamestack_core::event::{Closing, Event, Goal, Results};
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::id::{FrameId, SessionRef, Timestamp};
use flamestack_core::text::{Text, Title};
use flamestack_engine::{Clock as _, SystemClock};
use flamestack_store::{OpenOptions, Slice, SqliteStore, Store as _};

use crate::setting::{Setting, say};

/// Goes up when histories are built differently; older ones are then not used any more.
const FORMAT: u32 = 2;
/// Number of frames per transaction.
const BATCH: u64 = 10_000;
/// Histories from this size on are kept between runs.
const KEPT: u64 = 50_000;

/// The shape of a history's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One parent with all the others below it, the first half of them finished.
    Wide,
    /// Each below the one before.
    Deep,
    /// Four below each.
    Mixed,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Deep, Self::Mixed];

    /// The name in tables and on disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Deep => "deep",
            Self::Mixed => "mixed",
        }
    }

    /// The shape of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// The parent of the n-th frame and its place among its siblings.
    fn place(self, n: u64) -> Option<(u64, u64)> {
        let before = n.checked_sub(1)?;
        Some(match self {
            Self::Wide => (0, before),
            Self::Deep => (before, 0),
            Self::Mixed => (before / 4, before % 4),
        })
    }

    /// The frame of a history that new work belongs under.
    fn anchor(self, frames: u64) -> u64 {
        match self {
            Self::Wide => 0,
            Self::Deep | Self::Mixed => frames.saturating_sub(1),
        }
    }
}

/// The n-th frame of every history. Multiplying by an odd number scatters ids over the whole range,
/// as drawing them does, and never repeats one.
pub fn frame_id(n: u64) -> FrameId {
    FrameId::from_entropy((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The session that works in the benchmarks.
pub const WORKER: &str = "bench:worker";

/// The session of the benchmarks.
pub fn actor(session: &str) -> Result<Actor> {
    Ok(Actor {
        session: session.parse()?,
        worktree: Some("main".to_owned()),
        message: None,
        by: Author::Agent,
    })
}

/// A goal of ordinary length.
pub fn titled(title: &str) -> Result<Goal> {
    let criteria = "The change is covered by a test that failed before, the documentation names \
                    the new behaviour, and readers of the summary are not surprised by it.";
    Ok(Goal {
        title: Title::new(title)?,
        criteria: Some(Text::new(criteria)?),
        criteria_compacted: None,
    })
}

/// Results of ordinary length.
pub fn finished() -> Result<Results> {
    Ok(Results {
        full: Text::new("The endpoint answers, and its tests say what it answers.")?,
        compacted: None,
    })
}

/// A store with many frames in it.
pub struct History {
    /// The store, open.
    pub store: SqliteStore,
    /// The frame that new work belongs under.
    pub anchor: FrameId,
}

impl History {
    /// Opens the history of a shape and size, building it first if need be. Large ones are kept,
    /// small ones are built anew in `scratch`, lest what a run adds should be much beside them.
    pub fn open(setting: &Setting, scratch: &Path, shape: Shape, frames: u64) -> Result<Self> {
        let dir = if frames < KEPT {
            let dir = scratch.join(format!("{}-{frames}", shape.name()));
            build(&dir, shape, frames)?;
            dir
        } else {
            kept(setting, shape, frames)?
        };
        Self::at(&dir, shape, frames)
    }

    /// Opens a history that is in a directory already.
    pub fn at(dir: &Path, shape: Shape, frames: u64) -> Result<Self> {
        let store = OpenOptions::default().open_existing(dir)?;
        Ok(Self {
            store: store.with_context(|| format!("no history in {}", dir.display()))?,
            anchor: frame_id(shape.anchor(frames)),
        })
    }

    /// Puts the history of a shape and size into a directory, from the kept ones where there is one.
    pub fn copy_to(dir: &Path, setting: &Setting, shape: Shape, frames: u64) -> Result<Self> {
        if frames < KEPT {
            build(dir, shape, frames)?;
        } else {
            let from = kept(setting, shape, frames)?;
            flamestack_store::private_dir(dir)?;
            fs_err::copy(from.join("journal.db"), dir.join("journal.db"))?;
        }
        Self::at(dir, shape, frames)
    }
}

fn kept(setting: &Setting, shape: Shape, frames: u64) -> Result<PathBuf> {
    let all = setting.stores().join(format!("v{FORMAT}"));
    let name = format!("{}-{frames}", shape.name());
    let dir = all.join(&name);
    if !dir.exists() {
        // Built under another name, so that a run that was broken off leaves nothing half-built
        // where the next one would find it.
        let making = all.join(format!("making-{name}-{}", std::process::id()));
        build(&making, shape, frames)?;
        fs_err::rename(&making, &dir)?;
    }
    Ok(dir)
}

fn build(dir: &Path, shape: Shape, frames: u64) -> Result<()> {
    let begun = std::time::Instant::now();
    let mut store = OpenOptions::default().open(dir)?;
    let actor = actor("bench:seed")?;
    let begun_frames = path_to(shape, shape.anchor(frames));
    let goal = titled("One of very many frames")?;
    let results = finished()?;
    let mut first = 0;
    while first < frames {
        let last = frames.min(first + BATCH);
        let mut events = Vec::new();
        for n in first..last {
            let place = shape.place(n);
            events.push(Event::FrameOpened {
                frame: frame_id(n),
                parent: place.map(|(parent, _)| frame_id(parent)),
                rank: Rank(place.map_or(0, |(_, place)| i64::try_from(place << 32).unwrap_or(0))),
                planned: !begun_frames.contains(&n),
                origin: Origin::Asked,
                goal: goal.clone(),
            });
            if shape == Shape::Wide && n > 0 && n <= frames / 2 {
                events.push(Event::FrameClosed {
                    frame: frame_id(n),
                    outcome: Closing::Completed,
                    results: results.clone(),
                    cascaded: Vec::new(),
                });
            }
        }
        write(&mut store, &actor, events)?;
        first = last;
    }
    if frames >= KEPT {
        say(&format!(
            "built {} {frames} frames in {:.0} s",
            shape.name(),
            begun.elapsed().as_secs_f64()
        ));
    }
    Ok(())
}

/// A frame and all above it: those that work has begun on.
fn path_to(shape: Shape, n: u64) -> BTreeSet<u64> {
    let above = |n: &u64| shape.place(*n).map(|(parent, _)| parent);
    std::iter::successors(Some(n), above).collect()
}

/// Records events as they are, in one transaction.
fn write(store: &mut SqliteStore, actor: &Actor, events: Vec<Event>) -> Result<()> {
    let mut events = Some(events);
    store
        .commit(SystemClock.now(), actor, &mut |_| {
            Ok(Decided {
                events: events.take().unwrap_or_default(),
                remarks: Vec::new(),
            })
        })
        .map_err(|rejected| anyhow!("{rejected}"))?;
    Ok(())
}

/// Five frames above, twenty beside, ten below: where ordinary work happens.
pub struct TreeQuery {
    /// The frame in the middle.
    pub focus: FrameId,
    /// The frames beside it, in progress.
    pub beside: Vec<FrameId>,
}

impl TreeQuery {
    /// Builds a new one below a history's anchor.
    pub fn below(history: &mut History) -> Result<Self> {
        let mut events = Vec::new();
        let mut open = |parent: &FrameId, place: i64, planned: bool| -> Result<FrameId> {
            let frame = SystemClock.draw_id();
            events.push(Event::FrameOpened {
                frame,
                parent: Some(*parent),
                rank: Rank(place << 32),
                planned,
                origin: Origin::Asked,
                goal: titled("Part of an ordinary tree_query")?,
            });
            Ok(frame)
        };
        // After all frames that are there, including those of an earlier run.
        let Timestamp(now) = SystemClock.now();
        let mut above = open(&history.anchor, now % (1 << 30) + (1 << 29), false)?;
        for _ in 0..4 {
            above = open(&above, 0, false)?;
        }
        let focus = open(&above, 0, false)?;
        let beside = (1..=20)
            .map(|place| open(&above, place, false))
            .collect::<Result<_>>()?;
        for place in 0..10 {
            open(&focus, place, true)?;
        }
        write(&mut history.store, &actor("bench:seed")?, events)?;
        Ok(Self { focus, beside })
    }

    /// Reads what a tree shows of the level that the whole history hangs on: how many there are,
    /// the first open and the last finished ones.
    pub fn read_crowd(history: &History) -> Result<()> {
        history.store.read(&mut |reading| {
            reading.child_totals(Some(&history.anchor))?;
            for (open, limit) in [(true, 25), (false, 5)] {
                reading.rows(&Slice {
                    parent: Some(history.anchor),
                    open: Some(open),
                    limit: Some(limit),
                    last: !open,
                })?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Reads all of it, as a view of the focus would, and checks that it is all there.
    pub fn read(&self, store: &SqliteStore) -> Result<()> {
        let (mut above, mut level, mut below) = (0, 0, 0);
        store.read(&mut |reading| {
            let Some(frame) = reading.whole_frame(&self.focus)? else {
                return Ok(());
            };
            let mut next = frame.parent;
            while let Some(id) = next.take()
                && above < 5
            {
                above += 1;
                next = reading.frame(&id)?.and_then(|frame| frame.parent);
            }
            let rows = |parent: Option<&FrameId>| {
                reading.rows(&Slice {
                    parent: parent.copied(),
                    ..Slice::default()
                })
            };
            level = rows(frame.parent.as_ref())?.len();
            below = rows(Some(&self.focus))?.len();
            Ok(())
        })?;
        ensure!(
            (above, level, below) == (5, 21, 10),
            "the tree_query is not what it was: {above} above, {level} on the level, {below} below"
        );
        Ok(())
    }
}

/// Makes a frame the active one of the shell, and of no other session.
pub fn stands_here(history: &mut History, frame: &FrameId) -> Result<()> {
    let session = SessionRef::shell("main");
    let actor = Actor {
        session: session.clone(),
        worktree: Some("main".to_owned()),
        message: None,
        by: Author::User,
    };
    let events = vec![
        // The sessions that worked in a kept history before.
        Event::SessionFocused {
            session: self::actor(WORKER)?.session,
            from: None,
            to: None,
        },
        Event::SessionOpened {
            session: session.clone(),
            worktree: actor.worktree.clone(),
        },
        Event::SessionFocused {
            session,
            from: None,
            to: Some(*frame),
        },
    ];
    write(&mut history.store, &actor, events)
}
