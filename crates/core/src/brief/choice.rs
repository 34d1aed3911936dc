//! Which piece of work is going on, and in which stage it is.
//!
//! Frames, todos and the newest entry of the log are believed, then changes that git sees. Files
//! that merely lie there make a workflow active only where nothing else says what the session is
//! about, and finished work never does.

use super::claims::says_none;
use super::document::{Document, Kind, Line};
use super::hints::{Hint, hint, hint_in_agents, named_in_command};
use super::mentions::{Lead, Strength, leads_in};
use super::session_log::SessionLog;
use super::tasks::TaskList;
use super::words::{find_words, is_denied};
use super::{Source, Sources, Unit};
use crate::transcript::TodoStatus;
use crate::workflow::{Has, Role, Sign, Stage, Workflow, fill};

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Choice<'a> {
    pub(super) active: Option<Active<'a>>,
    /// What to say about what was not chosen.
    pub(super) remarks: Vec<(String, Source)>,
}

/// A workflow that is going on.
#[derive(Debug)]
pub(super) struct Active<'a> {
    pub(super) workflow: &'a Workflow,
    /// The piece of work; a first stage may have none yet.
    pub(super) unit: Option<&'a Unit>,
    /// What a piece of work without files is called.
    pub(super) called: Option<String>,
    pub(super) stage: &'a Stage,
    pub(super) known_by: KnownBy,
    /// The stage that the files look like, where it is another one.
    pub(super) seen: Option<&'a Stage>,
    /// The tasks of the unit.
    pub(super) tasks: TaskList,
}

/// What says which stage it is.
#[derive(Debug)]
pub(super) enum KnownBy {
    Said(Source),
    Seen(String),
    Nothing,
}

impl Active<'_> {
    /// The name of the piece of work, once it has one.
    pub(super) fn known_name(&self) -> Option<&str> {
        let unit = self.unit.map(|unit| unit.name.as_str());
        unit.or(self.called.as_deref())
    }

    pub(super) fn name(&self) -> &str {
        self.known_name().unwrap_or("the new one")
    }

    pub(super) fn content(&self, file: &str) -> Option<&Document> {
        self.unit?.content(self.workflow, file)
    }

    /// The path of a file of the unit.
    pub(super) fn path(&self, file: &str) -> String {
        self.workflow.path(self.known_name().unwrap_or("…"), file)
    }

    /// A file of the unit as it is called there.
    pub(super) fn called(&self, file: &str) -> String {
        fill(file, self.name(), None)
    }
}

/// Which pieces of work are worth reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Those that something speaks of, best reason first.
    pub leads: Vec<Lead>,
    /// The workflows of which an open piece of work counts by its files alone, where none of the
    /// leads counts.
    pub by_files: Vec<String>,
}

/// Finds out which pieces of work are worth reading. `units` are all names, by workflow.
pub fn worth_reading<'u>(
    workflows: &[Workflow],
    units: impl IntoIterator<Item = (&'u str, &'u str)>,
    sources: &Sources,
) -> Worth {
    let log = sources.session_log.as_ref().map(SessionLog::parse);
    let elsewhere = is_about_something(sources, log.as_ref());
    let hint = hint(workflows, sources, log.as_ref());
    let mut leads = leads_in(workflows, units, sources, log.as_ref());
    leads.retain(|lead| counts(lead, elsewhere));
    let by_files = workflows
        .iter()
        .filter(|workflow| files_count(workflow, hint.as_ref(), elsewhere))
        .map(|workflow| workflow.name.clone())
        .collect();
    Worth { leads, by_files }
}

/// Whether a lead says anything where the session is about something else.
fn counts(lead: &Lead, elsewhere: bool) -> bool {
    lead.strength != Strength::Committed || !elsewhere
}

/// Whether files that merely lie there make a workflow active: where nothing else says what the
/// session is about, or a stage of it is named.
fn files_count(workflow: &Workflow, hint: Option<&Hint>, elsewhere: bool) -> bool {
    let is_hinted = hint.is_none_or(|hint| hint.workflow == workflow.name);
    is_hinted && (!elsewhere || hint.is_some_and(|hint| hint.is_firm))
}

