//! Storage: the journal of events, the projections folded from it, raw text and disposable indexes.
//!
//! The journal is the source of truth; everything else can be deleted and made again. [`Journal`] is what another
//! storage engine has to provide, [`Projections`] are always SQLite, and [`Store`] joins the two with
//! one write path, on which everything is redacted. [`SqliteStore`] is the embedded store. The
//! format of raw transcripts is in [`transcript`]; the rules of the stack are in `flamestack-core`.

mod ack_mark;
mod blobs;
mod counts;
mod disposable;
mod error;
mod file_identity;
mod forget;
mod gc;
mod identity;
mod index;
mod journal;
mod projections;
mod record;
mod sibling_index;
mod sqlite;
mod store;
pub mod transcript;
mod unpack;
mod write;
mod write_queue;

pub use ack_mark::Mark;
pub use blobs::{BlobReader, Blobs, StoredBlob, TextHold, TextSweep};
pub use counts::TokenCounts;
pub use error::StoreError;
pub use file_identity::StoreFileState;
pub use forget::{EraseText, FORGOTTEN, Forget, Forgotten, forget, survey};
pub use gc::{Collected, Orphans, Retention, Shortfall, Sizes, collect, sizes};
pub use identity::{StoreId, store_id};
pub use index::{
    BadQuery, Hit, Index, IndexBudget, Indexed, OpenIndex, QUERY_LIMIT, SearchQuery, Searched,
    WORD_LIMIT, WORDS_LIMIT,
};
pub use journal::{Journal, JournalLock};
pub use projections::{
    EndedFrame, FinishedSpan, FrameRow, LifeReading, LogEnd, LoggedTurn, NameMatch, OutlineRow,
    Projections, Reading, Slice, SuggestionReading, Totals, WantedTurns,
};
pub use sibling_index::{Scored, SiblingIndex};
pub use sqlite::{
    Backup, Glance, OpenOptions, SqliteStore, backup, glance, is_in_use, move_aside, private_dir,
    private_file, restore, set_aside, try_writing,
};
pub use store::{
    CommitError, Committed, Decide, Finding, NextStep, OpenStore, Rebuilt, Recovered, Step, Store,
    Verified, Version,
};
