//! A host in memory that crashes where a test wants it to, and the frames and journal of a run next to it.
//!
//! What a real server writes to its database survives a crash here, what it has in memory does not. The
//! driver is the real one. Points at which something can die are numbered; [`Simulation`] runs a script
//! with a list of deaths and starts the driver again after each.

mod front;
mod host;
mod stack;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

use flamestack_core::event::Recorded;
use flamestack_core::{Actor, Author, FrameId, SessionRef};
use flamestack_engine::clock::StoryClock;
use flamestack_orchestrator::{
    Ask, DriverMemory, FrameSetup, FrontInput, PermissionPolicy, RunAction, RunDriver, RunEnding,
    RunError, RunEvent, RunJournal, RunOptions, RunRecord, Spending, ToolUse, TurnFinish,
    Worktrees,
};
use flamestack_testkit::Tree;

pub(crate) use self::front::SimFront;
pub(crate) use self::host::SimHost;
pub(crate) use self::stack::SimStack;

/// The part that dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Victim {
    /// The driver.
    Driver,
    /// The server.
    Server,
    /// Both.
    Both,
}

/// A death at a numbered point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Death {
    /// Number of the point.
    pub(crate) point: u64,
    /// The part that dies.
    pub(crate) victim: Victim,
}

/// Moment of a step at which something can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// Nothing has happened.
    Before,
    /// It has happened, and the answer is lost; of a line of the journal, a part is written.
    During,
    /// It has happened, and the answer has arrived.
    After,
}

/// A prompt as the simulated model sees it.
#[derive(Clone, Debug)]
pub(crate) struct SimPrompt {
    /// Title of the session, which is that of its frame.
    pub(crate) title: String,
    /// Number of the attempt.
    pub(crate) attempt: u32,
    /// Number of answers that sessions of this title have completed.
    pub(crate) answered: usize,
    /// Texts of the newest message that is more than a note about a crash.
    pub(crate) text: String,
    /// Everything that the session holds.
    pub(crate) history: Vec<String>,
    /// Folder that the session works in; the project's own if none.
    pub(crate) directory: Option<PathBuf>,
}

/// An answer of the simulated model.
#[derive(Clone, Debug)]
pub(crate) struct SimReply {
    /// Final message.
    pub(crate) text: String,
    /// Tool calls.
    pub(crate) calls: Vec<ToolUse>,
    /// Kind of end.
    pub(crate) finish: TurnFinish,
    /// Spending.
    pub(crate) spent: Spending,
    /// Number of rounds that it takes.
    pub(crate) rounds: u32,
    /// True if a turn that is cut off has used a tool.
    pub(crate) uses_tools: bool,
    /// An ask that the turn waits for before it ends.
    pub(crate) ask: Option<Ask>,
}

impl SimReply {
    /// An answer of one text.
    pub(crate) fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            calls: Vec::new(),
            finish: TurnFinish::Stop,
            spent: Spending {
                input: 100,
                output: 10,
                cost: 0.01,
                requests: 1,
                ..Spending::default()
            },
            rounds: 2,
            uses_tools: false,
            ask: None,
        }
    }

    /// An answer that failed.
    pub(crate) fn failed(finish: TurnFinish) -> Self {
        Self {
            finish,
            ..Self::text("")
        }
    }
}

/// The simulated model.
pub(crate) type Script = Rc<dyn Fn(&SimPrompt) -> SimReply>;

/// Everything that survives a crash, and the count of points.
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of a test, each on its own"
)]
pub(crate) struct World {
    pub(crate) script: Script,
    pub(crate) deaths: VecDeque<Death>,
    /// The driver is dead: every call fails until it is started again.
    pub(crate) dead: bool,
    pub(crate) down: bool,
    /// Points passed, each with its name and moment.
    pub(crate) points: Vec<(String, Moment)>,
    /// The frames.
    pub(crate) tree: Tree,
    pub(crate) drawn: u64,
    /// The run's journal.
    pub(crate) journal: Vec<RunRecord>,
    /// Sessions of the server.
    pub(crate) sessions: Vec<SimSession>,
    /// Number of turns started per message.
    pub(crate) started: BTreeMap<String, u32>,
    /// Turns started for a message whose turn had completed.
    pub(crate) repeated: u32,
    /// Asks that wait for an answer.
    pub(crate) asks: Vec<Ask>,
    /// Answers to asks, as text.
    pub(crate) replies: Vec<String>,
    /// Events that the user was shown.
    pub(crate) shown: Vec<RunEvent>,
    /// Inputs that the user gives, by the number of events shown before.
    pub(crate) inputs: VecDeque<(usize, FrontInput)>,
    /// True if a user can answer.
    pub(crate) has_user: bool,
    /// Number of times that the server was started again.
    pub(crate) restarts: u32,
    /// True if a stopped server stays down.
    pub(crate) stays_away: bool,
}

