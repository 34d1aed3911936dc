//! Shared by the benchmarks: histories to work in, figures to compare, a table to print.
//!
//! A benchmark here compares things in one run, turn by turn, and prints ratios of medians: on a
//! shared machine a single time says more about the neighbours than about the code. What is
//! measured and the aims are in `docs/benchmarks.md`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark's output is its whole point"
)]

mod figures;
mod histories;
mod setting;
mod table;

pub use figures::{Cost, Series, ratio, timed};
pub use histories::{
    History, Shape, TreeQuery, WORKER, actor, finished, frame_id, stands_here, titled,
};
pub use setting::{Setting, say};
pub use table::{Table, print};
