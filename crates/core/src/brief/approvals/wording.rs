//! How an approval is worded: what a single line says of one.

use crate::brief::claims::says_none;
use crate::brief::words::has_word;

/// Words that make an approval one that has not happened.
const NOT_YET: &[&str] = &[
    "not",
    "isn't",
    "wasn't",
    "hasn't",
    "never",
    "no",
    "unapproved",
    "await",
    "awaiting",
    "awaits",
    "pending",
    "until",
    "unless",
    "once",
    "when",
    "if",
    "after",
    "before",
    "needs",
    "need",
    "needed",
    "must",
    "should",
    "shall",
    "to be",
    "requires",
    "require",
    "required",
    "request",
    "requested",
    "requesting",
    "ask",
    "asked",
    "wait",
    "waiting",
    "without",
    "gate",
    "precondition",
    "preconditions",
    "criteria",
    "criterion",
    "get",
    "obtain",
    "would",
    "could",
    "may",
    "will",
    "inferred",
    "draft",
    "proceed",
    "todo",
];

/// What a line says about the approval of something: that it was given, that it was not, or
/// nothing. `words` stand for the thing; they may be empty where the line stands in the file itself.
pub(super) fn says_approved(line: &str, words: &[String]) -> Option<bool> {
    let bare = line
        .trim_start_matches(['*', '_', ' '])
        .to_ascii_lowercase();
    let is_list = ["approved:", "approved —", "approvals:"]
        .into_iter()
        .any(|label| bare.starts_with(label));
    let clauses: Vec<&str> = if is_list {
        vec![line]
    } else {
        line.split([';', ',', '—', '–', '|'])
            .flat_map(|clause| clause.split(". "))
            .flat_map(|clause| clause.split(": "))
            .collect()
    };
    let mut said = paired(line, words);
    if said == Some(false) {
        return said;
    }
    for clause in clauses {
        let is_about = words.iter().any(|word| has_word(clause, word));
        if !(is_about || words.is_empty()) {
            continue;
        }
        let is_open = NOT_YET.iter().any(|word| has_word(clause, word)) || clause.contains('?');
        if is_open {
            // What is denied once is not approved, whatever else the line says.
            let speaks = approves(clause)
                || ["approval", "unapproved"]
                    .iter()
                    .any(|word| has_word(clause, word));
            if speaks {
                return Some(false);
            }
        } else if approves(clause) && (is_about || is_bare(clause)) {
            said = Some(true);
        }
    }
    said
}

/// What `design.md: approved`, `Approved by: Kim` or a row of a table says: a name, and what is said
/// of it.
fn paired(line: &str, words: &[String]) -> Option<bool> {
    let parts: Vec<&str> = line
        .split('|')
        .flat_map(|part| part.split(": "))
        .flat_map(|part| part.split(" — "))
        .flat_map(|part| part.split(" – "))
        .flat_map(|part| part.split(" - "))
        .map(|part| part.trim_matches(['*', '_', '`', ' ', ':']))
        .filter(|part| !part.is_empty())
        .collect();
    let [name, value, ..] = parts.as_slice() else {
        return None;
    };
    if words.is_empty() {
        let is_signed = ["approved by", "approved on", "signed off by"]
            .into_iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        return (is_signed && is_somebody(value)).then_some(true);
    }
    let is_named = words.iter().any(|word| has_word(name, word));
    if !is_named || name.split_whitespace().count() > 4 || approves(name) {
        return None;
    }
    let value = value.split([';', ',']).next().unwrap_or_default();
    let is_open = NOT_YET.iter().any(|word| has_word(value, word)) || value.contains('?');
    if is_open {
        let speaks = approves(value) || has_word(value, "approval");
        speaks.then_some(false)
    } else {
        is_bare(value).then_some(true)
    }
}

/// Whether a value is filled in: `Kim`, but not `[name]`, `TBD` or `____`.
fn is_somebody(value: &str) -> bool {
    let is_open = NOT_YET.iter().any(|word| has_word(value, word));
    value.contains(char::is_alphanumeric)
        && !value.starts_with(['[', '<', '{'])
        && !is_open
        && !says_none(value)
}

fn approves(clause: &str) -> bool {
    let given = ["given", "granted", "received", "recorded"];
    ["approved", "signed off", "signed-off"]
        .into_iter()
        .any(|word| has_word(clause, word))
        || (has_word(clause, "approval") && given.into_iter().any(|word| has_word(clause, word)))
}

/// In a file of its own, an approval need not say of what: `approved`, `Status: Approved`,
/// `Approved by Kim`.
fn is_bare(clause: &str) -> bool {
    let clause = clause
        .trim()
        .trim_matches(['*', '_', '#', '>', ' ', '.', '!']);
    let lower = clause.to_ascii_lowercase();
    let lower = lower.trim_start_matches("**").replace("**", "");
    let rest = lower
        .strip_prefix("status:")
        .or_else(|| lower.strip_prefix("approval:"))
        .or_else(|| lower.strip_prefix("state:"))
        .unwrap_or(&lower)
        .trim();
    let rest = rest.strip_prefix('✅').unwrap_or(rest).trim();
    rest == "approved"
        || rest.starts_with("approved by ")
        || rest.starts_with("approved on ")
        || rest.starts_with("approved:")
        || rest.starts_with("approved (")
        || rest == "signed off"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_has_happened() {
        let words = ["requirements".to_owned(), "requirements.md".to_owned()];
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
            assert_eq!(says_approved(yes, &words), Some(true), "{yes}");
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
            assert_ne!(says_approved(no, &words), Some(true), "{no}");
        }
        for yes in [
            "approved",
            "Status: Approved",
            "**Status**: Approved",
            "Approved by Kim on 2026-03-01",
            "✅ Approved",
            "Approved by: Kim",
        ] {
            assert_eq!(says_approved(yes, &[]), Some(true), "{yes}");
        }
        for no in [
            "Status: Not approved",
            "Approved by: [name]",
            "Approved by: ____",
            "Approved by: TBD",
            "Orders are approved automatically",
            "Draft",
        ] {
            assert_ne!(says_approved(no, &[]), Some(true), "{no}");
        }
    }
}
