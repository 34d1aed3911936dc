//! All projects that have state: listing, relinking and forgetting them.

use std::path::{Path, PathBuf};

use flamestack_core::enum_names;
use flamestack_core::id::Timestamp;

use crate::error::{EngineError, Result};
use crate::project::{Home, Link, Project, Record, folder_mark, scan, shown};

/// A project that has state.
#[derive(Clone, Debug)]
pub struct KnownProject {
    /// Directory of its state.
    pub dir: PathBuf,
    /// Its path on record: the repository or the folder.
    pub path: PathBuf,
    /// Its id, for a repository.
    pub id: Option<String>,
    /// State of the path on record.
    pub whereabouts: Whereabouts,
    /// Number of its frames; `None` if the store cannot be read.
    pub frames: Option<u64>,
    /// Size of its state, in bytes.
    pub bytes: u64,
    /// Time of its last event.
    pub last_used: Option<Timestamp>,
    record: Record,
}

enum_names! {
    /// State of the path that a project has on record.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Whereabouts {
        /// The project is there.
        Present = "ok",
        /// Another project is there now.
        Moved = "moved",
        /// Nothing is there.
        Missing = "missing",
    }
}

impl KnownProject {
    fn new(home: &Home, dir: PathBuf, record: Record) -> Self {
        let glance = flamestack_store::glance(&dir);
        let identity = record.path();
        Self {
            whereabouts: whereabouts(home, &dir, &identity),
            path: shown(&identity).to_owned(),
            id: record.id.clone(),
            frames: glance.as_ref().map(|glance| glance.frames),
            bytes: size(&dir),
            last_used: glance.and_then(|glance| glance.last_used),
            dir,
            record,
        }
    }

    /// Returns true if a user means this project: by its path, its id, the beginning of its id, or
    /// the name of its state folder.
    fn is_called(&self, name: &str) -> bool {
        let path = std::path::absolute(name).unwrap_or_default();
        let path = path.components().collect::<PathBuf>();
        self.path == path
            || self.record.is_at(&path)
            || self.dir.file_name().is_some_and(|folder| folder == name)
            || (name.len() >= 6 && self.id.as_ref().is_some_and(|id| id.starts_with(name)))
    }
}

/// Returns all projects with a store, the one used last first.
pub fn list(home: &Home) -> Vec<KnownProject> {
    let with_store = scan(&home.projects())
        .into_iter()
        .filter(|(dir, _)| dir.join("journal.db").exists());
    let mut projects: Vec<KnownProject> = with_store
        .map(|(dir, record)| KnownProject::new(home, dir, record))
        .collect();
    projects.sort_by(|a, b| (b.last_used, &a.path).cmp(&(a.last_used, &b.path)));
    projects
}

/// Returns the number and the size of the stores whose projects are gone, without opening one.
pub fn orphans(home: &Home) -> (u64, u64) {
    let gone = scan(&home.projects()).into_iter().filter(|(dir, record)| {
        let identity = record.path();
        dir.join("journal.db").exists() && whereabouts(home, dir, &identity) == Whereabouts::Missing
    });
    gone.fold((0, 0), |(number, bytes), (dir, _)| {
        (number + 1, bytes + size(&dir))
    })
}

/// Returns the project that a user means by a path, an id or the name of a state folder.
pub fn find(home: &Home, name: &str) -> Result<KnownProject> {
    let mut called = list(home).into_iter().filter(|known| known.is_called(name));
    match (called.next(), called.next()) {
        (Some(project), None) => Ok(project),
        // A path may have had several projects: one that is still there comes first.
        (Some(first), Some(second)) => {
            let mut all = [first, second].into_iter().chain(called);
            all.find(|known| known.whereabouts == Whereabouts::Present)
                .ok_or_else(|| EngineError::UnknownProject(name.to_owned()))
        }
        _ => Err(EngineError::UnknownProject(name.to_owned())),
    }
}

/// Makes the state of a project that was moved the state of the project in a directory.
pub fn relink(home: &Home, old: &KnownProject, directory: &Path) -> Result<Project> {
    let project = Project::at(directory, home)?;
    if project.dir == old.dir {
        project.settle()?;
        return Project::at(directory, home);
    }
    if old.whereabouts == Whereabouts::Present {
        return Err(EngineError::ProjectInPlace(old.path.clone()));
    }
    if flamestack_store::glance(&project.dir).is_some_and(|glance| glance.frames > 0) {
        let path = shown(&project.identity).to_owned();
        return Err(EngineError::ProjectNotEmpty(path));
    }
    // Its own state has no frames, and would be found first.
    if project.dir.join("journal.db").exists() {
        delete(&project.dir)?;
    }
    let mut record = Record {
        path: project.identity.to_string_lossy().into_owned(),
        ..old.record.clone()
    };
    if project.is_repository() {
        let id = record.id.map_or_else(crate::project::draw_id, Ok)?;
        let folder = old.dir.file_name().unwrap_or_default();
        let link = Link {
            id: id.clone(),
            folder: folder.to_string_lossy().into_owned(),
        };
        link.write(&project.identity)?;
        record.id = Some(id);
        record.folder = None;
    } else {
        record.folder = folder_mark(&project.identity);
    }
    record.around = None;
    record.write(&old.dir)?;
    Project::at(directory, home)
}

/// Deletes the state of a project, with its frames and raw text. The project's own files are not
/// touched.
pub fn forget(project: &KnownProject) -> Result<()> {
    delete(&project.dir)?;
    if let Some(id) = &project.id {
        Link::delete(&project.record.path(), id)?;
    }
    Ok(())
}

/// Deletes a state directory that no process has open.
fn delete(dir: &Path) -> Result<()> {
    if flamestack_store::is_in_use(dir)? {
        return Err(EngineError::InUse(dir.to_owned()));
    }
    Ok(fs_err::remove_dir_all(dir)?)
}

/// Returns the state of a path on record: a project found there is the one in `dir`, or another.
fn whereabouts(home: &Home, dir: &Path, identity: &Path) -> Whereabouts {
    if !identity.exists() {
        return Whereabouts::Missing;
    }
    match Project::at(shown(identity), home) {
        Ok(found) if found.dir == dir => Whereabouts::Present,
        _ => Whereabouts::Moved,
    }
}

/// Returns the size of all files in a directory, in bytes.
fn size(dir: &Path) -> u64 {
    let entries = fs_err::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