/// Finds out which workflow is going on, if one is.
pub(super) fn choose<'a>(
    workflows: &'a [Workflow],
    sources: &'a Sources,
    log: Option<&SessionLog>,
) -> Choice<'a> {
    let hint = hint(workflows, sources, log);
    let units: Vec<(&'a Workflow, &'a Unit)> = sources
        .units
        .iter()
        .filter_map(|unit| {
            Some((
                workflows.iter().find(|known| known.name == unit.workflow)?,
                unit,
            ))
        })
        .filter(|(workflow, unit)| has_anything(workflow, unit))
        .collect();
    let names = units
        .iter()
        .map(|(workflow, unit)| (workflow.name.as_str(), unit.name.as_str()));
    let leads = leads_in(workflows, names, sources, log);
    let elsewhere = is_about_something(sources, log);
    let find = |lead: &Lead| {
        let unit = units
            .iter()
            .find(|(workflow, unit)| workflow.name == lead.workflow && unit.name == lead.name)?;
        let is_open = || !is_finished(unit.0, unit.1);
        let counts = counts(lead, elsewhere) && (!lead.needs_open_work() || is_open());
        counts.then_some(*unit)
    };
    let hinted = hint.as_ref().map(|hint| hint.workflow.as_str());
    let of_hint = |workflow: &Workflow| hinted.is_none_or(|hinted| hinted == workflow.name);
    let lead = leads
        .iter()
        .find_map(|lead| find(lead).filter(|(workflow, _)| of_hint(workflow)))
        .or_else(|| leads.iter().find_map(find));
    let open: Vec<(&Workflow, &Unit)> = units
        .iter()
        .filter(|(workflow, unit)| !is_finished(workflow, unit))
        .copied()
        .collect();
    let mut choice = Choice::default();
    let chosen = lead.or_else(|| {
        let fitting: Vec<_> = open
            .iter()
            .filter(|(workflow, _)| files_count(workflow, hint.as_ref(), elsewhere))
            .collect();
        match fitting.as_slice() {
            [] => None,
            [only] => Some(**only),
            [_, _, ..] => {
                choice.remarks.push(ambiguous(&fitting));
                None
            }
        }
    });
    choice.active = match chosen {
        Some((workflow, unit)) => stand(workflow, unit, hint.as_ref(), sources),
        None if choice.remarks.is_empty() => hint.and_then(|hint| {
            let active = begin(workflows, &hint, sources, log);
            if active.is_none() && hint.is_firm {
                choice.remarks.push((
                    format!(
                        "`{}` is named, but no files of that workflow say which piece of work is meant.",
                        hint.stage
                    ),
                    hint.source,
                ));
            }
            active
        }),
        None => None,
    };
    choice
}

fn ambiguous(units: &[&(&Workflow, &Unit)]) -> (String, Source) {
    let folders: Vec<String> = units
        .iter()
        .take(4)
        .map(|(workflow, unit)| format!("`{}`", workflow.mark(&unit.name)))
        .collect();
    let first = units
        .first()
        .map(|(workflow, unit)| workflow.mark(&unit.name));
    let more = units.len().saturating_sub(4);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (
        format!(
            "Several pieces of work are open and nothing says which one is meant: {}{more}.",
            folders.join(", ")
        ),
        Source::File {
            path: first.unwrap_or_default(),
            line: None,
        },
    )
}

/// Whether anything but files says what the session is about.
fn is_about_something(sources: &Sources, log: Option<&SessionLog>) -> bool {
    let newest = log.and_then(SessionLog::newest);
    sources.around.is_some()
        || newest.is_some_and(|entry| entry.has_open_work() || entry.focus.is_some())
        || sources
            .todos
            .iter()
            .any(|todo| matches!(todo.status, TodoStatus::Pending | TodoStatus::Active))
}

fn has_anything(workflow: &Workflow, unit: &Unit) -> bool {
    let files = workflow
        .artifacts
        .iter()
        .map(|artifact| artifact.file.as_str());
    files
        .into_iter()
        .any(|file| unit.content(workflow, file).is_some())
}

pub(super) fn is_finished(workflow: &Workflow, unit: &Unit) -> bool {
    workflow
        .finished_by
        .iter()
        .any(|sign| is_there(workflow, unit, sign))
}

/// Whether a sign is to be seen.
fn is_there(workflow: &Workflow, unit: &Unit, sign: &Sign) -> bool {
    let Some(document) = unit.content(workflow, &sign.file) else {
        return false;
    };
    match &sign.has {
        Has::Content => true,
        Has::Tasks => !TaskList::parse(document).tasks.is_empty(),
        Has::AllTasksDone => TaskList::parse(document).is_finished(),
        Has::Text(words) => {
            let lines = super::document::lines(document);
            lines.iter().enumerate().any(|(at, line)| {
                let below = lines.get(at + 1..).unwrap_or_default();
                words
                    .iter()
                    .any(|word| labels(line.text, word) && tells(line, below, word))
            })
        }
    }
}

