//! Values from all layers, each with its origin, and the files they are kept in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::refusal::Voice;

use super::known::{
    KNOWN, Kind, Patterns, Setting, nearest, parse_patterns, parse_size, parse_switch, setting,
};
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

impl Scope {
    fn file(self, home: &Home, project: &Project) -> PathBuf {
        match self {
            Self::User => user_file(home),
            Self::Project => project.settings_file(),
        }
    }
}

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
    problems: Vec<Problem>,
}

/// Something in the settings that does not count, because nobody knows what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key, where it is about one.
    pub key: Option<String>,
    /// What is wrong and where, as an error says it.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether work goes on without it. A key that nobody knows (a newer version's, a slip) stops
    /// nothing; a value that a setting cannot have does.
    pub harmless: bool,
}

impl Settings {
    /// Gathers all layers. The first bad value is an error that says where it is; keys that nobody
    /// knows are left among the problems.
    pub fn gather(
        home: &Home,
        project: &Project,
        environment: Environment<'_>,
    ) -> Result<Self, EngineError> {
        let mut settings = Self::built_in();
        settings.add_layers(home, project, environment, &mut |_, error| Err(error))?;
        Ok(settings)
    }

    /// Gathers all that can be understood, for those who want to see and mend the rest: nothing
    /// bad counts, and all of it is among the problems.
    pub fn survey(
        home: &Home,
        project: &Project,
        environment: Environment<'_>,
    ) -> Result<Self, EngineError> {
        let mut settings = Self::built_in();
        settings.add_layers(home, project, environment, &mut |settings, error| {
            settings.problems.push(Problem::of(&error));
            Ok(())
        })?;
        Ok(settings)
    }

