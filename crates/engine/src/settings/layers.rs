//! Values from all layers, each with its origin, and the files they are kept in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::known::{KNOWN, Setting, nearest, parse_size, setting};
use crate::error::EngineError;
use crate::project::{Home, Project};

/// Looks a name up in the environment. Fronts pass the real one, tests their own.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    BuiltIn,
    /// A settings file.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value as written.
    pub text: String,
    /// Its origin.
    pub origin: Origin,
}

/// Whose settings are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, for all projects.
    User,
    /// This project's, on this machine.
    Project,
}

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Gathers all layers. The first bad value or unknown key is an error that says where it is.
    pub fn gather(
        home: &Home,
        project: &Project,
        environment: Environment<'_>,
    ) -> Result<Self, EngineError> {
        let built_in = |setting: &'static Setting| {
            (
                setting.key,
                Value {
                    text: setting.default.to_owned(),
                    origin: Origin::BuiltIn,
                },
            )
        };
        let mut settings = Self {
            values: KNOWN.iter().map(built_in).collect(),
        };
        for file in [
            user_file(home),
            project.team_settings_file(),
            project.settings_file(),
        ] {
            settings.add_file(&file)?;
        }
        for setting in KNOWN {
            // The first name counts most, so it is laid on last.
            for name in setting.environment.iter().rev() {
                if let Some(text) = environment(name) {
                    settings.put(setting, text, Origin::Environment((*name).to_owned()))?;
                }
            }
        }
        Ok(settings)
    }

    fn add_file(&mut self, file: &Path) -> Result<(), EngineError> {
        let Some(table) = read_file(file)? else {
            return Ok(());
        };
        for (key, text) in flat(&table, "") {
            let setting = setting(&key).map_err(|_| EngineError::UnknownSetting {
                nearest: nearest(&key, KNOWN.iter().map(|known| known.key)),
                key: key.clone(),
                origin: Some(file.display().to_string()),
            })?;
            self.put(setting, text, Origin::File(file.to_owned()))?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        setting: &'static Setting,
        text: String,
        origin: Origin,
    ) -> Result<(), EngineError> {
        setting
            .check(&text)
            .map_err(|problem| EngineError::BadSetting {
                key: setting.key.to_owned(),
                problem,
                origin: Some(origin.to_string()),
            })?;
        self.values.insert(setting.key, Value { text, origin });
        Ok(())
    }

    /// A value by its key.
    pub fn get(&self, key: &str) -> Result<&Value, EngineError> {
        let setting = setting(key)?;
        self.values
            .get(setting.key)
            .ok_or_else(|| EngineError::UnknownSetting {
                key: key.to_owned(),
                nearest: None,
                origin: None,
            })
    }

    /// All values by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Value)> {
        KNOWN
            .iter()
            .filter_map(|setting| Some((setting, self.values.get(setting.key)?)))
    }

    /// A size in bytes. All values were checked when they were gathered.
    pub fn size(&self, key: &str) -> Result<u64, EngineError> {
        let value = self.get(key)?;
        parse_size(&value.text).map_err(|problem| EngineError::BadSetting {
            key: key.to_owned(),
            problem,
            origin: Some(value.origin.to_string()),
        })
    }

    /// How long to wait for other writers.
    pub fn busy_timeout(&self) -> Result<Duration, EngineError> {
        let milliseconds = self.get("store.busy_timeout_ms")?.text.trim().parse();
        Ok(Duration::from_millis(milliseconds.unwrap_or(30_000)))
    }
}

/// The user's settings file.
fn user_file(home: &Home) -> PathBuf {
    home.config.join("config.toml")
}

fn read_file(file: &Path) -> Result<Option<toml::Table>, EngineError> {
    let text = match fs_err::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(EngineError::BadSettingsFile {
                path: file.to_owned(),
                problem: "it is not UTF-8 text".to_owned(),
            });
        }
        other => other?,
    };
    let table = text
        .parse::<toml::Table>()
        .map_err(|error| EngineError::BadSettingsFile {
            path: file.to_owned(),
            problem: error.to_string(),
        })?;
    Ok(Some(table))
}

