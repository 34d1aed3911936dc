//! Autonomy in a project: reads signals, makes suggestions, and acts where the user lets it.
//!
//! [`heuristics`] judges the signals; `flamestack_core::autonomy` has what the journal keeps of it.

pub(crate) mod aftermath;
mod criteria;
pub mod heuristics;
pub mod policy;
pub mod reader;
mod signals;
mod suggestions;
pub(crate) mod terms;
mod wording;

pub use criteria::criteria;
pub use policy::AutonomyPolicy;
pub use reader::SignalReader;
pub use suggestions::{Announcement, Autonomy};
pub use wording::{advice, described};
