//! Drives agents through a tree of frames: one host session per frame, results back to the parent.
//!
//! The tree is the program. [`RunDriver`] looks at the frames and at the run's own journal, asks
//! [`next`] for the next move, records its intent, makes the call, and records the outcome. Nothing is
//! executed again to find the place: a run that was killed at any moment continues from the two journals
//! and from the messages that the host has stored.
//!
//! ```text
//!  frames (engine) ──┐                    ┌─▶ intent ─▶ host call ─▶ outcome ─┐
//!  run journal ──────┴─▶ next() ─▶ move ──┤                                   ├─▶ again
//!  host's messages ──────▶ turn ended ────┴─▶ ruling ─▶ frames, journal ──────┘
//! ```
//!
//! A host is anything that implements [`Host`]. [`opencode`] is the first; [`sim`] is a host in memory
//! that crashes where a test wants it to. Rendering for users belongs to the CLI, which implements
//! [`Front`].
//!
//! ```
//! use std::rc::Rc;
//!
//! use flamestack_orchestrator::sim::{Death, SimReply, Simulation, Victim};
//!
//! let model = |_: &_| SimReply::text("FRAME_COMPLETE: it is built");
//! let mut run = Simulation::new("Build the shop", Rc::new(model));
//! // The driver and the server die at the ninth point, and the run is resumed.
//! let ending = run.run(&[Death { point: 9, victim: Victim::Both }])?;
//! assert!(ending.is_complete());
//! assert_eq!(run.world.borrow().prompts(), ["Build the shop | Begin work on: Build the shop"]);
//! # Ok::<(), flamestack_orchestrator::RunError>(())
//! ```

mod budget;
mod driver;
mod error;
mod host;
mod inbox;
mod journal;
mod keys;
mod next;
pub mod opencode;
mod options;
mod policy;
mod prompt;
mod record;
mod report;
mod ruling;
mod signal;
pub mod sim;
mod stack;
mod state;
mod tools;
mod worktree;

pub use budget::{BudgetLimit, Limits, Spending};
pub use driver::{Choice, DriverMemory, Front, FrontInput, RunDriver};
pub use error::RunError;
pub use host::{
    Ask, AskKind, Host, HostError, Outgoing, Reply, ReplyEnd, Seat, SessionKey, SessionWanted,
    ToolUse, TurnFault, TurnFinish, TurnView, Wake,
};
pub use inbox::{Inbox, Spoken};
pub use journal::{FileJournal, MemoryJournal, Redaction, RunJournal, RunPaths};
pub use next::{NextMove, Outlook, Verdict, next};
pub use options::{FrameOptions, FrameSetup, Interrupted, ModelName, Placed, RunOptions, Strategy};
pub use policy::{PermissionPolicy, PolicyError};
pub use prompt::PromptKind;
pub use record::{Act, Done, RunRecord, TurnReport};
pub use report::{FrameCost, RunActivity, RunEnding, RunEvent, RunSummary};
pub use signal::{FrameSignal, signals};
pub use stack::{EngineStack, ReadMessages, RunStack, RunTree, StackError};
pub use state::{FrameRun, Phase, RunState, TurnRun};
pub use tools::serve as serve_tools;
pub use worktree::Worktrees;
