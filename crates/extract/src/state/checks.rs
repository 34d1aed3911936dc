//! Recognises commands that check the work, and commands that change more than files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use flamestack_core::enum_names;

use crate::data::{CHECKS, section};
use crate::shell::{SimpleCommand, invocation};

enum_names! {
    /// Kind of a check.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CheckKind {
        /// Runs tests.
        Test = "test",
        /// Builds.
        Build = "build",
        /// Looks for faults of style.
        Lint = "lint",
        /// Checks types.
        Types = "types",
        /// Runs several of these, such as `make check`.
        Several = "check",
    }
}

/// A command that checks the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckCommand {
    /// The program and its verb or script, without options: two runs with one name are comparable.
    pub(super) name: String,
    pub(super) kind: CheckKind,
}

static PROGRAMS: LazyLock<BTreeMap<&str, CheckKind>> = LazyLock::new(|| {
    let rows = section(CHECKS, "programs").filter_map(|row| {
        let (kind, programs) = row.split_once(' ')?;
        let kind = CheckKind::from_name(kind)?;
        Some(programs.split(' ').map(move |program| (program, kind)))
    });
    rows.flatten().collect()
});

static VERBS: LazyLock<BTreeMap<(&str, &str), CheckKind>> = LazyLock::new(|| {
    let rows = section(CHECKS, "verbs").filter_map(|row| {
        let mut words = row.split(' ');
        let (program, verb) = (words.next()?, words.next()?);
        Some(((program, verb), CheckKind::from_name(words.next()?)?))
    });
    rows.collect()
});

/// Programs that run a script or task by its name.
const TASK_RUNNERS: [&str; 17] = [
    "npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "mise", "rake", "gradle",
    "gradlew", "mvn", "mvnw", "nx", "turbo", "moon",
];
/// Verbs of package managers that are not scripts.
const NOT_SCRIPTS: [&str; 18] = [
    "install", "i", "add", "remove", "ci", "publish", "update", "link", "audit", "outdated",
    "pack", "view", "ls", "list", "why", "init", "create", "dlx",
];
/// Options of task runners that have a value.
const VALUED: [&str; 12] = [
    "-C",
    "--filter",
    "-F",
    "--prefix",
    "-w",
    "--workspace",
    "--cwd",
    "--dir",
    "-f",
    "-p",
    "--project",
    "--directory",
];
/// Options with which a check does something else.
const OTHERWISE: [&str; 9] = [
    "--help",
    "-h",
    "--version",
    "--fix",
    "--write",
    "--unsafe",
    "--list",
    "-list",
    "--watch",
];
/// Formatters, which check only if asked to.
const FORMATTERS: [&str; 5] = ["prettier", "black", "isort", "oxfmt", "dprint"];
/// Modules of Python that check, in addition to the programs of the same name.
const MODULES: [(&str, CheckKind); 3] = [
    ("unittest", CheckKind::Test),
    ("compileall", CheckKind::Build),
    ("py_compile", CheckKind::Build),
];

/// Returns the check that a command is; nothing if it checks nothing.
pub(super) fn check(command: &SimpleCommand) -> Option<CheckCommand> {
    let words = invocation(command);
    let (program, rest) = words.split_first()?;
    if rest.iter().any(|word| OTHERWISE.contains(word)) {
        return None;
    }
    check_of(program, rest, command)
}

