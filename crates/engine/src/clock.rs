//! Time and frame ids: the real ones, and deterministic ones for demos and tests.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use flamestack_core::FrameId;
use flamestack_core::id::Timestamp;

/// Source of time and frame ids. Tests inject their own.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
    /// Draws a frame id. It may be taken already, though hardly ever.
    fn draw_id(&self) -> FrameId;
}

/// The machine's clock and its source of randomness.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn draw_id(&self) -> FrameId {
        // Without a source of randomness, time is unique enough: a taken id is drawn again.
        let entropy = getrandom::u64().unwrap_or_else(|_| self.now().0.unsigned_abs());
        FrameId::from_entropy(entropy)
    }
}

/// A clock that starts at a given time, advances a second with each call, and draws ids in a fixed
/// order. For demonstrations and tests, where the same steps must give the same text.
#[derive(Debug)]
pub struct StoryClock {
    now: AtomicI64,
    drawn: AtomicU64,
}

impl StoryClock {
    /// Creates a clock that starts at a time in milliseconds.
    pub fn starting_at(milliseconds: i64) -> Self {
        Self {
            now: AtomicI64::new(milliseconds),
            drawn: AtomicU64::new(0),
        }
    }
}

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.fetch_add(1000, Ordering::Relaxed) + 1000)
    }

    fn draw_id(&self) -> FrameId {
        // Multiplying by an odd number scatters the ids and never repeats one.
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}
