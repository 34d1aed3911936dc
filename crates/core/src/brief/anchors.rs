//! What must survive a compaction, and whether it did.

use super::choice::Active;
use super::draft::{Draft, Entry};
use super::{Brief, Heading, Source};
use crate::context::{Failed, Surroundings};
use crate::frame::Frame;
use crate::note::{Evidence, Note};
use crate::text::Prose;

/// A fact that must be found in what a compaction leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// What it is.
    pub kind: AnchorKind,
    /// The words to be found.
    pub text: String,
}

/// What an anchor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnchorKind {
    /// Whether anything may be changed.
    Mode,
    /// What all of it is for.
    Goal,
    /// What defines "done".
    Criteria,
    /// What the user said, word for word.
    Directive,
    /// The stage, verbatim.
    Stage,
    /// The piece of work.
    Unit,
    /// The file that the stage is about.
    Artifact,
    /// A command of the gate.
    Gate,
    /// Something that was decided.
    Decision,
    /// Something that was tried in vain.
    FailedAttempt,
    /// Something that nobody has decided.
    Question,
    /// Something in the way.
    Blocker,
    /// A subagent that is at work.
    Subagent,
    /// What is begun or planned and not done.
    Remaining,
    /// A command that was run last.
    Command,
    /// What comes next.
    NextAction,
}

impl AnchorKind {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Mode,
        Self::Goal,
        Self::Criteria,
        Self::Directive,
        Self::Stage,
        Self::Unit,
        Self::Artifact,
        Self::Gate,
        Self::Decision,
        Self::FailedAttempt,
        Self::Question,
        Self::Blocker,
        Self::Subagent,
        Self::Remaining,
        Self::Command,
        Self::NextAction,
    ];

    /// The kind that a name stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Goal => "goal",
            Self::Criteria => "criteria",
            Self::Directive => "directive",
            Self::Stage => "stage",
            Self::Unit => "unit",
            Self::Artifact => "artifact",
            Self::Gate => "gate",
            Self::Decision => "decision",
            Self::Question => "question",
            Self::Blocker => "blocker",
            Self::FailedAttempt => "failed-attempt",
            Self::Subagent => "subagent",
            Self::Remaining => "remaining",
            Self::Command => "command",
            Self::NextAction => "next-action",
        }
    }
}

/// The anchors of a brief, before a budget takes anything away: what the frames say word for word,
/// and the lines of a draft that come from elsewhere.
pub(super) fn of(
    draft: &Draft,
    active: Option<&Active<'_>>,
    around: Option<&Surroundings>,
) -> Vec<Anchor> {
    let mut found: Vec<Anchor> = Vec::new();
    let mut add = |kind, text: &str| {
        if !text.is_empty() && !found.iter().any(|anchor| anchor.text == text) {
            found.push(Anchor {
                kind,
                text: text.to_owned(),
            });
        }
    };
    for entry in draft.entries(Heading::Status) {
        if entry.source == Source::Host {
            add(AnchorKind::Mode, &entry.text);
        }
    }
    match around {
        Some(around) => in_frames(around, &mut add),
        None => {
            for entry in draft.entries(Heading::Objective).iter().take(1) {
                add(AnchorKind::Goal, &entry.text);
            }
        }
    }
    if let Some(active) = active {
        add(AnchorKind::Stage, &active.stage.name);
        if let Some(name) = active.known_name() {
            add(AnchorKind::Unit, name);
            if let Some(file) = &active.stage.current_artifact {
                add(AnchorKind::Artifact, &active.path(file));
            }
        }
    }
    for entry in draft.entries(Heading::Gate) {
        for command in entry.text.split('`').skip(1).step_by(2) {
            add(AnchorKind::Gate, command);
        }
    }
    for (heading, kind) in [
        (Heading::Decisions, AnchorKind::Decision),
        (Heading::Pending, AnchorKind::Question),
        (Heading::Blockers, AnchorKind::Blocker),
        (Heading::NextAction, AnchorKind::NextAction),
    ] {
        let told = |entry: &&Entry| !matches!(entry.source, Source::Frame(_));
        for entry in draft.entries(heading).iter().filter(told) {
            add(kind, &entry.text);
        }
    }
    for entry in draft.entries(Heading::Status) {
        let session = entry.text.strip_prefix(SUBAGENT);
        if let Some((session, _)) = session.and_then(|text| text.split_once(": ")) {
            add(AnchorKind::Subagent, session);
        }
    }
    found
}

