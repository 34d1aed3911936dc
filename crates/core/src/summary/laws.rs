//! What holds for every summary.
