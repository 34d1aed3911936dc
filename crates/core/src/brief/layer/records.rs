//! What was written down on the way: notes of progress, decisions, discoveries, warnings.

use super::{DONE, Layer, TO_DO};
use crate::brief::document::Document;
use crate::brief::draft::{Draft, Rank};
use crate::brief::findings::{Topic, findings, labelled_value};
use crate::brief::progress::Progress;
use crate::brief::session_log::Field;
use crate::brief::{Heading, Source};
use crate::workflow::Role;

/// How many findings of one topic are shown: the latest.
const FINDINGS: usize = 6;

impl Layer<'_, '_> {
    /// A log of progress: its newest line is the status, the others were done before.
    pub(super) fn progress(&self, draft: &mut Draft) {
        for artifact in &self.active.workflow.artifacts {
            let Some(document) = self.active.content(&artifact.file) else {
                continue;
            };
            match artifact.role {
                Role::Progress => self.progress_of(draft, document),
                Role::Context => {
                    for label in ["Last completed batch", "Remaining batches"] {
                        if let Some((value, line)) = labelled_value(document, label) {
                            let text = format!("{label}: {value}");
                            draft.add(
                                Heading::Status,
                                Rank::Useful,
                                &text,
                                Source::file(document, line),
                            );
                        }
                    }
                }
                Role::Document | Role::Tasks => {}
            }
        }
    }

    fn progress_of(&self, draft: &mut Draft, document: &Document) {
        let progress = Progress::parse(document);
        let source = |line| Source::file(document, line);
        if let Some(newest) = &progress.status {
            let status = format!("Progress notes: {}", newest.text);
            let artifact = format!("{}: {}", self.active.name(), newest.text);
            for (heading, rank, text) in [
                (Heading::Status, Rank::Needed, status),
                (Heading::ArtifactStatus, Rank::Useful, artifact),
            ] {
                draft.add(heading, rank, &text, source(newest.number));
            }
        }
        let first = progress.done.len().saturating_sub(DONE);
        for item in progress.done.iter().skip(first) {
            let line = source(item.number);
            draft.add(Heading::Completed, Rank::Useful, &item.text, line);
        }
        draft.omit(Heading::Completed, first);
        for item in progress.open.iter().take(TO_DO) {
            let line = source(item.number);
            draft.add(Heading::Remaining, Rank::Useful, &item.text, line);
        }
        draft.omit(
            Heading::Remaining,
            progress.open.len().saturating_sub(TO_DO),
        );
        for (field, item) in &progress.others {
            let (heading, rank) = match field {
                Field::Blockers => (Heading::Blockers, Rank::Needed),
                Field::Decisions => (Heading::Decisions, Rank::Useful),
                Field::Questions => (Heading::Pending, Rank::Needed),
                _ => continue,
            };
            draft.add(heading, rank, &item.text, source(item.number));
        }
    }

    pub(super) fn findings(&self, draft: &mut Draft) {
        for artifact in &self.active.workflow.artifacts {
            let Some(document) = self.active.content(&artifact.file) else {
                continue;
            };
            let all = findings(document);
            for (topic, heading, prefix, rank) in [
                (Topic::Decision, Heading::Decisions, "", Rank::Useful),
                (
                    Topic::Discovery,
                    Heading::Completed,
                    "Discovery: ",
                    Rank::Extra,
                ),
                (
                    Topic::Utility,
                    Heading::Preconditions,
                    "Utility: ",
                    Rank::Extra,
                ),
                (Topic::Warning, Heading::Blockers, "Warning: ", Rank::Useful),
                (Topic::Question, Heading::Pending, "", Rank::Needed),
            ] {
                let of_topic: Vec<_> = all
                    .iter()
                    .filter(|finding| finding.topic == topic)
                    .collect();
                let first = of_topic.len().saturating_sub(FINDINGS);
                for finding in of_topic.iter().skip(first) {
                    let text = format!("{prefix}{}", finding.text);
                    draft.add(heading, rank, &text, Source::file(document, finding.line));
                }
                draft.omit(heading, first);
            }
        }
    }
}
