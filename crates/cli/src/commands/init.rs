//! `flame init`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use flamestack_hosts::install::opencode::{self, Places};
use flamestack_hosts::install::program::{self, Program};
use flamestack_hosts::install::{Dialect, Plan, Scope, Step, Verb};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};
use crate::workplace;

/// A program that takes longer to say its version is not waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Install the plugin into an agent program, for this project or for all
///
/// Writes the plugin's files into your data directory and its entry into the program's
/// configuration, comments and formatting kept. Doing it again brings both up to date. What was
/// written is recorded, and `--remove` takes out exactly that, unless somebody has changed it since.
#[derive(Args)]
pub(crate) struct Init {
    /// Which program; all that are known if none is named
    #[arg(long, value_name = "HOST")]
    host: Vec<Host>,
    /// For all your projects instead of this one
    #[arg(long)]
    global: bool,
    /// Take out what was installed
    #[arg(long)]
    remove: bool,
    /// Say what would be done, and do nothing
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
        let home = workplace::home()?;
        let project = workplace::project(dir, &home)?;
        let places = workplace::opencode(&home)?;
        let scope = if self.global {
            Scope::Global
        } else {
            Scope::Project(project.root)
        };
        let found = opencode_program();
        let lock = !self.dry_run && (!self.remove || places.ledger.exists());
        let held = lock.then(|| places.lock()).transpose()?;
        let plan = if self.remove {
            opencode::removal(&places, &scope)?
        } else {
            opencode::install(&places, &scope, &this_program()?, dialect(found.as_ref()))?
        };
        if !self.dry_run {
            plan.carry_out()?;
        }
        drop(held);
        let told = Told {
            init: &self,
            places: &places,
            scope: &scope,
            found: found.as_ref(),
            plan: &plan,
        };
        if output.is_json() {
            told.json(output)
        } else {
            told.lines(output)
        }
    }
}

/// OpenCode, if it is on the search path.
pub(crate) fn opencode_program() -> Option<Program> {
    let search = std::env::var_os("PATH")?;
    let path = program::find("opencode", &search)?;
    Some(program::ask_version(path, PATIENCE))
}

/// How the configuration of the OpenCode that was found is written.
pub(crate) fn dialect(found: Option<&Program>) -> Dialect {
    match found.and_then(Program::major) {
        Some(2..) => Dialect::Two,
        _ => Dialect::One,
    }
}

/// This program, by the name under which it is found again after an update: what is on the search
/// path often is a link to a folder with a version in its name.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    let this = std::env::current_exe()?;
    let real = fs_err::canonicalize(&this)?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let listed = program::find("flame", &search);
    let same = |path: &PathBuf| fs_err::canonicalize(path).is_ok_and(|path| path == real);
    Ok(listed.filter(same).unwrap_or(this))
}

/// What there is to tell.
struct Told<'t> {
    init: &'t Init,
    places: &'t Places,
    scope: &'t Scope,
    found: Option<&'t Program>,
    plan: &'t Plan,
}

impl Told<'_> {
    fn json(&self, output: &mut Output) -> Result<(), Failure> {
        let steps = self.plan.steps.iter().map(|step| {
            json!({
                "what": word(step.verb),
                "path": step.path.display().to_string(),
                "about": step.about,
            })
        });
        output.data(&json!({
            "host": "opencode",
            "hostVersion": self.found.and_then(|found| found.version.clone()),
            "scope": match self.scope { Scope::Global => "global", Scope::Project(_) => "project" },
            "plugin": self.places.plugin.display().to_string(),
            "changed": self.plan.changes_something() && !self.init.dry_run,
            "dryRun": self.init.dry_run,
            "steps": steps.collect::<Vec<_>>(),
        }))
    }

    fn lines(&self, output: &mut Output) -> Result<(), Failure> {
        output.line(format!("{} · {}", painted(BOLD, self.host()), self.whom()))?;
        for step in self.plan.steps.iter().filter(|it| it.verb != Verb::Leave) {
            output.line(format!(
                "{} {}  {}",
                sign(step.verb),
                self.shown(&step.path),
                painted(DIM, &step.about)
            ))?;
        }
        if !self.plan.changes_something() {
            output.line(if self.init.remove {
                "Nothing to take out: nothing that `flame init` wrote is here."
            } else {
                "Nothing to do: everything is in place."
            })?;
        }
        for step in self.plan.steps.iter().filter(|it| it.verb == Verb::Leave) {
            self.left(output, step)?;
        }
        if dialect(self.found) == Dialect::Two && !self.init.remove {
            output.line(format!("{} {}", painted(DIM, "note:"), UNVERIFIED))?;
        }
        if self.init.dry_run {
            return output.line("Nothing was changed: this was a dry run.");
        }
        if self.plan.changes_something() && !self.init.remove {
            output.line("OpenCode loads it with its next start; `flame doctor` checks it.")?;
            if let Scope::Project(_) = self.scope {
                output.line(format!(
                    "{} the entry names files of this machine, so it is nothing to commit; \
                     `--global` keeps it out of the project",
                    painted(DIM, "note:")
                ))?;
            }
        }
        Ok(())
    }

    fn left(&self, output: &mut Output, step: &Step) -> Result<(), Failure> {
        output.line(format!(
            "{} {}  {}",
            painted(BOLD, "!"),
            self.shown(&step.path),
            step.about
        ))
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
            Scope::Global => "all projects".to_owned(),
            Scope::Project(root) => root.display().to_string(),
        }
    }

    /// A path as short as it can be told: in the project, below home, or whole.
    fn shown(&self, path: &Path) -> String {
        if let Scope::Project(root) = self.scope
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

/// What is not known of OpenCode 2.
pub(crate) const UNVERIFIED: &str = "OpenCode 2: the plugin carries a part for it, which was \
    tried with recorded shapes and never with a released version; how it is configured, whether \
    hooks fire and what a first start costs are unverified";

fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Add => "add",
        Verb::Update => "update",
        Verb::Remove => "remove",
        Verb::Leave => "leave",
    }
}

fn sign(verb: Verb) -> &'static str {
    match verb {
        Verb::Add => "+",
        Verb::Update => "~",
        Verb::Remove => "-",
        Verb::Leave => "!",
    }
}
