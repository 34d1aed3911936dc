//! Cost of listing, reconciling and cleaning up 1,000 sessions as their histories grow.
//!
//! Each session has a few turns in progress or finished; only the number of recorded changes of state
//! differs. The histories take turns, so that whatever else the machine does hits all of them.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use flamestack_bench::{Series, Setting, Table, actor, print, ratio, say};
use flamestack_core::event::Event;
use flamestack_core::id::{SessionRef, Timestamp};
use flamestack_core::session::checkpoint::ProcessIdentity;
use flamestack_core::subagent::SubagentStart;
use flamestack_core::text::Title;
use flamestack_engine::sessions::process::{Processes as _, SystemProcesses};
use flamestack_engine::{Engine, Home, Project, SystemClock};
use flamestack_store::{OpenOptions, Step, Store as _};

/// Largest accepted ratio of the longest history to the shortest.
const TARGET: f64 = 2.0;
const SESSIONS: u64 = 1_000;
const WARM_UP: usize = 3;

/// The operations that are measured.
const OPERATIONS: [&str; 3] = ["list", "reconcile", "plan a clean-up"];

struct Measured {
    changes: u64,
    engine: Engine,
    costs: [Series; 3],
}

fn main() -> Result<()> {
    let Some(setting) = Setting::of_process()? else {
        return Ok(());
    };
    let rounds = if setting.quick { 15 } else { 40 };
    let scratch = setting.scratch()?;
    let mut all = Vec::new();
    for changes in [2_000, 10_000, 100_000] {
        let place = scratch.path().join(changes.to_string());
        all.push(Measured {
            changes,
            engine: sessions(&place, changes / SESSIONS)?,
            costs: Default::default(),
        });
    }
    for round in 0..WARM_UP + rounds {
        for one in &mut all {
            one.round()?;
        }
        if round + 1 == WARM_UP {
            for one in &mut all {
                one.costs = Default::default();
            }
        }
    }
    report(&all);
    Ok(())
}

impl Measured {
    fn round(&mut self) -> Result<()> {
        let sessions = self.engine.sessions();
        let [list, reconcile, care] = &mut self.costs;
        list.time(|| sessions.list(true))?;
        reconcile.time(|| sessions.reconcile(&SystemProcesses))?;
        care.time(|| sessions.plan_cleanup())?;
        Ok(())
    }
}

fn report(all: &[Measured]) {
    let mut table = Table::new(["operation", "changes", "wall µs", "CPU µs", "CPU ratio"]);
    for (place, name) in OPERATIONS.iter().enumerate() {
        let cost = |one: &Measured| one.costs.get(place).map_or(0.0, Series::cpu);
        let base = all.first().map_or(1.0, cost);
        for one in all {
            let wall = one.costs.get(place).map_or(0.0, Series::wall);
            table.row([
                (*name).to_owned(),
                one.changes.to_string(),
                format!("{wall:.0}"),
                format!("{:.0}", cost(one)),
                ratio(cost(one), base, Some(TARGET)),
            ]);
        }
    }
    let remark = "The changes are those of all sessions together.";
    print(&format!("{SESSIONS} sessions"), &table, remark);
}

/// Makes a store of sessions, each with a number of changes of state. Every fourth is a subagent of the one
/// before it, and every tenth has a running turn of this very process.
fn sessions(place: &Path, changes: u64) -> Result<Engine> {
    say(&format!(
        "making {SESSIONS} sessions of {changes} changes each …"
    ));
    let home = Home {
        state: place.join("state"),
        config: place.join("config"),
    };
    let folder = place.join("project");
    fs_err::create_dir_all(&folder)?;
    let project = Project::at(&folder, &home)?;
    let me = SystemProcesses.identity(u64::from(std::process::id()));
    let mut store = OpenOptions::default().open(&project.dir)?;
    for n in 0..SESSIONS {
        let step = step(n, changes, me.as_ref())?;
        let mut steps = vec![step].into_iter();
        store.commit_steps(&mut |_| Ok(steps.next()))?;
    }
    drop(store);
    let clock = Box::new(SystemClock);
    Ok(Engine::new(project, clock, Duration::from_secs(30)))
}

fn step(n: u64, changes: u64, process: Option<&ProcessIdentity>) -> Result<Step> {
    let actor = actor(&format!("opencode:ses_{n:04}"))?;
    let session = actor.session.clone();
    let mut events = vec![Event::SessionOpened {
        session: session.clone(),
        worktree: actor.worktree.clone(),
    }];
    if n % 4 == 3 {
        let parent: SessionRef = format!("opencode:ses_{:04}", n - 1).parse()?;
        events.push(Event::SubagentStarted(Box::new(SubagentStart {
            session: session.clone(),
            parent: Some(parent),
            goal: Title::new("Look around")?,
            kind: None,
            task: None,
        })));
    }
    events.extend(process.cloned().map(Event::SessionHosted));
    for _ in 0..changes.div_ceil(2) {
        events.push(Event::SessionPrompted {
            session: session.clone(),
            queued: None,
        });
        events.push(Event::TurnEnded {
            session: session.clone(),
            said: None,
        });
    }
    if n.is_multiple_of(10) {
        events.push(Event::SessionPrompted {
            session,
            queued: None,
        });
    }
    Ok(Step {
        at: Timestamp(i64::try_from(n)? * 1000),
        actor,
        events,
    })
}
