//! Which stage is named: in the frames, in the log, in the instructions for agents.

use std::ops::Range;

use super::mentions::{being_worked_on, clues, spoken_for};
use super::session_log::SessionLog;
use super::words::{find_words, has_word, is_denied};
use super::{Source, Sources};
use crate::workflow::{Stage, Workflow};

/// A stage that something names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) workflow: String,
    pub(super) stage: String,
    pub(super) source: Source,
    /// Whether it is named as the stage, rather than in passing.
    pub(super) is_firm: bool,
}

/// The stage that the frames or, failing these, the log name: firm mentions before passing ones,
/// newer entries before older ones, later lines before earlier ones.
pub(super) fn hint(
    workflows: &[Workflow],
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Option<Hint> {
    if let Some(around) = &sources.around {
        for frame in being_worked_on(around) {
            let source = Source::Frame(frame.id.clone());
            if let Some((hint, _)) = best_in(workflows, frame.title.as_str(), &source) {
                return Some(Hint {
                    is_firm: true,
                    ..hint
                });
            }
        }
    }
    let (log, document) = (log?, sources.session_log.as_ref()?);
    for entry in spoken_for(log).into_iter().rev() {
        let lines = entry
            .lines
            .iter()
            .filter_map(|said| best_in(workflows, &said.text, &Source::file(document, said.line)));
        // `max_by_key` takes the last of equals.
        if let Some((hint, _)) = lines.max_by_key(|(_, weight)| *weight) {
            return Some(hint);
        }
    }
    let lines = log
        .preamble
        .iter()
        .filter_map(|said| best_in(workflows, &said.text, &Source::file(document, said.line)));
    lines
        .max_by_key(|(_, weight)| *weight)
        .map(|(hint, _)| hint)
}

/// The name that a command gives to the work it begins, as in `/spec-create login`. Frames are
/// believed before todos and these before the log, later texts before earlier ones.
pub(super) fn named_in_command(
    stage: &Stage,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Option<String> {
    let clues = clues(sources, log);
    let mut best = None;
    for clue in &clues {
        let places = stage.names().flat_map(|name| find_words(&clue.text, name));
        let name = places.filter_map(|at| argument(&clue.text, &at)).last();
        let is_better = best.is_none_or(|(kind, _)| clue.kind <= kind);
        if let Some(name) = name.filter(|_| is_better) {
            best = Some((clue.kind, name));
        }
    }
    best.map(|(_, name)| name.to_owned())
}

/// What stands behind a command and belongs to it: one word, and nothing of the sentence.
fn argument<'t>(text: &'t str, at: &Range<usize>) -> Option<&'t str> {
    let before = text.get(..at.start)?.strip_suffix('/')?;
    let behind = text.get(at.end..)?.strip_prefix(' ')?.trim_start();
    let end = behind
        .find(|c: char| !is_in_name(c))
        .unwrap_or(behind.len());
    let (name, rest) = behind.split_at(end);
    let name = name.trim_end_matches('.');
    // Between backticks any word is the command's; elsewhere only what can be nothing but a name.
    let is_quoted = before.ends_with('`') && rest.starts_with('`');
    let stands_out = name.contains(['-', '_']) || name.contains(|c: char| c.is_ascii_digit());
    let is_alone = rest
        .trim_start_matches(['.', ',', ';', ')'])
        .trim()
        .is_empty();
    (!name.is_empty() && (is_quoted || (stands_out && is_alone))).then_some(name)
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The stage that a document of instructions names, if it names a single one: a list of all stages
/// says nothing about where the work is.
pub(super) fn hint_in_agents(workflow: &Workflow, sources: &Sources) -> Option<Hint> {
    let document = sources.agents.as_ref()?;
    let lines = super::document::lines(document);
    let mut named: Vec<(&str, Option<usize>)> = Vec::new();
    for line in &lines {
        for stage in &workflow.stages {
            if stage.names().any(|name| has_word(line.text, name)) {
                named.push((&stage.name, line.number));
            }
        }
    }
    let (first, line) = named.first()?;
    named.iter().all(|(name, _)| name == first).then(|| Hint {
        workflow: workflow.name.clone(),
        stage: (*first).to_owned(),
        source: Source::file(document, *line),
        is_firm: false,
    })
}

/// The stage that a line names best, and how well.
fn best_in(workflows: &[Workflow], text: &str, source: &Source) -> Option<(Hint, Weight)> {
    let mut best: Option<(Hint, Weight, usize)> = None;
    for workflow in workflows {
        let is_list = workflow
            .stages
            .iter()
            .filter(|stage| names(text, stage))
            .count()
            > 2;
        for stage in &workflow.stages {
            for at in stage.names().flat_map(|name| find_words(text, name)) {
                let weight = weight(text, &at);
                // A list of the stages says nothing about where the work is.
                if is_list && weight != Weight::Stage {
                    continue;
                }
                let is_better = best
                    .as_ref()
                    .is_none_or(|(_, other, place)| (weight, at.start) >= (*other, *place));
                if is_better {
                    let hint = Hint {
                        workflow: workflow.name.clone(),
                        stage: stage.name.clone(),
                        source: source.clone(),
                        is_firm: weight >= Weight::Command,
                    };
                    best = Some((hint, weight, at.start));
                }
            }
        }
    }
    best.map(|(hint, weight, _)| (hint, weight))
}

fn names(text: &str, stage: &Stage) -> bool {
    stage.names().any(|name| has_word(text, name))
}

/// How well a stage is named, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// As one that has not begun.
    Denied,
    /// In passing.
    Passing,
    /// As a command.
    Command,
    /// As what an entry is about.
    Focus,
    /// As the stage.
    Stage,
}

fn weight(text: &str, at: &Range<usize>) -> Weight {
    let before = text.get(..at.start).unwrap_or_default();
    let label = before
        .trim_end_matches(['`', '*', '_', ' ', '/'])
        .to_ascii_lowercase();
    let ends_in = |known: &[&str]| known.iter().any(|known| label.ends_with(known));
    if ends_in(&["stage:", "stage is", "stage =", "stage now"]) {
        Weight::Stage
    } else if is_denied(text, at) {
        Weight::Denied
    } else if ends_in(&["focus:", "workflow:"]) {
        Weight::Focus
    } else if before.ends_with(['/', '`']) {
        Weight::Command
    } else {
        Weight::Passing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_work() {
        let named = |text: &str| {
            let at = find_words(text, "spec-create").next().unwrap();
            argument(text, &at).map(str::to_owned)
        };
        for (text, name) in [
            ("Continue `/spec-create login`.", "login"),
            ("/spec-create 001-prd", "001-prd"),
            ("then /spec-create guest-checkout.", "guest-checkout"),
        ] {
            assert_eq!(named(text).as_deref(), Some(name), "{text}");
        }
        for text in [
            "`/spec-create` is next",
            "/spec-create now",
            "/spec-create 2 more after this",
            "spec-create login-form",
            "`/spec-create the login form`",
            "/spec-create",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
