//! Errors in the output of tools: the line that names one, and the form in which two are compared.

use flamestack_core::text::condense;

/// Maximum length of an error, in characters.
const ERROR_LENGTH: usize = 300;
/// Maximum number of lines among which an error is looked for.
const LINES: usize = 2000;
/// Length of the beginning of a text that is compared, in characters.
const COMPARED: usize = 4096;
/// Words of a line that names an error.
const ERROR_WORDS: [&str; 7] = [
    "error",
    "failed",
    "fatal",
    "exception",
    "panicked",
    "not found",
    "denied",
];

/// Returns the line of an error that names it: the first that mentions one, else the first.
pub fn error_line(text: &str) -> String {
    let names_error = |line: &&str| {
        let line = line.to_ascii_lowercase();
        ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines()
        .take(LINES)
        .find(names_error)
        .or_else(|| lines().next());
    condense(line.unwrap_or_default(), ERROR_LENGTH)
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
