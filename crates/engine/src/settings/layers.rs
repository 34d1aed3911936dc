//! Values from all layers, each with its origin. The module `file` reads and changes settings files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use flamestack_core::text::{QUOTE_LIMIT, shortened};
use flamestack_redact::Redactor;

use super::file::{flat, read, user_file};
use super::known::{
    KNOWN, Kind, Patterns, SetBy, Setting, nearest, parse_patterns, setting, share, size, switch,
};
use super::rules::{RedactionRule, compile, listed, parse_rules};
use super::sources::SettingsSources;
use crate::error::{EngineError, Result};
use crate::hints::Voice;
use crate::project::{Home, Project};

/// Looks a name up in the environment. Fronts pass the real one, tests their own.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The built-in default.
    BuiltIn,
    /// A settings file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value as written.
    pub text: String,
    /// Its origin.
    pub origin: ValueOrigin,
}

/// Maximum number of unknown or ignored keys that are reported.
const PROBLEMS_LIMIT: usize = 20;

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
    /// The redaction rules of all layers, by key.
    rules: BTreeMap<&'static str, Vec<RedactionRule>>,
    problems: Vec<Problem>,
    sources: SettingsSources,
}

/// A problem in the settings: an unknown key, an invalid value or an unreadable file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key, if the problem is about one.
    pub key: Option<String>,
    /// Description of the problem and its place.
    pub problem: String,
    /// Hint for the user.
    pub remedy: String,
    /// True if commands run despite the problem. An unknown key (of a newer version, or a typo) is
    /// harmless; an invalid value is not.
    pub harmless: bool,
}

impl Settings {
    /// Gathers all layers. The first invalid value is an error that names its origin; unknown keys
    /// are listed as problems.
    pub fn gather(home: &Home, project: &Project, environment: Environment<'_>) -> Result<Self> {
        Self::layered(home, project, environment, |_, error| Err(error))
    }

    /// Gathers all valid values and lists everything else as problems, for commands that show or fix
    /// the settings.
    pub fn survey(home: &Home, project: &Project, environment: Environment<'_>) -> Result<Self> {
        Self::layered(home, project, environment, |settings, error| {
            settings.problems.push(Problem::of(&error));
            Ok(())
        })
    }