fn check_of(program: &str, rest: &[&str], command: &SimpleCommand) -> Option<CheckCommand> {
    let named = |name: &str, kind| {
        let name = name.to_owned();
        Some(CheckCommand { name, kind })
    };
    if program.starts_with("python") {
        return of_python(rest, command);
    }
    if matches!(program, "node" | "tsx") && rest.contains(&"--test") {
        return named(&format!("{program} --test"), CheckKind::Test);
    }
    if let Some(kind) = PROGRAMS.get(program) {
        return named(program, *kind);
    }
    let checks = rest.iter().any(|word| {
        matches!(
            *word,
            "--check" | "-c" | "--check-only" | "check" | "-l" | "--list-different"
        )
    });
    let verb = verb(program, rest);
    if FORMATTERS.contains(&program) {
        return checks.then(|| named(&format!("{program} --check"), CheckKind::Lint))?;
    }
    if matches!((program, verb), ("cargo", "fmt") | ("ruff", "format")) {
        return checks.then(|| named(&format!("{program} {verb} --check"), CheckKind::Lint))?;
    }
    if let Some(kind) = VERBS.get(&(program, verb)) {
        return named(&format!("{program} {verb}"), *kind);
    }
    if TASK_RUNNERS.contains(&program) {
        return of_task(program, rest, command);
    }
    let script = command
        .words
        .iter()
        .find(|word| word.rsplit('/').next() == Some(program))?;
    let is_script = script.contains('/') || script.rsplit('.').next() == Some("sh");
    let base = program.split('.').next().unwrap_or(program);
    let base = base
        .strip_prefix("run-")
        .or(base.strip_prefix("run_"))
        .unwrap_or(base);
    let kind = script_kind(base).filter(|_| is_script)?;
    named(program, kind)
}

/// Returns the first argument that is not an option.
fn verb<'w>(program: &str, rest: &[&'w str]) -> &'w str {
    let valued = |word: &str| {
        matches!(
            (program, word),
            ("go" | "cargo", "-C") | ("cargo", "--manifest-path")
        )
    };
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if valued(word) {
            words.next();
        } else if *word == "--build" || !word.starts_with(['-', '+']) {
            return word;
        }
    }
    ""
}

fn of_python(rest: &[&str], command: &SimpleCommand) -> Option<CheckCommand> {
    match rest {
        ["-m", module, after @ ..] => {
            let known = MODULES.iter().find(|(name, _)| name == module);
            match known {
                Some((name, kind)) => Some(CheckCommand {
                    name: (*name).to_owned(),
                    kind: *kind,
                }),
                None => check_of(module, after, command),
            }
        }
        [script, ..] => {
            let name = script.rsplit('/').next()?;
            let base = name.strip_suffix(".py")?;
            let tests = base.starts_with("test_") || base.ends_with("_test") || base == "run_tests";
            tests.then(|| CheckCommand {
                name: name.to_owned(),
                kind: CheckKind::Test,
            })
        }
        [] => None,
    }
}

fn of_task(program: &str, rest: &[&str], command: &SimpleCommand) -> Option<CheckCommand> {
    let mut name = program.to_owned();
    let mut words = rest.iter();
    let script = loop {
        match words.next().copied() {
            Some(word) if VALUED.contains(&word) || word == "workspace" => {
                words.next();
            }
            Some("run" | "run-script" | "r") if !matches!(program, "make" | "just") => {
                name.push_str(" run");
            }
            Some(word) if word.starts_with('-') => {}
            other => break other.unwrap_or_default(),
        }
    };
    let is_package_manager = matches!(program, "npm" | "pnpm" | "yarn" | "bun");
    if is_package_manager && !name.ends_with(" run") {
        if PROGRAMS.contains_key(script) || VERBS.keys().any(|(known, _)| *known == script) {
            return check_of(script, words.as_slice(), command);
        }
        if NOT_SCRIPTS.contains(&script) {
            return None;
        }
    }
    // `mise` has many verbs; only its plain task names are taken for tasks.
    let is_verb = program == "mise" && name == "mise";
    let kind = match script {
        "" if program == "make" => CheckKind::Build,
        "all" | "package" | "assemble" if !is_package_manager => CheckKind::Build,
        script if is_verb && script.contains('-') => return None,
        script => script_kind(script)?,
    };
    let name = if script.is_empty() {
        name
    } else {
        format!("{name} {script}")
    };
    Some(CheckCommand { name, kind })
}

/// Returns the kind of check that the name of a script or task stands for.
fn script_kind(name: &str) -> Option<CheckKind> {
    let is_name =
        |c: char| c.is_alphanumeric() || matches!(c, ':' | '_' | '.' | '-' | '/' | '@' | '+');
    if name.is_empty() || name.len() > 40 || !name.chars().all(is_name) {
        return None;
    }
    let parts: Vec<&str> = name.split([':', '_', '.', '-', '/']).collect();
    let has = |word: &&str| parts.contains(word) || name == *word;
    let row =
        section(CHECKS, "scripts").find(|row| row.split(' ').skip(1).any(|word| has(&word)))?;
    CheckKind::from_name(row.split(' ').next()?)
}

