//! The choice of the work item that a brief is about, by rules in order:
//!
//! 1. the most trusted mention in frames, todos, the log or git, preferably of the workflow whose stage
//!    is named; a weak mention counts only while the work is open;
//! 2. the only open item, if its files may count as evidence (see [`files_count`]); several are reported;
//! 3. a first stage that is named firmly: work that has no files yet.
//!
//! Finished work is never chosen by its files alone.

use crate::active::Active;
use crate::facts::Facts;
use crate::mentions::{Candidate, Trust, candidates};
use crate::stages::{StageMention, named_stage};
use crate::workflow::Workflow;
use crate::{LineSource, Sources, WorkItem};

/// Number of open items that a report of several names.
const NAMED_ITEMS: usize = 4;

/// A work item with its workflow.
type Found<'a> = (&'a Workflow, &'a WorkItem);

/// The chosen workflow, or a remark about why none was chosen.
#[derive(Debug, Default)]
pub(crate) struct Choice<'a> {
    pub(crate) active: Option<Active<'a>>,
    pub(crate) remark: Option<(String, LineSource)>,
}

/// The work items worth reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPlan {
    /// Items that something mentions, most trusted first.
    pub candidates: Vec<Candidate>,
    /// Workflows whose open items count by their files alone, if none of the candidates counts.
    pub by_files: Vec<String>,
}

/// Decides which work items are worth reading. `items` are pairs of a workflow's and an item's name.
pub fn plan_reading<'n>(
    workflows: &[Workflow],
    items: impl IntoIterator<Item = (&'n str, &'n str)>,
    sources: &Sources,
) -> ReadPlan {
    let facts = Facts::new(workflows, sources);
    let named = named_stage(&facts);
    let mut candidates = candidates(&facts, items);
    candidates.retain(|candidate| mention_counts(&facts, candidate));
    let by_files = workflows
        .iter()
        .filter(|workflow| files_count(&facts, workflow, named.as_ref()))
        .map(|workflow| workflow.name.clone());
    ReadPlan {
        by_files: by_files.collect(),
        candidates,
    }
}

/// A commit says nothing about a session that has another subject.
fn mention_counts(facts: &Facts<'_>, candidate: &Candidate) -> bool {
    candidate.trust != Trust::Committed || !facts.has_subject()
}

/// Returns true if files alone make a workflow active: nothing else says what the session is about, or
/// one of its stages is named firmly.
fn files_count(facts: &Facts<'_>, workflow: &Workflow, named: Option<&StageMention<'_>>) -> bool {
    let is_named = named.is_none_or(|named| named.workflow == workflow);
    is_named && (!facts.has_subject() || named.is_some_and(StageMention::is_firm))
}

pub(crate) fn choose<'a>(facts: &Facts<'a>) -> Choice<'a> {
    let items = items_with_content(facts);
    let named = named_stage(facts);
    let active = |(workflow, item): Found<'a>| Choice {
        active: Active::new(facts, workflow, item, named.as_ref()),
        remark: None,
    };
    if let Some(item) = mentioned(facts, &items, named.as_ref()) {
        return active(item);
    }
    let open = items.iter().copied().filter(|(workflow, item)| {
        !item.is_finished(workflow) && files_count(facts, workflow, named.as_ref())
    });
    let open: Vec<Found<'a>> = open.collect();
    match (open.as_slice(), &named) {
        ([only], _) => active(*only),
        ([], None) => Choice::default(),
        ([], Some(named)) => without_items(facts, named),
        (several, _) => Choice {
            active: None,
            remark: Some(ambiguous(several)),
        },
    }
}

/// Rule 3: the named stage alone decides.
fn without_items<'a>(facts: &Facts<'a>, named: &StageMention<'a>) -> Choice<'a> {
    let active = Active::without_files(facts, named);
    let is_unknown = active.is_none() && named.is_firm();
    let stage = &named.stage.name;
    let unknown =
        format!("`{stage}` is named, but no files of that workflow show which work item is meant.");
    Choice {
        remark: is_unknown.then(|| (unknown, named.source.clone())),
        active,
    }
}

fn items_with_content<'a>(facts: &Facts<'a>) -> Vec<Found<'a>> {
    let items = facts.sources.items.iter().filter_map(|item| {
        let mut workflows = facts.workflows.iter();
        let workflow = workflows.find(|known| known.name == item.workflow)?;
        let mut files = workflow.artifacts.iter();
        let has_content = files.any(|artifact| item.content(workflow, &artifact.file).is_some());
        has_content.then_some((workflow, item))
    });
    items.collect()
}

/// Rule 1: returns the item with the most trusted mention that counts.
fn mentioned<'a>(
    facts: &Facts<'a>,
    items: &[Found<'a>],
    named: Option<&StageMention<'_>>,
) -> Option<Found<'a>> {
    let pairs = items.iter();
    let pairs = pairs.map(|(workflow, item)| (workflow.name.as_str(), item.name.as_str()));
    let mut candidates = candidates(facts, pairs);
    candidates.retain(|candidate| mention_counts(facts, candidate));
    let counting = candidates.iter().filter_map(|candidate| {
        let (workflow, item) = *items
            .iter()
            .find(|(_, item)| item.workflow == candidate.workflow && item.name == candidate.name)?;
        let is_void = candidate.needs_open_work() && item.is_finished(workflow);
        (!is_void).then_some((workflow, item))
    });
    let counting: Vec<Found<'a>> = counting.collect();
    let fits = |(workflow, _): &&Found<'_>| named.is_none_or(|named| named.workflow == *workflow);
    counting.iter().find(fits).or(counting.first()).copied()
}

fn ambiguous(items: &[Found<'_>]) -> (String, LineSource) {
    let named = items.iter().take(NAMED_ITEMS);
    let paths = named.map(|(workflow, item)| workflow.item_path(&item.name));
    let paths: Vec<String> = paths.collect();
    let more = match items.len().saturating_sub(NAMED_ITEMS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "Several work items are open and nothing says which one is meant: `{}`{more}.",
        paths.join("`, `")
    );
    let path = paths.into_iter().next().unwrap_or_default();
    (text, LineSource::File { path, line: None })
}