    /// What holds where nobody has set anything.
    pub fn built_in() -> Self {
        let built_in = |setting: &'static Setting| {
            (
                setting.key,
                Value {
                    text: setting.default.to_owned(),
                    origin: Origin::BuiltIn,
                },
            )
        };
        Self {
            values: KNOWN.iter().map(built_in).collect(),
            problems: Vec::new(),
        }
    }

    fn add_layers(
        &mut self,
        home: &Home,
        project: &Project,
        environment: Environment<'_>,
        bad: &mut dyn FnMut(&mut Self, EngineError) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for file in [
            user_file(home),
            project.team_settings_file(),
            project.settings_file(),
        ] {
            let table = match read_file(&file) {
                Ok(table) => table.unwrap_or_default(),
                Err(error) => {
                    bad(self, error)?;
                    continue;
                }
            };
            for (key, text) in flat(&table, "") {
                let Ok(setting) = setting(&key) else {
                    self.problems.push(Problem::of(&unknown(&key, &file)));
                    continue;
                };
                if let Err(error) = self.put(setting, text, Origin::File(file.clone())) {
                    bad(self, error)?;
                }
            }
        }
        for setting in KNOWN {
            // The first name counts most, so it is laid on last.
            for name in setting.environment.iter().rev() {
                if let Some(text) = environment(name) {
                    let origin = Origin::Environment((*name).to_owned());
                    if let Err(error) = self.put(setting, text, origin) {
                        bad(self, error)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What does not count, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
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
        if setting.kind == Kind::Patterns {
            let bad = parse_patterns(&text).into_iter().filter_map(Result::err);
            self.problems.extend(bad.map(|problem| Problem {
                key: Some(setting.key.to_owned()),
                problem: format!(
                    "a pattern of the setting `{}` is skipped: {problem} (from {origin})",
                    setting.key
                ),
                remedy: format!("`flame config set {}` replaces the patterns", setting.key),
                harmless: true,
            }));
        }
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

    /// A whole number. All values were checked when they were gathered.
    pub fn number(&self, key: &str) -> Result<u64, EngineError> {
        let value = self.get(key)?;
        let number = value.text.trim().parse::<u64>();
        number.map_err(|_| EngineError::BadSetting {
            key: key.to_owned(),
            problem: format!("is `{}`, but must be a whole number", value.text),
            origin: Some(value.origin.to_string()),
        })
    }

    /// Whether a switch is on. All values were checked when they were gathered.
    pub fn switch(&self, key: &str) -> Result<bool, EngineError> {
        let value = self.get(key)?;
        parse_switch(&value.text).map_err(|problem| EngineError::BadSetting {
            key: key.to_owned(),
            problem,
            origin: Some(value.origin.to_string()),
        })
    }

    /// The patterns of a setting, without those that are none.
    pub fn patterns(&self, key: &str) -> Result<Patterns, EngineError> {
        Ok(Patterns::new(&self.get(key)?.text))
    }

    /// How long to wait for other writers.
    pub fn busy_timeout(&self) -> Result<Duration, EngineError> {
        let milliseconds = self.get("store.busy_timeout_ms")?.text.trim().parse();
        Ok(Duration::from_millis(milliseconds.unwrap_or(30_000)))
    }
}

impl Problem {
    fn of(error: &EngineError) -> Self {
        let (key, harmless) = match error {
            EngineError::UnknownSetting { key, .. } => (Some(key.clone()), true),
            EngineError::BadSetting { key, .. } => (Some(key.clone()), false),
            _ => (None, false),
        };
        Self {
            key,
            problem: error.to_string(),
            remedy: error.hint(Voice::Cli).unwrap_or_default(),
            harmless,
        }
    }
}

fn unknown(key: &str, file: &Path) -> EngineError {
    EngineError::UnknownSetting {
        nearest: nearest(key, KNOWN.iter().map(|known| known.key)),
        key: key.to_owned(),
        origin: Some(file.display().to_string()),
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
    let file = scope.file(home, project);
    change(&file, &[Change::new(key, value)])?;
    Ok(file)
}

/// A setting and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Change {
    /// A change.
    pub fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }
}

/// Sets values in a settings file, keeping its comments and order: all of them, or none.
pub fn change(file: &Path, changes: &[Change]) -> Result<(), EngineError> {
    for Change { key, value } in changes {
        setting(key)?
            .check(value)
            .map_err(|problem| EngineError::BadSetting {
                key: key.clone(),
                problem,
                origin: None,
            })?;
    }
    let mut document = document(file)?;
    for Change { key, value } in changes {
        put_in(&mut document, file, key, value)?;
    }
    if let Some(dir) = file.parent() {
        flamestack_store::private_dir(dir)?;
    }
    crate::engine::write_private(file, &document.to_string())
}

fn put_in(
    document: &mut toml_edit::DocumentMut,
    file: &Path,
    key: &str,
    value: &str,
) -> Result<(), EngineError> {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = document.as_table_mut();
    for part in section.split('.').filter(|part| !part.is_empty()) {
        let item = table.entry(part).or_insert_with(toml_edit::table);
        table = item
            .as_table_mut()
            .ok_or_else(|| EngineError::BadSettingsFile {
                path: file.to_owned(),
                problem: format!("`{part}` is not a table"),
            })?;
    }
    let item = match value.trim().parse::<i64>() {
        Ok(number) => toml_edit::value(number),
        Err(_) => toml_edit::value(value.trim()),
    };
    table.insert(name, item);
    Ok(())
}

/// Takes a value out of a settings file, also under a key that nobody knows. Returns the file, if
/// it was in there.
pub fn unset(
    home: &Home,
    project: &Project,
    scope: Scope,
    key: &str,
) -> Result<Option<PathBuf>, EngineError> {
    let file = scope.file(home, project);
    let mut document = document(&file)?;
    if !take_out(document.as_table_mut(), key) {
        return match setting(key) {
            Ok(_) => Ok(None),
            Err(unknown) => Err(unknown),
        };
    }
    crate::engine::write_private(&file, &document.to_string())?;
    Ok(Some(file))
}

/// Takes a dotted key out of a table, and tables that are empty without it.
fn take_out(table: &mut dyn toml_edit::TableLike, key: &str) -> bool {
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
    let taken = take_out(inner, rest);
    if taken && inner.is_empty() {
        table.remove(first);
    }
    taken
}

/// A settings file with its comments and order; an empty one, if there is none.
fn document(file: &Path) -> Result<toml_edit::DocumentMut, EngineError> {
    let text = match fs_err::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    text.parse()
        .map_err(|error: toml_edit::TomlError| EngineError::BadSettingsFile {
            path: file.to_owned(),
            problem: error.to_string(),
        })
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
    }

    #[test]
    fn an_unknown_key_stops_nothing_and_is_told() {
        let (_dir, home, project) = ground();
        fs_err::write(project.team_settings_file(), "gc.max_sise = 3\n").unwrap();
        let settings = Settings::gather(&home, &project, &|_| None).unwrap();
        let [problem] = settings.problems() else {
            panic!("{:?}", settings.problems());
        };
        assert!(
            problem
                .problem
                .starts_with("there is no setting `gc.max_sise` (from "),
            "{problem:?}"
        );
        assert_eq!(problem.remedy, "did you mean `gc.max_size`?");
        assert!(problem.harmless);
    }

    #[test]
    fn a_bad_pattern_is_skipped_and_told() {
        let (_dir, home, project) = ground();
        let environment: Environment<'_> =
            &|name| (name == "STACK_SUBAGENT_PATTERNS").then(|| "agent$, (, [Task".to_owned());
        let settings = Settings::gather(&home, &project, environment).unwrap();
        let patterns = settings.patterns("subagents.patterns").unwrap();
        assert!(patterns.fit("An AGENT"));
        assert!(!patterns.fit("[Task] or ("));
        let told: Vec<_> = settings
            .problems()
            .iter()
            .map(|p| p.problem.as_str())
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        a pattern of the setting `subagents.patterns` is skipped: `(` is not a regular expression (from environment variable STACK_SUBAGENT_PATTERNS)
        a pattern of the setting `subagents.patterns` is skipped: `[Task` is not a regular expression (from environment variable STACK_SUBAGENT_PATTERNS)
        ");
        assert!(settings.problems().iter().all(|problem| problem.harmless));
    }

    #[test]
    fn a_switch_is_on_or_off() {
        let (_dir, home, project) = ground();
        let with = |value: &'static str| {
            let environment: Environment<'_> =
                &|name| (name == "STACK_SUBAGENT_ENABLED").then(|| value.to_owned());
            Settings::gather(&home, &project, environment)
                .and_then(|settings| settings.switch("subagents.enabled"))
        };
        for (value, on) in [
            ("true", true),
            ("on", true),
            ("false", false),
            (" off ", false),
        ] {
            assert_eq!(with(value).unwrap(), on);
        }
        insta::assert_snapshot!(with("1").unwrap_err(), @"the setting `subagents.enabled` is `1`, but must be `on` or `off` (from environment variable STACK_SUBAGENT_ENABLED)");
    }

    #[test]
    fn a_survey_sees_past_what_is_bad() {
        let (_dir, home, project) = ground();
        set(&home, &project, Scope::User, "gc.max_size", "10 MB").unwrap();
        let team = "gc.max_size = 'lots'\ncolour = 'red'\nstore.busy_timeout_ms = 100\n";
        fs_err::write(project.team_settings_file(), team).unwrap();
        let settings = Settings::survey(&home, &project, &|_| None).unwrap();
        assert_eq!(settings.get("gc.max_size").unwrap().text, "10 MB");
        assert_eq!(settings.get("store.busy_timeout_ms").unwrap().text, "100");
        let told: Vec<_> = settings
            .problems()
            .iter()
            .map(|problem| (problem.key.as_deref(), problem.harmless))
            .collect();
        assert_eq!(told, [(Some("colour"), true), (Some("gc.max_size"), false)]);
    }

    #[test]
    fn a_value_can_be_taken_out_again() {
        let (_dir, home, project) = ground();
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