/// Whether a line has the word of a sign. A heading that is nothing but the word is a place for the
/// thing, and tells of it only if something stands below, unless the sign is that heading; a box that
/// is open tells of what is to come.
fn tells(line: &Line<'_>, below: &[Line<'_>], word: &str) -> bool {
    let is_heading = matches!(line.kind, Kind::Heading(_));
    if let Some(heading) = word.strip_prefix('#') {
        let heading = heading.trim_matches(['#', ' ']);
        return is_heading && line.text.eq_ignore_ascii_case(heading);
    }
    // `Status: Done` may be a heading and what stands below it.
    if let Some((label, value)) = word.split_once(": ")
        && is_heading
        && line.text.eq_ignore_ascii_case(label)
    {
        let first = below.iter().find(|line| line.kind != Kind::Blank);
        return first.is_some_and(|line| {
            !matches!(line.kind, Kind::Heading(_) | Kind::Check(' '))
                && find_words(line.text, value).any(|at| at.start <= 2)
        });
    }
    let word = word.trim_end_matches(':');
    let is_place = is_heading && line.text.eq_ignore_ascii_case(word);
    if line.kind == Kind::Check(' ') || (is_place && !has_text(below)) {
        return false;
    }
    // Marks around words do not make them others.
    let bare: String = line.text.replace(['*', '`', '✅', '✔', '☑'], "");
    let words: Vec<&str> = bare.split_whitespace().collect();
    let bare = words.join(" ");
    find_words(&bare, word).any(|at| !is_denied(&bare, &at))
}

/// Whether the first thing below a heading is something that happened.
fn has_text(below: &[Line<'_>]) -> bool {
    let first = below.iter().find(|line| line.kind != Kind::Blank);
    first.is_some_and(|line| match line.kind {
        Kind::Heading(_) | Kind::Rule | Kind::Blank | Kind::Check(' ') => false,
        Kind::Bullet | Kind::Check(_) | Kind::Plain => !says_none(line.text),
    })
}

/// A sign that ends in a colon is a label: it counts at the beginning of a line.
fn labels(text: &str, word: &str) -> bool {
    !word.ends_with(':')
        || text
            .trim_start_matches(['*', '_'])
            .to_ascii_lowercase()
            .replace("**", "")
            .starts_with(&word.to_ascii_lowercase())
}

/// The stage of a unit: as named, else as its files look.
fn stand<'a>(
    workflow: &'a Workflow,
    unit: &'a Unit,
    hint: Option<&Hint>,
    sources: &Sources,
) -> Option<Active<'a>> {
    let seen = workflow.stages.iter().rev().find_map(|stage| {
        let sign = stage
            .markers
            .iter()
            .find(|sign| is_there(workflow, unit, sign))?;
        Some((stage, sign.file.clone()))
    });
    let in_agents = || hint_in_agents(workflow, sources);
    let said = hint
        .filter(|hint| hint.workflow == workflow.name)
        .cloned()
        .or_else(in_agents);
    let named = said.and_then(|hint| Some((workflow.stage(&hint.stage)?, hint.source)));
    let first = workflow.stages.first()?;
    let seen_stage = seen.as_ref().map_or(first, |(stage, _)| *stage);
    let (stage, known_by) = match (named, seen) {
        (Some((stage, source)), _) => (stage, KnownBy::Said(source)),
        (None, Some((stage, file))) => (stage, KnownBy::Seen(file)),
        (None, None) => {
            let written = first.current_artifact.clone();
            let written = written.filter(|file| unit.content(workflow, file).is_some());
            (first, written.map_or(KnownBy::Nothing, KnownBy::Seen))
        }
    };
    let tasks = workflow
        .artifact(Role::Tasks)
        .and_then(|artifact| unit.content(workflow, &artifact.file))
        .map(TaskList::parse)
        .unwrap_or_default();
    Some(Active {
        workflow,
        unit: Some(unit),
        called: None,
        stage,
        known_by,
        seen: contradicts(workflow, stage, seen_stage).then_some(seen_stage),
        tasks,
    })
}

/// A stage that was only just entered has left no files yet; more than one stage ahead of the files,
/// or behind them, is another matter.
fn contradicts(workflow: &Workflow, said: &Stage, seen: &Stage) -> bool {
    let place = |stage: &Stage| workflow.stages.iter().position(|known| known == stage);
    said != seen && place(said) != place(seen).map(|place| place + 1)
}

/// A workflow that was only just begun has a stage and no files.
fn begin<'a>(
    workflows: &'a [Workflow],
    hint: &Hint,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Option<Active<'a>> {
    let workflow = workflows.iter().find(|known| known.name == hint.workflow)?;
    let stage = workflow
        .stages
        .first()
        .filter(|first| first.name == hint.stage)?;
    hint.is_firm.then(|| Active {
        workflow,
        unit: None,
        called: named_in_command(stage, sources, log),
        stage,
        known_by: KnownBy::Said(hint.source.clone()),
        seen: None,
        tasks: TaskList::default(),
    })
}
