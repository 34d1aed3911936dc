//! Settings files: reading one, and changing a value without touching the rest.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use flamestack_core::text::{QUOTE_LIMIT, shortened};

use super::known::{KNOWN, Kind, setting};
use super::layers::bad_value;
use crate::error::{EngineError, Result};
use crate::project::{Home, Project};
use crate::small_file::{SmallFileError, read_small};
use crate::workspace::{if_exists, write_private};

/// Maximum size of a settings file, in bytes.
const FILE_LIMIT: u64 = 256 * 1024;

/// The settings file to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's file, for all projects.
    User,
    /// The file of this project on this machine.
    Project,
}

impl Scope {
    /// Returns the path of the file, which may not exist.
    pub fn file(self, home: &Home, project: &Project) -> PathBuf {
        match self {
            Self::User => user_file(home),
            Self::Project => project.settings_file(),
        }
    }
}

/// Returns the path of the user's settings file.
pub(super) fn user_file(home: &Home) -> PathBuf {
    home.config.join("config.toml")
}

/// Reads a settings file; `None` if it does not exist.
pub(super) fn read(file: &Path) -> Result<Option<toml::Table>> {
    let Some(text) = text_of(file)? else {
        return Ok(None);
    };
    let table = text.parse::<toml::Table>();
    table.map(Some).map_err(|error| bad_file(file, error))
}

/// Reads the text of a settings file; `None` if it does not exist.
fn text_of(file: &Path) -> Result<Option<String>> {
    match read_small(file, FILE_LIMIT) {
        Err(SmallFileError::Io(error)) => match error.kind() {
            ErrorKind::PermissionDenied => Err(bad_file(file, "permission denied")),
            _ => Ok(if_exists::<String>(Err(error))?),
        },
        Err(problem) => Err(bad_file(file, problem)),
        Ok(text) => Ok(Some(text)),
    }
}

/// Returns the values of a table under their dotted keys.
pub(super) fn flat(table: &toml::Table, prefix: &str) -> Vec<(String, String)> {
    let mut values = Vec::new();
    for (name, value) in table {
        let key = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match value {
            // A table of rules is one value.
            toml::Value::Table(_) if setting(&key).is_ok_and(|it| it.kind == Kind::Rules) => {
                values.push((key, value.to_string()));
            }
            toml::Value::Table(inner) => values.extend(flat(inner, &key)),
            toml::Value::String(text) => values.push((key, text.clone())),
            other => values.push((key, other.to_string())),
        }
    }
    values
}

/// Sets a value in a settings file, preserving its comments and order. Returns the file.
pub fn set(
    home: &Home,
    project: &Project,
    scope: Scope,
    key: &str,
    value: &str,
) -> Result<PathBuf> {
    let file = scope.file(home, project);
    change(&file, &[Change::new(key, value)])?;
    Ok(file)
}

/// A setting and its new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Key of the setting.
    pub key: String,
    /// New value.
    pub value: String,
}

impl Change {
    /// Creates a change.
    pub fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }
}

/// Sets values in a settings file, preserving its comments and order: all of them, or none.
pub fn change(file: &Path, changes: &[Change]) -> Result<()> {
    for Change { key, value } in changes {
        let checked = setting(key)?.check_at(key, value);
        checked.map_err(|problem| bad_value(key, &problem, None))?;
    }
    let mut document = document(file)?;
    for Change { key, value } in changes {
        put_in(&mut document, file, key, value)?;
    }
    if let Some(dir) = file.parent() {
        flamestack_store::private_dir(dir)?;
    }
    write_private(file, &document.to_string())
}

fn put_in(
    document: &mut toml_edit::DocumentMut,
    file: &Path,
    key: &str,
    value: &str,
) -> Result<()> {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = document.as_table_mut();
    for part in section.split('.').filter(|part| !part.is_empty()) {
        let item = table.entry(part).or_insert_with(toml_edit::table);
        table = item
            .as_table_mut()
            .ok_or_else(|| bad_file(file, format!("`{part}` is not a table")))?;
    }
    let item = match value.trim().parse::<i64>() {
        Ok(number) => toml_edit::value(number),
        Err(_) => toml_edit::value(value.trim()),
    };
    table.insert(name, item);
    Ok(())
}