/// How many files, commands and planned frames of one frame are anchors.
const NEWEST: usize = 6;

/// What the frames say, word for word: a brief may show less of it.
fn in_frames(around: &Surroundings, add: &mut dyn FnMut(AnchorKind, &str)) {
    let frontier = around.frontier();
    let current = &around.current;
    let root = around.ancestors.last().unwrap_or(current);
    add(AnchorKind::Goal, root.title.as_str());
    if current.status.is_open() {
        add(AnchorKind::Goal, current.title.as_str());
        add(
            AnchorKind::Criteria,
            &current.compacted_criteria().unwrap_or_default(),
        );
    }
    for directive in &around.directives {
        add(AnchorKind::Directive, directive.text.as_str());
    }
    for frame in around.ancestors.iter().rev().chain([current]) {
        for note in &frame.notes {
            if let Note::Decision { text, why } = note {
                add(AnchorKind::Decision, text.as_str());
                add(AnchorKind::Decision, why.as_ref().map_or("", Prose::as_str));
            }
        }
    }
    for failed in &frontier.failed {
        match failed {
            Failed::Frame(frame) => add(AnchorKind::FailedAttempt, frame.title.as_str()),
            Failed::Attempt { text, why, .. } => {
                add(AnchorKind::FailedAttempt, text);
                add(AnchorKind::FailedAttempt, why.unwrap_or_default());
            }
        }
    }
    for frame in &frontier.blocked {
        let reason = frame.blocked_on.as_ref();
        add(
            AnchorKind::Blocker,
            reason.map_or(frame.title.as_str(), Prose::as_str),
        );
    }
    for subagent in &around.subagents {
        add(AnchorKind::Subagent, subagent.title.as_str());
    }
    let mut planned: Vec<&Frame> = around.planned.frames.iter().collect();
    planned.sort_by_key(|frame| (frame.rank, &frame.id));
    for frame in planned.into_iter().chain(&around.next).take(NEWEST) {
        add(AnchorKind::Remaining, frame.title.as_str());
    }
    let notes = || current.notes.iter().rev();
    let files = notes().filter_map(|note| match note {
        Note::Artifact(path) => Some((AnchorKind::Artifact, path)),
        _ => None,
    });
    let commands = notes().filter_map(|note| match note {
        Note::Evidence(Evidence::Command { command, .. }) => Some((AnchorKind::Command, command)),
        _ => None,
    });
    for (kind, text) in files.take(NEWEST).chain(commands.take(1)) {
        add(kind, text.as_str());
    }
}

/// The anchors that a text has, and those that it has lost.
pub fn found_in(anchors: Vec<Anchor>, text: &str) -> (Vec<Anchor>, Vec<Anchor>) {
    let text = bare(text);
    let is_there = |anchor: &Anchor| text.contains(&bare(&anchor.text));
    anchors.into_iter().partition(is_there)
}
/// How a line begins that tells of a subagent at work.
pub(super) const SUBAGENT: &str = "Subagent ";

impl Brief {
    /// The anchors that a text has lost. Blanks, case and marks around words do not count.
    pub fn lost_in(&self, text: &str) -> Vec<&Anchor> {
        let text = bare(text);
        self.anchors
            .iter()
            .filter(|anchor| !text.contains(&bare(&anchor.text)))
            .collect()
    }
}

fn bare(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !matches!(c, '`' | '*' | '"' | '“' | '”'));
    let kept: String = kept.flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = kept.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}
