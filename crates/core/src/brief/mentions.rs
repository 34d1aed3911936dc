//! Which pieces of work are mentioned in frames, todos, the session log and git, and how strongly.
//!
//! Which stages are named is found out by [`super::hints`].

use std::collections::BTreeSet;

use super::session_log::{Entry, Field, Said, SessionLog};
use super::words::has_word;
use super::{Source, Sources};
use crate::context::Surroundings;
use crate::frame::Frame;
use crate::note::Note;
use crate::workflow::{Place, Stage, Workflow};

/// How many of the frames that ended last tell what is worked on: a session that went on with other
/// things for longer is about those.
const ENDED: usize = 8;
/// How many of the files that a frame changed, and of the commands that it ran, tell so.
const DONE: usize = 16;

/// A reason to think that a piece of work is the one that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// The workflow's name.
    pub workflow: String,
    /// The name of the piece of work.
    pub name: String,
    /// How good a reason.
    pub strength: Strength,
    /// Where it was found.
    pub source: Source,
    /// Where in its source; later mentions count more.
    place: usize,
}

/// How good a reason is, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A recent commit touched its files.
    Committed,
    /// Files of it have changes that are not committed, or the branch has its name.
    Changed,
    /// The log names it among what was done.
    Told,
    /// Frames around the one that is worked on changed its files, or were about it.
    Worked,
    /// The log says that it is being worked on.
    Named,
    /// The host's todo list names it.
    Todo,
    /// The frames that are worked on name it.
    Frame,
}

impl Lead {
    /// Whether it counts only as long as the work is not over: what was changed or told of may be
    /// what was just finished.
    pub fn needs_open_work(&self) -> bool {
        self.strength < Strength::Named
    }
}

pub(super) fn leads_in<'u>(
    workflows: &[Workflow],
    units: impl IntoIterator<Item = (&'u str, &'u str)>,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Vec<Lead> {
    let clues = clues(sources, log);
    if clues.is_empty() {
        return Vec::new();
    }
    // Most names are spoken of nowhere; finding that out must not cost a search each.
    let words: BTreeSet<String> = clues.iter().flat_map(|clue| tokens(&clue.text)).collect();
    let mut found: Vec<Lead> = Vec::new();
    for (workflow, name) in units {
        let Some(declared) = workflows.iter().find(|known| known.name == workflow) else {
            continue;
        };
        if !may_be_in(&words, declared, name) {
            continue;
        }
        let best = clues
            .iter()
            .enumerate()
            .filter_map(|(place, clue)| Some((clue.strength(declared, name)?, place, clue)))
            .max_by_key(|(strength, place, _)| (*strength, *place));
        if let Some((strength, place, clue)) = best {
            found.push(Lead {
                workflow: workflow.to_owned(),
                name: name.to_owned(),
                strength,
                source: clue.source.clone(),
                place,
            });
        }
    }
    found.sort_by(|one, other| {
        let key = |lead: &Lead| (lead.strength, lead.place);
        key(other)
            .cmp(&key(one))
            .then_with(|| one.name.cmp(&other.name))
    });
    found
}

/// A text in which something may be mentioned.
pub(super) struct Clue {
    pub(super) text: String,
    source: Source,
    pub(super) kind: Kind,
}

/// What kind of text it is; what is believed first comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Frame,
    Todo,
    Worked,
    Focus,
    Open,
    Log,
    Branch,
    Changed,
    Committed,
}

impl Clue {
    /// How strongly this speaks of a piece of work, if it does.
    fn strength(&self, workflow: &Workflow, name: &str) -> Option<Strength> {
        let folder = workflow.mark(name);
        let by_path = has_path(&self.text, &folder);
        let strength = match self.kind {
            Kind::Changed if by_path => return Some(Strength::Changed),
            Kind::Committed if by_path => return Some(Strength::Committed),
            Kind::Changed | Kind::Committed => return None,
            Kind::Branch => {
                let branch = self.text.rsplit('/').next().unwrap_or_default();
                return (branch == name).then_some(Strength::Changed);
            }
            Kind::Frame => Strength::Frame,
            Kind::Worked => Strength::Worked,
            Kind::Todo => Strength::Todo,
            Kind::Focus | Kind::Open => Strength::Named,
            Kind::Log => Strength::Told,
        };
        if by_path {
            return Some(strength);
        }
        let is_named = has_word(&self.text, name);
        if !is_named {
            return None;
        }
        let in_command = workflow
            .stages
            .iter()
            .flat_map(Stage::names)
            .any(|stage| has_word(&self.text, stage));
        // An ordinary word such as `login` is no mention by itself.
        let is_name = name.contains(['-', '_']) || name.contains(|c: char| c.is_ascii_digit());
        let is_quoted = self.text.contains(&format!("`{name}`"));
        let is_focus = self.kind == Kind::Focus && self.text == name;
        if in_command {
            // A command that was carried out is not one to be carried out.
            let is_past = self.kind == Kind::Worked;
            Some(if is_past {
                strength
            } else {
                strength.max(Strength::Named)
            })
        } else {
            (is_name || is_quoted || is_focus).then_some(strength)
        }
    }
}

/// Whether a path stands in a text, and not as the beginning of another name.
pub(super) fn has_path(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let behind = text
            .get(at + folder.len()..)
            .and_then(|rest| rest.chars().next());
        behind.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
    })
}