/// A session of the simulated server.
#[derive(Clone, Debug)]
pub(crate) struct SimSession {
    /// Its id.
    pub(crate) id: String,
    /// Run, frame and attempt.
    pub(crate) key: (String, String, u32),
    /// Title.
    pub(crate) title: String,
    /// Folder that it works in; the project's own if none.
    pub(crate) directory: Option<PathBuf>,
    /// Messages of the user, in order.
    pub(crate) messages: Vec<SimMessage>,
    /// True while a turn runs. Lost in a crash.
    pub(crate) running: bool,
}

/// A message of the user in a simulated session, with its answer.
#[derive(Clone, Debug)]
pub(crate) struct SimMessage {
    /// Its id.
    pub(crate) id: String,
    /// Its parts, by id.
    pub(crate) parts: BTreeMap<String, String>,
    /// False if it wants no reply.
    pub(crate) wants_reply: bool,
    /// The answer so far.
    pub(crate) answer: Option<SimReply>,
    /// True if the answer is complete.
    pub(crate) complete: bool,
    pub(crate) rounds: u32,
}

impl World {
    /// Passes a point. Returns true if the driver dies here.
    pub(crate) fn pass(&mut self, name: &str, moment: Moment) -> bool {
        self.points.push((name.to_owned(), moment));
        let number = self.points.len() as u64;
        let due = self.deaths.front().copied();
        let Some(death) = due.filter(|death| death.point == number) else {
            return self.dead;
        };
        self.deaths.pop_front();
        if death.victim != Victim::Driver {
            self.down = true;
            for session in &mut self.sessions {
                session.running = false;
            }
        }
        if death.victim != Victim::Server {
            self.dead = true;
        }
        self.dead
    }

    /// Replaces the deaths to come; points are counted from the beginning of the world.
    pub(crate) fn deaths_at(&mut self, deaths: &[Death]) {
        self.deaths = deaths.iter().copied().collect();
    }

    /// Makes the server reachable again, as after a restart by hand.
    pub(crate) fn server_is_back(&mut self) {
        self.down = false;
        self.stays_away = false;
    }

    /// Returns the frames by title: status and results.
    pub(crate) fn frames(&self) -> BTreeMap<String, (String, String)> {
        let frames = self.tree.frames().values();
        frames
            .map(|frame| {
                let results = frame.results.as_ref().map_or("", |text| text.as_str());
                let status = frame.status.as_str().to_owned();
                (
                    frame.title.as_str().to_owned(),
                    (status, results.to_owned()),
                )
            })
            .collect()
    }

    /// Returns the id of the frame with a title, or an empty text.
    pub(crate) fn frame_id(&self, title: &str) -> String {
        let mut frames = self.tree.frames().values();
        let found = frames.find(|frame| frame.title.as_str() == title);
        found.map_or_else(String::new, |frame| frame.id.to_string())
    }

    /// Returns the prompts that wanted a reply, as titles and first lines, sorted.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .sessions
            .iter()
            .flat_map(|session| {
                let wanted = session.messages.iter().filter(|one| one.wants_reply);
                wanted.map(|one| {
                    let last = one.parts.values().next_back();
                    let line = last.and_then(|text| text.lines().next());
                    format!("{} | {}", session.title, line.unwrap_or_default())
                })
            })
            .collect();
        all.sort();
        all
    }
}

/// A run in a simulated world.
pub(crate) struct Simulation {
    /// The world.
    pub(crate) world: Rc<RefCell<World>>,
    /// Options of the run.
    pub(crate) options: RunOptions,
    /// Policy for permissions.
    pub(crate) policy: PermissionPolicy,
    /// Worktrees of a real repository, if the run has one.
    pub(crate) worktrees: Option<Worktrees>,
    clock: StoryClock,
    root: FrameId,
    setups: Vec<FrameSetup>,
}

impl Simulation {
    /// Prepares a world with the frame of a goal.
    pub(crate) fn new(goal: &str, script: Script) -> Self {
        let world = World {
            script,
            deaths: VecDeque::new(),
            dead: false,
            down: false,
            points: Vec::new(),
            tree: Tree::default(),
            drawn: 0,
            journal: Vec::new(),
            sessions: Vec::new(),
            started: BTreeMap::new(),
            repeated: 0,
            asks: Vec::new(),
            replies: Vec::new(),
            shown: Vec::new(),
            inputs: VecDeque::new(),
            has_user: false,
            restarts: 0,
            stays_away: false,
        };
        let world = Rc::new(RefCell::new(world));
        let root = SimStack::new(&world).plan(None, goal, None);
        Self {
            world,
            options: RunOptions::default(),
            policy: PermissionPolicy::Ask,
            worktrees: None,
            clock: StoryClock::starting_at(1_000_000),
            root,
            setups: Vec::new(),
        }
    }

    /// Returns the frame of the goal.
    pub(crate) fn root(&self) -> FrameId {
        self.root
    }

    /// Plans a frame.
    pub(crate) fn plan(&mut self, parent: FrameId, title: &str) -> FrameId {
        SimStack::new(&self.world).plan(Some(parent), title, None)
    }

