//! The domain of Flamestack: frames, sessions, and the rules by which they change.
//!
//! Everything here is a pure function of its arguments. There is no IO, no clock, no environment
//! and no async: time, ids and randomness arrive as values, and what the rules need to know about
//! the tree they ask of a [`TreeQuery`]. Storage formats and wire formats live at the edges.
//!
//! - [`decide()`] turns a [`Command`] into [`Event`]s or a [`Refusal`];
//! - [`fold`] applies events to the frames they describe.

mod author;
pub mod autonomy;
pub mod command;
pub mod compaction;
pub mod decide;
pub mod delegation;
pub mod delivery;
pub mod event;
pub mod fold;
pub mod folding;
pub mod frame;
pub mod id;
mod names;
pub mod note;
pub mod refusal;
pub mod session;
pub mod stall;
pub mod subagent;
pub mod text;
pub mod transcript;
pub mod tree_query;

pub use author::Author;
pub use command::{Actor, Command};
pub use decide::{DecideError, Decided, Remark, decide};
pub use event::{Event, Recorded};
pub use frame::{Frame, FrameHead, Outcome, Status};
pub use id::{FrameId, SessionRef};
pub use note::{Evidence, Note};
pub use refusal::Refusal;
pub use session::{Model, Session};
pub use text::{Text, Title};
pub use tree_query::TreeQuery;
