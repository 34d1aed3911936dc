//! Mentions of work items in frames, todos, the session log and git.
//!
//! Each mention has a [`Trust`], and the item with the most trusted mention is the one that is meant.

use std::collections::BTreeSet;

use flamestack_context::Surroundings;
use flamestack_core::{Frame, Note};

use crate::facts::{Facts, is_open};
use crate::fields::Field;
use crate::session_log::SessionLog;
use crate::words::WordSet;
use crate::workflow::{ItemLayout, Workflow};
use crate::{Git, LineSource};

/// Number of ended frames that count, latest ones: a session that did other things for longer is about
/// those.
const ENDED_FRAMES: usize = 8;
/// Number of files and commands of a frame that count, latest ones.
const FRAME_ACTIONS: usize = 16;

/// A work item that something mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Name of the workflow.
    pub workflow: String,
    /// Name of the work item.
    pub name: String,
    /// Trust in the best mention.
    pub trust: Trust,
    /// Source of the best mention.
    pub source: LineSource,
}

/// Trust in a mention, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// A recent commit touched its files.
    Committed,
    /// The branch has its name.
    Branch,
    /// Its files have changes that are not committed.
    Changed,
    /// The log mentions it among other things.
    Logged,
    /// Frames near the current one changed its files or were about it.
    Worked,
    /// The log names it as focus or as open work.
    LoggedOpen,
    /// The host's todo list names it.
    Todo,
    /// The frames in progress name it.
    Frame,
}

impl Candidate {
    /// Returns true if the mention counts only while the work is open: what was changed or logged may be
    /// what was just finished.
    pub fn needs_open_work(&self) -> bool {
        self.trust < Trust::LoggedOpen
    }
}

/// A text that may mention a work item.
pub(crate) struct Mention {
    pub(crate) text: String,
    pub(crate) source: LineSource,
    pub(crate) trust: Trust,
}

impl Mention {
    fn new(text: &str, source: LineSource, trust: Trust) -> Self {
        Self {
            text: text.to_owned(),
            source,
            trust,
        }
    }

    /// Returns the trust in this text as a mention of an item, if it is one.
    fn trust_in(&self, item: &ItemName, facts: &Facts<'_>) -> Option<Trust> {
        let (text, trust) = (&self.text, self.trust);
        let is_distinct_mention = || {
            // An ordinary word such as `login` mentions nothing on its own.
            let is_focus = trust == Trust::LoggedOpen && *text == item.name;
            is_distinct(&item.name) || is_focus || text.contains(&format!("`{}`", item.name))
        };
        let names_stage = || {
            let mut stages = facts.stage_names.find(text).into_iter();
            stages.any(|named| named.workflow.name == item.workflow)
        };
        match trust {
            Trust::Committed | Trust::Changed => item.has_path_in(text).then_some(trust),
            Trust::Branch => (text.rsplit('/').next() == Some(&item.name)).then_some(trust),
            _ if item.has_path_in(text) => Some(trust),
            _ if !item.word.is_in(text) => None,
            // `/spec-execute next login` is work to be done wherever it is written, except in a frame
            // that has already done it.
            Trust::Worked if names_stage() => Some(trust),
            _ if names_stage() => Some(trust.max(Trust::LoggedOpen)),
            _ => is_distinct_mention().then_some(trust),
        }
    }
}

/// Returns true if a name cannot be an ordinary word.
pub(crate) fn is_distinct(name: &str) -> bool {
    name.contains(|c: char| matches!(c, '-' | '_') || c.is_ascii_digit())
}

/// A work item as texts name it: by its name or by its path.
pub(crate) struct ItemName {
    workflow: String,
    name: String,
    word: WordSet,
    path: String,
}

impl ItemName {
    pub(crate) fn new(workflow: &Workflow, name: &str) -> Self {
        Self {
            workflow: workflow.name.clone(),
            name: name.to_owned(),
            word: WordSet::new([name]),
            path: workflow.item_path(name),
        }
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.word.is_in(text) || self.has_path_in(text)
    }

    /// Returns true if the path is in the text, and not as the beginning of another one.
    fn has_path_in(&self, text: &str) -> bool {
        text.match_indices(&self.path).any(|(at, path)| {
            let rest = text.get(at + path.len()..).unwrap_or_default();
            !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'))
        })
    }
}

/// Returns the items that something mentions, most trusted first and newest first among equals.
/// `items` are pairs of a workflow's and an item's name.
pub(crate) fn candidates<'n>(
    facts: &Facts<'_>,
    items: impl IntoIterator<Item = (&'n str, &'n str)>,
) -> Vec<Candidate> {
    let mentions = mentions(facts);
    // Most items, of possibly thousands, are mentioned nowhere: that must not cost a search each.
    let words = mentions.iter().flat_map(|one| words_of(&one.text));
    let words: BTreeSet<String> = words.collect();
    let mut found: Vec<(usize, Candidate)> = Vec::new();
    for (workflow, name) in items {
        let declared = facts.workflows.iter().find(|known| known.name == workflow);
        let Some(declared) = declared.filter(|declared| may_be_in(&words, declared, name)) else {
            continue;
        };
        let item = ItemName::new(declared, name);
        let best = (0..)
            .zip(&mentions)
            .filter_map(|(place, mention)| Some((mention.trust_in(&item, facts)?, place, mention)))
            .max_by_key(|(trust, place, _)| (*trust, *place));
        found.extend(best.map(|(trust, place, mention)| {
            let candidate = Candidate {
                workflow: workflow.to_owned(),
                name: name.to_owned(),
                trust,
                source: mention.source.clone(),
            };
            (place, candidate)
        }));
    }
    found.sort_by(|(place, one), (other_place, other)| {
        let newest_first = (other.trust, other_place).cmp(&(one.trust, place));
        newest_first.then_with(|| one.name.cmp(&other.name))
    });
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Returns true if a name, or the file that the item is, can be among the words at all.
fn may_be_in(words: &BTreeSet<String>, workflow: &Workflow, name: &str) -> bool {
    // A name of several words is not one of them.
    let known = |name: &str| {
        !name.chars().all(in_name) || words.contains(&name.trim_matches('.').to_lowercase())
    };
    let is_file = matches!(workflow.layout(), ItemLayout::Files { .. });
    let has_file = || {
        workflow
            .item_path(name)
            .rsplit('/')
            .next()
            .is_some_and(known)
    };
    known(name) || (is_file && has_file())
}

/// Returns true for the characters of a work item's name.
pub(crate) fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns the words of a text that may be names, in lower case.
fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !in_name(c))
        .map(|word| word.trim_matches('.').to_lowercase())
        .filter(|word| !word.is_empty())
}

