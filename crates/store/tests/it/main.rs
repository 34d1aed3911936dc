//! The embedded store, tested from outside.

mod laws;