    /// Gives a frame options of its own.
    pub(crate) fn set_up(&mut self, setup: FrameSetup) {
        self.setups.push(setup);
    }

    /// Runs until the driver ends normally, restarting it after every crash.
    pub(crate) fn run(&mut self, deaths: &[Death]) -> Result<RunEnding, RunError> {
        self.world.borrow_mut().deaths = deaths.iter().copied().collect();
        loop {
            let ended = self.once();
            let mut world = self.world.borrow_mut();
            if !std::mem::take(&mut world.dead) {
                return ended;
            }
        }
    }

    /// Starts the driver once.
    pub(crate) fn once(&mut self) -> Result<RunEnding, RunError> {
        let begun = !self.world.borrow().journal.is_empty();
        let mut host = SimHost::new(&self.world);
        let mut stack = SimStack::new(&self.world);
        let mut journal = SimJournal(Rc::clone(&self.world));
        let mut front = SimFront::new(&self.world);
        let mut driver = RunDriver {
            host: &mut host,
            stack: &mut stack,
            journal: &mut journal,
            front: &mut front,
            clock: &self.clock,
            actor: user(),
            policy: self.policy.clone(),
            inbox: None,
            worktrees: self.worktrees.clone(),
            memory: DriverMemory::default(),
        };
        let options = self.options.clone();
        if begun {
            driver.resume(|_| options)
        } else {
            driver.begin(&RunRecord::Begun {
                at: 1_000_000,
                run: "sim".to_owned(),
                host: "sim".to_owned(),
                root: self.root,
                options,
                frames: self.setups.clone(),
            })
        }
    }
}

/// Returns the actor of the user at a terminal.
pub(crate) fn user() -> Actor {
    Actor {
        session: SessionRef::shell("sim"),
        worktree: None,
        message: None,
        by: Author::User,
    }
}

/// Returns the name of a record; that of an outcome has the call that it belongs to.
fn name_of(record: &RunRecord, before: &[RunRecord]) -> String {
    let act = |act: &RunAction| match act {
        RunAction::Worktree { .. } => "worktree",
        RunAction::Session => "session",
        RunAction::Context { .. } => "context",
        RunAction::Prompt { .. } => "prompt",
        RunAction::Say { .. } => "say",
        RunAction::Stop => "stop",
        RunAction::Merge => "merge",
    };
    match record {
        RunRecord::Begun { .. } => "begun".to_owned(),
        RunRecord::Resumed { .. } => "resumed".to_owned(),
        RunRecord::Intent { act: of, .. } => format!("intent, {}", act(of)),
        RunRecord::Outcome { step, .. } => {
            let intent = before.iter().rev().find_map(|one| match one {
                RunRecord::Intent { step: of, act, .. } if of == step => Some(act),
                _ => None,
            });
            format!("outcome, {}", intent.map_or("?", act))
        }
        RunRecord::TurnEnded { .. } => "turn ended".to_owned(),
        RunRecord::Applied { .. } => "turn applied".to_owned(),
        RunRecord::Spoken { .. } => "spoken".to_owned(),
        RunRecord::Parked { .. } => "parked".to_owned(),
        RunRecord::Warned { .. } => "warned".to_owned(),
        RunRecord::Alive { .. } => "alive".to_owned(),
        RunRecord::Ended { .. } => "ended".to_owned(),
    }
}

/// The run's journal of a world.
struct SimJournal(Rc<RefCell<World>>);

impl SimJournal {
    fn crash() -> RunError {
        RunError::Journal {
            path: "sim".into(),
            source: std::io::Error::other("the driver died"),
        }
    }
}

impl RunJournal for SimJournal {
    fn read(&mut self) -> Result<Vec<RunRecord>, RunError> {
        Ok(self.0.borrow().journal.clone())
    }

    fn append(&mut self, record: &RunRecord) -> Result<(), RunError> {
        let mut world = self.0.borrow_mut();
        let name = &format!("journal: {}", name_of(record, &world.journal));
        // A torn line is dropped when the journal is opened again.
        for moment in [Moment::Before, Moment::During] {
            if world.pass(name, moment) {
                return Err(Self::crash());
            }
        }
        // The same way as through a file.
        let line = serde_json::to_string(record).map_err(|_| Self::crash())?;
        let back = serde_json::from_str(&line).map_err(|_| Self::crash())?;
        world.journal.push(back);
        if world.pass(name, Moment::After) {
            return Err(Self::crash());
        }
        Ok(())
    }
}

/// Records events in a tree.
pub(crate) fn record(tree: &mut Tree, actor: &Actor, events: Vec<flamestack_core::Event>) {
    let first = i64::try_from(tree.journal().len()).unwrap_or(i64::MAX - 1);
    let first = flamestack_core::id::Seq(first + 1);
    for (place, event) in (0..).zip(events) {
        tree.apply(Recorded {
            seq: flamestack_core::id::Seq(first.0 + place),
            batch: first,
            at: flamestack_core::id::Timestamp(1),
            session: actor.session.clone(),
            message: None,
            by: actor.by,
            event,
        });
    }
}
