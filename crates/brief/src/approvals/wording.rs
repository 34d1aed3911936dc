//! Wording of approvals: what a single line says of one.
//!
//! Three forms count: a clause that names the file and states the approval (`requirements approved by
//! Kim`), a pair of a name and a value (`design.md: approved`, a row of a table), and inside the file
//! itself a bare statement (`Status: Approved`, `Approved by: Kim`). A single word that makes it
//! conditional or future makes it a denial: a false approval would pass a gate.

use crate::claims::says_none;
use crate::vocabulary::WORDS;
use crate::words::WordSet;

/// Longest name in a pair, in words.
const NAME_WORDS: usize = 4;

/// Returns true if a line says that something was approved, false if it says that it was not. `names`
/// are those of the file; none if the line is in the file itself.
pub(super) fn says_approved(line: &str, names: Option<&WordSet>) -> Option<bool> {
    // Every form has one of these, and hardly a line does: to split it into clauses is slow.
    let mut sixes = line.as_bytes().windows(6);
    if !sixes.any(|six| six.eq_ignore_ascii_case(b"approv") || six.eq_ignore_ascii_case(b"signed"))
    {
        return None;
    }
    let mut said = paired(line, names);
    if said == Some(false) {
        return said;
    }
    for clause in clauses(line) {
        let is_named = names.is_some_and(|names| names.is_in(clause));
        if !is_named && names.is_some() {
            continue;
        }
        match statement(clause) {
            // One denial outweighs whatever else the line says.
            Some(false) => return Some(false),
            Some(true) if is_named || is_bare(clause) => said = Some(true),
            _ => {}
        }
    }
    said
}

fn clauses(line: &str) -> Vec<&str> {
    let start = line.trim_start_matches(['*', '_', ' ']);
    let start = start.to_ascii_lowercase();
    let labels = ["approved:", "approved —", "approvals:"];
    // `Approved: requirements, design` is one clause.
    if labels.into_iter().any(|label| start.starts_with(label)) {
        return vec![line];
    }
    split(line, &[";", ",", "—", "–", "|", ". ", ": "])
}

fn split<'a>(line: &'a str, separators: &[&str]) -> Vec<&'a str> {
    separators.iter().fold(vec![line], |parts, separator| {
        let split = parts.into_iter().flat_map(|part| part.split(separator));
        split.collect()
    })
}

/// Reads a pair: `design.md: approved`, `Approved by: Kim`, or the first two cells of a table's row.
fn paired(line: &str, names: Option<&WordSet>) -> Option<bool> {
    let parts = split(line, &["|", ": ", " — ", " – ", " - "]);
    let parts = parts
        .into_iter()
        .map(|part| part.trim_matches(['*', '_', '`', ' ', ':']));
    let mut parts = parts.filter(|part| !part.is_empty());
    let (name, value) = (parts.next()?, parts.next()?);
    let Some(names) = names else {
        let mut labels = ["approved by", "approved on", "signed off by"].into_iter();
        let is_signed = labels.any(|label| name.eq_ignore_ascii_case(label));
        return (is_signed && is_filled_in(value)).then_some(true);
    };
    let is_name = names.is_in(name) && name.split_whitespace().count() <= NAME_WORDS;
    if !is_name || approves(name) {
        return None;
    }
    let value = value.split([';', ',']).next().unwrap_or_default();
    statement(value).filter(|given| !given || is_bare(value))
}

/// Returns whether a clause gives or denies an approval, if it mentions one.
fn statement(clause: &str) -> Option<bool> {
    let is_open = WORDS.not_yet.is_in(clause) || clause.contains('?');
    let is_given = approves(clause);
    (is_given || (is_open && WORDS.approval.is_in(clause))).then_some(!is_open)
}

fn approves(clause: &str) -> bool {
    WORDS.approved.is_in(clause)
        || (WORDS.given.is_in(clause) && WORDS.named_approval.is_in(clause))
}

/// Returns true if the value of a signature is filled in: `Kim`, but not `[name]`, `TBD` or `____`.
fn is_filled_in(value: &str) -> bool {
    value.contains(char::is_alphanumeric)
        && !value.starts_with(['[', '<', '{'])
        && !WORDS.not_yet.is_in(value)
        && !says_none(value)
}

/// Returns true for an approval that need not name its file: `approved`, `✅ Approved by Kim`.
fn is_bare(clause: &str) -> bool {
    let marks = ['*', '_', '#', '>', ' ', '.', '!', '✅'];
    let clause = clause.trim_matches(marks).replace("**", "");
    let clause = clause.to_ascii_lowercase();
    let clause = clause.strip_prefix("status:").unwrap_or(&clause);
    let clause = clause.trim_matches(marks);
    let mut beginnings = ["approved by ", "approved on ", "approved:", "approved ("].into_iter();
    ["approved", "signed off"].contains(&clause) || beginnings.any(|it| clause.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_has_happened() {
        let words = WordSet::new(["requirements", "requirements.md"]);
        for yes in [
            "requirements approved",
            "`requirements.md` approved by Kim, design pending approval",
            "Approved: requirements, design",
            "Decision: requirements are approved; next is the design",
            "approval of the requirements was given",
            "requirements.md: approved",
            "| requirements.md | ✅ Approved | Kim |",
            "**Requirements**: approved by Kim",
            "requirements — approved",
        ] {
            assert_eq!(says_approved(yes, Some(&words)), Some(true), "{yes}");
        }
        for no in [
            "requirements not approved",
            "requirements await approval",
            "once the requirements are approved",
            "requirements must be approved",
            "requirements approved?",
            "the design is approved",
            "requirements unapproved",
            "approval of requirements is inferred, approved later",
            "requirements.md: pending approval",
            "| requirements.md | draft |",
            "requirements: users see approved orders",
        ] {
            assert_ne!(says_approved(no, Some(&words)), Some(true), "{no}");
        }
        for yes in [
            "approved",
            "Status: Approved",
            "**Status**: Approved",
            "Approved by Kim on 2026-03-01",
            "✅ Approved",
            "Approved by: Kim",
        ] {
            assert_eq!(says_approved(yes, None), Some(true), "{yes}");
        }
        for no in [
            "Status: Not approved",
            "Approved by: [name]",
            "Approved by: ____",
            "Approved by: TBD",
            "Orders are approved automatically",
            "Draft",
        ] {
            assert_ne!(says_approved(no, None), Some(true), "{no}");
        }
    }
}
