//! Conditions of the next stage: gate, preconditions, done criteria.

use crate::Heading;
use crate::active::Active;
use crate::draft::{Draft, Rank};

pub(super) fn write(draft: &mut Draft, active: &Active<'_>) {
    let stage = active.stage;
    let mut add = |heading, rank, text: &str| {
        draft.add(heading, rank, &active.filled(text), active.declaration());
    };
    add(Heading::Gate, Rank::Vital, &stage.gate);
    for command in &stage.commands {
        add(
            Heading::Gate,
            Rank::Vital,
            &format!("Gate command: `{command}`"),
        );
    }
    for text in &stage.preconditions {
        add(Heading::Preconditions, Rank::Useful, text);
    }
    for text in &stage.done {
        add(Heading::DoneCriteria, Rank::Useful, text);
    }
}
