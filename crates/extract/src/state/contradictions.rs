//! Claims of a summary that the record contradicts.
//!
//! A summary is written by a model, which may say that tests pass because it meant to make them pass.
//! Only plain sentences are compared, and only with what is certain: the last check and git.

use super::checks::CheckKind;
use super::outcomes::CheckOutcome;
use super::prompts::sentences;
use super::{CheckResult, WorkState};
use flamestack_core::text::condense;

/// Words of success and of failure.
const SUCCESS: [&str; 13] = [
    "pass",
    "passes",
    "passed",
    "passing",
    "succeed",
    "succeeds",
    "succeeded",
    "successful",
    "successfully",
    "green",
    "clean",
    "compiles",
    "builds",
];
const FAILURE: [&str; 10] = [
    "fail", "fails", "failed", "failing", "failure", "failures", "broken", "error", "errors", "red",
];
/// Words after which a sentence is about another time, or about a wish.
const UNREAL: [&str; 17] = [
    "should",
    "must",
    "will",
    "would",
    "need",
    "needs",
    "until",
    "if",
    "whether",
    "verify",
    "ensure",
    "make",
    "once",
    "when",
    "previously",
    "earlier",
    "before",
];
/// Negations, which turn a claim around.
const NEGATIONS: [&str; 8] = [
    "not", "no", "never", "0", "zero", "without", "doesn't", "don't",
];
/// Maximum length of a quoted claim, in characters.
const MAX_CLAIM: usize = 160;
/// Number of claims that are named.
const MAX_CLAIMS: usize = 4;

/// Words by which a summary names a kind of check.
fn words_of(kind: CheckKind) -> &'static [&'static str] {
    match kind {
        CheckKind::Test => &["test", "tests", "suite"],
        CheckKind::Build => &["build", "builds", "compiles", "compilation"],
        CheckKind::Lint => &["lint", "linter", "lints", "clippy", "eslint"],
        CheckKind::Types => &["types", "typecheck", "type-check", "typechecks"],
        CheckKind::Several => &["checks", "ci"],
    }
}

impl WorkState {
    /// Returns the claims of a summary that the state of the work contradicts, each as a sentence
    /// that quotes the claim.
    pub fn contradictions(&self, summary: &str) -> Vec<String> {
        let mut found = Vec::new();
        for sentence in sentences(summary) {
            let words = Words::of(sentence);
            if words.has(&UNREAL) {
                continue;
            }
            let against = self
                .check
                .as_ref()
                .and_then(|check| contradicted(check, &words, sentence));
            let against = against.or_else(|| self.against_git(&words));
            if let Some(against) = against {
                let claim = condense(sentence, MAX_CLAIM);
                found.push(format!("The summary says “{claim}”, but {against}."));
            }
            if found.len() == MAX_CLAIMS {
                break;
            }
        }
        found
    }

    fn against_git(&self, words: &Words) -> Option<String> {
        let says_committed = words.has(&["committed"]) && words.has(&["all", "everything"]);
        let is_negated = words.has(&NEGATIONS) || words.has(&["uncommitted"]);
        (self.git.uncommitted == Some(true) && says_committed && !is_negated)
            .then(|| "there are uncommitted changes".to_owned())
    }
}

fn contradicted(check: &CheckResult, words: &Words, sentence: &str) -> Option<String> {
    let names_command = check.commands.iter().any(|command| {
        let beginning: Vec<&str> = command.split(' ').take(2).collect();
        sentence.contains(&beginning.join(" "))
    });
    let names_kind = check.kinds.iter().any(|kind| words.has(words_of(*kind)));
    if !names_command && !names_kind {
        return None;
    }
    let (says_success, says_failure) = (words.has(&SUCCESS), words.has(&FAILURE));
    let is_negated = words.has(&NEGATIONS);
    let n = check.entry + 1;
    let commands: Vec<String> = check.commands.iter().map(|it| format!("`{it}`")).collect();
    let commands = commands.join(", ");
    match check.outcome {
        CheckOutcome::Failed if says_success && !says_failure && !is_negated => {
            Some(format!("{commands} failed when it last ran (#{n})"))
        }
        CheckOutcome::Passed
            if says_failure && !says_success && !is_negated && check.edits_since == 0 =>
        {
            Some(format!("{commands} passed when it last ran (#{n})"))
        }
        _ => None,
    }
}

/// The words of a sentence in lower case.
struct Words(Vec<String>);

impl Words {
    fn of(sentence: &str) -> Self {
        let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '-';
        let lower = sentence.to_lowercase().replace('’', "'");
        let words = lower.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        Self(words.map(str::to_owned).collect())
    }

    fn has(&self, any: &[&str]) -> bool {
        self.0.iter().any(|word| any.contains(&word.as_str()))
    }
}
