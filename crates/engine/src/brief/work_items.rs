//! Reads work items: the few that something mentions or, if nothing does, the open ones among those
//! that were written last.
//!
//! There may be thousands of finished ones. Where the work is mentioned, each of these costs a name in a
//! listing; where it has to be found by its files, a modification time as well.

use flamestack_brief::workflow::{ArtifactRole, ItemLayout, Workflow, Workflows};
use flamestack_brief::{Candidate, Document, ReadPlan, Sources, WorkItem};

use super::files::{Files, Folder, Modified, ReadLimit};

/// A list of five thousand tasks has half a megabyte.
const ARTIFACT_LIMIT: ReadLimit = ReadLimit {
    head: 1024 * 1024,
    tail: 64 * 1024,
};
/// Maximum number of work items of a workflow that are listed.
const LISTED: usize = 20_000;
/// Maximum number of mentioned items that are read.
const READ: usize = 4;
/// Maximum number of mentioned items that are checked for being open.
const CHECKED: usize = 12;
/// Number of items, latest ones, that are checked where none is mentioned.
const LATEST: usize = 6;

/// A workflow that the project uses, and the names of its work items.
type Listing<'a> = (&'a Workflow, Vec<String>);
/// A work item by name.
type ItemRef<'a> = (&'a Workflow, &'a str);

/// Reads the work items that matter into the sources.
pub(super) fn read(files: &mut Files, workflows: &Workflows, sources: &mut Sources) {
    let mut listings: Vec<Listing<'_>> = Vec::new();
    for workflow in &workflows.declared {
        if workflow.requires.iter().all(|path| files.exists(path)) {
            listings.push((workflow, list(files, workflow)));
        }
    }
    let items = all(&listings).map(|(workflow, name)| (workflow.name.as_str(), name));
    let plan = flamestack_brief::plan_reading(&workflows.declared, items, sources);
    let chosen = choose(files, &listings, &plan).into_iter();
    let items = chosen.map(|(workflow, name)| {
        let artifacts = workflow
            .artifacts
            .iter()
            .map(|artifact| artifact.file.as_str());
        load(workflow, name, artifacts, |path| {
            files.read(path, ARTIFACT_LIMIT)
        })
    });
    sources.items = items.collect();
    sources.candidates = plan.candidates;
}

fn all<'a>(listings: &'a [Listing<'a>]) -> impl Iterator<Item = ItemRef<'a>> {
    listings.iter().flat_map(|(workflow, names)| {
        let names = names.iter();
        names.map(|name| (*workflow, name.as_str()))
    })
}

/// Returns a work item with those of its files that `read` returns.
fn load<'p>(
    workflow: &Workflow,
    name: &str,
    paths: impl Iterator<Item = &'p str>,
    mut read: impl FnMut(&str) -> Option<Document>,
) -> WorkItem {
    WorkItem {
        workflow: workflow.name.clone(),
        name: name.to_owned(),
        files: paths
            .filter_map(|path| read(&workflow.path(name, path)))
            .collect(),
    }
}

/// Returns the names of a workflow's work items.
fn list(files: &mut Files, workflow: &Workflow) -> Vec<String> {
    let mut names = match workflow.layout() {
        ItemLayout::Only(_) => vec![workflow.name.clone()],
        ItemLayout::Below(home) => files.list_folders(home, LISTED),
        ItemLayout::Files { folder, form } => {
            let path = format!("{folder}/{form}");
            let (parent, file) = path.rsplit_once('/').unwrap_or(("", &path));
            let (prefix, suffix) = file.split_once("<name>").unwrap_or((file, ""));
            let files = files.list_files(parent, LISTED).into_iter();
            let names = files.filter_map(|file| {
                let name = file.strip_prefix(prefix)?.strip_suffix(suffix)?;
                Some(name.to_owned()).filter(|name| !name.is_empty())
            });
            names.collect()
        }
    };
    names.retain(|name| !workflow.skip.contains(name));
    names
}

/// Chooses the work items to read. A finished item does not answer a weak mention: then the next
/// mention counts, and in the end the files themselves.
fn choose<'a>(files: &mut Files, listings: &'a [Listing<'a>], plan: &ReadPlan) -> Vec<ItemRef<'a>> {
    let mut chosen = mentioned(files, listings, &plan.candidates);
    if chosen.is_empty() {
        let by_files = |(workflow, _): &&Listing<'_>| plan.by_files.contains(&workflow.name);
        for (workflow, names) in listings.iter().filter(by_files) {
            let latest = latest(files, workflow, names).into_iter();
            let open = latest.filter(|name| !is_finished(files, workflow, name));
            chosen.extend(open.map(|name| (*workflow, name)));
        }
    }
    // The item of a folder without a name is always there, mentioned or not.
    let is_only = |(workflow, _): &ItemRef<'_>| matches!(workflow.layout(), ItemLayout::Only(_));
    for item in all(listings).filter(is_only) {
        if !chosen.contains(&item) {
            chosen.push(item);
        }
    }
    chosen
}

fn mentioned<'a>(
    files: &mut Files,
    listings: &'a [Listing<'a>],
    candidates: &[Candidate],
) -> Vec<ItemRef<'a>> {
    let checked = candidates.iter().take(CHECKED);
    let counting = checked.filter_map(|candidate| {
        let (workflow, name) = all(listings).find(|(workflow, name)| {
            workflow.name == candidate.workflow && *name == candidate.name
        })?;
        let is_void = candidate.needs_open_work() && is_finished(files, workflow, name);
        (!is_void).then_some((workflow, name))
    });
    counting.take(READ).collect()
}

/// Returns the items that were written last, latest first.
fn latest<'a>(files: &Files, workflow: &Workflow, names: &'a [String]) -> Vec<&'a str> {
    let folder = files.open_folder(workflow.home());
    let dated = names.iter().map(|name| {
        let folder = folder.as_ref();
        let modified = folder.and_then(|folder| last_modified(folder, workflow, name));
        (modified, name.as_str())
    });
    let mut dated: Vec<(Option<Modified>, &str)> = dated.collect();
    if LATEST < dated.len() {
        dated.select_nth_unstable_by(LATEST, |one, other| other.cmp(one));
        dated.truncate(LATEST);
    }
    dated.sort_by(|one, other| other.cmp(one));
    dated.into_iter().map(|(_, name)| name).collect()
}

/// Returns true if an item is finished, by the few files that can say so.
fn is_finished(files: &mut Files, workflow: &Workflow, name: &str) -> bool {
    let mut signs: Vec<&str> = workflow
        .finished_by
        .iter()
        .map(|sign| sign.file.as_str())
        .collect();
    signs.dedup();
    let item = load(workflow, name, signs.into_iter(), |path| {
        files.peek(path, ARTIFACT_LIMIT)
    });
    item.is_finished(workflow)
}

/// Returns when an item was last written: its tasks or its log change most often and, before they
/// exist, its folder does.
fn last_modified(folder: &Folder, workflow: &Workflow, name: &str) -> Option<Modified> {
    let changing = [ArtifactRole::Tasks, ArtifactRole::Progress];
    let artifacts = workflow
        .artifacts
        .iter()
        .filter(|artifact| changing.contains(&artifact.role));
    artifacts
        .filter_map(|artifact| folder.modified(&workflow.path_below_home(name, &artifact.file)))
        .max()
        .or_else(|| match workflow.layout() {
            ItemLayout::Below(_) => folder.modified(name),
            ItemLayout::Only(_) => folder.modified("."),
            ItemLayout::Files { form, .. } => {
                folder.modified(&workflow.path_below_home(name, form))
            }
        })
}
