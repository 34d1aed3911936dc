//! Time and randomness, where they enter.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use flamestack_core::FrameId;
use flamestack_core::id::Timestamp;

/// What an engine cannot know by itself. Tests inject their own.
pub trait Clock: Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
    /// A frame id that was probably never drawn before.
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
        // Should the machine have no randomness, time is unique enough: a taken id is drawn again.
        let entropy = getrandom::u64().unwrap_or_else(|_| self.now().0.unsigned_abs());
        FrameId::from_entropy(entropy)
    }
}

/// A clock that starts at a given time, moves a second each time it is asked, and draws ids in a
/// fixed order. For demonstrations and tests, where the same story must give the same text.
#[derive(Debug)]
pub struct StoryClock {
    state: Mutex<(i64, u64)>,
}

impl StoryClock {
    /// A clock that starts at a time in milliseconds.
    pub fn starting_at(milliseconds: i64) -> Self {
        Self {
            state: Mutex::new((milliseconds, 0)),
        }
    }

    fn step<T>(&self, step: impl FnOnce(&mut (i64, u64)) -> T) -> T {
        step(
            &mut self
                .state
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }
}

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        self.step(|(now, _)| {
            *now += 1000;
            Timestamp(*now)
        })
    }

    fn draw_id(&self) -> FrameId {
        // Multiplying by an odd number scatters the ids and never repeats one.
        self.step(|(_, drawn)| {
            *drawn += 1;
            FrameId::from_entropy(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        })
    }
}
