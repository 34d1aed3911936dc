//! `flame init`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use flamestack_hosts::install::opencode::{self, InstallPaths};
use flamestack_hosts::install::program::{self, Program};
use flamestack_hosts::install::{ConfigFormat, InstallPlan, InstallScope, StepKind, is_ignored};
use serde_json::json;

use crate::command_context;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};

/// Time limit for a program to print its version.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Install the plugin into an agent program, for this project or for all
///
/// Writes the plugin's files into your data directory and its entry into the program's
/// configuration, keeping comments and formatting. Running it again updates both. Everything
/// written is recorded, and `--remove` deletes exactly that, except what was changed since.
#[derive(Args)]
pub(crate) struct Init {
    /// The program to install into (default: every supported one)
    #[arg(long, value_name = "HOST")]
    host: Vec<Host>,
    /// Install for all your projects instead of this one
    #[arg(long)]
    global: bool,
    /// Remove what was installed
    #[arg(long)]
    remove: bool,
    /// Print what would be done without doing it
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Host {
    /// OpenCode
    Opencode,
}

impl Init {
    pub(crate) fn run(self, dir: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        if !self.host.is_empty() && !self.host.contains(&Host::Opencode) {
            return Ok(());
        }
        let home = command_context::home()?;
        let project = command_context::project(dir, &home)?;
        let places = command_context::opencode(&home)?;
        let scope = if self.global {
            InstallScope::Global
        } else {
            InstallScope::Project(project.root)
        };
        let found = opencode_program();
        let lock = !self.dry_run && (!self.remove || places.manifest.exists());
        let held = lock.then(|| places.lock()).transpose()?;
        let plan = if self.remove {
            opencode::removal(&places, &scope)?
        } else {
            opencode::install(
                &places,
                &scope,
                &this_program()?,
                config_format(found.as_ref()),
            )?
        };
        if !self.dry_run {
            plan.carry_out()?;
        }
        drop(held);
        let outcome = Outcome {
            init: &self,
            places: &places,
            scope: &scope,
            found: found.as_ref(),
            plan: &plan,
        };
        if output.is_json() {
            outcome.json(output)
        } else {
            outcome.lines(output)
        }
    }
}

/// Finds OpenCode on the search path.
pub(crate) fn opencode_program() -> Option<Program> {
    let search = std::env::var_os("PATH")?;
    let path = program::find("opencode", &search)?;
    Some(program::ask_version(path, PATIENCE))
}

/// Returns the configuration format of the OpenCode that was found.
pub(crate) fn config_format(found: Option<&Program>) -> ConfigFormat {
    match found.and_then(Program::major) {
        Some(2..) => ConfigFormat::V2,
        _ => ConfigFormat::V1,
    }
}

/// Returns the path of this program that survives an update. The entry on the search path is often
/// a link into a folder with a version in its name.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    let this = std::env::current_exe()?;
    let real = fs_err::canonicalize(&this)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let listed = program::find("flame", &search);
    let same = |path: &PathBuf| fs_err::canonicalize(path).is_ok_and(|path| path == real);
    Ok(listed.filter(same).unwrap_or(this))
}

/// The outcome of `flame init`, for printing.
struct Outcome<'t> {
    init: &'t Init,
    places: &'t InstallPaths,
    scope: &'t InstallScope,
    found: Option<&'t Program>,
    plan: &'t InstallPlan,
}

