//! Mentions of a workflow's stages: in the frames, in the log, in the instructions for agents.

use std::ops::Range;

use crate::LineSource;
use crate::document::{Line, lines};
use crate::facts::Facts;
use crate::mentions::{in_name, in_progress, is_distinct, mentions};
use crate::words::{WordSet, is_denied};
use crate::workflow::{Stage, Workflow};

/// All spellings of all stages.
pub(crate) struct StageNames<'a> {
    set: WordSet,
    stages: Vec<(&'a Workflow, &'a Stage)>,
}

/// A stage that a text names, and where.
pub(crate) struct NamedStage<'a> {
    pub(crate) workflow: &'a Workflow,
    stage: &'a Stage,
    at: Range<usize>,
}

impl<'a> StageNames<'a> {
    pub(crate) fn new(workflows: &'a [Workflow]) -> Self {
        let (mut spellings, mut stages) = (Vec::new(), Vec::new());
        for workflow in workflows {
            for stage in &workflow.stages {
                spellings.extend(stage.names());
                stages.resize(spellings.len(), (workflow, stage));
            }
        }
        Self {
            set: WordSet::new(spellings),
            stages,
        }
    }

    pub(crate) fn find(&self, text: &str) -> Vec<NamedStage<'a>> {
        let named = self.set.find(text).filter_map(|(name, at)| {
            let (workflow, stage) = *self.stages.get(name)?;
            Some(NamedStage {
                workflow,
                stage,
                at,
            })
        });
        named.collect()
    }
}

/// A stage that is named as the current one.
#[derive(Clone, Debug)]
pub(crate) struct StageMention<'a> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) stage: &'a Stage,
    pub(crate) source: LineSource,
    strength: Strength,
}

impl StageMention<'_> {
    /// Returns true if the stage is named as the stage or as a command, rather than in passing.
    pub(crate) fn is_firm(&self) -> bool {
        self.strength >= Strength::Command
    }
}

/// Strength of a mention, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// `do not start spec-execute`
    Denied,
    Passing,
    /// `/spec-execute`
    Command,
    /// `[Focus: spec-execute]`
    Focus,
    /// `Stage: spec-execute`
    Stage,
}

/// Returns the stage that the frames or, failing these, the log name: the nearest frame or the newest
/// entry that names one; in an entry the strongest mention, and the last among equals.
pub(crate) fn named_stage<'a>(facts: &Facts<'a>) -> Option<StageMention<'a>> {
    let around = facts.sources.around.as_ref();
    let mut frames = around.map(in_progress).unwrap_or_default().into_iter();
    let in_frames = frames.find_map(|frame| {
        let mut mention = strongest(facts, frame.title.as_str(), LineSource::Frame(frame.id))?;
        mention.strength = Strength::Stage;
        Some(mention)
    });
    in_frames.or_else(|| {
        let log = facts.log.as_ref()?;
        let in_lines = |lines: &[Line<'_>]| {
            let lines = lines.iter();
            let named = lines.filter_map(|line| strongest(facts, &line.text, line.source()));
            named.max_by_key(|mention| mention.strength)
        };
        let mut entries = log.current().iter();
        let in_entry = entries.find_map(|entry| in_lines(&entry.lines));
        in_entry.or_else(|| in_lines(&log.preamble))
    })
}

/// Returns the stage that instructions for agents name, if it is a single one: a list of all stages says
/// nothing about the current one.
pub(crate) fn stage_in_agents<'a>(
    facts: &Facts<'a>,
    workflow: &Workflow,
) -> Option<StageMention<'a>> {
    let document = facts.sources.agents.as_ref()?;
    let named = lines(document).flat_map(|line| {
        let named = facts.stage_names.find(&line.text).into_iter();
        named.map(move |named| (named, line.source()))
    });
    let mut named = named.filter(|(named, _)| named.workflow == workflow);
    let (first, source) = named.next()?;
    let is_only = named.all(|(other, _)| other.stage == first.stage);
    is_only.then_some(StageMention {
        workflow: first.workflow,
        stage: first.stage,
        source,
        strength: Strength::Passing,
    })
}

/// Returns the strongest mention of a stage in a text, the last among equals.
fn strongest<'a>(facts: &Facts<'a>, text: &str, source: LineSource) -> Option<StageMention<'a>> {
    let named = facts.stage_names.find(text);
    // More than two stages of a workflow are a list, which says nothing about the current one.
    let is_list = |workflow: &Workflow| {
        let is_named = |stage: &&Stage| named.iter().any(|named| named.stage == *stage);
        workflow.stages.iter().filter(is_named).count() > 2
    };
    let mentions = named.iter().map(|named| (strength(text, &named.at), named));
    let (strength, named) = mentions
        .filter(|(strength, named)| *strength == Strength::Stage || !is_list(named.workflow))
        .max_by_key(|(strength, named)| (*strength, named.at.start))?;
    Some(StageMention {
        workflow: named.workflow,
        stage: named.stage,
        source,
        strength,
    })
}

fn strength(text: &str, at: &Range<usize>) -> Strength {
    let before = text.get(..at.start).unwrap_or_default();
    let label = before.trim_end_matches(['`', '*', '_', ' ', '/']);
    let label = label.to_ascii_lowercase();
    let is_label = |known: &[&str]| known.iter().any(|known| label.ends_with(known));
    if is_label(&["stage:", "stage is", "stage =", "stage now"]) {
        Strength::Stage
    } else if is_denied(text, at) {
        Strength::Denied
    } else if is_label(&["focus:", "workflow:"]) {
        Strength::Focus
    } else if before.ends_with(['/', '`']) {
        Strength::Command
    } else {
        Strength::Passing
    }
}

/// Returns the name that a command gives to the work it begins, as in `/spec-create login`. The most
/// trusted text counts, and the last among equals.
pub(crate) fn name_in_command(facts: &Facts<'_>, stage: &Stage) -> Option<String> {
    let named = mentions(facts).into_iter().filter_map(|mention| {
        let commands = facts.stage_names.find(&mention.text).into_iter();
        let mut arguments = commands
            .filter(|named| named.stage == stage)
            .filter_map(|named| argument(&mention.text, &named.at));
        let name = arguments.next_back()?.to_owned();
        Some((mention.trust, name))
    });
    named.max_by_key(|(trust, _)| *trust).map(|(_, name)| name)
}

/// Returns the argument of a command: one word, and nothing of the sentence.
fn argument<'t>(text: &'t str, at: &Range<usize>) -> Option<&'t str> {
    let before = text.get(..at.start)?.strip_suffix('/')?;
    let after = text.get(at.end..)?.strip_prefix(' ')?.trim_start();
    let end = after.find(|c: char| !in_name(c)).unwrap_or(after.len());
    let (name, rest) = after.split_at(end);
    let name = name.trim_end_matches('.');
    // Between backticks any word is the argument; elsewhere only what cannot be an ordinary word.
    let is_quoted = before.ends_with('`') && rest.starts_with('`');
    let rest = rest.trim_start_matches(['.', ',', ';', ')']);
    let is_last = rest.trim().is_empty();
    (!name.is_empty() && (is_quoted || (is_distinct(name) && is_last))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_work() {
        let named = |text: &str| {
            let (_, at) = WordSet::new(["spec-create"]).find(text).next().unwrap();
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
