//! `flame projects`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use flamestack_engine::Home;
use flamestack_engine::project::shown;
use flamestack_engine::projects::{self, KnownProject, Whereabouts};
use flamestack_engine::views::{self, counted, printable, time};
use serde_json::{Value, json};

use super::ask;
use crate::command_context::home;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, Output, painted};

/// List the projects that have frames, relink one that was moved, forget one
///
/// A repository is recognised by an id inside its git directory, a folder by its place in the file
/// system, so both keep their frames when they are moved or renamed. `relink` is for the rest: a
/// folder that was moved to another disk, or a repository that was cloned again elsewhere.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Projects {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// List the projects: path, state, frames, size and time of the last event (default)
    List,
    /// Relink the frames of a project that is no longer at its path to another directory
    Relink {
        /// Its former path, its id, or the name of its state folder
        old: String,
        /// The directory where it is now (default: the current one)
        new: Option<PathBuf>,
    },
    /// Delete the frames, raw text and settings of a project for good
    ///
    /// The project's own files are not touched. Refused while another process has its store open.
    Forget {
        /// Its path, its id, or the name of its state folder
        project: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
}

impl Projects {
    /// Returns true if it deletes a project's frames.
    pub(crate) fn deletes(&self) -> bool {
        matches!(self.action, Some(Action::Forget { .. }))
    }

    pub(crate) fn run(self, dir: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        let home = home()?;
        match self.action {
            None | Some(Action::List) => list(&home, output),
            Some(Action::Relink { old, new }) => {
                let new = new.as_deref().or(dir).unwrap_or(Path::new("."));
                relink(&home, &old, new, output)
            }
            Some(Action::Forget { project, yes }) => forget(&home, &project, yes, output),
        }
    }
}

fn list(home: &Home, output: &mut Output) -> Result<(), Failure> {
    let known = projects::list(home);
    if output.is_json() {
        let all: Vec<Value> = known.iter().map(as_json).collect();
        return output.data(&json!({ "projects": all }));
    }
    if known.is_empty() {
        return output.line("No project has frames yet.");
    }
    let frames = |project: &KnownProject| match project.frames {
        Some(frames) => counted(frames, "frame", "frames"),
        None => "unreadable".to_owned(),
    };
    let size = |project: &KnownProject| views::size(project.bytes);
    let wide = |column: &dyn Fn(&KnownProject) -> String| {
        known.iter().map(|it| column(it).len()).max().unwrap_or(0)
    };
    let canvas = output.canvas();
    let (frames_width, size_width) = (wide(&frames), wide(&size));
    for project in &known {
        let used = project
            .last_used
            .map(|at| canvas.time(at))
            .unwrap_or_default();
        let word = format!("{:<7}", project.whereabouts.as_str());
        let word = match project.whereabouts {
            Whereabouts::Present => painted(DIM, word),
            Whereabouts::Moved | Whereabouts::Missing => painted(BOLD, word),
        };
        // Several projects may have been at a path, one after the other: the name of its state names each.
        let is_at_same_path = |other: &&KnownProject| other.path == project.path;
        let name = match known.iter().filter(is_at_same_path).count() {
            0 | 1 => String::new(),
            _ => {
                let state = project.dir.file_name().unwrap_or_default();
                format!(" ({})", state.to_string_lossy())
            }
        };
        output.line(format!(
            "{word}  {:>frames_width$}  {:>size_width$}  {used:<16}  {}{name}",
            frames(project),
            size(project),
            // A folder name may contain anything.
            printable(&project.path.display().to_string())
        ))?;
    }
    if known
        .iter()
        .any(|it| it.whereabouts != Whereabouts::Present)
    {
        output.dim("`flame projects relink PATH` relinks a moved project from its new location, `flame projects forget PATH` deletes its frames")?;
    }
    Ok(())
}

fn as_json(project: &KnownProject) -> Value {
    json!({
        "path": project.path.display().to_string(),
        "id": project.id,
        "state": project.whereabouts.as_str(),
        "frames": project.frames,
        "bytes": project.bytes,
        "lastUsed": project.last_used.map(time::stamp),
        "dir": project.dir.display().to_string(),
    })
}

fn relink(home: &Home, old: &str, new: &Path, output: &mut Output) -> Result<(), Failure> {
    let known = projects::find(home, old)?;
    let project = projects::relink(home, &known, new)?;
    let here = shown(&project.identity);
    if output.is_json() {
        return output.data(&json!({
            "from": known.path.display().to_string(),
            "to": here.display().to_string(),
            "frames": known.frames,
        }));
    }
    output.line(format!(
        "Moved {} from {} to {}.",
        counted(known.frames.unwrap_or_default(), "frame", "frames"),
        known.path.display(),
        here.display()
    ))
}

fn forget(home: &Home, name: &str, yes: bool, output: &mut Output) -> Result<(), Failure> {
    let known = projects::find(home, name)?;
    let frames = counted(known.frames.unwrap_or_default(), "frame", "frames");
    let path = known.path.display();
    if !yes {
        let question = format!("Delete {frames} of {path} for good?");
        ask(&question, "`--yes` deletes without asking", output)?;
    }
    projects::forget(&known)?;
    if output.is_json() {
        return output.data(&json!({
            "forgotten": path.to_string(),
            "frames": known.frames,
            "bytes": known.bytes,
        }));
    }
    output.line(format!("Deleted {frames} of {path}."))
}
