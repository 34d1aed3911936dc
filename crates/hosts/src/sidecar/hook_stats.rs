//! Counts and times of a shim's hooks: `hooks.json` in the project's state directory, for `flame
//! doctor`.
//!
//! A shim reports what it has counted since its last report; several hosts and processes add to one
//! file. Nothing depends on the numbers: a file that cannot be read is started anew.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use flamestack_store::{private_dir, private_file};
use serde::{Deserialize, Serialize};

use super::session::ServedSession;
use super::wire::{HookStats, HostEvent};

const FILE: &str = "hooks.json";
const LOCK: &str = "hooks.lock";
/// Maximum number of hooks, which is more than any host has.
const MAX_HOOKS: usize = 64;
const MAX_NAME: usize = 80;

/// The totals of all hosts, by host and by the host's name of the hook.
pub type HookTable = BTreeMap<String, BTreeMap<String, HookTotals>>;

/// The totals of a hook.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct HookTotals {
    /// Number of runs.
    pub calls: u64,
    /// Number of runs that failed or missed their deadline.
    pub failures: u64,
    /// Total time of all runs, in milliseconds.
    pub total_ms: f64,
    /// Time of the slowest run, in milliseconds.
    pub slowest_ms: f64,
}

impl HookTotals {
    /// Returns the average time of a run, in milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "no host makes 2^52 calls")]
    pub fn average_ms(&self) -> f64 {
        self.total_ms / self.calls.max(1) as f64
    }

    fn add(&mut self, reported: &HookStats) {
        let sane = |ms: f64| if ms.is_finite() { ms.max(0.0) } else { 0.0 };
        self.calls = self.calls.saturating_add(reported.calls);
        self.failures = self.failures.saturating_add(reported.failures);
        self.total_ms += sane(reported.total_ms);
        self.slowest_ms = self.slowest_ms.max(sane(reported.slowest_ms));
    }
}

/// Reads the totals of a project; empty if nothing was reported.
pub fn read(dir: &Path) -> HookTable {
    let text = fs_err::read(dir.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Adds the counts that are among the events of a host.
pub(super) fn keep(session: &ServedSession<'_>, events: &[HostEvent]) {
    let reported: Vec<&HookStats> = events
        .iter()
        .filter_map(|event| match event {
            HostEvent::HookStats { hooks } => Some(hooks),
            _ => None,
        })
        .flatten()
        .collect();
    if reported.is_empty() {
        return;
    }
    let dir = &session.engine.project().dir;
    if let Err(error) = add(dir, session.session.host(), &reported) {
        tracing::debug!("counts of hooks not kept: {error}");
    }
}

fn add(dir: &Path, host: &str, reported: &[&HookStats]) -> io::Result<()> {
    private_dir(dir)?;
    // Another process may report at the same time; the lock ends with the file.
    let lock = private_file(&dir.join(LOCK))?;
    lock.lock()?;
    let mut table = read(dir);
    let hooks = table.entry(host.to_owned()).or_default();
    for stats in reported {
        let name: String = stats.name.chars().take(MAX_NAME).collect();
        if hooks.len() < MAX_HOOKS || hooks.contains_key(&name) {
            hooks.entry(name).or_default().add(stats);
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer_pretty(&mut file, &table)?;
    file.write_all(b"\n")?;
    file.persist(dir.join(FILE))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(name: &str, calls: u64, failures: u64, ms: f64) -> HookStats {
        HookStats {
            name: name.to_owned(),
            calls,
            failures,
            total_ms: ms,
            slowest_ms: ms,
        }
    }

    #[test]
    fn reports_add_up_by_host_and_hook() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("shop");
        add(
            &dir,
            "opencode",
            &[
                &stats("event", 2, 0, 3.0),
                &stats("chat.message", 1, 1, 250.0),
            ],
        )
        .unwrap();
        add(&dir, "opencode", &[&stats("event", 2, 1, 1.0)]).unwrap();
        add(&dir, "other", &[&stats("event", 7, 0, -1.0)]).unwrap();
        let kept = read(&dir);
        let event = kept["opencode"]["event"];
        assert_eq!((event.calls, event.failures), (4, 1));
        assert!((event.average_ms() - 1.0).abs() < 1e-9 && (event.slowest_ms - 3.0).abs() < 1e-9);
        assert_eq!(kept["opencode"]["chat.message"].failures, 1);
        assert_eq!(kept["other"]["event"].calls, 7);
        assert!(kept["other"]["event"].total_ms.abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_read_is_begun_anew_and_names_have_an_end() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::write(dir.path().join(FILE), "not json").unwrap();
        assert!(read(dir.path()).is_empty());
        let many: Vec<HookStats> = (0..200)
            .map(|i| stats(&format!("{i}{}", "x".repeat(500)), 1, 0, 1.0))
            .collect();
        add(dir.path(), "opencode", &many.iter().collect::<Vec<_>>()).unwrap();
        let kept = read(dir.path());
        assert_eq!(kept["opencode"].len(), MAX_HOOKS);
        let longest = kept["opencode"].keys().map(String::len).max();
        assert_eq!(longest, Some(MAX_NAME));
    }

    #[test]
    fn processes_that_report_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        add(dir.path(), "opencode", &[&stats("event", 1, 0, 1.0)]).unwrap();
                    }
                });
            }
        });
        assert_eq!(read(dir.path())["opencode"]["event"].calls, 80);
    }
}
