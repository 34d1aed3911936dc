//! Finding the state of a project, also after the project was moved.
//!
//! ```text
//!  git directory ── id ──▶ state with this id ─┬─ records this path ──────────────▶ here
//!                                              ├─ its path has the id too ────────▶ a copy: own state
//!                                              └─ its path is gone or another's ──▶ moved: relinked
//!  no id ──▶ state at this path without an id ──▶ here (an earlier version made it)
//!        ├─▶ state of the same folder before it was a repository ──▶ moved
//!        └─▶ state at this path with an id ──▶ another project's: own state
//! ```
//!
//! The state folder keeps its name when a project is moved, since other processes may have files
//! in it open. Nothing is written here: [`Project::settle`](super::Project::settle) does that when
//! the store is opened.

use std::path::{Path, PathBuf};

use super::record::{Link, Record, folder_mark};
use super::repository::Repository;
use super::{Found, key, name_of, shown};

/// Returns the state of a repository.
pub(super) fn of_repository(
    projects: &Path,
    repository: &Repository,
    directory: &Path,
) -> (PathBuf, Found) {
    let common = &repository.common;
    let own = projects.join(key(common));
    let Some(link) = Link::read(common) else {
        return without_link(projects, repository, directory, own);
    };
    match with_id(projects, &link, &own) {
        Some((dir, record)) if record.is_at(common) => (dir, Found::Here),
        Some((_, record)) if record.is_alive() => {
            let original = shown(&record.path()).to_owned();
            let fits = |record: &Record| record.may_be_without_id(common);
            let dir = free(projects, common, fits);
            // Another first command may have given the copy its own id meanwhile.
            if Link::read(common).is_some_and(|now| now.id != link.id) {
                return of_repository(projects, repository, directory);
            }
            (dir, Found::CopyOf { original })
        }
        Some((dir, record)) => (dir, moved(&record)),
        None => {
            let fits = |record: &Record| {
                let id = record.id.as_ref();
                id.map_or_else(|| record.may_be_without_id(common), |id| *id == link.id)
            };
            let dir = free(projects, common, fits);
            if has_store(&dir) {
                return (dir, Found::Here);
            }
            let found = in_place_of(&scan(projects), &[common]).unwrap_or(Found::Here);
            (dir, found)
        }
    }
}

/// Returns the state of a repository without an id: one that has no state yet, or whose state was
/// made by an earlier version, or a folder that has become a repository.
fn without_link(
    projects: &Path,
    repository: &Repository,
    directory: &Path,
    own: PathBuf,
) -> (PathBuf, Found) {
    let common = &repository.common;
    let fits = |record: &Record| record.may_be_without_id(common);
    // A worktree of a repository that was moved still names the old path.
    if has_store(&own) && (is_free(&own, common, fits) || !common.exists()) {
        return (own, Found::Here);
    }
    let dir = free(projects, common, fits);
    if has_store(&dir) {
        return (dir, Found::Here);
    }
    // Another first command may have drawn the id meanwhile.
    if Link::read(common).is_some() {
        return of_repository(projects, repository, directory);
    }
    let below: Vec<&Path> = directory
        .ancestors()
        .take_while(|folder| folder.starts_with(&repository.root))
        .collect();
    let all = scan(projects);
    for folder in below.iter().rev() {
        let was = |(dir, record): &&(PathBuf, Record)| {
            record.is_at(folder) && record.is_same_folder(folder) && has_store(dir)
        };
        if let Some((dir, record)) = all.iter().find(was) {
            return (dir.clone(), moved(record));
        }
    }
    let mut before = below;
    before.push(common);
    let found = in_place_of(&all, &before).unwrap_or_else(|| perhaps(&all, common));
    (dir, found)
}

