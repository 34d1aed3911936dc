//! Where Flamestack keeps things: the journal of events, the projections folded from it, raw text
//! and the search index.
//!
//! The journal is the truth; everything else can be deleted and made again. [`Store`] and
//! [`Reading`] speak the language of the domain, so that another engine can stand behind them;
//! [`SqliteStore`] is the embedded one. What is written passes [`redact`] first, always. The rules
//! of the stack are `flamestack-core`'s business.

mod blobs;
mod counts;
mod error;
mod gc;
mod index;
mod kinship;
mod record;
pub mod redact;
mod sqlite;
mod store;
pub mod transcript;

pub use blobs::{Blobs, Kept};
pub use counts::TokenCounts;
pub use error::StoreError;
pub use gc::{Collected, Sizes, collect, sizes};
pub use index::{Hit, Index, Searched};
pub use kinship::{Kinship, Scored};
pub use sqlite::{OpenOptions, SqliteStore, move_aside, private_dir, private_file, set_aside};
pub use store::{
    Committed, Ended, Finding, FinishedSpan, FrameRow, Named, NextStep, Reading, Rebuilt,
    Recovered, Rejection, Slice, Step, Store, Totals, Verified, Version,
};
