//! Reads the STATUS, SUMMARY, ARTIFACTS and DECISIONS sections of a summary.
//!
//! The model was asked for these and writes them its own way: as headings, in bold, in another
//! order, with other marks, or not at all. Whatever it says is a claim.

use flamestack_core::compaction::SummaryClaims;
use flamestack_core::{Author, Note, Text};

use super::{is_empty_word, says_nothing};
use crate::document as markdown;

/// Sections of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sections {
    /// The claimed outcome, verbatim.
    status: Option<String>,
    /// The summary proper; the whole text if it has no sections.
    summary: String,
    artifacts: Vec<String>,
    decisions: Vec<String>,
}

/// Maximum length of an artifact or a decision, in characters; longer lines are prose.
const ITEM: usize = 500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Status,
    Summary,
    Artifacts,
    Decisions,
}

/// Reads the claims of a summary about the frame that ends with it.
pub fn claims(text: &str) -> SummaryClaims {
    let sections = sections(text);
    let mut results = Vec::new();
    if !says_nothing(&sections.summary) {
        results.push(sections.summary);
    }
    results.extend(
        sections
            .status
            .map(|status| format!("Status as claimed: {status}")),
    );
    let texts = |items: Vec<String>| items.into_iter().filter_map(|item| Text::new(&item).ok());
    let artifacts = texts(sections.artifacts).map(Note::Artifact);
    let decisions = texts(sections.decisions).map(|text| Note::Decision {
        text,
        why: None,
        by: Author::Agent,
    });
    SummaryClaims {
        results: results.join("\n\n"),
        notes: artifacts.chain(decisions).collect(),
    }
}

fn sections(text: &str) -> Sections {
    let mut claims = Sections::default();
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
        let depth = markdown::heading(line.trim_start()).map(|(depth, _)| depth);
        if let Some((next, after)) = found {
            part = Some(next);
            level = depth;
            rest = after;
        } else if let (Some(depth), Some(ours)) = (depth, level)
            && depth <= ours
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
    Sections { summary, ..claims }
}

/// Returns the section that a line begins, and the rest of the line.
fn heading(line: &str) -> Option<(Part, &str)> {
    let line = line.trim();
    let open = line.trim_start_matches(['#', '*', '_', '-', '>', ' ', '`', '[', '<']);
    let open = open.trim_start_matches(|c: char| c.is_ascii_digit());
    let open = open.trim_start_matches(['.', ')', ' ', '*', '_']);
    let end = open
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(open.len());
    let (word, after) = open.split_at(end);
    let part = match word.to_ascii_uppercase().as_str() {
        "STATUS" => Part::Status,
        "SUMMARY" => Part::Summary,
        "ARTIFACTS" | "ARTIFACT" | "FILES" => Part::Artifacts,
        "DECISIONS" | "DECISION" => Part::Decisions,
        _ => return None,
    };
    let after = after.trim_start_matches(['*', '_', '`', ']', '>', ' ']);
    let marked = after.strip_prefix([':', '-', '–', '—', '=']);
    let is_heading = line.starts_with('#') || line.starts_with("**") || line.starts_with('<');
    // A word in a sentence begins nothing.
    let shouted = word.chars().all(char::is_uppercase);
    match marked {
        Some(after)
            if is_heading || shouted || after.starts_with([' ', '*']) || after.is_empty() =>
        {
            Some((part, after.trim_start_matches(['*', '_', ' '])))
        }
        None if after.is_empty() && (is_heading || shouted) => Some((part, "")),
        _ => None,
    }
}

fn add(items: &mut Vec<String>, line: &str, is_list: bool) {
    let line = line.trim_start_matches(['-', '*', '•', '+', ' ', '\t']);
    let line = markdown::bullet(line).unwrap_or(line);
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

fn bare(text: &str) -> &str {
    let text = text.trim().trim_matches(['*', '_']).trim();
    let inner = text
        .strip_prefix('`')
        .and_then(|text| text.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(text)
}

/// Returns true if a line says that there is nothing, or is only a tag.
fn is_nothing(line: &str) -> bool {
    line.starts_with("</") || is_empty_word(line)
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
        let claims = sections(
            "STATUS: completed\nSUMMARY: The loop is gone.\nIt was the cookie.\n\
             ARTIFACTS: src/login.rs, tests/login.rs\nDECISIONS:\n- Keep the cookie name, since clients depend on it\n",
        );
        assert_eq!(claims.status.as_deref(), Some("completed"));
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
            let claims = sections(text);
            assert_eq!(claims.status.as_deref(), Some("Done."), "{text}");
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
        let claims = sections("We fixed the login.\nStatus of the tests is unknown.");
        assert_eq!(
            claims.summary,
            "We fixed the login.\nStatus of the tests is unknown."
        );
        assert_eq!(claims.status, None);
        assert!(claims.artifacts.is_empty() && claims.decisions.is_empty());
    }

    #[test]
    fn the_hosts_own_sections_are_none_of_these() {
        let claims = sections(
            "## Objective\n- Fix it\n\n## SUMMARY\nFixed.\n\n## Relevant Files\n- c.rs\n\n## DECISIONS\n(none)\n",
        );
        assert_eq!(claims.summary, "Fixed.");
        assert!(claims.artifacts.is_empty() && claims.decisions.is_empty());
    }

    #[test]
    fn nothing_is_no_claim() {
        let claims = sections("STATUS: (none)\nSUMMARY: None.\nARTIFACTS: n/a\nDECISIONS: none");
        assert_eq!(claims.status, None);
        assert!(claims.artifacts.is_empty() && claims.decisions.is_empty());
    }

    #[test]
    fn claimed_results_have_the_summary_and_the_status() {
        let claims = claims("STATUS: completed\nSUMMARY: It was the cookie.");
        assert_eq!(
            claims.results,
            "It was the cookie.\n\nStatus as claimed: completed"
        );
        assert_eq!(super::claims("(none)"), SummaryClaims::default());
    }

    proptest! {
        #[test]
        fn no_text_is_too_sloppy(text in "(?s).{0,300}") {
            let claims = sections(&text);
            prop_assert!(claims.summary.len() <= text.len());
        }

        #[test]
        fn every_line_that_is_kept_was_there(text in "((#|STATUS|SUMMARY|FILES|DECISIONS|:|-| |a|b,|\n){0,60})") {
            let claims = sections(&text);
            for item in claims.artifacts.iter().chain(&claims.decisions).chain(&claims.status) {
                prop_assert!(text.contains(item.as_str()));
            }
        }
    }
}
