//! The files beside the store: those that are made again are deleted, the others rewritten.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::{Forget, Forgotten, rewritten_texts};
use crate::blobs::{Blobs, PATIENCE};
use crate::error::{Result, StoreError};
use crate::sqlite::{OpenOptions, private_dir, private_file};
use crate::store::Store as _;

/// Databases that can be made again.
const DERIVED: [&str; 3] = ["index.db", "relevance.db", "counts.db"];
/// Beginnings of the names of folders in which a store is copied.
const LEFTOVERS: [&str; 3] = ["cleaning-", "reading-", "restoring-"];
/// The user's own settings, which are never rewritten.
const SETTINGS: &str = "config.toml";
/// Number of bytes that are searched at a time.
const CHUNK: usize = 4 * 1024 * 1024;
/// Number of bytes that two searches have in common: a longer match may be missed between them.
const OVERLAP: usize = 64 * 1024;

/// Counts places in files beside the store.
pub(super) fn survey(dir: &Path, what: &Forget<'_>, found: &mut Forgotten) -> Result<()> {
    for path in files(dir)? {
        match kind(dir, &path) {
            Kind::Text => found.in_files += text_of(&path)?.map_or(0, |text| places(what, &text)),
            Kind::SetAside => found.in_files += u64::from(holds(&path, what)?),
            Kind::Unsearchable => found.deleted.push(path),
            Kind::Settings if holds(&path, what)? => found.left.push(path),
            Kind::Settings | Kind::Store | Kind::Derived => {}
        }
    }
    for place in set_aside(dir)? {
        found.in_files += rewritten_texts(&place, what, &mut |_, _| Ok(()))?;
    }
    Ok(())
}

/// Deletes the copies of stores that a process left when it died.
fn remove_leftovers(dir: &Path) -> Result<()> {
    for place in set_aside(dir)?.into_iter().chain([dir.to_owned()]) {
        for entry in fs_err::read_dir(&place)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_copy = LEFTOVERS.iter().any(|prefix| name.starts_with(prefix));
            if is_copy && path.is_dir() {
                fs_err::remove_dir_all(&path)?;
            }
        }
    }
    Ok(())
}

/// Erases the text from files beside the store.
pub(super) fn erase(dir: &Path, what: &Forget<'_>, found: &mut Forgotten) -> Result<()> {
    remove_leftovers(dir)?;
    for path in files(dir)? {
        match kind(dir, &path) {
            Kind::Text => {
                let Some(text) = text_of(&path)? else {
                    continue;
                };
                if let Some((text, places)) = (what.text)(&text) {
                    replace(&path, &text)?;
                    found.in_files += places;
                }
            }
            Kind::Derived => remove(&path)?,
            Kind::Unsearchable => {
                remove(&path)?;
                found.deleted.push(path);
            }
            Kind::SetAside | Kind::Settings | Kind::Store => {}
        }
    }
    for place in set_aside(dir)? {
        found.in_files += clean(&place, what)?;
        // Such a store is only kept for the user to look at: what it loses is not replaced.
        let mut texts = Vec::new();
        found.in_files += rewritten_texts(&place, what, &mut |name, _| {
            texts.push(name);
            Ok(())
        })?;
        let blobs = Blobs::new(&place);
        if !texts.is_empty() {
            blobs.erase_all(&blobs.sweep(PATIENCE)?, &texts)?;
        }
    }
    Ok(())
}

/// Searches every file for the text once more.
pub(super) fn search(dir: &Path, what: &Forget<'_>, found: &mut Forgotten) -> Result<()> {
    for path in files(dir)? {
        if holds(&path, what)? {
            found.left.push(path);
        }
    }
    Ok(())
}

/// Kinds of files in a project's folder.
enum Kind {
    /// Journal and raw texts.
    Store,
    /// Made again when needed: indexes and rendered logs.
    Derived,
    /// A store that was set aside.
    SetAside,
    /// Compressed text that cannot be read any more.
    Unsearchable,
    Settings,
    Text,
}

fn kind(dir: &Path, path: &Path) -> Kind {
    let below = path.strip_prefix(dir).unwrap_or(path);
    let name = below.to_string_lossy();
    if name.starts_with("blobs.db.damaged") {
        Kind::Unsearchable
    } else if name.starts_with("journal.db") || name.starts_with("blobs.db") {
        Kind::Store
    } else if name.starts_with("logs/") || DERIVED.iter().any(|file| name.starts_with(file)) {
        Kind::Derived
    } else if name.starts_with("set-aside/")
        && (name.contains("/journal.db") || name.contains("/blobs.db"))
    {
        Kind::SetAside
    } else if name == SETTINGS {
        Kind::Settings
    } else {
        Kind::Text
    }
}

/// Returns all files below a folder.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs_err::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the folders of set-aside stores that have a journal.
fn set_aside(dir: &Path) -> Result<Vec<PathBuf>> {
    let folders = match fs_err::read_dir(dir.join("set-aside")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let folders = folders.map(|entry| Ok(entry?.path()));
    let folders: Vec<PathBuf> = folders.collect::<Result<_>>()?;
    let has_journal = |folder: &PathBuf| folder.join("journal.db").is_file();
    Ok(folders.into_iter().filter(has_journal).collect())
}

/// Replaces a set-aside store that holds the text by what can be read of it, without the text.
/// Returns the number of places.
fn clean(place: &Path, what: &Forget<'_>) -> Result<u64> {
    let fresh = place.join(format!("cleaning-{}", std::process::id()));
    private_dir(&fresh)?;
    let cleaned = (|| -> Result<u64> {
        let mut store = OpenOptions::default().open(&fresh)?;
        store.recover(place, &mut |_, _| ())?;
        let erased = store.erase_quietly(&mut |event| what.event(event, &BTreeMap::new()), what)?;
        drop(store);
        let raw = ["journal.db", "journal.db-wal"].map(|name| place.join(name));
        let mut suspect = erased.places > 0;
        for path in raw.iter().filter(|path| path.is_file()) {
            suspect = suspect || holds(path, what)?;
        }
        if suspect {
            for name in ["journal.db-wal", "journal.db-shm", "journal.db"] {
                let path = place.join(name);
                if path.exists() {
                    remove(&path)?;
                }
            }
            fs_err::rename(fresh.join("journal.db"), place.join("journal.db"))?;
        }
        Ok(erased.places.max(u64::from(suspect)))
    })();
    fs_err::remove_dir_all(&fresh)?;
    cleaned
}

/// Returns the content of a file, unless it is not text.
fn text_of(path: &Path) -> Result<Option<String>> {
    match fs_err::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn places(what: &Forget<'_>, text: &str) -> u64 {
    (what.text)(text).map_or(0, |(_, places)| places)
}

/// Returns true if the bytes of a file hold the text.
fn holds(path: &Path, what: &Forget<'_>) -> Result<bool> {
    let mut file = match fs_err::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    let mut window = Vec::new();
    loop {
        let before = window.len();
        (&mut file).take(CHUNK as u64).read_to_end(&mut window)?;
        if window.len() == before {
            return Ok(false);
        }
        if places(what, &String::from_utf8_lossy(&window)) > 0 {
            return Ok(true);
        }
        let rest = window.len().saturating_sub(OVERLAP);
        window.drain(..rest);
    }
}

/// Replaces the content of a private file atomically.
fn replace(path: &Path, text: &str) -> Result<()> {
    let mut staged = path.to_owned().into_os_string();
    staged.push(format!(".erasing-{}", std::process::id()));
    let staged = PathBuf::from(staged);
    let mut file = private_file(&staged)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(fs_err::rename(&staged, path)?)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