/// Programs and verbs that change something outside of the files that were edited, and can fail.
const ACTIONS: [(&str, &[&str]); 16] = [
    (
        "git",
        &[
            "push",
            "commit",
            "merge",
            "rebase",
            "cherry-pick",
            "pull",
            "am",
            "apply",
        ],
    ),
    ("npm", &["install", "ci", "publish"]),
    ("pnpm", &["install", "add"]),
    ("bun", &["install", "add"]),
    ("yarn", &["install", "add"]),
    ("pip", &["install"]),
    ("uv", &["sync", "add"]),
    ("cargo", &["install", "add", "publish", "run"]),
    ("go", &["mod", "get", "install", "run"]),
    ("docker", &["compose", "run"]),
    ("kubectl", &["apply"]),
    ("terraform", &["apply"]),
    ("wrangler", &["deploy"]),
    ("helm", &["install", "upgrade"]),
    ("gh", &["pr", "release", "workflow"]),
    ("dotnet", &["add", "publish"]),
];

/// Returns the name of a command that changes more than files, such as `git push`.
pub(super) fn action(command: &SimpleCommand) -> Option<String> {
    let words = invocation(command);
    let (program, rest) = words.split_first()?;
    let rest = crate::shell::git_words(command).unwrap_or_else(|| rest.to_vec());
    let mut plain = rest.iter().filter(|word| !word.starts_with('-'));
    let verb = plain.next()?;
    let (_, verbs) = ACTIONS.iter().find(|(name, _)| name == program)?;
    if !verbs.contains(verb) {
        return None;
    }
    if *program == "gh" {
        let what = plain.next()?;
        let changes = matches!(*what, "create" | "merge" | "edit" | "run" | "upload");
        return changes.then(|| format!("gh {verb} {what}"));
    }
    Some(format!("{program} {verb}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::unwrapped;

    fn checks(line: &str) -> Vec<String> {
        let all = unwrapped(line);
        let checks = all.iter().filter_map(check);
        checks
            .map(|it| format!("{} {:?}", it.name, it.kind))
            .collect()
    }

    #[test]
    fn checks_are_known_by_program_verb_and_script() {
        for (line, expected) in [
            ("cd web && npm test -- --run", "npm test Test"),
            ("pnpm --filter web run lint:css", "pnpm run lint:css Lint"),
            ("cargo +nightly clippy -- -D warnings", "cargo clippy Lint"),
            ("go -C web test ./...", "go test Test"),
            ("python3 -m pytest -q tests", "pytest Test"),
            ("python tests/test_api.py", "test_api.py Test"),
            ("./scripts/run-tests.sh", "run-tests.sh Test"),
            ("make", "make Build"),
            ("bun run typecheck", "bun run typecheck Types"),
            ("mise run ci", "mise run ci Several"),
            ("npx tsc --noEmit", "tsc Types"),
            ("cargo fmt --all --check", "cargo fmt --check Lint"),
        ] {
            assert_eq!(checks(line), [expected], "{line}");
        }
    }

    #[test]
    fn other_commands_are_no_checks() {
        for line in [
            "npm install",
            "npm run dev",
            "eslint --fix .",
            "cargo fmt",
            "cargo run",
            "git commit -m 'fix tests'",
            "cat test.sh",
            "python setup.py",
            "mise use-test node",
            "",
        ] {
            assert_eq!(checks(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn actions_change_more_than_files() {
        for (line, expected) in [
            ("git -C web push --force origin main", Some("git push")),
            ("gh pr create --fill", Some("gh pr create")),
            ("gh pr view 3", None),
            ("git status", None),
            ("npm ci", Some("npm ci")),
        ] {
            let all = unwrapped(line);
            assert_eq!(all.first().and_then(action).as_deref(), expected, "{line}");
        }
    }
}
