//! Costs, collected and summed up.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Cost of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// By the clock on the wall.
    pub wall: Duration,
    /// User and system time together.
    pub cpu: Duration,
    /// Peak resident memory of a child process in bytes; 0 where it was not a process.
    pub memory: u64,
}

/// The costs of many runs of one thing.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Cost>);

impl Series {
    /// Adds a run.
    pub fn add(&mut self, cost: Cost) {
        self.0.push(cost);
    }

    /// Runs something in this process and adds what it cost.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (answer, cost) = timed(work);
        self.add(cost);
        answer
    }

    /// The median time on the wall, in microseconds.
    pub fn wall(&self) -> f64 {
        self.quantile(0.5, |cost| micros(cost.wall))
    }

    /// The time on the wall that nine of ten runs stayed within, in microseconds.
    pub fn wall_p90(&self) -> f64 {
        self.quantile(0.9, |cost| micros(cost.wall))
    }

    /// The median CPU time, in microseconds.
    pub fn cpu(&self) -> f64 {
        self.quantile(0.5, |cost| micros(cost.cpu))
    }

    /// The mean CPU time, in microseconds: unlike the median, it has the rare checkpoint in it.
    pub fn cpu_mean(&self) -> f64 {
        let runs = u32::try_from(self.0.len().max(1)).unwrap_or(u32::MAX);
        self.0.iter().map(|cost| micros(cost.cpu)).sum::<f64>() / f64::from(runs)
    }

    /// The median peak memory, in megabytes.
    pub fn memory(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
        self.quantile(0.5, |cost| cost.memory as f64 / 1_000_000.0)
    }

    fn quantile(&self, part: f64, of: impl Fn(&Cost) -> f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a place among some hundred runs"
        )]
        let place = (part * (values.len().saturating_sub(1)) as f64).round() as usize;
        values.get(place).copied().unwrap_or(f64::NAN)
    }
}

/// Runs something in this process and tells what it cost.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let cpu = cpu_time();
    let begun = Instant::now();
    let answer = work();
    let cost = Cost {
        wall: begun.elapsed(),
        cpu: cpu_time().saturating_sub(cpu),
        memory: 0,
    };
    (answer, cost)
}

/// User and system time of this process so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Formats the ratio of a value to `base`, with a mark if it is within the aim.
pub fn ratio(value: f64, base: f64, target: Option<f64>) -> String {
    let times = value / base;
    match target {
        None => format!("{times:.2}×"),
        Some(target) if times <= target => format!("{times:.2}× ✓"),
        Some(target) => format!("{times:.2}× ✗ (aim ≤ {target}×)"),
    }
}
