//! Approvals of the work item's files, and decisions that are still open.

use flamestack_core::text::condense;

use crate::Heading;
use crate::active::Active;
use crate::approvals::{Approval, approval};
use crate::draft::Draft;
use crate::facts::Facts;
use crate::fields::Field;

/// Maximum length of a quoted approval, in characters.
const QUOTE: usize = 120;

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>, active: &Active<'_>) {
    let item = active.name();
    let artifacts = active.workflow.artifacts.iter();
    for artifact in artifacts.filter(|artifact| artifact.needs_approval()) {
        let own = active.source(&artifact.file, None);
        let file = active.filled(&artifact.file);
        match approval(active, artifact, facts) {
            Approval::Recorded { source, words } => {
                let words = condense(&words, QUOTE);
                let text = format!("{item}: `{file}` is approved, recorded in {source}: “{words}”");
                draft.useful(Heading::Approved, &text, source);
            }
            Approval::Denied { source, words } => {
                let words = condense(&words, QUOTE);
                let text =
                    format!("{item}: `{file}` is not approved according to {source}: “{words}”");
                draft.needed(Heading::Pending, &text, source);
            }
            Approval::Inferred { from } => {
                let text = format!(
                    "{item}: approval of `{file}` is inferred from {from}; none is recorded."
                );
                draft.useful(Heading::Approved, &text, own.clone());
                let text = format!("`{file}` exists and is inferred to be complete from {from}.");
                draft.useful(Heading::Completed, &text, own);
            }
            Approval::Open => {
                let text = format!("{item}: approval of `{file}` is not recorded.");
                draft.needed(Heading::Pending, &text, own);
            }
            Approval::NoFile { is_empty } => {
                let why = if is_empty { "empty" } else { "missing" };
                let text = format!("{item}: `{file}` is {why}; there is nothing to approve yet.");
                if active.stage.is_about(&artifact.file) {
                    draft.needed(Heading::Pending, &text, own);
                }
            }
        }
    }
    if let Some(entry) = facts.newest_entry() {
        for line in entry.all(Field::Questions) {
            draft.add_field(Field::Questions, line);
        }
    }
}