impl Outcome<'_> {
    fn json(&self, output: &mut Output) -> Result<(), Failure> {
        let steps = self.plan.steps.iter().map(|step| {
            json!({
                "what": word_and_sign(step.kind).0,
                "path": step.path.display().to_string(),
                "about": step.about,
            })
        });
        output.data(&json!({
            "host": "opencode",
            "hostVersion": self.found.and_then(|found| found.version.clone()),
            "scope": match self.scope { InstallScope::Global => "global", InstallScope::Project(_) => "project" },
            "plugin": self.places.plugin.display().to_string(),
            "changed": self.plan.has_changes() && !self.init.dry_run,
            "dryRun": self.init.dry_run,
            "steps": steps.collect::<Vec<_>>(),
        }))
    }

    fn lines(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format!("{} · {}", painted(BOLD, self.host()), self.whom()))?;
        let steps = self.plan.steps.iter();
        let (left, taken): (Vec<_>, Vec<_>) = steps.partition(|it| it.kind == StepKind::Leave);
        for step in taken {
            let (_, sign) = word_and_sign(step.kind);
            let path = self.shown(&step.path);
            output.line(format!("{sign} {path}  {}", painted(DIM, &step.about)))?;
        }
        if !self.plan.has_changes() {
            output.line(if self.init.remove {
                "Nothing to remove: `flame init` has written nothing here."
            } else {
                "Nothing to do: everything is in place."
            })?;
        }
        for step in left {
            let (_, sign) = word_and_sign(step.kind);
            let path = self.shown(&step.path);
            output.line(format!("{} {path}  {}", painted(BOLD, sign), step.about))?;
        }
        if config_format(self.found) == ConfigFormat::V2 && !self.init.remove {
            output.line(format!("{} {}", painted(DIM, "note:"), UNVERIFIED))?;
        }
        if self.init.dry_run {
            return output.line("Nothing was changed: this was a dry run.");
        }
        if self.plan.has_changes() && !self.init.remove {
            output.line(match self.found {
                Some(_) => "OpenCode loads it at its next start; `flame doctor` checks it.",
                None => {
                    "OpenCode is not on the PATH: nothing loads it until OpenCode is installed."
                }
            })?;
            if self.is_visible_to_git() {
                output.line(format!(
                    "{} the entry names files on this machine, so do not commit it; \
                     `--global` keeps it out of the project",
                    painted(DIM, "note:")
                ))?;
            }
        }
        Ok(())
    }

    /// Returns true if git may show files that were written into the project.
    fn is_visible_to_git(&self) -> bool {
        let steps = self.plan.steps.iter();
        match self.scope {
            InstallScope::Project(root) => {
                let mut inside = steps.filter(|step| step.path.starts_with(root));
                let is_edited = |path: &Path| {
                    let configs = ["opencode.json", "opencode.jsonc", "tui.json", "tui.jsonc"];
                    let name = path.file_name().and_then(|name| name.to_str());
                    name.is_some_and(|name| configs.contains(&name))
                };
                inside.any(|step| is_edited(&step.path) && !is_ignored(root, &step.path))
            }
            InstallScope::Global => false,
        }
    }

    fn host(&self) -> String {
        match self.found.map(|found| found.version.as_deref()) {
            Some(Some(version)) => format!("OpenCode {version}"),
            Some(None) => "OpenCode".to_owned(),
            None => "OpenCode (not found on this machine's PATH)".to_owned(),
        }
    }

    fn whom(&self) -> String {
        match self.scope {
            InstallScope::Global => "all projects".to_owned(),
            InstallScope::Project(root) => root.display().to_string(),
        }
    }

    /// Shortens a path: relative to the project, below `~`, or whole.
    fn shown(&self, path: &Path) -> String {
        if let InstallScope::Project(root) = self.scope
            && let Ok(inside) = path.strip_prefix(root)
        {
            return inside.display().to_string();
        }
        match path.strip_prefix(&self.places.home) {
            Ok(inside) => format!("~/{}", inside.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// The note about OpenCode 2, which was not tested.
pub(crate) const UNVERIFIED: &str = "OpenCode 2: the plugin carries a part for it, which was \
    tried with recorded shapes and never with a released version; how it is configured, whether \
    hooks fire and what a first start costs are unverified";

/// Returns the name of a step for `--json` and its sign in the list.
fn word_and_sign(kind: StepKind) -> (&'static str, &'static str) {
    match kind {
        StepKind::Add => ("add", "+"),
        StepKind::Update => ("update", "~"),
        StepKind::Remove => ("remove", "-"),
        StepKind::Leave => ("leave", "!"),
    }
}
