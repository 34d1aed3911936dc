//! The domain of Flamestack: frames, sessions, and the rules by which they change.
//!
//! Everything here is a pure function of its arguments. There is no IO, no clock, no environment
//! and no async: time, ids and randomness arrive as values, and what the rules need to know about
//! the tree they ask of a [`Neighbourhood`]. Storage formats and wire formats live at the edges.
//!
//! - [`decide()`] turns a [`Command`] into [`Event`]s or a [`Refusal`];
//! - [`Tree`] folds events into the state they describe.

pub mod anchor;
pub mod arguments;
pub mod brief;
pub mod command;
pub mod compaction;
pub mod context;
pub mod decide;
pub mod event;
pub mod fold;
pub mod folding;
pub mod frame;
pub mod id;
pub mod neighbourhood;
pub mod note;
pub mod refusal;
pub mod session;
pub mod subagent;
pub mod summary;
pub mod text;
pub mod tokens;
pub mod transcript;
pub mod tree;
pub mod workflow;
pub mod xml;

pub use command::{Actor, Command};
pub use decide::{Decision, Rejected, Remark, decide};
pub use event::{Event, Recorded};
pub use frame::{Frame, FrameHead, Outcome, Status};
pub use id::{FrameId, SessionRef};
pub use neighbourhood::Neighbourhood;
pub use note::{Evidence, Note};
pub use refusal::Refusal;
pub use session::{Model, Session};
pub use text::{Prose, Title};
pub use tree::Tree;
