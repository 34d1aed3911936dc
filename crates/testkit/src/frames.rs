//! Frames made by hand, for tests that need no journal.

use flamestack_core::frame::{Frame, Status};
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
    let id = FrameId::from_entropy(entropy);
    Frame {
        status: Status::InProgress,
        changed: Seq(1),
        ..Frame::new(id, Title::recorded(title.to_owned()), Timestamp(0))
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
