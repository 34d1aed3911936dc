//! What has to hold before the next stage: gate, preconditions, done criteria.

use super::Layer;
use crate::brief::Heading;
use crate::brief::draft::{Draft, Rank};

impl Layer<'_, '_> {
    pub(super) fn gate(&self, draft: &mut Draft) {
        let stage = self.active.stage;
        draft.add(
            Heading::Gate,
            Rank::Vital,
            &self.filled(&stage.gate),
            self.declared(),
        );
        for command in &stage.commands {
            let text = format!("Gate command: `{}`", self.filled(command));
            draft.add(Heading::Gate, Rank::Vital, &text, self.declared());
        }
        for text in &stage.preconditions {
            draft.add(
                Heading::Preconditions,
                Rank::Useful,
                &self.filled(text),
                self.declared(),
            );
        }
        for text in &stage.done {
            draft.add(
                Heading::DoneCriteria,
                Rank::Useful,
                &self.filled(text),
                self.declared(),
            );
        }
    }
}
