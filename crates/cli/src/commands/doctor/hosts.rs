//! What works in each host program: found, configured, current, answering, and how its hooks fare.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_hosts::install::opencode::{self, Configured};
use flamestack_hosts::install::program::Program;
use flamestack_hosts::install::{Dialect, InstallError, Scope};
use flamestack_hosts::sidecar::figures::{self, HookTotals};
use flamestack_hosts::sidecar::probe::{self, Lap, ProbeError};
use serde_json::{Value, json};

use super::Trouble;
use crate::commands::init;
use crate::failure::Failure;
use crate::workplace::{self, Workplace};

/// How long a sidecar may take for an answer. A shim waits for a fraction of that.
const PATIENCE: Duration = Duration::from_secs(5);

/// The name under which the plugin counts summaries that no model was asked for.
const WITHOUT_MODEL: &str = "summary without a model";

/// OpenCode as it is here.
pub(super) struct OpenCode {
    found: Option<Program>,
    configured: Result<Vec<Configured>, InstallError>,
    /// How many of the plugin's files are as they should be, and how many there should be.
    files: (usize, usize),
    /// A turn with a real sidecar, where the plugin is configured.
    turn: Option<Result<Vec<Lap>, ProbeError>>,
    hooks: BTreeMap<String, HookTotals>,
    /// Whether summaries are to be ours.
    own_summaries: bool,
    this: PathBuf,
}

impl OpenCode {
    pub(super) fn examine(place: &Workplace) -> Result<Self, Failure> {
        let project = place.engine.project();
        let places = workplace::opencode(&workplace::home()?)?;
        let configured = opencode::configured(&places, &project.root);
        let turn = match &configured {
            Ok(entries) if !entries.is_empty() => Some(turn(&project.root)?),
            _ => None,
        };
        Ok(Self {
            found: init::opencode_program(),
            configured,
            files: opencode::files_in_place(&places),
            turn,
            hooks: figures::read(&project.dir)
                .remove("opencode")
                .unwrap_or_default(),
            own_summaries: place.settings.get("compaction.mode")?.text.trim() == "own",
            this: init::this_program()?,
        })
    }

    fn entries(&self) -> &[Configured] {
        self.configured.as_deref().unwrap_or_default()
    }

    /// What needs attention, and what helps.
    pub(super) fn problems(&self) -> Vec<Trouble> {
        let mut problems: Vec<(String, &str)> = Vec::new();
        if let Err(error) = &self.configured {
            let remedy = "mend the file: OpenCode cannot use it either";
            problems.push((error.to_string(), remedy));
        }
        let (there, all) = self.files;
        for entry in self.entries() {
            let remedy = match entry.scope {
                Scope::Project(_) => "`flame init` mends it",
                Scope::Global => "`flame init --global` mends it",
            };
            let file = entry.file.display();
            if !entry.is_here {
                let problem = format!(
                    "{file} loads the plugin from {}, which is not where this `flame` keeps it",
                    entry.package
                );
                problems.push((problem, remedy));
            } else if there < all {
                let problem = format!(
                    "{} of {all} files of the OpenCode plugin are missing or of another release",
                    all - there
                );
                problems.push((problem, remedy));
            }
            let program = entry.command.as_deref().map(Path::new);
            if let Some(gone) = program.filter(|path| path.is_absolute() && !path.exists()) {
                let problem = format!("{file} starts {}, which is gone", gone.display());
                problems.push((problem, remedy));
            }
        }
        if let Some(Err(error)) = &self.turn {
            problems.push((error.to_string(), "`flame sidecar` in a terminal says why"));
        }
        let troubles = problems.into_iter();
        troubles
            .map(|(problem, remedy)| Trouble::new(problem, remedy))
            .collect()
    }

