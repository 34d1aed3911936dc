//! How good a context is, measured without a model: recorded sessions show what was needed next.
pub mod judge;
pub mod pop;
pub mod train;
