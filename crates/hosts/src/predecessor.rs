//! The predecessors' files: `state.json` and `frames/*.json`, read into frames and written from them.
//!
//! This converts only. Whether an import fits is decided by the core, secrets are redacted by the
//! store, and Markdown logs are rendered elsewhere.
//!
//! ```text
//!  state.json ──Layout::read──▶ Stack ──Stack::import──▶ Reading { Import, sessions, … }
//!  frames/*   ◀─Export::write── Export ◀──── export ──── frames, sessions, the state's own fields
//! ```
//!
//! What a file says beyond our vocabulary must come back out of an export. So every frame keeps the
//! object it was read from ([`Frame::foreign`](flamestack_core::Frame)), and an export starts from
//! that object and changes only those fields which, read again, would no longer give the frame as
//! it is now. Reading and writing are thereby the two halves of a lens: a file that nobody touched
//! comes back as it was, whatever oddities it has.
//!
//! What the predecessors have no field for goes into an additional object named `flamestack`, per
//! frame and for the whole, from which our own exports are restored exactly.

mod active;
mod arrange;
mod document;
mod error;
mod export;
mod fields;
mod forest;
mod found;
mod import;
mod keys;
mod layout;
mod lists;
mod notes;
mod object;
mod order;
mod own;
mod pretty;
mod shape;
mod stack;
mod write;

pub use error::{FrameProblem, Problem, ReadError, WriteError, WrongType};
pub use export::{Export, export};
pub use import::{Reading, Target};
pub use layout::{Kind, Layout};
pub use stack::Stack;
pub use write::Existing;
