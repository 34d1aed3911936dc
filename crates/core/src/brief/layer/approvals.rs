//! What was approved, what was not, and what nobody has decided.

use super::Layer;
use crate::brief::approvals::{Approval, approval};
use crate::brief::draft::{Draft, Rank};
use crate::brief::session_log::{Field, SessionLog};
use crate::brief::{Heading, Source, Sources};

impl Layer<'_, '_> {
    pub(super) fn approvals(&self, draft: &mut Draft, sources: &Sources, log: Option<&SessionLog>) {
        let active = self.active;
        for artifact in active
            .workflow
            .artifacts
            .iter()
            .filter(|artifact| !artifact.approval.is_empty())
        {
            let own = Source::File {
                path: active.path(&artifact.file),
                line: None,
            };
            let file = active.called(&artifact.file);
            let unit = active.name();
            match approval(active, artifact, sources, log) {
                Approval::Recorded { source, words } => {
                    let words = crate::text::condense(&words, 120);
                    let text =
                        format!("{unit}: `{file}` is approved, recorded in {source}: “{words}”");
                    draft.add(Heading::Approved, Rank::Useful, &text, source);
                }
                Approval::Denied { source, words } => {
                    let words = crate::text::condense(&words, 120);
                    let text =
                        format!("{unit}: `{file}` is not approved, as {source} says: “{words}”");
                    draft.add(Heading::Pending, Rank::Needed, &text, source);
                }
                Approval::Inferred { from } => {
                    let text = format!(
                        "{unit}: approval of `{file}` is inferred from {from}; none is recorded."
                    );
                    draft.add(Heading::Approved, Rank::Useful, &text, own);
                }
                Approval::Open => {
                    let text = format!("{unit}: approval of `{file}` is not recorded.");
                    draft.add(Heading::Pending, Rank::Needed, &text, own);
                }
                Approval::NoFile { is_empty } => {
                    let is_due = active.stage.current_artifact.as_ref() == Some(&artifact.file);
                    let why = if is_empty { "empty" } else { "missing" };
                    if is_due {
                        let text =
                            format!("{unit}: `{file}` is {why}; there is nothing to approve yet.");
                        draft.add(Heading::Pending, Rank::Needed, &text, own);
                    }
                }
            }
        }
        if let (Some(log), Some(document)) = (log, &sources.session_log) {
            for said in log
                .newest()
                .iter()
                .flat_map(|entry| entry.all(Field::Questions))
            {
                draft.add(
                    Heading::Pending,
                    Rank::Needed,
                    &said.text,
                    Source::file(document, said.line),
                );
            }
        }
    }
}
