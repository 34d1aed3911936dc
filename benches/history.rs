//! Cost of an operation as the history grows.
//!
//! One mutation and one read of an ordinary neighbourhood, inside histories of three sizes and
//! three shapes. The sizes take turns, so that whatever else the machine does hits all of them.

use anyhow::{Result, anyhow};
use flamestack_bench::{
    History, Series, Setting, Shape, Table, TreeQuery, WORKER, actor, finished, print, ratio, say,
    titled,
};
use flamestack_core::command::{Actor, Command, Under};
use flamestack_core::id::FrameId;
use flamestack_core::note::Note;
use flamestack_core::text::Text;
use flamestack_core::{Author, Outcome, decide};
use flamestack_engine::{Clock as _, SystemClock};
use flamestack_store::{SqliteStore, Store as _};

/// Largest accepted ratio of the largest history to the smallest.
const TARGET: f64 = 2.0;
const WARM_UP: usize = 10;

/// The operations that are measured.
#[derive(Clone, Copy)]
enum Operation {
    Read,
    ReadCrowd,
    Push,
    Note,
    Pop,
    PushBesideAll,
}

impl Operation {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Read, "read the neighbourhood"),
        (Self::ReadCrowd, "read the level of the history's own frame"),
        (Self::Push, "push"),
        (Self::Note, "note"),
        (Self::Pop, "pop"),
        (Self::PushBesideAll, "push under the history's own frame"),
    ];
}

/// One history, and the cost of the operations in it.
struct Measured {
    frames: u64,
    history: History,
    near: TreeQuery,
    costs: [Series; 6],
}

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let sizes = if setting.quick {
        [1_000, 10_000, 100_000]
    } else {
        [1_000, 100_000, 1_000_000]
    };
    let rounds = if setting.quick { 60 } else { 150 };
    let actor = actor(WORKER)?;
    for shape in Shape::ALL {
        let scratch = setting.scratch()?;
        let mut all = Vec::new();
        for frames in sizes {
            let mut history = History::open(&setting, scratch.path(), shape, frames)?;
            let near = TreeQuery::below(&mut history)?;
            all.push(Measured {
                frames,
                history,
                near,
                costs: Default::default(),
            });
        }
        say(&format!("measuring {} …", shape.name()));
        for round in 0..WARM_UP + rounds {
            for one in &mut all {
                one.round(&actor, round)?;
            }
            if round + 1 == WARM_UP {
                for one in &mut all {
                    one.costs = Default::default();
                }
            }
        }
        report(shape, &all);
    }
    Ok(())
}

impl Measured {
    fn round(&mut self, actor: &Actor, round: usize) -> Result<()> {
        let parent = self
            .near
            .beside
            .get(round % self.near.beside.len())
            .copied()
            .unwrap_or(self.near.focus);
        let note = Command::Note {
            frame: None,
            note: Note::Decision {
                text: Text::new(&format!("Tokens last an hour, see round {round}"))?,
                why: Some(Text::new("refreshing is cheap")?),
                by: Author::default(),
            },
        };
        let pop = Command::Pop {
            frame: None,
            outcome: Outcome::Completed,
            results: finished()?,
        };
        let push = push(&parent)?;
        let push_beside_all = self::push(&self.history.anchor)?;
        for ((operation, _), series) in Operation::ALL.into_iter().zip(&mut self.costs) {
            let command = match operation {
                Operation::Read => {
                    series.time(|| self.near.read(&self.history.store))?;
                    continue;
                }
                Operation::ReadCrowd => {
                    series.time(|| TreeQuery::read_crowd(&self.history))?;
                    continue;
                }
                Operation::Push => &push,
                Operation::Note => &note,
                Operation::Pop => &pop,
                Operation::PushBesideAll => &push_beside_all,
            };
            series.time(|| commit(&mut self.history.store, actor, command))?;
        }
        // Out of the way of the next round, unmeasured.
        commit(&mut self.history.store, actor, &pop)
    }
}

fn push(parent: &FrameId) -> Result<Command> {
    Ok(Command::Push {
        id: SystemClock.draw_id(),
        under: Under::Frame(*parent),
        goal: titled("Add the refresh endpoint")?,
    })
}

fn commit(store: &mut SqliteStore, actor: &Actor, command: &Command) -> Result<()> {
    store
        .commit(SystemClock.now(), actor, &mut |reading| {
            decide(reading, actor, command)
        })
        .map_err(|rejected| anyhow!("{rejected}"))?;
    Ok(())
}

fn report(shape: Shape, all: &[Measured]) {
    let [small, middle, large] = all else {
        return;
    };
    let count = |one: &Measured| format!("{} frames", one.frames);
    let mut table = Table::new([
        "p50 in µs",
        "",
        &count(small),
        &count(middle),
        &count(large),
        "largest / smallest",
    ]);
    for (n, (_, name)) in Operation::ALL.into_iter().enumerate() {
        let of =
            |one: &Measured, figure: fn(&Series) -> f64| one.costs.get(n).map_or(f64::NAN, figure);
        for (what, figure) in [
            ("wall", Series::wall as fn(&Series) -> f64),
            ("CPU", Series::cpu),
        ] {
            table.row([
                name.to_owned(),
                what.to_owned(),
                format!("{:.0}", of(small, figure)),
                format!("{:.0}", of(middle, figure)),
                format!("{:.0}", of(large, figure)),
                ratio(of(large, figure), of(small, figure), Some(TARGET)),
            ]);
        }
    }
    print(&format!("History: {}", shape.name()), &table, "");
}
