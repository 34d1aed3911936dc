//! Chooses the anchors of a session, the facts that must survive a compaction, and checks whether a text
//! contains them. Their type is in `flamestack_core::compaction`.

use flamestack_context::{Failed, Surroundings};
use flamestack_core::compaction::{Anchor, AnchorKind};
use flamestack_core::{Evidence, Frame, Note, Text};
use flamestack_extract::tokens::Tokenizer;

use crate::active::Active;
use crate::draft::Draft;
use crate::sections::READ_ONLY;
use crate::{BriefLine, Heading, LineSource, Mode, Sources};

/// Number of files and of planned frames that are anchors.
const NEWEST: usize = 6;

/// Returns the anchors of a brief, before the budget takes anything away: the frames' own words, what
/// the workflow declares, and the lines of a draft that come from elsewhere.
pub(crate) fn anchors(
    draft: &Draft,
    active: Option<&Active<'_>>,
    sources: &Sources,
) -> Vec<Anchor> {
    let mut anchors = Anchors::default();
    if sources.mode == Mode::ReadOnly {
        anchors.add(AnchorKind::Mode, READ_ONLY);
    }
    if let Some(around) = &sources.around {
        anchors.add_frames(around);
    } else if let Some(line) = draft.lines(Heading::Objective).first() {
        anchors.add(AnchorKind::Goal, &line.text);
    }
    if let Some(active) = active {
        let stage = active.stage;
        anchors.add(AnchorKind::Stage, &stage.name);
        if let Some(name) = active.known_name() {
            anchors.add(AnchorKind::Unit, name);
            if let Some(file) = &stage.current_artifact {
                anchors.add(AnchorKind::Artifact, &active.path(file));
            }
        }
        // Commands are between backticks.
        for command in active.filled(&stage.gate).split('`').skip(1).step_by(2) {
            anchors.add(AnchorKind::Gate, command);
        }
        for command in &stage.commands {
            anchors.add(AnchorKind::Gate, &active.filled(command));
        }
    }
    for (heading, kind) in [
        (Heading::Decisions, AnchorKind::Decision),
        (Heading::Pending, AnchorKind::Question),
        (Heading::Blockers, AnchorKind::Blocker),
        (Heading::NextAction, AnchorKind::NextAction),
    ] {
        let is_foreign = |line: &&BriefLine| !matches!(line.source, LineSource::Frame(_));
        for line in draft.lines(heading).iter().filter(is_foreign) {
            anchors.add(kind, &line.text);
        }
    }
    for subagent in sources.around.iter().flat_map(|around| &around.subagents) {
        anchors.add(AnchorKind::Subagent, &subagent.session.to_string());
    }
    anchors.0
}

#[derive(Default)]
struct Anchors(Vec<Anchor>);

impl Anchors {
    /// Adds an anchor, unless its text is empty or known.
    fn add(&mut self, kind: AnchorKind, text: &str) {
        if !text.is_empty() && !self.0.iter().any(|anchor| anchor.text == text) {
            self.0.push(Anchor {
                kind,
                text: text.to_owned(),
            });
        }
    }

    /// Adds what the frames say verbatim: a brief may show less of it.
    fn add_frames(&mut self, around: &Surroundings) {
        let current = &around.current;
        let root = around.ancestors.last().unwrap_or(current);
        self.add(AnchorKind::Goal, root.title.as_str());
        if current.status.is_open() {
            self.add(AnchorKind::Goal, current.title.as_str());
            let criteria = current.compacted_criteria().unwrap_or_default();
            self.add(AnchorKind::Criteria, &criteria);
        }
        for directive in &around.directives {
            self.add(AnchorKind::Directive, directive.text.as_str());
        }
        for frame in around.ancestors.iter().rev().chain([current]) {
            for note in &frame.notes {
                if let Note::Decision { text, why, .. } = note {
                    self.add(AnchorKind::Decision, text.as_str());
                    self.add(AnchorKind::Decision, why.as_ref().map_or("", Text::as_str));
                }
            }
        }
        self.add_obstacles(around);
        for subagent in &around.subagents {
            self.add(AnchorKind::Subagent, subagent.title.as_str());
        }
        let mut planned: Vec<&Frame> = around.planned.frames.iter().collect();
        planned.sort_by_key(|frame| (frame.rank, &frame.id));
        for frame in planned.into_iter().chain(&around.next).take(NEWEST) {
            self.add(AnchorKind::Remaining, frame.title.as_str());
        }
        self.add_newest_notes(current);
    }

