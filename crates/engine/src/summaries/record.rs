//! The result of a frame without a conversation, made from what was recorded in it: decisions,
//! failed attempts, evidence, files, the results of its children, and the ends of its raw texts.
//!
//! Nothing is rephrased. What does not fit is counted.

use flamestack_core::text::condense;
use flamestack_core::{Frame, Note};
use flamestack_extract::tokens::{Estimate, Tokenizer};
use flamestack_store::{FrameRow, Slice, transcript};

use super::Summaries;
use crate::error::Result;
use crate::views::{finished_results, story};

/// Maximum number of children whose results are considered.
const CHILDREN: usize = 50;
/// Maximum number of raw texts that are read, the newest ones.
const LOGS: usize = 3;
/// Maximum size of a raw text that is read, in bytes.
const LOG_BYTES: u64 = 4 * 1024 * 1024;
/// Number of the last lines of a raw text that are shown: programs say last how they ended.
const LOG_LINES: usize = 3;
/// Maximum length of a line, in characters.
const LINE: usize = 300;
/// Tokens for the line that counts what was left out.
const REST: usize = 8;

impl Summaries<'_> {
    /// Returns what was recorded in a frame, in at most `limit` tokens; `None` if nothing was.
    pub(super) fn recorded_result(&self, frame: &Frame, limit: usize) -> Result<Option<String>> {
        let children = self.engine.read(|reading| {
            let slice = Slice {
                parent: Some(frame.id),
                limit: Some(CHILDREN),
                last: true,
                ..Slice::default()
            };
            Ok(reading.rows(&slice)?)
        })?;
        let mut lines = note_lines(frame);
        lines.extend(children.iter().map(child_line));
        lines.extend(self.log_lines(frame)?);
        Ok(fitted(&lines, limit))
    }

    /// Returns a line for each of the newest raw texts, with its end.
    fn log_lines(&self, frame: &Frame) -> Result<Vec<String>> {
        let blobs = self.engine.blobs().reader();
        let is_raw =
            |entry: &&flamestack_core::frame::LogEntry| entry.label.as_str() != transcript::LABEL;
        let mut lines = Vec::new();
        for entry in frame.log.iter().filter(is_raw).rev().take(LOGS) {
            let text = match entry.bytes {
                0..=LOG_BYTES => blobs.get(&entry.blob)?,
                _ => None,
            };
            let text = text.unwrap_or_default();
            let filled = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let mut last: Vec<&str> = filled.rev().take(LOG_LINES).collect();
            last.reverse();
            let shown = match last.as_slice() {
                [] => format!("Raw text: {}", entry.label),
                last => format!("End of {}: {}", entry.label, last.join(" / ")),
            };
            lines.push(condense(&shown, LINE));
        }
        lines.reverse();
        Ok(lines)
    }
}

/// Returns a line for each note, and one for all files.
fn note_lines(frame: &Frame) -> Vec<String> {
    let mut lines = Vec::new();
    let mut files = Vec::new();
    for note in &frame.notes {
        let line = match note {
            Note::Artifact(path) => {
                files.push(condense(path.as_str(), 120));
                continue;
            }
            // The user's words are not a result of the work.
            Note::Directive(_) => continue,
            Note::Decision { text, why, .. } => {
                format!("Decided: {}", story::with_reason(text, why.as_ref()))
            }
            Note::FailedAttempt { text, why } => {
                format!("Did not work: {}", story::with_reason(text, why.as_ref()))
            }
            Note::Evidence(evidence) => format!("Evidence: {}", story::proof(evidence)),
        };
        lines.push(condense(&line, LINE));
    }
    if !files.is_empty() {
        lines.push(condense(&format!("Files: {}", files.join(", ")), LINE));
    }
    lines
}

fn child_line(row: &FrameRow) -> String {
    let frame = &row.frame;
    let line = match finished_results(frame) {
        Some(results) => format!("{} ({}): {results}", frame.title, frame.status),
        None => format!("{} ({})", frame.title, frame.status),
    };
    condense(&line, LINE)
}

/// Joins the lines that fit, and counts the others.
fn fitted(lines: &[String], limit: usize) -> Option<String> {
    let mut left = limit.saturating_sub(REST);
    let mut shown = Vec::new();
    for line in lines {
        let cost = Estimate.count(line) + 1;
        if cost <= left {
            left -= cost;
            shown.push(line.as_str());
        }
    }
    let rest = lines.len() - shown.len();
    let mut text = shown.join("\n");
    if rest > 0 {
        text.push_str(&format!("\n… and {rest} more recorded"));
    }
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let line = |n: usize| format!("Decided: number {n} of a few");
        let lines: Vec<String> = (1..=20).map(line).collect();
        let text = fitted(&lines, 60).unwrap();
        assert!(Estimate.count(&text) <= 60, "{text}");
        assert!(text.starts_with("Decided: number 1 of a few\n"), "{text}");
        assert!(text.ends_with("more recorded"), "{text}");
        assert_eq!(fitted(&[], 60), None);
    }
}
