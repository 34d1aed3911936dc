//! The engine as fronts use it, on real stores.

mod contexts;
mod ground;
