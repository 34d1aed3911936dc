//! What crosses the pipe between a host's shim and the sidecar, one file a subject.
//!
//! These are the protocol's own types; `docs/protocol.md` tells the story and the TypeScript
//! declarations of the shims are made from them. They are converted at the edge and never handed
//! further in.

mod calling;
mod greeting;
mod happening;
mod message;
mod request;
mod showing;
mod summary;

pub use calling::{Call, Called, Delegated, Delegating, Delegation, Returned};
pub use greeting::{
    CommandDeclaration, Direct, Hello, Isolation, Placement, Summaries, ToolDeclaration, Welcome,
};
pub use happening::{Happening, HookFigures, Observe, Original, SessionFacts, TodoItem};
pub use message::{CallState, Message, Part, Role, Usage};
pub use request::{Insertion, Model, Prepare, Prepared, Prompt, Prompted, Rewriting};
pub use showing::{Show, Shown};
pub use summary::{Instructions, Rewritten, Summarizing, Written};

/// Which version of the protocol this is. A shim that speaks another one is told so.
pub const PROTOCOL: u32 = 1;