/// Removes a value from a settings file, also under an unknown key. Returns the file if it contained
/// the value.
pub fn unset(home: &Home, project: &Project, scope: Scope, key: &str) -> Result<Option<PathBuf>> {
    let file = scope.file(home, project);
    let mut document = document(&file)?;
    if !remove(document.as_table_mut(), key) {
        return match setting(key) {
            Ok(_) => Ok(None),
            Err(unknown) => Err(unknown),
        };
    }
    write_private(&file, &document.to_string())?;
    Ok(Some(file))
}

/// Removes all settings from a file whose keys begin so.
pub fn reset(file: &Path, beginning: &str) -> Result<()> {
    let mut document = document(file)?;
    let mut has_changed = false;
    for setting in KNOWN.iter().filter(|it| it.key.starts_with(beginning)) {
        has_changed |= remove(document.as_table_mut(), setting.key);
    }
    if has_changed {
        write_private(file, &document.to_string())?;
    }
    Ok(())
}

/// Removes a dotted key from a table, and tables that are empty without it.
fn remove(table: &mut dyn toml_edit::TableLike, key: &str) -> bool {
    if table.remove(key).is_some() {
        return true;
    }
    let Some((first, rest)) = key.split_once('.') else {
        return false;
    };
    let Some(inner) = table
        .get_mut(first)
        .and_then(toml_edit::Item::as_table_like_mut)
    else {
        return false;
    };
    let removed = remove(inner, rest);
    if removed && inner.is_empty() {
        table.remove(first);
    }
    removed
}

/// Parses a settings file with its comments; a missing file is empty.
fn document(file: &Path) -> Result<toml_edit::DocumentMut> {
    let text = text_of(file)?.unwrap_or_default();
    text.parse()
        .map_err(|error: toml_edit::TomlError| bad_file(file, error))
}

/// Returns the error about a settings file. Parsers quote the whole line, which may be long.
fn bad_file(path: &Path, problem: impl std::fmt::Display) -> EngineError {
    let problem = problem.to_string();
    EngineError::BadSettingsFile {
        path: path.to_owned(),
        source: shortened(&problem, 3 * QUOTE_LIMIT).into_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::tests::fixture;
    use super::*;

    #[test]
    fn a_value_can_be_removed() {
        let (_dir, home, project) = fixture();
        let file = set(&home, &project, Scope::User, "gc.max_size", "10 MB").unwrap();
        fs_err::write(
            &file,
            "# mine\nstore.busy_timeout_ms = 5\ncolour = 'red'\n[gc]\nmax_size = '1 MB'\n",
        )
        .unwrap();
        let unset = |key: &str| unset(&home, &project, Scope::User, key);
        assert_eq!(unset("gc.max_size").unwrap(), Some(file.clone()));
        assert_eq!(unset("gc.max_size").unwrap(), None);
        assert_eq!(unset("colour").unwrap(), Some(file.clone()));
        assert!(unset("colour").is_err());
        let left = fs_err::read_to_string(&file).unwrap();
        assert_eq!(left.trim(), "# mine\nstore.busy_timeout_ms = 5");
    }

    #[test]
    fn setting_a_value_keeps_the_rest_of_the_file() {
        let (_dir, home, project) = fixture();
        let file = user_file(&home);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(&file, "# mine\n[gc]\nmax_size = \"5 MB\" # small\n").unwrap();
        set(&home, &project, Scope::User, "store.busy_timeout_ms", "100").unwrap();
        let text = fs_err::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("# mine\n[gc]\nmax_size = \"5 MB\" # small\n"),
            "{text}"
        );
        assert!(text.contains("busy_timeout_ms = 100"), "{text}");
        assert!(set(&home, &project, Scope::User, "gc.max_size", "huge").is_err());
        assert!(set(&home, &project, Scope::User, "gc.maximum", "1").is_err());
    }
}