/// Returns a folder without git, and its state: those of the directory, or of the nearest folder
/// above it that has state.
pub(super) fn of_folder(projects: &Path, directory: &Path) -> (PathBuf, PathBuf, Found) {
    let home = std::env::home_dir();
    // Frames made in the home directory do not claim every folder below it.
    let claims = |folder: &&Path| {
        *folder == directory
            || (folder.parent().is_some() && home.as_deref().is_none_or(|home| *folder != home))
    };
    let folders: Vec<&Path> = directory.ancestors().filter(claims).collect();
    for folder in &folders {
        let own = projects.join(key(folder));
        if has_store(&own) && is_free(&own, folder, |record| record.is_same_folder(folder)) {
            return (folder.to_path_buf(), own, Found::Here);
        }
    }
    let all: Vec<_> = scan(projects)
        .into_iter()
        .filter(|(dir, _)| has_store(dir))
        .collect();
    for folder in &folders {
        let mark = folder_mark(folder);
        let git = folder.join(".git");
        for (dir, record) in &all {
            let is_same = record.is_same_folder(folder);
            let found = if record.is_at(folder) && is_same {
                Found::Here
            } else if (record.is_at(&git) && is_same)
                || (mark.is_some() && record.folder == mark && !record.is_alive())
            {
                moved(record)
            } else {
                continue;
            };
            return (folder.to_path_buf(), dir.clone(), found);
        }
    }
    let fits = |record: &Record| record.is_same_folder(directory);
    let dir = free(projects, directory, fits);
    let found = in_place_of(&all, &folders).unwrap_or_else(|| perhaps(&all, directory));
    (directory.to_owned(), dir, found)
}

/// Returns every state folder that has a record.
pub(crate) fn scan(projects: &Path) -> Vec<(PathBuf, Record)> {
    let mut found: Vec<(PathBuf, Record)> = fs_err::read_dir(projects)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.path(), Record::read(&entry.path())?)))
        .collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// Returns the state with the id of a link: mostly that of its path, or the one that it names.
fn with_id(projects: &Path, link: &Link, own: &Path) -> Option<(PathBuf, Record)> {
    let fits = |record: &Record| record.id.as_ref() == Some(&link.id);
    for dir in [own.to_owned(), projects.join(&link.folder)] {
        if let Some(record) = Record::read(&dir).filter(fits) {
            return Some((dir, record));
        }
    }
    scan(projects).into_iter().find(|(_, record)| fits(record))
}

/// Returns the folder for the state of an identity: the one named by its path, unless that belongs
/// to a project that was moved away or that `fits` refuses.
fn free(projects: &Path, identity: &Path, fits: impl Fn(&Record) -> bool + Copy) -> PathBuf {
    let name = key(identity);
    let own = projects.join(&name);
    if is_free(&own, identity, fits) {
        return own;
    }
    let others = (2_u32..).map(|n| projects.join(format!("{name}-{n}")));
    let mut others = others.filter(|dir| is_free(dir, identity, fits));
    others.next().unwrap_or(own)
}

/// Returns true if no other project has its state in a folder.
fn is_free(dir: &Path, identity: &Path, fits: impl Fn(&Record) -> bool) -> bool {
    Record::read(dir).is_none_or(|record| record.is_at(identity) && fits(&record))
}

fn has_store(dir: &Path) -> bool {
    dir.join("journal.db").exists()
}

fn moved(record: &Record) -> Found {
    Found::Moved {
        from: shown(&record.path()).to_owned(),
    }
}

/// Returns the project that was at one of these paths before, which are those of the folders around a project that
/// has no state, and are not that project's: as git directories or as folders.
fn in_place_of(all: &[(PathBuf, Record)], paths: &[&Path]) -> Option<Found> {
    let was_here = |record: &Record| {
        let at = |path: &&Path| record.is_at(path) || record.is_at(&path.join(".git"));
        paths.iter().any(at)
    };
    // The newest of several has the last number.
    let (dir, record) = all
        .iter()
        .rev()
        .find(|(dir, record)| has_store(dir) && was_here(record))?;
    Some(Found::InPlaceOf {
        path: shown(&record.path()).to_owned(),
        state: dir.file_name()?.to_string_lossy().into_owned(),
    })
}

/// Returns the one project of the same name whose path is gone, if there is one.
fn perhaps(all: &[(PathBuf, Record)], identity: &Path) -> Found {
    let name = name_of(identity);
    let gone = |(dir, record): &&(PathBuf, Record)| {
        let path = record.path();
        name_of(&path) == name && has_store(dir) && !path.exists()
    };
    let mut gone = all.iter().filter(gone);
    match (gone.next(), gone.next()) {
        (Some((_, record)), None) => Found::Perhaps {
            gone: shown(&record.path()).to_owned(),
        },
        _ => Found::Here,
    }
}