    fn add_obstacles(&mut self, around: &Surroundings) {
        let frontier = around.frontier();
        for failed in &frontier.failed {
            match failed {
                Failed::Frame(frame) => self.add(AnchorKind::FailedAttempt, frame.title.as_str()),
                Failed::Attempt { text, why, .. } => {
                    self.add(AnchorKind::FailedAttempt, text);
                    self.add(AnchorKind::FailedAttempt, why.unwrap_or_default());
                }
            }
        }
        for frame in &frontier.blocked {
            let reason = frame.blocked_on.as_ref();
            let reason = reason.map_or(frame.title.as_str(), Text::as_str);
            self.add(AnchorKind::Blocker, reason);
        }
    }

    /// Adds the newest files of a frame and its last command.
    fn add_newest_notes(&mut self, frame: &Frame) {
        let notes = || frame.notes.iter().rev();
        let files = notes().filter_map(|note| match note {
            Note::Artifact(path) => Some(path),
            _ => None,
        });
        for path in files.take(NEWEST) {
            self.add(AnchorKind::Artifact, path.as_str());
        }
        let command = notes().find_map(|note| match note {
            Note::Evidence(Evidence::Command { command, .. }) => Some(command),
            _ => None,
        });
        self.add(AnchorKind::Command, command.map_or("", Text::as_str));
    }
}

/// Splits anchors into those that a text contains and those that it has lost. Blanks, case and marks
/// around words do not count.
pub fn split_by_survival(anchors: Vec<Anchor>, text: &str) -> (Vec<Anchor>, Vec<Anchor>) {
    let text = bare(text);
    let survives = |anchor: &Anchor| text.contains(&bare(&anchor.text));
    anchors.into_iter().partition(survives)
}

fn bare(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !matches!(c, '`' | '*' | '"' | '“' | '”'));
    let kept: String = kept.flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = kept.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// Lists lost anchors verbatim within a budget, without those that `shown` contains.
pub fn list_verbatim(
    lost: &[Anchor],
    shown: &str,
    budget: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut text = String::new();
    let mut used = 0;
    for anchor in lost.iter().filter(|anchor| !shown.contains(&anchor.text)) {
        let line = format!("- {}: {}\n", anchor.kind.as_str(), anchor.text);
        let more = tokenizer.count(&line) + 1;
        if used + more <= budget {
            used += more;
            text.push_str(&line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose;
    use flamestack_context::Subagent;
    use flamestack_core::id::{FrameId, Seq, Timestamp};
    use flamestack_core::text::Title;

    #[test]
    fn a_subagent_without_a_frame_is_no_mode() {
        let title = |text: &str| Title::new(text).unwrap();
        let frame = Frame::new(FrameId::from_entropy(1), title("Fix"), Timestamp(0));
        let mut around = Surroundings::of(frame, Seq(1));
        around.subagents.push(Subagent {
            session: "opencode:ses_1".parse().unwrap(),
            title: title("Look around"),
            frame: None,
            seen: Seq(1),
            state_and_start: None,
        });
        let sources = Sources {
            around: Some(around),
            ..Sources::default()
        };
        let brief = compose(&[], &sources, 1000, &flamestack_extract::tokens::Estimate);
        let anchors = brief
            .anchors
            .iter()
            .map(|anchor| (anchor.kind, anchor.text.as_str()));
        let expected = [
            (AnchorKind::Goal, "Fix"),
            (AnchorKind::Subagent, "Look around"),
            (AnchorKind::Subagent, "opencode:ses_1"),
        ];
        assert_eq!(anchors.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn anchors_are_listed_within_the_budget_and_not_repeated() {
        let lost: Vec<Anchor> = [(AnchorKind::Directive, "Never"), (AnchorKind::Goal, "Fix")]
            .map(|(kind, text)| Anchor {
                kind,
                text: text.to_owned(),
            })
            .into();
        let tokenizer = flamestack_extract::tokens::Estimate;
        let all = list_verbatim(&lost, "", 100, &tokenizer);
        assert_eq!(all, "- directive: Never\n- goal: Fix\n");
        assert_eq!(
            list_verbatim(&lost, "Never mind", 100, &tokenizer),
            "- goal: Fix\n"
        );
        assert_eq!(list_verbatim(&lost, "", 1, &tokenizer), "");
    }
}