/// Returns all texts that may mention work; later ones count more among equals.
pub(crate) fn mentions(facts: &Facts<'_>) -> Vec<Mention> {
    let mut found = Vec::new();
    if let Some(around) = &facts.sources.around {
        found.extend(in_ended_frames(around));
        let open = in_progress(around).into_iter().rev();
        found.extend(open.flat_map(|frame| in_frame(frame, Trust::Frame)));
    }
    let todos = (1..).zip(&facts.sources.todos);
    let todos = todos.filter(|(_, todo)| is_open(todo));
    found.extend(
        todos.map(|(place, todo)| Mention::new(&todo.text, LineSource::Todo(place), Trust::Todo)),
    );
    found.extend(facts.log.iter().flat_map(in_log));
    found.extend(facts.sources.git.iter().flat_map(in_git));
    found
}

/// Returns the frames in progress, nearest first: those below the session's frame, such as the prompt it
/// answers, then that frame and its ancestors, unless they are finished.
pub(crate) fn in_progress(around: &Surroundings) -> Vec<&Frame> {
    let is_below = |frame: &&Frame| frame.parent.as_ref() == Some(&around.current.id);
    let mut below: Vec<&Frame> = around.open.frames.iter().filter(is_below).collect();
    below.sort_by_key(|frame| std::cmp::Reverse(frame.changed));
    let path = std::iter::once(&around.current).chain(&around.ancestors);
    let path = path.filter(|frame| frame.status.is_open());
    below.into_iter().chain(path).collect()
}

/// Mentions in the frames that ended near the current one, the latest last.
fn in_ended_frames(around: &Surroundings) -> impl Iterator<Item = Mention> {
    let groups = [
        &around.children.frames,
        &around.siblings,
        &around.uncles.frames,
    ];
    let mut ended: Vec<&Frame> = groups.into_iter().flatten().collect();
    let current = Some(&around.current);
    ended.extend(current.filter(|frame| !frame.status.is_open()));
    ended.sort_by_key(|frame| frame.changed);
    let latest = ended.split_off(ended.len().saturating_sub(ENDED_FRAMES));
    let latest = latest.into_iter();
    latest.flat_map(|frame| in_frame(frame, Trust::Worked))
}

/// Mentions in a frame. The files it changed show what was worked on and not what is meant: that may be
/// finished, and the frame may continue with something else.
fn in_frame(frame: &Frame, trust: Trust) -> impl Iterator<Item = Mention> {
    let is_action = |note: &&Note| matches!(note, Note::Artifact(_) | Note::Evidence(_));
    let (mut actions, said): (Vec<&Note>, Vec<&Note>) = frame.notes.iter().partition(is_action);
    let latest = actions.split_off(actions.len().saturating_sub(FRAME_ACTIONS));
    let mut texts = vec![(frame.title.as_str(), trust)];
    texts.extend(
        frame
            .criteria
            .iter()
            .map(|criteria| (criteria.as_str(), trust)),
    );
    texts.extend(said.into_iter().map(|note| (note.text().as_str(), trust)));
    texts.extend(
        latest
            .into_iter()
            .map(|note| (note.text().as_str(), Trust::Worked)),
    );
    let texts = texts.into_iter();
    texts.map(|(text, trust)| Mention::new(text, LineSource::Frame(frame.id), trust))
}

fn in_log(log: &SessionLog<'_>) -> impl Iterator<Item = Mention> {
    let entries = log.current().iter().rev().flat_map(|entry| {
        let logged = entry.lines.iter().map(|line| (line, Trust::Logged));
        let open = [Field::OpenWork, Field::Next, Field::PendingTests];
        let open = open.into_iter().flat_map(|field| entry.all(field));
        let open = entry.focus.iter().chain(open);
        logged.chain(open.map(|line| (line, Trust::LoggedOpen)))
    });
    let preamble = log.preamble.iter().map(|line| (line, Trust::Logged));
    let lines = entries.chain(preamble);
    lines.map(|(line, trust)| Mention::new(&line.text, line.source(), trust))
}

fn in_git(git: &Git) -> impl Iterator<Item = Mention> {
    let branch = git.branch.iter().map(|branch| (branch, Trust::Branch));
    let changed = git.changed.iter().chain(&git.below);
    let changed = changed.map(|path| (path, Trust::Changed));
    // Git lists the newest commit first, and later mentions count more.
    let committed = git.commits.iter().rev().flat_map(|commit| &commit.paths);
    let committed = committed.map(|path| (path, Trust::Committed));
    let all = branch.chain(changed).chain(committed);
    all.map(|(text, trust)| Mention::new(text, LineSource::Git, trust))
}
