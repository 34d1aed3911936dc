//! Checks of a host program: found, configured, current, answering, and the counts of its hooks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_engine::project::TEMPORARY;
use flamestack_engine::views::counted;
use flamestack_hosts::install::opencode::{self, ConfiguredEntry};
use flamestack_hosts::install::program::Program;
use flamestack_hosts::install::{ConfigFormat, InstallError, InstallScope};
use flamestack_hosts::sidecar::hook_stats::{self, HookTotals};
use flamestack_hosts::sidecar::probe::{self, Lap, ProbeError};
use serde_json::{Value, json};

use super::Trouble;
use crate::command_context::{self, CommandContext};
use crate::commands::init;
use crate::failure::Failure;

/// Time limit for an answer of the sidecar. The plugin waits for a fraction of that.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time after which a run of a hook was late, in milliseconds: its deadline, and time to notice that.
const LATE_MS: f64 = 300.0;

/// Hooks that may wait longer: they run at the host's start or while it summarises.
const PATIENT_HOOKS: [&str; 4] = [
    "config",
    "experimental.session.compacting",
    "experimental.text.complete",
    WITHOUT_MODEL,
];

/// Hook name under which the plugin counts summaries made without a model.
const WITHOUT_MODEL: &str = "summary without a model";

/// The state of OpenCode on this machine.
pub(super) struct OpenCode {
    found: Option<Program>,
    configured: Result<Vec<ConfiguredEntry>, InstallError>,
    /// Number of plugin files that are in place, and the number expected.
    files: (usize, usize),
    /// A test turn against a real sidecar, if the plugin is configured.
    turn: Option<Result<Vec<Lap>, ProbeError>>,
    hooks: BTreeMap<String, HookTotals>,
    /// True if `compaction.mode` is `own`.
    own_summaries: bool,
    this: PathBuf,
}

impl OpenCode {
    pub(super) fn examine(ctx: &CommandContext) -> Result<Self, Failure> {
        let project = ctx.engine.project();
        let places = command_context::opencode(&command_context::home()?)?;
        let configured = opencode::configured_entries(&places, &project.root);
        let turn = match &configured {
            Ok(entries) if !entries.is_empty() => Some(turn(&project.root)?),
            _ => None,
        };
        Ok(Self {
            found: init::opencode_program(),
            configured,
            files: opencode::count_current_files(&places),
            turn,
            hooks: hook_stats::read(&project.dir)
                .remove("opencode")
                .unwrap_or_default(),
            own_summaries: ctx.settings.get("compaction.mode")?.text.trim() == "own",
            this: init::this_program()?,
        })
    }

    fn entries(&self) -> &[ConfiguredEntry] {
        self.configured.as_deref().unwrap_or_default()
    }

    /// Returns each problem with its remedy.
    pub(super) fn problems(&self) -> Vec<Trouble> {
        let mut problems = Vec::new();
        if let Err(error) = &self.configured {
            let remedy = "fix the file: OpenCode cannot read it either";
            problems.push(Trouble::new(error.to_string(), remedy));
        }
        let (there, all) = self.files;
        let is_package = |entry: &&ConfiguredEntry| entry.is_package;
        let packages = self.entries().iter().filter(is_package).count();
        if packages > 0 && packages < self.entries().len() {
            let files: Vec<String> = self
                .entries()
                .iter()
                .map(|entry| format!("{} ({})", entry.file.display(), entry.package))
                .collect();
            problems.push(Trouble::new(
                format!("the OpenCode plugin is loaded twice: {}", files.join(", ")),
                "keep one of the entries; `flame init --remove` removes the one that it added",
            ));
        }
        for entry in self.entries().iter().filter(|entry| !entry.is_package) {
            let remedy = match entry.scope {
                InstallScope::Project(_) => "`flame init` fixes it",
                InstallScope::Global => "`flame init --global` fixes it",
            };
            let file = entry.file.display();
            if !entry.is_here {
                let problem = format!(
                    "{file} loads the plugin from {}, which is not where this `flame` keeps it",
                    entry.package
                );
                problems.push(Trouble::new(problem, remedy));
            } else if there < all {
                let problem = format!(
                    "{} of {all} files of the OpenCode plugin are missing or of another release",
                    all - there
                );
                problems.push(Trouble::new(problem, remedy));
            }
            let program = entry.command.as_deref().map(Path::new);
            if let Some(gone) = program.filter(|path| path.is_absolute() && !path.exists()) {
                let problem = format!("{file} starts {}, which is gone", gone.display());
                problems.push(Trouble::new(problem, remedy));
            }
        }
        if let Some(Err(error)) = &self.turn {
            let remedy = "`flame sidecar` in a terminal says why";
            problems.push(Trouble::new(error.to_string(), remedy));
        }
        problems
    }

