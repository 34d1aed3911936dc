//! Automatic clean-up, in idle moments of a sidecar.
//!
//! A request never waits for it: it begins when no request has come for a while, works in small steps,
//! and stops after the step in which a request arrives.

use std::time::Duration;

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::id::SessionRef;

use super::Sidecar;
use super::scheduler::Scheduler;

/// The time and the aim of clean-ups.
#[derive(Clone, Copy, Debug)]
pub struct Upkeep {
    /// Time without requests before one begins.
    pub quiet: Duration,
    /// Time between two of them.
    pub interval: Duration,
    /// Maximum size of the project's state, in bytes.
    pub limit: u64,
    /// Maximum age of raw text, in days; 0 for none.
    pub max_age_days: u64,
}

/// Cleans up whenever it is due, until the input ends.
pub(super) fn tend(sidecar: &Sidecar, scheduler: &Scheduler) {
    let Some(upkeep) = sidecar.upkeep else {
        return;
    };
    let worktree = sidecar.worktree.clone();
    let actor = Actor {
        session: SessionRef::shell(worktree.as_deref().unwrap_or("main")),
        worktree,
        message: None,
        by: Author::Agent,
    };
    while let Some(since) = scheduler.wait_until_idle(upkeep.quiet) {
        let go_on = || scheduler.is_idle_since(since);
        let maintenance = sidecar.engine.maintenance();
        let keep = maintenance.retention(upkeep.limit, upkeep.max_age_days);
        let collected = maintenance.collect_if_due(&actor, &keep, upkeep.interval, &go_on);
        match collected {
            Ok(Some(plan)) => tracing::info!(
                "Cleaned up: {} raw texts dropped, {} bytes before",
                plan.drop_blobs.len() + plan.expired.len() + plan.orphans.len(),
                plan.before.total()
            ),
            Ok(None) => {}
            // The next one may work; `flame doctor` reports what is wrong with a store.
            Err(error) => {
                sidecar.engine.report_later(&error);
                tracing::warn!("Clean-up failed: {error}");
            }
        }
    }
}