/// Whether a name, or the file that it is, can be among some words at all.
fn may_be_in(words: &BTreeSet<String>, workflow: &Workflow, name: &str) -> bool {
    let known = |name: &str| {
        // A name that is several words is not one of them.
        !name.chars().all(in_word) || words.contains(&name.trim_matches('.').to_lowercase())
    };
    known(name)
        || matches!(workflow.place, Place::Files { .. })
            && workflow.mark(name).rsplit('/').next().is_some_and(known)
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The words of a text that may be names, in lower case.
fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !in_word(c))
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
}

pub(super) fn clues(sources: &Sources, log: Option<&SessionLog>) -> Vec<Clue> {
    let mut found = Vec::new();
    if let Some(around) = &sources.around {
        found.extend(worked(around));
        let mut open = being_worked_on(around);
        open.reverse();
        found.extend(
            open.into_iter()
                .flat_map(|frame| of_frame(frame, Kind::Frame)),
        );
    }
    for (place, todo) in sources.todos.iter().enumerate() {
        if matches!(
            todo.status,
            crate::transcript::TodoStatus::Pending | crate::transcript::TodoStatus::Active
        ) {
            found.push(Clue {
                text: todo.text.clone(),
                source: Source::Todo(place + 1),
                kind: Kind::Todo,
            });
        }
    }
    if let (Some(log), Some(document)) = (log, &sources.session_log) {
        let of = |said: &Said, kind| Clue {
            text: said.text.clone(),
            source: Source::file(document, said.line),
            kind,
        };
        for entry in spoken_for(log) {
            found.extend(entry.lines.iter().map(|said| of(said, Kind::Log)));
            found.extend(entry.focus.iter().map(|said| of(said, Kind::Focus)));
            for field in [Field::OpenWork, Field::Next, Field::PendingTests] {
                found.extend(entry.all(field).map(|said| of(said, Kind::Open)));
            }
        }
        found.extend(log.preamble.iter().map(|said| of(said, Kind::Log)));
    }
    if let Some(git) = &sources.git {
        let of = |text: &str, kind| Clue {
            text: text.to_owned(),
            source: Source::Git,
            kind,
        };
        found.extend(git.branch.iter().map(|branch| of(branch, Kind::Branch)));
        let changed = git.changed.iter().chain(&git.below);
        found.extend(changed.map(|path| of(path, Kind::Changed)));
        // What comes later counts more, and git tells the newest first.
        let committed = git.commits.iter().rev().flat_map(|commit| &commit.paths);
        found.extend(committed.map(|path| of(path, Kind::Committed)));
    }
    found
}

/// The frames that are being worked on, nearest first: what the session does below its frame, such as
/// the prompt that it answers, then that frame and those above it.
pub(super) fn being_worked_on(around: &Surroundings) -> Vec<&Frame> {
    let is_below = |frame: &&Frame| frame.parent.as_ref() == Some(&around.current.id);
    let mut below: Vec<&Frame> = around.open.frames.iter().filter(is_below).collect();
    below.sort_by_key(|frame| std::cmp::Reverse(frame.changed));
    below
        .into_iter()
        .chain([&around.current])
        .chain(&around.ancestors)
        .collect()
}

/// What was worked on around the current frame, the latest last.
fn worked(around: &Surroundings) -> impl Iterator<Item = Clue> {
    let finished = [
        &around.children.frames,
        &around.siblings,
        &around.uncles.frames,
    ];
    let mut finished: Vec<&Frame> = finished.into_iter().flatten().collect();
    finished.sort_by_key(|frame| frame.changed);
    let earlier = finished.len().saturating_sub(ENDED);
    finished
        .into_iter()
        .skip(earlier)
        .flat_map(|frame| of_frame(frame, Kind::Worked))
}

/// What a frame says of itself. Which files it changed tells what was worked on, not what is meant:
/// that may be finished, and the frame go on with something else.
fn of_frame(frame: &Frame, kind: Kind) -> impl Iterator<Item = Clue> {
    let (done, said): (Vec<&Note>, Vec<&Note>) = frame
        .notes
        .iter()
        .partition(|note| matches!(note, Note::Artifact(_) | Note::Evidence(_)));
    let earlier = done.len().saturating_sub(DONE);
    let done = done.into_iter().skip(earlier);
    let texts = std::iter::once((frame.title.as_str(), kind))
        .chain(frame.criteria.iter().map(move |text| (text.as_str(), kind)))
        .chain(
            said.into_iter()
                .map(move |note| (note.text().as_str(), kind)),
        )
        .chain(done.map(|note| (note.text().as_str(), Kind::Worked)));
    texts.map(|(text, kind)| Clue {
        text: text.to_owned(),
        source: Source::Frame(frame.id.clone()),
        kind,
    })
}

/// The entries that still speak for the session: the newest and, while none of them says what is
/// being worked on, the ones before. Oldest first.
pub(super) fn spoken_for(log: &SessionLog) -> Vec<&Entry> {
    let mut entries = Vec::new();
    for entry in &log.entries {
        entries.push(entry);
        if entry.has_open_work() {
            break;
        }
    }
    entries.reverse();
    entries
}