/// The values of a table under their dotted keys.
fn flat(table: &toml::Table, prefix: &str) -> Vec<(String, String)> {
    let mut values = Vec::new();
    for (name, value) in table {
        let key = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match value {
            toml::Value::Table(inner) => values.extend(flat(inner, &key)),
            toml::Value::String(text) => values.push((key, text.clone())),
            other => values.push((key, other.to_string())),
        }
    }
    values
}

/// Sets a value in a settings file, keeping its comments and order. Returns the file.
pub fn set(
    home: &Home,
    project: &Project,
    scope: Scope,
    key: &str,
    value: &str,
) -> Result<PathBuf, EngineError> {
    let setting = setting(key)?;
    setting
        .check(value)
        .map_err(|problem| EngineError::BadSetting {
            key: key.to_owned(),
            problem,
            origin: None,
        })?;
    let file = match scope {
        Scope::User => user_file(home),
        Scope::Project => project.settings_file(),
    };
    let text = match fs_err::read_to_string(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    let mut document =
        text.parse::<toml_edit::DocumentMut>()
            .map_err(|error| EngineError::BadSettingsFile {
                path: file.clone(),
                problem: error.to_string(),
            })?;
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = document.as_table_mut();
    for part in section.split('.').filter(|part| !part.is_empty()) {
        let item = table.entry(part).or_insert_with(toml_edit::table);
        table = item
            .as_table_mut()
            .ok_or_else(|| EngineError::BadSettingsFile {
                path: file.clone(),
                problem: format!("`{part}` is not a table"),
            })?;
    }
    let item = match value.trim().parse::<i64>() {
        Ok(number) => toml_edit::value(number),
        Err(_) => toml_edit::value(value.trim()),
    };
    table.insert(name, item);
    if let Some(dir) = file.parent() {
        flamestack_store::private_dir(dir)?;
    }
    crate::engine::write_private(&file, &document.to_string())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> (tempfile::TempDir, Home, Project) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let project = Project::at(dir.path(), &home).unwrap();
        (dir, home, project)
    }

    #[test]
    fn later_layers_win_and_values_know_their_origin() {
        let (_dir, home, project) = ground();
        let nothing: Environment<'_> = &|_| None;
        let key = "gc.max_size";
        let origin = |environment: Environment<'_>| {
            let settings = Settings::gather(&home, &project, environment).unwrap();
            let value = settings.get(key).unwrap().clone();
            (value.text, value.origin)
        };
        assert_eq!(origin(nothing), ("50 MB".to_owned(), Origin::BuiltIn));
        let user = set(&home, &project, Scope::User, key, "10 MB").unwrap();
        assert_eq!(origin(nothing), ("10 MB".to_owned(), Origin::File(user)));
        fs_err::write(project.team_settings_file(), "[gc]\nmax_size = '20 MB'\n").unwrap();
        assert_eq!(origin(nothing).0, "20 MB");
        set(&home, &project, Scope::Project, key, "30 MB").unwrap();
        assert_eq!(origin(nothing).0, "30 MB");
        let environment: Environment<'_> =
            &|name| (name == "FLAME_GC_MAX_SIZE").then(|| "1 MB".to_owned());
        assert_eq!(origin(environment).0, "1 MB");
    }

    #[test]
    fn a_bad_value_names_its_source() {
        let (_dir, home, project) = ground();
        let environment: Environment<'_> =
            &|name| (name == "FLAME_GC_MAX_SIZE").then(|| "lots".to_owned());
        let error = Settings::gather(&home, &project, environment).unwrap_err();
        insta::assert_snapshot!(error, @"the setting `gc.max_size` is `lots`, but must be a size such as `50 MB` (from environment variable FLAME_GC_MAX_SIZE)");
        fs_err::write(project.team_settings_file(), "gc.max_sise = 3\n").unwrap();
        let error = Settings::gather(&home, &project, &|_| None).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("there is no setting `gc.max_sise` (from "),
            "{error}"
        );
        assert_eq!(
            error.hint(flamestack_core::refusal::Voice::Cli).unwrap(),
            "did you mean `gc.max_size`?"
        );
    }

    #[test]
    fn setting_a_value_keeps_the_rest_of_the_file() {
        let (_dir, home, project) = ground();
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