    /// Returns the built-in values.
    pub fn built_in() -> Self {
        let built_in = |setting: &'static Setting| {
            let text = setting.default.to_owned();
            let origin = ValueOrigin::BuiltIn;
            (setting.key, Value { text, origin })
        };
        Self {
            values: KNOWN.iter().map(built_in).collect(),
            rules: BTreeMap::new(),
            problems: Vec::new(),
            sources: SettingsSources::default(),
        }
    }

    /// Returns the files that the settings were read from.
    pub fn sources(&self) -> &SettingsSources {
        &self.sources
    }

    /// Adds all layers to the built-in values. `bad` handles an invalid value or file.
    fn layered(
        home: &Home,
        project: &Project,
        environment: Environment<'_>,
        bad: fn(&mut Self, EngineError) -> Result<()>,
    ) -> Result<Self> {
        let mut settings = Self::built_in();
        for file in [
            user_file(home),
            project.team_settings_file(),
            project.settings_file(),
        ] {
            settings.sources.add(&file);
            let table = match read(&file) {
                Ok(table) => table.unwrap_or_default(),
                Err(error) => {
                    bad(&mut settings, error)?;
                    continue;
                }
            };
            let is_shared = file == project.team_settings_file();
            let origin = ValueOrigin::File(file);
            for (key, text) in flat(&table, "") {
                let Ok(setting) = setting(&key) else {
                    if settings.problems.len() < PROBLEMS_LIMIT {
                        let unknown = unknown(&key, Some(&origin));
                        settings.problems.push(Problem::of(&unknown));
                    }
                    continue;
                };
                if is_shared && setting.set_by == SetBy::User {
                    if settings.problems.len() < PROBLEMS_LIMIT {
                        settings.problems.push(Problem::of_shared(setting, &origin));
                    }
                    continue;
                }
                if let Err(error) = settings.put(setting, text, origin.clone()) {
                    bad(&mut settings, error)?;
                }
            }
        }
        for setting in KNOWN {
            // The first name takes precedence, so it is applied last.
            for name in setting.environment().into_iter().rev() {
                // Scripts empty a variable to unset it.
                if let Some(text) = environment(&name).filter(|text| !text.is_empty()) {
                    let origin = ValueOrigin::Environment(name);
                    if let Err(error) = settings.put(setting, text, origin) {
                        bad(&mut settings, error)?;
                    }
                }
            }
        }
        // Each rule is valid, but all of them together may be too large.
        if !settings.rules.is_empty()
            && let Err(error) = settings.redactor()
        {
            settings.rules.clear();
            bad(&mut settings, error)?;
        }
        Ok(settings)
    }

    /// Returns the problem that makes it unsafe to record text, if there is one: a redaction rule is
    /// missing, or a file that may contain some cannot be read.
    pub fn unsafe_to_record(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| {
            let key = problem.key.as_deref();
            !problem.harmless && key.is_none_or(|key| key == "redact.rules")
        })
    }

    /// Returns the problem that makes it unsafe to delete text, if there is one: the limit that the
    /// user set is unknown.
    pub fn unsafe_to_delete(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| {
            let key = problem.key.as_deref();
            !problem.harmless && key.is_none_or(|key| key.starts_with("gc."))
        })
    }

    /// Returns the problems that were found.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn put(&mut self, setting: &'static Setting, text: String, origin: ValueOrigin) -> Result<()> {
        let checked = setting.check(&text);
        checked.map_err(|problem| bad_value(setting.key, &problem, Some(&origin)))?;
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
        let mut text = text;
        if setting.kind == Kind::Rules {
            let rules = self.rules.entry(setting.key).or_default();
            rules.extend(parse_rules(&text));
            text = listed(rules);
        }
        self.values.insert(setting.key, Value { text, origin });
        Ok(())
    }

    /// Returns the value of a setting.
    pub fn get(&self, key: &str) -> Result<&Value> {
        let value = self.values.get(key);
        value.ok_or_else(|| unknown(key, None))
    }

    /// Returns all settings with their values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Value)> {
        KNOWN
            .iter()
            .filter_map(|setting| Some((setting, self.values.get(setting.key)?)))
    }

    /// Returns the value of a size in bytes.
    pub fn size(&self, key: &str) -> Result<u64> {
        self.parsed(key, size)
    }

    /// Returns the value of a whole number.
    pub fn number(&self, key: &str) -> Result<u64> {
        self.parsed(key, |text| text.trim().parse().ok())
    }

    /// Returns the value of a setting that is a share, in percent.
    pub fn share(&self, key: &str) -> Result<u64> {
        self.parsed(key, share)
    }

    /// Returns true if a switch is on.
    pub fn switch(&self, key: &str) -> Result<bool> {
        self.parsed(key, switch)
    }

    fn parsed<T>(&self, key: &str, parse: fn(&str) -> Option<T>) -> Result<T> {
        let Value { text, origin } = self.get(key)?;
        parse(text).ok_or_else(|| {
            let problem = format!("is `{text}`, which is a value of another kind");
            bad_value(key, &problem, Some(origin))
        })
    }

    /// Returns the valid patterns of a setting.
    pub fn patterns(&self, key: &str) -> Result<Patterns> {
        Ok(Patterns::new(&self.get(key)?.text))
    }

    /// Returns the redaction rules of all layers under `redact.rules` or `redact.allow`.
    pub fn rules(&self, key: &str) -> &[RedactionRule] {
        self.rules.get(key).map_or(&[], Vec::as_slice)
    }

    /// Compiles the redaction rules of all layers.
    pub fn redactor(&self) -> Result<Redactor> {
        let key = "redact.rules";
        let compiled = compile(self.rules(key), self.rules("redact.allow"));
        let origin = self.get(key)?.origin.clone();
        compiled.map_err(|bad| bad_value(key, &format!("cannot be applied: {bad}"), Some(&origin)))
    }

    /// Returns the time to wait for other writers.
    pub fn busy_timeout(&self) -> Result<Duration> {
        self.number("store.busy_timeout_ms")
            .map(Duration::from_millis)
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

impl Problem {
    /// Describes a setting that a file in the repository may not set.
    fn of_shared(setting: &Setting, origin: &ValueOrigin) -> Self {
        let key = setting.key;
        Self {
            key: Some(key.to_owned()),
            problem: format!(
                "the setting `{key}` has no effect in a file of the repository: only you can set it \
                 (from {origin})"
            ),
            remedy: format!("`flame config set {key} VALUE` sets it for you"),
            harmless: true,
        }
    }
}

/// Returns the error about a key that no setting has.
pub(super) fn unknown(key: &str, origin: Option<&ValueOrigin>) -> EngineError {
    EngineError::UnknownSetting {
        key: key.chars().take(80).collect(),
        nearest: nearest(key, KNOWN.iter().map(|setting| setting.key)),
        origin: origin.map(ToString::to_string),
    }
}

/// Returns the error about an invalid value.
pub(super) fn bad_value(key: &str, problem: &str, origin: Option<&ValueOrigin>) -> EngineError {
    EngineError::BadSetting {
        key: key.to_owned(),
        problem: shortened(problem, 2 * QUOTE_LIMIT).into_owned(),
        origin: origin.map(ToString::to_string),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::file::{Scope, set};
    use super::*;

    pub(in super::super) fn fixture() -> (tempfile::TempDir, Home, Project) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home {
            state: dir.path().join("state"),
            config: dir.path().join("config"),
        };
        let project = Project::at(dir.path(), &home).unwrap();
        (dir, home, project)
    }

    #[test]
    fn later_layers_win_and_values_have_an_origin() {
        let (_dir, home, project) = fixture();
        let nothing: Environment<'_> = &|_| None;
        let key = "brief.budget";
        let origin = |environment: Environment<'_>| {
            let settings = Settings::gather(&home, &project, environment).unwrap();
            let value = settings.get(key).unwrap().clone();
            (value.text, value.origin)
        };
        assert_eq!(origin(nothing), ("2000".to_owned(), ValueOrigin::BuiltIn));
        let user = set(&home, &project, Scope::User, key, "1000").unwrap();
        assert_eq!(
            origin(nothing),
            ("1000".to_owned(), ValueOrigin::File(user))
        );
        fs_err::write(project.team_settings_file(), "[brief]\nbudget = 3000\n").unwrap();
        assert_eq!(origin(nothing).0, "3000");
        set(&home, &project, Scope::Project, key, "4000").unwrap();
        assert_eq!(origin(nothing).0, "4000");
        let environment: Environment<'_> =
            &|name| (name == "FLAME_BRIEF_BUDGET").then(|| "5000".to_owned());
        assert_eq!(origin(environment).0, "5000");
    }

    #[test]
    fn a_file_in_the_repository_may_only_shape_contexts_and_briefs() {
        let (_dir, home, project) = fixture();
        let team = "gc.max_size = '1 B'\nautonomy.level = 'auto'\nbrief.budget = 3000\n\
                    session.resume = 'auto'\nrun.interrupted = 'continue'\n";
        fs_err::write(project.team_settings_file(), team).unwrap();
        let settings = Settings::gather(&home, &project, &|_| None).unwrap();
        assert_eq!(settings.get("gc.max_size").unwrap().text, "50 MB");
        assert_eq!(settings.get("autonomy.level").unwrap().text, "suggest");
        assert_eq!(settings.get("session.resume").unwrap().text, "ask");
        assert_eq!(settings.get("run.interrupted").unwrap().text, "ask");
        assert_eq!(settings.get("brief.budget").unwrap().text, "3000");
        let problems: Vec<String> = settings
            .problems()
            .iter()
            .map(|problem| {
                problem
                    .problem
                    .replace(project.root.to_str().unwrap(), "DIR")
            })
            .collect();
        insta::assert_snapshot!(problems.join("\n"), @"
        the setting `autonomy.level` has no effect in a file of the repository: only you can set it (from DIR/.flamestack.toml)
        the setting `gc.max_size` has no effect in a file of the repository: only you can set it (from DIR/.flamestack.toml)
        the setting `run.interrupted` has no effect in a file of the repository: only you can set it (from DIR/.flamestack.toml)
        the setting `session.resume` has no effect in a file of the repository: only you can set it (from DIR/.flamestack.toml)
        ");
    }

    /// A new setting that a team file may set is a decision about security: it is listed here, too.
    #[test]
    fn a_team_file_sets_exactly_these() {
        let (_dir, home, project) = fixture();
        let by_team: Vec<&str> = KNOWN
            .iter()
            .filter(|setting| setting.set_by == SetBy::Team)
            .map(|setting| setting.key)
            .collect();
        let shapes = |key: &&str| !key.starts_with("context.");
        let others: Vec<&str> = by_team.iter().copied().filter(shapes).collect();
        assert_eq!(
            others,
            [
                "brief.budget",
                "compaction.own_budget",
                "compaction.restore_budget",
                "redact.rules",
                "subagents.inject_parent_context",
                "subagents.propagate_summaries",
            ]
        );
        for setting in KNOWN {
            let value = match setting.default {
                "" => "x = 'never'",
                default => default,
            };
            let team = format!("{} = {}\n", setting.key, toml::Value::from(value));
            fs_err::write(project.team_settings_file(), team).unwrap();
            let settings = Settings::gather(&home, &project, &|_| None).unwrap();
            let origin = &settings.get(setting.key).unwrap().origin;
            let is_built_in = *origin == ValueOrigin::BuiltIn;
            assert_eq!(
                is_built_in,
                !by_team.contains(&setting.key),
                "{}",
                setting.key
            );
            assert_eq!(settings.problems().len(), usize::from(is_built_in));
        }
    }

    #[test]
    fn defaults_in_code_are_those_of_the_settings() {
        let built_in = Settings::built_in();
        assert_eq!(
            crate::context::Preferences::from_settings(&built_in).unwrap(),
            crate::context::Preferences::default()
        );
        assert_eq!(
            built_in.busy_timeout().unwrap(),
            flamestack_store::OpenOptions::default().busy_timeout
        );
    }

    #[test]
    fn a_settings_file_is_a_regular_file_of_a_sensible_size() {
        let (_dir, home, project) = fixture();
        let team = project.team_settings_file();
        let problem = || {
            let settings = Settings::survey(&home, &project, &|_| None).unwrap();
            let problems = settings.problems().iter();
            let problems: Vec<String> = problems.map(|problem| problem.problem.clone()).collect();
            problems
                .join("\n")
                .replace(project.root.to_str().unwrap(), "DIR")
        };
        fs_err::write(&team, "x".repeat(2_000_000)).unwrap();
        insta::assert_snapshot!(problem(), @"cannot read the settings in DIR/.flamestack.toml: it has more than 256 kB");
        fs_err::write(&team, format!("{} = ", "x".repeat(100_000))).unwrap();
        assert!(problem().len() < 1_000);
        fs_err::write(&team, format!("brief.budget = '{}'", "x".repeat(100_000))).unwrap();
        assert!(problem().len() < 1_000);
        #[cfg(unix)]
        {
            fs_err::remove_file(&team).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &team).unwrap();
            insta::assert_snapshot!(problem(), @"cannot read the settings in DIR/.flamestack.toml: it is not a regular file");
        }
    }

    #[test]
    fn an_invalid_value_names_its_origin() {
        let (_dir, home, project) = fixture();
        let environment: Environment<'_> =
            &|name| (name == "FLAME_GC_MAX_SIZE").then(|| "lots".to_owned());
        let error = Settings::gather(&home, &project, environment).unwrap_err();
        insta::assert_snapshot!(error, @"the setting `gc.max_size` cannot be `lots`; use a size such as `50 MB` (from environment variable FLAME_GC_MAX_SIZE)");
    }

    #[test]
    fn an_unknown_key_is_reported_and_harmless() {
        let (_dir, home, project) = fixture();
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
    fn an_invalid_pattern_is_skipped_and_reported() {
        let (_dir, home, project) = fixture();
        let environment: Environment<'_> =
            &|name| (name == "STACK_SUBAGENT_PATTERNS").then(|| "agent$, (, [Task".to_owned());
        let settings = Settings::gather(&home, &project, environment).unwrap();
        let patterns = settings.patterns("subagents.patterns").unwrap();
        assert!(patterns.matches("An AGENT"));
        assert!(!patterns.matches("[Task] or ("));
        let problems: Vec<_> = settings
            .problems()
            .iter()
            .map(|p| p.problem.as_str())
            .collect();
        insta::assert_snapshot!(problems.join("\n"), @"
        a pattern of the setting `subagents.patterns` is skipped: `(` is not a regular expression (from environment variable STACK_SUBAGENT_PATTERNS)
        a pattern of the setting `subagents.patterns` is skipped: `[Task` is not a regular expression (from environment variable STACK_SUBAGENT_PATTERNS)
        ");
        assert!(settings.problems().iter().all(|problem| problem.harmless));
    }

    #[test]
    fn redaction_rules_of_all_layers_apply_and_a_team_cannot_allow_anything() {
        let (_dir, home, project) = fixture();
        set(
            &home,
            &project,
            Scope::User,
            "redact.rules.acme-key",
            "acme_[0-9]{6}",
        )
        .unwrap();
        set(
            &home,
            &project,
            Scope::Project,
            "redact.allow.fixture",
            "acme_000000",
        )
        .unwrap();
        let team = "redact.allow = '.+'\n[redact.rules]\nacme-key = 'never'\nstaff = 'EMP-\\d+'\n";
        fs_err::write(project.team_settings_file(), team).unwrap();
        let environment: Environment<'_> =
            &|name| (name == "FLAME_REDACT_RULES").then(|| "['blue']".to_owned());
        let settings = Settings::gather(&home, &project, environment).unwrap();
        insta::assert_snapshot!(settings.get("redact.rules").unwrap().text, @r"acme-key = 'acme_[0-9]{6}', acme-key = 'never', staff = 'EMP-\d+', custom = 'blue'");
        assert_eq!(settings.rules("redact.allow").len(), 1);
        let redactor = settings.redactor().unwrap();
        insta::assert_snapshot!(
            redactor.redact("acme_123456 and EMP-42 are blue, acme_000000 stays"),
            @"[redacted:acme-key] and [redacted:staff] are [redacted:custom], acme_000000 stays"
        );
        let [problem] = settings.problems() else {
            panic!("{:?}", settings.problems());
        };
        assert!(problem.problem.contains("`redact.allow` has no effect"));
        assert!(problem.harmless);
    }

    #[test]
    fn an_invalid_redaction_rule_is_refused_and_says_why() {
        let (_dir, home, project) = fixture();
        let refused = |key: &str, pattern: &str| {
            let changed = set(&home, &project, Scope::User, key, pattern);
            changed.unwrap_err().to_string()
        };
        insta::assert_snapshot!(refused("redact.rules.acme", "acme_("), @"the setting `redact.rules.acme` has an invalid rule: `acme_(` is not a regular expression: unclosed group");
        insta::assert_snapshot!(refused("redact.rules.acme", "a*"), @"the setting `redact.rules.acme` has an invalid rule: `a*` matches the empty text, and so matches everywhere");
        insta::assert_snapshot!(refused("redact.rules.ACME key", "acme"), @"the setting `redact.rules.ACME key` has an invalid rule: `ACME key` cannot be the name of a rule: use up to 32 small letters, digits and dashes");
        insta::assert_snapshot!(refused("redact.rules.acme", r"(\w{500}){500}"), @r"the setting `redact.rules.acme` has an invalid rule: `(\w{500}){500}…` is too large: write a shorter pattern, or one that repeats less often");
        fs_err::write(project.team_settings_file(), "redact.rules.x = '('\n").unwrap();
        assert!(Settings::gather(&home, &project, &|_| None).is_err());
    }

    #[test]
    fn a_switch_is_on_or_off() {
        let (_dir, home, project) = fixture();
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
        insta::assert_snapshot!(with("1").unwrap_err(), @"the setting `subagents.enabled` cannot be `1`; use `on` or `off` (from environment variable STACK_SUBAGENT_ENABLED)");
    }

    #[test]
    fn a_survey_skips_invalid_values() {
        let (_dir, home, project) = fixture();
        set(&home, &project, Scope::User, "brief.budget", "1000").unwrap();
        let team = "brief.budget = 'lots'\ncolour = 'red'\ncontext.max_siblings = 7\n";
        fs_err::write(project.team_settings_file(), team).unwrap();
        let settings = Settings::survey(&home, &project, &|_| None).unwrap();
        assert_eq!(settings.get("brief.budget").unwrap().text, "1000");
        assert_eq!(settings.get("context.max_siblings").unwrap().text, "7");
        let problems: Vec<_> = settings
            .problems()
            .iter()
            .map(|problem| (problem.key.as_deref(), problem.harmless))
            .collect();
        assert_eq!(
            problems,
            [(Some("brief.budget"), false), (Some("colour"), true)]
        );
    }
}
