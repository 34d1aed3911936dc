//! Files of the tools that Flamestack descends from: `state.json` and `frames/*.json`.
//!
//! This module only converts. The core decides if an import fits, the store redacts secrets, and
//! the CLI renders Markdown logs.
//!
//! ```text
//!  state.json ──Layout::read──▶ LegacyStack ──import──▶ PreparedImport { Import, sessions, … }
//!  frames/*   ◀──────write───── ExportFiles ◀──export── frames, sessions, fields of the state
//! ```
//!
//! Fields that Flamestack does not know must survive a round trip. So every frame keeps the object
//! it was read from ([`Frame::foreign`](flamestack_core::Frame)), and an export starts from that
//! object and replaces only the fields that, read again, would not give the current frame. A file
//! that was imported and not changed since is exported as it was, oddities included.
//!
//! State that these formats cannot express goes into an additional object named `flamestack`, one
//! per frame and one per file, from which our own exports are restored exactly.

mod error;
mod export;
mod export_tree;
mod extension;
mod files;
mod frame_object;
mod import;
mod read;
mod schema;
mod tree;

pub use error::{ExportError, FileProblem, LegacyReadError};
pub use export::{ExportFiles, export};
pub use files::{Layout, LayoutKind, OnExisting, write_export};
pub use import::{ImportTarget, PreparedImport};
pub use read::LegacyStack;
