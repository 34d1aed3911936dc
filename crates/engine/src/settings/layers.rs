//! Values from all layers, each with its origin. How they are read from files and changed there is
//! told in `file`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::refusal::Voice;

use super::file::{flat, read, user_file};
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
            let table = match read(&file) {
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

#[cfg(test)]
pub(super) mod tests {
    use super::super::file::{Scope, set};
    use super::*;

    pub(in super::super) fn ground() -> (tempfile::TempDir, Home, Project) {
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
}
