//! Suggestions and automatic acts in words.

use flamestack_core::Outcome;
use flamestack_core::autonomy::{AdviceKind, Suggestion};

use crate::views::grouped;

/// Describes what a suggestion advises.
pub fn advice(suggestion: &Suggestion) -> String {
    match suggestion.kind {
        AdviceKind::Push => match &suggestion.title {
            Some(title) => format!("open a frame for “{}”", title.as_str()),
            None => "open a frame".to_owned(),
        },
        AdviceKind::Pop => {
            let status = suggestion.outcome.unwrap_or(Outcome::Completed).status();
            format!("close this frame as {}", status.as_str())
        }
    }
}

/// Describes a suggestion with its evidence, the project's own baseline and what acting would save.
pub fn described(suggestion: &Suggestion) -> String {
    let mut text = format!(
        "{}: {} ({}%)",
        advice(suggestion),
        suggestion.evidence.as_str(),
        suggestion.score
    );
    if suggestion.sessions > 0 {
        text.push_str(&format!(
            "; {} of your {} sessions got this far",
            grouped(suggestion.reached),
            grouped(suggestion.sessions)
        ));
    }
    if suggestion.saves > 0 {
        text.push_str(&format!(
            "; this would take {} tokens out of the prompt",
            grouped(suggestion.saves)
        ));
    }
    text
}

pub(super) fn announced(suggestion: &Suggestion) -> String {
    format!(
        "Suggestion: {}. `flame autonomy accept` does it, `flame autonomy dismiss` does not.",
        described(suggestion)
    )
}

pub(super) fn acted(suggestion: &Suggestion) -> String {
    let what = match suggestion.kind {
        AdviceKind::Push => "Opened a frame",
        AdviceKind::Pop => "Closed the frame",
    };
    let title = suggestion.title.as_ref();
    let title = title.map_or(String::new(), |title| format!(" for “{}”", title.as_str()));
    format!(
        "{what}{title}: {} ({}%). `flame undo` takes it back.",
        suggestion.evidence.as_str(),
        suggestion.score
    )
}
