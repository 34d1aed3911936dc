//! What must survive a compaction, and whether it did.

use super::choice::Active;
use super::draft::Draft;
use super::{Brief, Heading};

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
    /// What all of it is for.
    Goal,
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
    /// Something that nobody has decided.
    Question,
    /// Something in the way.
    Blocker,
    /// What comes next.
    NextAction,
    /// A subagent at work, by its session.
    Subagent,
}

impl AnchorKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Stage => "stage",
            Self::Unit => "unit",
            Self::Artifact => "artifact",
            Self::Gate => "gate",
            Self::Decision => "decision",
            Self::Question => "question",
            Self::Blocker => "blocker",
            Self::NextAction => "next-action",
            Self::Subagent => "subagent",
        }
    }
}

/// The anchors of a draft, before a budget takes anything away.
pub(super) fn of(draft: &Draft, active: Option<&Active<'_>>) -> Vec<Anchor> {
    let mut found: Vec<Anchor> = Vec::new();
    let mut add = |kind, text: &str| {
        if !text.is_empty() && !found.iter().any(|anchor| anchor.text == text) {
            found.push(Anchor {
                kind,
                text: text.to_owned(),
            });
        }
    };
    for entry in draft.entries(Heading::Objective).iter().take(1) {
        add(AnchorKind::Goal, &entry.text);
    }
    if let Some(active) = active {
        add(AnchorKind::Stage, &active.stage.name);
        if let Some(unit) = active.unit {
            add(AnchorKind::Unit, &unit.name);
        }
        if let Some(file) = &active.stage.current_artifact {
            add(AnchorKind::Artifact, &active.path(file));
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
        for entry in draft.entries(heading) {
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
