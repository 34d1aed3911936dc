//! Messages to a driven session.
//!
//! They are rendered from frames when they are sent, and only then. A session sees the outcome of
//! other frames, never their history.

use flamestack_core::text::shortened;
use flamestack_core::{Frame, Note, Status};
use serde::{Deserialize, Serialize};

/// Maximum length of a child's results in a prompt, in characters. `stack_recall` has the rest.
const RESULT_LIMIT: usize = 8_000;
/// Maximum number of artifacts of a child in a prompt.
const ARTIFACTS: usize = 40;

/// Reason for a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// Work on the frame begins.
    Begin,
    /// Children have ended.
    Continue,
    /// The session ended its turn without a signal.
    Remind,
    /// The session's last message was cut off at its maximum length.
    CutOff,
    /// A crash cut off the session's turn.
    Interrupted,
    /// The run was parked or stopped, and continues.
    Resume,
    /// The frame is no longer blocked.
    Unblocked,
    /// The user has said something.
    Said,
}

impl PromptKind {
    /// Returns the kind as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Continue => "continue",
            Self::Remind => "remind",
            Self::CutOff => "cut_off",
            Self::Interrupted => "interrupted",
            Self::Resume => "resume",
            Self::Unblocked => "unblocked",
            Self::Said => "said",
        }
    }
}

/// Everything that a prompt says.
#[derive(Clone, Debug)]
pub(crate) struct PromptInput<'a> {
    pub(crate) why: PromptKind,
    pub(crate) frame: &'a Frame,
    pub(crate) attempt: u32,
    pub(crate) children: &'a [Frame],
    pub(crate) remarks: &'a [String],
    pub(crate) spoken: &'a [String],
}

/// Introduces a context: it informs, and gives no orders.
pub(crate) fn context_message(context: &str) -> String {
    format!(
        "The state of the work that your task is part of, for information. The task itself comes in the next message.\n\n{}",
        context.trim_end()
    )
}

/// Renders the parts of a prompt: the news about children if there are any, then the prompt itself.
pub(crate) fn parts(input: &PromptInput<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    if !input.children.is_empty() {
        let news: Vec<String> = input.children.iter().map(outcome).collect();
        parts.push(news.join("\n\n"));
    }
    parts.push(request(input));
    parts
}

/// Returns the number of parts of a prompt.
pub(crate) fn count(children: usize) -> usize {
    1 + usize::from(children > 0)
}

fn outcome(child: &Frame) -> String {
    let word = match child.status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Blocked => "blocked",
        Status::Invalidated => "given up",
        Status::Planned | Status::InProgress => "open",
    };
    let mut text = format!(
        "## Child frame {word}: {} ({})",
        child.title.as_str(),
        child.id
    );
    let given_up = child.invalidation.as_ref().map(|given| &given.reason);
    let reason = child.blocked_on.as_ref().or(given_up);
    if let Some(reason) = reason {
        text.push_str(&format!("\nReason: {}", shortened(reason.as_str(), 2_000)));
    }
    if let Some(results) = &child.results {
        text.push_str(&format!(
            "\n\n{}",
            shortened(results.as_str(), RESULT_LIMIT)
        ));
    }
    let artifacts: Vec<&str> = child
        .notes
        .iter()
        .filter_map(|note| match note {
            Note::Artifact(path) => Some(path.as_str()),
            Note::Decision { .. }
            | Note::FailedAttempt { .. }
            | Note::Evidence(_)
            | Note::Directive(_) => None,
        })
        .collect();
    if !artifacts.is_empty() {
        let shown: Vec<&str> = artifacts.iter().take(ARTIFACTS).copied().collect();
        text.push_str(&format!("\n\nFiles: {}", shown.join(", ")));
    }
    text
}

fn request(input: &PromptInput<'_>) -> String {
    let title = input.frame.title.as_str();
    let mut text = match input.why {
        PromptKind::Begin => begin(input.frame, input.attempt),
        PromptKind::Continue => format!("Continue with: {title}{}", choices(input.children)),
        PromptKind::Remind => format!(
            "Your turn ended without saying if `{title}` is finished. Say it now, as described at the beginning, or continue the work."
        ),
        PromptKind::CutOff => "Your last message was cut off. Continue where it ended.".to_owned(),
        PromptKind::Interrupted => format!(
            "The work on `{title}` was interrupted by a crash in the middle of your turn. A tool call that has no result may have had its effect. Check the state of the files before you repeat anything, then continue."
        ),
        PromptKind::Resume => {
            format!("The run was stopped and resumes now. Continue with: {title}")
        }
        PromptKind::Unblocked => {
            format!("`{title}` is no longer blocked. Check what it waited for, then continue.")
        }
        PromptKind::Said => format!("Continue with: {title}"),
    };
    for remark in input.remarks {
        text.push_str(&format!("\n\nNote: {remark}"));
    }
    for spoken in input.spoken {
        text.push_str(&format!("\n\nThe user says: {spoken}"));
    }
    text
}

fn begin(frame: &Frame, attempt: u32) -> String {
    let mut text = format!("Begin work on: {}", frame.title.as_str());
    if let Some(criteria) = &frame.criteria {
        text.push_str(&format!("\n\nDone when: {}", criteria.as_str()));
    }
    let lessons = frame.notes.iter().rev().filter_map(|note| match note {
        Note::FailedAttempt { text, why } => Some((text.as_str(), why.as_ref())),
        Note::Artifact(_) | Note::Decision { .. } | Note::Evidence(_) | Note::Directive(_) => None,
    });
    let lessons: Vec<_> = lessons.take(3).collect();
    if attempt > 1 || !lessons.is_empty() {
        text.push_str(&format!("\n\nThis is attempt {attempt}."));
        for (lesson, why) in lessons {
            let why = why.map_or(String::new(), |why| format!(": {}", why.as_str()));
            text.push_str(&format!(" {lesson}{why}"));
        }
    }
    text.push_str(PROTOCOL);
    text
}

/// The way in which a session says what it wants. The same bytes for every frame.
const PROTOCOL: &str = "

You work on this frame alone; other frames have sessions of their own.
- A part that deserves a session of its own: call `stack_frame_push` for each, then end your turn. You continue when they have ended, with their results.
- Finished, failed or blocked: call `stack_frame_pop` with `status` and `results`, then end your turn. The results are all that the parent sees.
Without these tools, begin a line of your last message with one of
PUSH_FRAME: title | success criteria
FRAME_COMPLETE: results
FRAME_BLOCKED: reason";

fn choices(children: &[Frame]) -> &'static str {
    let trouble = |child: &Frame| matches!(child.status, Status::Failed | Status::Blocked);
    if children.iter().any(trouble) {
        "\n\nYou may push another frame in place of one that failed, activate one that is blocked again, or pop this frame."
    } else {
        ""
    }
}
