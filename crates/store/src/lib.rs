//! What Flamestack keeps on disk, and what it keeps off it.

pub mod redact;
