//! Autonomy in a project: reads signals, makes suggestions, and acts where the user lets it.
//!
//! `flamestack_core::autonomy` has the rules.

mod criteria;
pub mod policy;
pub mod reader;
mod suggestions;

pub use criteria::criteria;
pub use policy::AutonomyPolicy;
pub use reader::SignalReader;
pub use suggestions::{Announcement, Autonomy, advice, described};
