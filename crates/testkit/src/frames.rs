//! Frames made by hand, for tests that need no journal.

use flamestack_core::frame::{Frame, Origin, Rank, Status};
use flamestack_core::id::{FrameId, Seq, Timestamp};
use flamestack_core::text::Title;

use crate::prose;

/// A frame in progress; its id comes from its title.
pub fn frame(title: &str) -> Frame {
    let entropy = title
        .bytes()
        .fold(14_695_981_039_346_656_037_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
        });
    Frame {
        id: FrameId::from_entropy(entropy),
        parent: None,
        rank: Rank::default(),
        status: Status::InProgress,
        origin: Origin::Asked,
        title: Title::recorded(title.to_owned()),
        criteria: None,
        criteria_compacted: None,
        results: None,
        results_compacted: None,
        notes: Vec::new(),
        log: Vec::new(),
        blocked_on: None,
        summary: None,
        awaiting: None,
        invalidation: None,
        span: None,
        session: None,
        aliases: Vec::new(),
        foreign: None,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        changed: Seq(1),
        closed: None,
    }
}

/// A completed frame.
pub fn finished(title: &str, results: &str) -> Frame {
    Frame {
        status: Status::Completed,
        results: Some(prose(results)),
        closed: Some(Seq(2)),
        ..frame(title)
    }
}
