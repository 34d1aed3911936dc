//! Tells a new session about open work of earlier sessions that its first prompt may concern.
//! `docs/architecture.md`, "Texts for a session that continues", compares this module with its relatives.
//!
//! A new session is compared with the open tasks of the project whose session was cut off, is stale or
//! was closed: a running one continues anyway. Most prompts match none of them, and get no text.

use std::collections::BTreeSet;

use flamestack_brief::compaction::resumption;
use flamestack_core::note::NoteKind;
use flamestack_core::session::state::SessionState;
use flamestack_core::{Frame, SessionRef};
use flamestack_extract::lex::terms;
use flamestack_store::{Reading, Slice};

use crate::Engine;
use crate::error::Result;
use crate::views::one_line;

/// Number of open tasks, the last ones, that are compared.
const COMPARED: usize = 64;
/// Number of words that a prompt must share with the goal of a task.
const SHARED: usize = 2;
/// Maximum number of tasks that are named.
const NAMED: usize = 3;
/// Maximum number of decisions and directives that are named of each.
const ANCHORS: usize = 3;
/// Maximum length of a title, in characters.
const TITLE_LENGTH: usize = 100;
/// Maximum length of a decision or directive, in characters.
const ANCHOR_LENGTH: usize = 160;

impl Engine {
    /// Returns a text about open work that the first prompt of a new session may concern; `None` if the
    /// session is not new, or concerns none.
    pub fn left_open(&self, session: &SessionRef, prompt: &str) -> Result<Option<String>> {
        let words: BTreeSet<String> = terms(prompt).into_iter().collect();
        if words.len() < SHARED {
            return Ok(None);
        }
        let thresholds = self.sessions().thresholds()?;
        let now = self.clock().now();
        let is_left = |reading: &dyn Reading, owner: &SessionRef| -> Result<bool> {
            let Some(life) = reading.life(owner)? else {
                return Ok(false);
            };
            let state = life.status(now, &thresholds).state;
            Ok(matches!(
                state,
                SessionState::Interrupted | SessionState::Stale | SessionState::Closed
            ))
        };
        let found = self.read(|reading| {
            let known = reading.session(session)?;
            if known.is_some_and(|known| known.activity.prompts > 0 || known.run.is_some()) {
                return Ok(Vec::new());
            }
            let open = reading.rows(&Slice {
                open: Some(true),
                limit: Some(COMPARED),
                last: true,
                ..Slice::default()
            })?;
            let mut found = Vec::new();
            for row in open {
                let Some(owner) = row.frame.session.as_ref().filter(|owner| *owner != session)
                else {
                    continue;
                };
                let shared = shared(&words, &row.frame);
                if shared >= SHARED && is_left(reading, owner)? {
                    let whole = reading.whole_frame(&row.frame.id)?;
                    found.push((shared, whole.unwrap_or(row.frame)));
                }
            }
            Ok(found)
        })?;
        Ok(text(found))
    }
}

fn shared(words: &BTreeSet<String>, frame: &Frame) -> usize {
    let criteria = frame.criteria.as_ref().map_or("", |text| text.as_str());
    let goal: BTreeSet<String> = terms(&format!("{} {criteria}", frame.title))
        .into_iter()
        .collect();
    words.intersection(&goal).count()
}

fn text(mut found: Vec<(usize, Frame)>) -> Option<String> {
    // The most similar first, and of equal ones the last.
    found.sort_by_key(|(shared, frame)| (std::cmp::Reverse((*shared, frame.changed)), frame.id));
    if found.is_empty() {
        return None;
    }
    let mut lines = vec!["An earlier session left work open that this may concern:".to_owned()];
    for (_, frame) in found.iter().take(NAMED) {
        lines.push(format!(
            "- {} “{}” ({})",
            frame.id,
            one_line(frame.title.as_str(), TITLE_LENGTH),
            frame.status
        ));
        lines.extend(anchors(frame));
    }
    lines.push("stack_frame_activate continues one of them, if the user wants that.".to_owned());
    Some(resumption(&lines.join("\n")).replacen("after=\"resume\"", "after=\"start\"", 1))
}

/// Describes the newest decisions and directives of a task, one line each.
fn anchors(frame: &Frame) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    let mut count = 0;
    for note in frame.notes.iter().rev() {
        let name = match note.kind() {
            NoteKind::Decision => "decided",
            NoteKind::Directive => "the user said",
            NoteKind::FailedAttempt | NoteKind::Artifact | NoteKind::Evidence => continue,
        };
        count += 1;
        if count <= ANCHORS {
            let words = one_line(note.text().as_str(), ANCHOR_LENGTH);
            known.push(format!("  {name}: {words}"));
        }
    }
    known.reverse();
    if count > ANCHORS {
        let more = count - ANCHORS;
        known.push(format!(
            "  and {more} more; stack_recall {} shows them",
            frame.id
        ));
    }
    known
}
