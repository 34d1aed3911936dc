//! What a summary of a frame says under STATUS, SUMMARY, ARTIFACTS and DECISIONS.
//!
//! A model was asked for these, and writes them its own way: as headings, in bold, in another
//! order, with other marks, or not at all. Whatever it says is a claim.

use crate::frame::Outcome;

/// What was asked for, as far as it was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// How the frame is said to have ended, word for word.
    pub status: Option<String>,
    /// What was done; the whole text, where there are no sections.
    pub summary: String,
    /// Files and other things that were made.
    pub artifacts: Vec<String>,
    /// What was decided.
    pub decisions: Vec<String>,
}

/// How long an artifact or a decision may be, in characters; what is longer is prose.
const ITEM: usize = 500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Status,
    Summary,
    Artifacts,
    Decisions,
}

/// Reads what a summary claims.
pub fn claims(text: &str) -> Claims {
    let mut claims = Claims::default();
    let mut part: Option<Part> = None;
    let mut level = None;
    let mut summary: Vec<&str> = Vec::new();
    let mut before: Vec<&str> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let mut rest = line;
        let found = heading(line).filter(|_| !fenced);
        if let Some((next, behind)) = found {
            part = Some(next);
            level = depth(line);
            rest = behind;
        } else if let (Some(deep), Some(ours)) = (depth(line), level)
            && deep <= ours
        {
            // Another section of the host's own.
            part = None;
            level = None;
        }
        let said = rest.trim();
        match part {
            None => before.push(line),
            Some(Part::Summary) if found.is_some() && said.is_empty() => {}
            Some(Part::Summary) => summary.push(if found.is_some() { said } else { line }),
            Some(Part::Status) => {
                if claims.status.is_none() && !is_nothing(said) {
                    claims.status = Some(bare(said).to_owned());
                }
            }
            Some(Part::Artifacts) => add(&mut claims.artifacts, said, true),
            Some(Part::Decisions) => add(&mut claims.decisions, said, false),
        }
    }
    let chosen = if summary.iter().all(|line| line.trim().is_empty()) {
        before
    } else {
        summary
    };
    let summary = chosen.join("\n").trim().to_owned();
    Claims { summary, ..claims }
}

impl Claims {
    /// The outcome that the status speaks of, where it is one.
    pub fn outcome(&self) -> Option<Outcome> {
        let status = self.status.as_ref()?.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| status.contains(word));
        if says(&[
            "not ",
            "in progress",
            "in_progress",
            "partial",
            "incomplete",
            "unfinished",
        ]) {
            return None;
        }
        if says(&["block", "waiting"]) {
            return Some(Outcome::Blocked);
        }
        if says(&["fail", "abandon", "gave up"]) {
            return Some(Outcome::Failed);
        }
        says(&["complete", "done", "success", "finished"]).then_some(Outcome::Completed)
    }
}

/// The section that a line begins, and what else stands in the line.
fn heading(line: &str) -> Option<(Part, &str)> {
    let line = line.trim();
    let open = line.trim_start_matches(['#', '*', '_', '-', '>', ' ', '`', '[', '<']);
    let open = open.trim_start_matches(|c: char| c.is_ascii_digit());
    let open = open.trim_start_matches(['.', ')', ' ', '*', '_']);
    let end = open
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(open.len());
    let (word, behind) = open.split_at(end);
    let part = match word.to_ascii_uppercase().as_str() {
        "STATUS" => Part::Status,
        "SUMMARY" => Part::Summary,
        "ARTIFACTS" | "ARTIFACT" | "FILES" => Part::Artifacts,
        "DECISIONS" | "DECISION" => Part::Decisions,
        _ => return None,
    };
    let behind = behind.trim_start_matches(['*', '_', '`', ']', '>', ' ']);
    let marked = behind.strip_prefix([':', '-', '–', '—', '=']);
    let is_heading = line.starts_with('#') || line.starts_with("**") || line.starts_with('<');
    // A word in a sentence begins nothing.
    let shouted = word.chars().all(char::is_uppercase);
    match marked {
        Some(behind)
            if is_heading || shouted || behind.starts_with([' ', '*']) || behind.is_empty() =>
        {
            Some((part, behind.trim_start_matches(['*', '_', ' '])))
        }
        None if behind.is_empty() && (is_heading || shouted) => Some((part, "")),
        _ => None,
    }
}

/// How deep a Markdown heading is.
fn depth(line: &str) -> Option<usize> {
    let marks = line.trim_start();
    let count = marks.chars().take_while(|c| *c == '#').count();
    let is_heading = (1..=6).contains(&count) && marks.chars().nth(count) == Some(' ');
    is_heading.then_some(count)
}

fn add(items: &mut Vec<String>, line: &str, is_list: bool) {
    let line = line.trim_start_matches(['-', '*', '•', '+', ' ', '\t']);
    let line = numbered(line);
    // Files are often listed in one line; a decision may well have a comma.
    let several = is_list && line.contains(", ") && !line.contains(['(', ':']);
    for item in line.split(if several { ", " } else { "\n" }) {
        let item = bare(item);
        let long = item.chars().count() > ITEM;
        if !is_nothing(item) && !long && !items.iter().any(|known| known == item) {
            items.push(item.to_owned());
        }
    }
}

