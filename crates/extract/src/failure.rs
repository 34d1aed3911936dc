//! Errors in the output of tools: the line that names one, and the form in which two are compared.

use flamestack_core::text::condense;

/// Maximum length of an error, in characters.
const ERROR_LENGTH: usize = 300;
/// Maximum number of lines among which an error is looked for.
const LINES: usize = 2000;
/// Length of the beginning of a text that is compared, in characters.
const COMPARED: usize = 4096;
/// Words of a line that names an error.
const ERROR_WORDS: [&str; 8] = [
    "error",
    "failed",
    "fatal",
    "exception",
    "panicked",
    "not found",
    "denied",
    "not ok",
];

/// Returns the line of an error that names it: the first that mentions one, else the first. A line that says
/// nothing else (`Error:`, `error: |-`) is joined with the next one, or all errors of a tool would look alike.
pub fn error_line(text: &str) -> String {
    let names_error = |line: &str| {
        let line = line.to_ascii_lowercase();
        ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut found = lines().take(LINES).skip_while(|line| !names_error(line));
    match (found.next(), found.next()) {
        (Some(line), Some(next)) if is_bare(line) => {
            let line = line.trim_end_matches(['|', '>', '-', ' ']);
            condense(&format!("{line} {next}"), ERROR_LENGTH)
        }
        (Some(line), _) => condense(line, ERROR_LENGTH),
        (None, _) => condense(lines().next().unwrap_or_default(), ERROR_LENGTH),
    }
}

/// Returns true if a line mentions an error and says nothing else.
fn is_bare(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let rest = ERROR_WORDS
        .iter()
        .fold(line, |line, word| line.replace(word, ""));
    !rest.contains(char::is_alphanumeric)
}

/// Replaces what changes from run to run, numbers and blanks, by placeholders.
pub fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(COMPARED));
    let mut last = ' ';
    for c in text.chars().take(COMPARED) {
        let c = if c.is_ascii_digit() {
            '0'
        } else if c.is_whitespace() {
            ' '
        } else {
            c
        };
        if !(c == last && matches!(c, ' ' | '0')) {
            out.push(c);
        }
        last = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_error_says_which_one_it_is() {
        for (text, line) in [
            (
                "ok\nerror[E0308]: mismatched types\n --> a.rs:1",
                "error[E0308]: mismatched types",
            ),
            (
                "TAP version 13\nnot ok 1 - two digits\n  error: |-\n    Expected",
                "not ok 1 - two digits",
            ),
            (
                "  error: |-\n    Expected values to be equal:\n",
                "error: Expected values to be equal:",
            ),
            (
                "Error:\n\n  no such column: price\n",
                "Error: no such column: price",
            ),
            ("FAILED", "FAILED"),
            ("nothing to see\nhere", "nothing to see"),
            ("", ""),
        ] {
            assert_eq!(error_line(text), line, "{text}");
        }
    }
}
