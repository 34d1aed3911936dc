//! Records many frames with model calls, time and results, as large projects have them, in five sessions. It writes to
//! the store directly, 50 frames a transaction.
//!
//! `cargo run --package flamestack-ui --example forest -- PROJECT STATE FRAMES` records them for the folder PROJECT in
//! the state directory STATE.

use std::error::Error;
use std::path::PathBuf;

use flamestack_core::decide::Decided;
use flamestack_core::event::{Closing, Goal, Results};
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_core::text::{Text, Title};
use flamestack_core::transcript::Usage;
use flamestack_core::{Actor, Author, Event, FrameId};
use flamestack_engine::{Home, Project};
use flamestack_store::{OpenOptions, SqliteStore, Store as _};

type Grown<T = ()> = Result<T, Box<dyn Error>>;

/// Frames below each frame.
const WIDE: u64 = 30;
/// Frames per transaction: events of one transaction have one time.
const BATCH: u64 = 50;
/// Time between two transactions, in milliseconds.
const STEP: i64 = 60_000;
/// The first frames stay in progress.
const OPEN: u64 = 3;

struct Forest {
    store: SqliteStore,
    frames: u64,
    sessions: Vec<SessionRef>,
    at: Timestamp,
    events: Vec<Event>,
    opened: u64,
}

impl Forest {
    /// Records a frame and everything below it, in the order in which one session works.
    fn grow(&mut self, n: u64, session: &SessionRef) -> Grown {
        let frame = id(n);
        let above = n.checked_sub(1).map(|before| before / WIDE);
        let is_planned = n >= OPEN && n % 5 == 4 && n * WIDE >= self.frames;
        self.events.push(Event::FrameOpened {
            frame,
            parent: above.map(id),
            rank: Rank(i64::try_from(n)? << 20),
            planned: is_planned,
            origin: Origin::Asked,
            goal: Goal {
                title: Title::new(&format!("Piece {n} of the work"))?,
                criteria: Some(Text::new(&format!("Piece {n} is done"))?),
                criteria_compacted: None,
            },
        });
        self.opened += 1;
        if !is_planned {
            self.focus(session, above.map(id), Some(frame));
            let usage = Usage {
                model: Some("some-model".to_owned()),
                input: 400 + n % 700,
                cache_read: 6_000 + n % 9_000,
                output: 200 + n % 90,
                micro_dollars: Some(4_000 + n % 3_000),
                ..Usage::default()
            };
            self.events.push(Event::SessionSpent {
                session: session.clone(),
                usage,
            });
        }
        if self.opened.is_multiple_of(BATCH) {
            self.commit(session)?;
        }
        for below in n * WIDE + 1..(n * WIDE + WIDE + 1).min(self.frames) {
            if n == 0 {
                let next = usize::try_from(below)? % self.sessions.len();
                let next = self.sessions.get(next).cloned();
                let session = next.as_ref().unwrap_or(session);
                self.grow(below, session)?;
                self.commit(session)?;
            } else {
                self.grow(below, session)?;
            }
        }
        if n >= OPEN && !is_planned {
            self.events.push(Event::FrameClosed {
                frame,
                outcome: if n % 5 == 3 {
                    Closing::Failed
                } else {
                    Closing::Completed
                },
                results: Results {
                    full: Text::new(&format!("Piece {n} works"))?,
                    compacted: None,
                },
                cascaded: Vec::new(),
            });
            self.focus(session, Some(frame), above.map(id));
        }
        Ok(())
    }

    fn focus(&mut self, session: &SessionRef, from: Option<FrameId>, to: Option<FrameId>) {
        let session = session.clone();
        self.events
            .push(Event::SessionFocused { session, from, to });
    }

    fn commit(&mut self, session: &SessionRef) -> Grown {
        self.at = Timestamp(self.at.0 + STEP);
        let mut events = Some(std::mem::take(&mut self.events));
        let actor = Actor {
            session: session.clone(),
            worktree: Some("main".to_owned()),
            message: None,
            by: Author::Agent,
        };
        let committed = self.store.commit(self.at, &actor, &mut |_| {
            Ok(Decided {
                events: events.take().unwrap_or_default(),
                remarks: Vec::new(),
            })
        });
        committed.map_err(|rejected| rejected.to_string())?;
        Ok(())
    }
}

/// Returns the id of a frame. Multiplying by an odd number scatters ids as drawing them does, and never repeats one.
fn id(n: u64) -> FrameId {
    FrameId::from_entropy((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn main() -> Grown {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [project, state, frames] = words.as_slice() else {
        return Err(
            "name the folder of the project, the state directory and the number of frames".into(),
        );
    };
    let state = PathBuf::from(state);
    let home = Home {
        config: state.join("config"),
        state,
    };
    let project = Project::at(project.as_ref(), &home)?;
    let sessions: Vec<SessionRef> = (1..=5)
        .map(|n| format!("opencode:ses_{n}").parse())
        .collect::<Result<_, _>>()?;
    let first = sessions.first().cloned().ok_or("no session")?;
    let mut forest = Forest {
        store: OpenOptions::default().open(&project.dir)?,
        frames: frames.to_str().ok_or("not a number")?.parse()?,
        sessions,
        // 2026-09-01, 09:00 UTC.
        at: Timestamp(1_788_253_200_000),
        events: Vec::new(),
        opened: 0,
    };
    for session in forest.sessions.clone() {
        forest.events.push(Event::SessionOpened {
            session: session.clone(),
            worktree: Some("main".to_owned()),
        });
        // A session works from its prompt on.
        forest.events.push(Event::SessionPrompted {
            session,
            queued: None,
        });
    }
    forest.grow(0, &first)?;
    forest.commit(&first)
}