/// A line of a numbered list without its number.
fn numbered(line: &str) -> &str {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == line.len() {
        return line;
    }
    digits
        .strip_prefix(". ")
        .or_else(|| digits.strip_prefix(") "))
        .unwrap_or(line)
}

fn bare(text: &str) -> &str {
    let text = text.trim().trim_matches(['*', '_']).trim();
    match text
        .strip_prefix('`')
        .and_then(|text| text.strip_suffix('`'))
    {
        Some(inner) if !inner.contains('`') => inner,
        _ => text,
    }
}

/// Whether a line says that there is nothing to say, or is only a tag.
fn is_nothing(line: &str) -> bool {
    if line.starts_with("</") {
        return true;
    }
    let word: String = line
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    matches!(word.as_str(), "" | "none" | "na" | "nothing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn the_shape_that_was_asked_for() {
        let claims = claims(
            "STATUS: completed\nSUMMARY: The loop is gone.\nIt was the cookie.\n\
             ARTIFACTS: src/login.rs, tests/login.rs\nDECISIONS:\n- Keep the cookie name, since clients depend on it\n",
        );
        assert_eq!(claims.status.as_deref(), Some("completed"));
        assert_eq!(claims.outcome(), Some(Outcome::Completed));
        assert_eq!(claims.summary, "The loop is gone.\nIt was the cookie.");
        assert_eq!(
            claims.artifacts,
            strings(&["src/login.rs", "tests/login.rs"])
        );
        assert_eq!(
            claims.decisions,
            strings(&["Keep the cookie name, since clients depend on it"])
        );
    }

    #[test]
    fn sloppy_shapes() {
        for text in [
            "## Status\nDone.\n\n## Summary\nFixed.\n\n## Artifacts\n- `a.rs`\n* b.rs\n\n## Decisions\n1. Keep it\n",
            "**STATUS:** Done.\n**SUMMARY:** Fixed.\n**ARTIFACTS:**\n- a.rs\n- b.rs\n**DECISIONS:** Keep it",
            "1. STATUS - Done.\n2. SUMMARY - Fixed.\n3. ARTIFACTS - a.rs, b.rs\n4. DECISIONS - Keep it",
            "Sure! Here it is:\n\nDecisions:\n• Keep it\nFiles:\n• a.rs\n• b.rs\nStatus: Done.\nSummary: Fixed.",
            "```\nSTATUS: Done.\n```\n### STATUS\n**Done.**\n### SUMMARY\nFixed.\n### ARTIFACTS\n1) a.rs\n2) b.rs\n### DECISIONS\n- **Keep it**",
            "<status>\nDone.\n</status>\n<summary>\nFixed.\n<artifacts>\na.rs\nb.rs\n</artifacts>\n<decisions>\nKeep it\n</decisions>",
        ] {
            let claims = claims(text);
            assert_eq!(claims.status.as_deref(), Some("Done."), "{text}");
            assert_eq!(claims.outcome(), Some(Outcome::Completed), "{text}");
            assert_eq!(
                claims.summary.replace("</summary>", "").trim(),
                "Fixed.",
                "{text}"
            );
            assert_eq!(claims.artifacts, strings(&["a.rs", "b.rs"]), "{text}");
            assert_eq!(claims.decisions, strings(&["Keep it"]), "{text}");
        }
    }

    #[test]
    fn a_text_without_sections_is_a_summary() {
        let claims = claims("We fixed the login.\nStatus of the tests is unknown.");
        assert_eq!(
            claims.summary,
            "We fixed the login.\nStatus of the tests is unknown."
        );
        assert_eq!(claims.status, None);
        assert!(claims.artifacts.is_empty() && claims.decisions.is_empty());
    }

    #[test]
    fn the_hosts_own_sections_are_none_of_these() {
        let claims = claims(
            "## Objective\n- Fix it\n\n## SUMMARY\nFixed.\n\n## Relevant Files\n- c.rs\n\n## DECISIONS\n(none)\n",
        );
        assert_eq!(claims.summary, "Fixed.");
        assert!(claims.artifacts.is_empty() && claims.decisions.is_empty());
    }

    #[test]
    fn nothing_is_no_claim() {
        let claims = claims("STATUS: (none)\nSUMMARY: None.\nARTIFACTS: n/a\nDECISIONS: none");
        assert_eq!(claims.status, None);
        assert!(claims.artifacts.is_empty() && claims.decisions.is_empty());
    }

    #[test]
    fn a_status_is_taken_by_its_word() {
        for (status, outcome) in [
            ("COMPLETED — all tests pass", Some(Outcome::Completed)),
            ("blocked on the key", Some(Outcome::Blocked)),
            ("failed", Some(Outcome::Failed)),
            ("not completed", None),
            ("in progress", None),
            ("who knows", None),
        ] {
            let claims = claims(&format!("STATUS: {status}"));
            assert_eq!(claims.outcome(), outcome, "{status}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_sloppy(text in "(?s).{0,300}") {
            let claims = claims(&text);
            prop_assert!(claims.summary.len() <= text.len());
        }

        #[test]
        fn every_line_that_is_kept_was_there(text in "((#|STATUS|SUMMARY|FILES|DECISIONS|:|-| |a|b,|\n){0,60})") {
            let claims = claims(&text);
            for item in claims.artifacts.iter().chain(&claims.decisions).chain(&claims.status) {
                prop_assert!(text.contains(item.as_str()));
            }
        }
    }
}