    /// Returns notes about things that are not problems.
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
        for (name, hook) in &self.hooks {
            if hook.slowest_ms > LATE_MS && !PATIENT_HOOKS.contains(&name.as_str()) {
                notes.push(format!(
                    "hook {name} once took {:.0} ms; it should take 250 ms at most. A busy machine \
                     delays the host itself, too",
                    hook.slowest_ms
                ));
            }
        }
        if self.own_summaries && !self.entries().is_empty() {
            notes.push(self.about_summaries());
        }
        if init::config_format(self.found.as_ref()) == ConfigFormat::V2 {
            notes.push(init::UNVERIFIED.to_owned());
        }
        notes
    }

    /// Returns the note on whether the host still asks a model for summaries that are then replaced.
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

    /// Returns the facts to print, the first with a name.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let names = std::iter::once("opencode").chain(std::iter::repeat(""));
        names.zip(self.lines()).collect()
    }

    fn lines(&self) -> Vec<String> {
        let found = match &self.found {
            Some(found) => {
                let version = found.version.as_deref().unwrap_or("unknown version");
                format!("{version} ({})", found.path.display())
            }
            None => "not found on the search path".to_owned(),
        };
        let entries = self.entries();
        if entries.is_empty() && self.configured.is_ok() {
            return vec![format!("{found}, plugin not installed (`flame init`)")];
        }
        let mut lines = vec![found];
        if entries.is_empty() {
            return lines;
        }
        for entry in entries {
            let whom = match entry.scope {
                InstallScope::Project(_) => "this project",
                InstallScope::Global => "all projects",
            };
            let file = entry.file.display();
            let from = if entry.is_package {
                format!(", as the package {}", entry.package)
            } else {
                String::new()
            };
            lines.push(format!("installed for {whom} in {file}{from}"));
        }
        if entries.iter().any(|entry| !entry.is_package) {
            let (there, all) = self.files;
            let version = env!("CARGO_PKG_VERSION");
            lines.push(format!("plugin {version}, {there} of {all} files in place"));
        }
        if let Some(Ok(laps)) = &self.turn {
            let lap = |lap: &Lap| format!("{} {:.1} ms", lap.method, milliseconds(lap));
            let laps: Vec<String> = laps.iter().map(lap).collect();
            lines.push(format!("sidecar answers: {}", laps.join(", ")));
        }
        for (name, hook) in &self.hooks {
            lines.push(format!(
                "hook {name}: {}, {} failed, {:.1} ms on average, {:.1} ms at most",
                counted(hook.calls, "call", "calls"),
                hook.failures,
                hook.average_ms(),
                hook.slowest_ms
            ));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let (there, all) = self.files;
        let entries = self.entries().iter().map(|entry| {
            json!({
                "scope": match entry.scope { InstallScope::Project(_) => "project", InstallScope::Global => "global" },
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

/// Runs a test turn against this program's sidecar in a temporary store.
fn turn(directory: &Path) -> Result<Result<Vec<Lap>, ProbeError>, Failure> {
    let state = crate::commands::temporary::folder()?;
    fs_err::write(state.path().join(TEMPORARY), "")?;
    let this = std::env::current_exe()?;
    Ok(probe::round_trip(&this, state.path(), directory, PATIENCE))
}
