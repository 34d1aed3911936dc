//! How a shim's hooks fare: `hooks.json` in the project's state directory, for `flame doctor`.
//!
//! A shim reports what it has counted since its last report; several hosts and processes add to one
//! file. The figures inform and nothing depends on them: a file that cannot be read is begun anew.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use flamestack_store::{private_dir, private_file};
use serde::{Deserialize, Serialize};

use super::Sidecar;
use super::conversation::Conversation;
use super::wire::{Happening, HookFigures};

const FILE: &str = "hooks.json";
const LOCK: &str = "hooks.lock";
/// More hooks than any host has.
const MOST_HOOKS: usize = 64;
const LONGEST_NAME: usize = 80;

/// The figures of all hosts, by host and by the host's name of the hook.
pub type Figures = BTreeMap<String, BTreeMap<String, HookTotals>>;

/// How a hook has fared so far.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct HookTotals {
    /// How often it ran.
    pub calls: u64,
    /// How often it failed or missed its deadline.
    pub failures: u64,
    /// Milliseconds that it took in all.
    pub total_ms: f64,
    /// Milliseconds of the slowest run.
    pub slowest_ms: f64,
}

impl HookTotals {
    /// Milliseconds of a run on average.
    #[expect(clippy::cast_precision_loss, reason = "nobody counts so many calls")]
    pub fn average_ms(&self) -> f64 {
        self.total_ms / self.calls.max(1) as f64
    }

    fn add(&mut self, reported: &HookFigures) {
        let sane = |ms: f64| if ms.is_finite() { ms.max(0.0) } else { 0.0 };
        self.calls = self.calls.saturating_add(reported.calls);
        self.failures = self.failures.saturating_add(reported.failures);
        self.total_ms += sane(reported.total_ms);
        self.slowest_ms = self.slowest_ms.max(sane(reported.slowest_ms));
    }
}

/// The figures of a project; none where nothing was reported.
pub fn read(dir: &Path) -> Figures {
    let text = fs_err::read(dir.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Keeps what a shim reports among other things that happened.
pub(super) fn keep(sidecar: &Sidecar, conversation: &Conversation, happenings: &[Happening]) {
    let reported: Vec<&HookFigures> = happenings
        .iter()
        .filter_map(|happening| match happening {
            Happening::Shim { hooks } => Some(hooks),
            _ => None,
        })
        .flatten()
        .collect();
    if reported.is_empty() {
        return;
    }
    let dir = &sidecar.engine.project().dir;
    if let Err(error) = add(dir, conversation.session.host(), &reported) {
        tracing::debug!("figures of hooks not kept: {error}");
    }
}

fn add(dir: &Path, host: &str, reported: &[&HookFigures]) -> io::Result<()> {
    private_dir(dir)?;
    // Another process may report at the same time; the lock ends with the file.
    let lock = private_file(&dir.join(LOCK))?;
    lock.lock()?;
    let mut figures = read(dir);
    let hooks = figures.entry(host.to_owned()).or_default();
    for figures in reported {
        let name: String = figures.name.chars().take(LONGEST_NAME).collect();
        if hooks.len() < MOST_HOOKS || hooks.contains_key(&name) {
            hooks.entry(name).or_default().add(figures);
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer_pretty(&mut file, &figures)?;
    file.write_all(b"\n")?;
    file.persist(dir.join(FILE))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(name: &str, calls: u64, failures: u64, ms: f64) -> HookFigures {
        HookFigures {
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
                &figures("event", 2, 0, 3.0),
                &figures("chat.message", 1, 1, 250.0),
            ],
        )
        .unwrap();
        add(&dir, "opencode", &[&figures("event", 2, 1, 1.0)]).unwrap();
        add(&dir, "other", &[&figures("event", 7, 0, -1.0)]).unwrap();
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
        let many: Vec<HookFigures> = (0..200)
            .map(|i| figures(&format!("{i}{}", "x".repeat(500)), 1, 0, 1.0))
            .collect();
        add(dir.path(), "opencode", &many.iter().collect::<Vec<_>>()).unwrap();
        let kept = read(dir.path());
        assert_eq!(kept["opencode"].len(), MOST_HOOKS);
        let longest = kept["opencode"].keys().map(String::len).max();
        assert_eq!(longest, Some(LONGEST_NAME));
    }

    #[test]
    fn processes_that_report_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        add(dir.path(), "opencode", &[&figures("event", 1, 0, 1.0)]).unwrap();
                    }
                });
            }
        });
        assert_eq!(read(dir.path())["opencode"]["event"].calls, 80);
    }
}
