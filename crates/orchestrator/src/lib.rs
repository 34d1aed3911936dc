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
//! A host is anything that implements [`Host`]. [`opencode`] is the first, and the tests have one in
//! memory that crashes where they want it to. Rendering for users belongs to the CLI, which implements
//! [`Front`].

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
mod runs;
mod signal;
mod stack;
mod state;
mod tools;
mod worktree;

pub use budget::{BudgetLimit, Limits, Spending};
pub use driver::{Choice, DriverMemory, Front, FrontInput, RunDriver};
pub use error::RunError;
pub use host::{
    Ask, AskKind, EndedTurn, Host, HostError, Outgoing, Reply, SessionKey, SessionLocation,
    SessionWanted, ToolUse, TurnFault, TurnFinish, TurnView, Wake,
};
pub use inbox::{Inbox, UserMessage};
pub use journal::{FileJournal, MemoryJournal, Redaction, RunJournal};
pub use next::{NextMove, RunConditions, Verdict, limit_reached, next};
pub use options::{
    ContextPlacement, FrameOptions, FrameSetup, InterruptedPolicy, ModelName, RunOptions, Strategy,
};
pub use policy::{PermissionPolicy, PolicyError};
pub use prompt::PromptKind;
pub use record::{ActionOutcome, RunAction, RunRecord, TurnReport};
pub use report::{FrameCost, RunActivity, RunEnding, RunEvent, RunSummary};
pub use runs::{RunPaths, UnfinishedRun};
pub use signal::{FrameSignal, signals};
pub use stack::{EngineStack, ReadMessages, RunStack, RunTree, StackError};
pub use state::{FrameRun, Phase, RunState, TurnRun};
pub use tools::serve as serve_tools;
pub use worktree::Worktrees;
