//! Which pieces of work are read: the few that anything speaks of or, where nothing does, those
//! that are open among the few that were written last.
//!
//! There may be thousands that are finished. Where the work is spoken of, each of these costs a
//! name in a listing; where it has to be found by its files, a question after a date as well.

use flamestack_core::brief::{self, Document, Sources, Unit, Worth};
use flamestack_core::workflow::{Place, Role, Workflow};

use super::declarations::Workflows;
use super::files::{Files, Folder, Limit, Moment};

/// A list of five thousand tasks has half a megabyte.
const ARTIFACT: Limit = Limit {
    head: 1024 * 1024,
    tail: 64 * 1024,
};
/// How many pieces of work of a workflow are known by name.
const LISTED: usize = 20_000;
/// How many are read: those that are spoken of.
const READ: usize = 4;
/// How many of those that are spoken of are looked at for such that are not over.
const LOOKED_AT: usize = 12;
/// How many are looked at where none is spoken of: those that were written last.
const LATEST: usize = 6;

/// A piece of work by its name.
type Named<'a> = (&'a Workflow, &'a str);

/// Reads the pieces of work that matter.
pub(super) fn read(files: &mut Files, workflows: &Workflows, sources: &mut Sources) {
    let mut known: Vec<(&Workflow, Vec<String>)> = Vec::new();
    for workflow in &workflows.declared {
        if workflow.requires.iter().all(|path| files.has(path)) {
            known.push((workflow, names(files, workflow)));
        }
    }
    let units = known.iter().flat_map(|(workflow, names)| {
        let of_workflow = names.iter();
        of_workflow.map(|name| (workflow.name.as_str(), name.as_str()))
    });
    let worth = brief::worth_reading(&workflows.declared, units, sources);
    sources.units = chosen(files, &known, &worth)
        .into_iter()
        .map(|(workflow, name)| {
            let artifacts = workflow.artifacts.iter();
            let paths = artifacts.map(|artifact| artifact.file.as_str());
            unit(workflow, name, paths, |path| files.read(path, ARTIFACT))
        })
        .collect();
    sources.spoken_of = worth.leads;
}

/// A piece of work with those of its files that can be read.
fn unit<'p>(
    workflow: &Workflow,
    name: &str,
    paths: impl Iterator<Item = &'p str>,
    read: impl FnMut(&str) -> Option<Document>,
) -> Unit {
    let paths: Vec<String> = paths.map(|path| workflow.path(name, path)).collect();
    Unit {
        workflow: workflow.name.clone(),
        name: name.to_owned(),
        files: paths.iter().map(String::as_str).filter_map(read).collect(),
    }
}

fn names(files: &mut Files, workflow: &Workflow) -> Vec<String> {
    let mut names = match &workflow.place {
        Place::Only(_) => vec![workflow.name.clone()],
        Place::Below(home) => files.folders(home, LISTED),
        Place::Files { folder, form } => {
            let path = format!("{folder}/{form}");
            let (parent, file) = path.rsplit_once('/').unwrap_or(("", &path));
            let (before, behind) = file.split_once("<name>").unwrap_or((file, ""));
            let mut names = files.files(parent, LISTED);
            names.retain_mut(|name| {
                let middle = name
                    .strip_prefix(before)
                    .and_then(|name| name.strip_suffix(behind))
                    .filter(|middle| !middle.is_empty())
                    .map(str::to_owned);
                middle.map(|middle| *name = middle).is_some()
            });
            names
        }
    };
    names.retain(|name| !workflow.skip.contains(name));
    names
}

/// The pieces of work to read. What was finished is no answer to what was changed or told of last:
/// then the next reason counts, and in the end the files themselves.
fn chosen<'a>(
    files: &mut Files,
    known: &'a [(&'a Workflow, Vec<String>)],
    worth: &Worth,
) -> Vec<Named<'a>> {
    let all = || {
        known
            .iter()
            .flat_map(|(workflow, names)| names.iter().map(|name| (*workflow, name.as_str())))
    };
    let mut found: Vec<Named<'a>> = Vec::new();
    for lead in worth.leads.iter().take(LOOKED_AT) {
        let named =
            all().find(|(workflow, name)| workflow.name == lead.workflow && *name == lead.name);
        let counts = |(workflow, name): &Named<'_>| {
            !(lead.needs_open_work() && is_over(files, workflow, name))
        };
        found.extend(named.filter(counts));
        if found.len() == READ {
            break;
        }
    }
    if found.is_empty() {
        let by_files = known
            .iter()
            .filter(|(workflow, _)| worth.by_files.contains(&workflow.name));
        for (workflow, names) in by_files {
            let latest = latest(files, workflow, names).into_iter();
            let open = latest.filter(|name| !is_over(files, workflow, name));
            found.extend(open.map(|name| (*workflow, name)));
        }
    }
    // A folder that is always the same is there whether anything speaks of it or not.
    let only = known
        .iter()
        .filter(|(workflow, _)| matches!(workflow.place, Place::Only(_)));
    for (workflow, names) in only {
        let unit = names.first().map(|name| (*workflow, name.as_str()));
        found.extend(unit.filter(|unit| !found.contains(unit)));
    }
    found
}

/// The pieces of work that were written last, the last one first.
fn latest<'a>(files: &Files, workflow: &Workflow, names: &'a [String]) -> Vec<&'a str> {
    let folder = files.folder(workflow.home());
    let mut dated: Vec<(Option<Moment>, &str)> = names
        .iter()
        .map(|name| {
            let folder = folder.as_ref();
            let written = folder.and_then(|folder| last_written(folder, workflow, name));
            (written, name.as_str())
        })
        .collect();
    let latest = dated.len().min(LATEST);
    if latest < dated.len() {
        dated.select_nth_unstable_by(latest, |one, other| other.cmp(one));
    }
    dated.truncate(latest);
    dated.sort_by(|one, other| other.cmp(one));
    dated.into_iter().map(|(_, name)| name).collect()
}

/// Whether a piece of work is over, by the few files that can say so.
fn is_over(files: &mut Files, workflow: &Workflow, name: &str) -> bool {
    let mut telling: Vec<&str> = Vec::new();
    for sign in &workflow.finished_by {
        if !telling.contains(&sign.file.as_str()) {
            telling.push(&sign.file);
        }
    }
    let unit = unit(workflow, name, telling.into_iter(), |path| {
        files.glance(path, ARTIFACT)
    });
    unit.is_over(workflow)
}

/// When a piece of work was last written to: its list of tasks or its log are what changes, and
/// before there are any, its folder.
fn last_written(folder: &Folder, workflow: &Workflow, name: &str) -> Option<Moment> {
    let telling = workflow
        .artifacts
        .iter()
        .filter(|artifact| matches!(artifact.role, Role::Tasks | Role::Progress));
    telling
        .filter_map(|artifact| folder.written(&workflow.below_home(name, &artifact.file)))
        .max()
        .or_else(|| match &workflow.place {
            Place::Below(_) => folder.written(name),
            Place::Only(_) => folder.written("."),
            Place::Files { form, .. } => folder.written(&workflow.below_home(name, form)),
        })
}
