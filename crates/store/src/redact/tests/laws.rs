//! Laws over arbitrary text.