    /// What to know that is no problem.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for entry in self.entries() {
            let other = entry.command.as_deref().filter(|command| {
                let command = Path::new(command);
                command.exists() && command != self.this
            });
            if let Some(other) = other {
                notes.push(format!(
                    "{} starts {other}, and this is {}",
                    entry.file.display(),
                    self.this.display()
                ));
            }
        }
        if self.own_summaries && !self.entries().is_empty() {
            notes.push(self.about_summaries());
        }
        if init::dialect(self.found.as_ref()) == Dialect::Two {
            notes.push(init::UNVERIFIED.to_owned());
        }
        notes
    }

    /// Whether a model is still asked for summaries that are then replaced.
    fn about_summaries(&self) -> String {
        let calls = |name: &str| self.hooks.get(name).map_or(0, |hook| hook.calls);
        let made = calls(WITHOUT_MODEL);
        let all = calls("experimental.session.compacting").max(made);
        match (made, all) {
            (0, 0) => {
                "summaries are ours (`compaction.mode = own`); none was made here yet".to_owned()
            }
            (made, all) if made == all => format!(
                "summaries are ours (`compaction.mode = own`); no model was asked for any of {all}"
            ),
            (made, all) => format!(
                "summaries are ours (`compaction.mode = own`), but for {} of {all} the host asked a \
                 model first: it had read its configuration before the sidecar answered, or the \
                 setting is newer than the host's start",
                all - made
            ),
        }
    }

    /// Facts by name, for a person.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let found = match &self.found {
            Some(found) => {
                let version = found.version.as_deref().unwrap_or("says no version");
                format!("{version} ({})", found.path.display())
            }
            None => "not found on the search path".to_owned(),
        };
        let entries = self.entries();
        if entries.is_empty() {
            let found = match self.configured {
                Ok(_) => format!("{found}, plugin not installed (`flame init`)"),
                Err(_) => found,
            };
            return vec![("opencode", found)];
        }
        let mut facts = vec![("opencode", found)];
        for entry in entries {
            let whom = match entry.scope {
                Scope::Project(_) => "this project",
                Scope::Global => "all projects",
            };
            facts.push((
                "",
                format!("installed for {whom} in {}", entry.file.display()),
            ));
        }
        let (there, all) = self.files;
        let version = env!("CARGO_PKG_VERSION");
        facts.push((
            "",
            format!("plugin {version}, {there} of {all} files in place"),
        ));
        if let Some(Ok(laps)) = &self.turn {
            let laps: Vec<String> = laps
                .iter()
                .map(|lap| format!("{} {:.1} ms", lap.method, milliseconds(lap)))
                .collect();
            facts.push(("", format!("sidecar answers: {}", laps.join(", "))));
        }
        for (name, hook) in &self.hooks {
            facts.push((
                "",
                format!(
                    "hook {name}: {} calls, {} failed, {:.1} ms on average, {:.1} ms at most",
                    hook.calls,
                    hook.failures,
                    hook.average_ms(),
                    hook.slowest_ms
                ),
            ));
        }
        facts
    }

    pub(super) fn json(&self) -> Value {
        let (there, all) = self.files;
        let entries = self.entries().iter().map(|entry| {
            json!({
                "scope": match entry.scope { Scope::Project(_) => "project", Scope::Global => "global" },
                "file": entry.file.display().to_string(),
                "package": entry.package,
                "command": entry.command,
            })
        });
        let turn = self.turn.as_ref().map(|turn| match turn {
            Ok(laps) => json!({
                "ok": true,
                "milliseconds": laps.iter().map(|lap| (lap.method.to_owned(), json!(milliseconds(lap)))).collect::<serde_json::Map<_, _>>(),
            }),
            Err(error) => json!({ "ok": false, "problem": error.to_string() }),
        });
        json!({
            "host": "opencode",
            "path": self.found.as_ref().map(|found| found.path.display().to_string()),
            "version": self.found.as_ref().and_then(|found| found.version.clone()),
            "configured": entries.collect::<Vec<_>>(),
            "files": { "inPlace": there, "all": all },
            "sidecar": turn,
            "hooks": self.hooks,
            "notes": self.notes(),
        })
    }
}

fn milliseconds(lap: &Lap) -> f64 {
    lap.took.as_secs_f64() * 1000.0
}

/// A turn with this program's sidecar, which leaves nothing behind.
fn turn(directory: &Path) -> Result<Result<Vec<Lap>, ProbeError>, Failure> {
    let state = tempfile::tempdir()?;
    let this = std::env::current_exe()?;
    Ok(probe::round_trip(&this, state.path(), directory, PATIENCE))
}
