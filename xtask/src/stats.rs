//! `cargo xtask stats`: the size and shape of the Rust outside tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::source::{Kind, Source, Token, files, without_tests};
use crate::tidy::OPENINGS;

/// First words of doc comments that end in `s` and are not verbs.
const NO_VERBS: &[&str] = &[
    "This", "Its", "As", "Is", "Has", "Hosts", "Results", "Settings",
];

/// The figures of a crate.
#[derive(Default)]
struct Shape {
    files: usize,
    lines: usize,
    /// Lines that hold more than comments and blanks.
    code: usize,
    /// Lines that hold nothing but an inline comment.
    comments: usize,
    docs: usize,
    questions: usize,
    verbs: usize,
    /// Length of each function with a body, in lines.
    functions: Vec<usize>,
}

/// Prints a table of the crates of a worktree.
pub(crate) fn run(root: &Path) -> Result<()> {
    let files = files(root)?;
    let mut shapes: BTreeMap<&str, Shape> = BTreeMap::new();
    let mut total = Shape::default();
    // Nothing in the kit of the tests is part of the product.
    let outside_tests =
        |file: &&Source| file.is_rust() && !file.is_test() && file.part() != "testkit";
    for file in files.iter().filter(outside_tests) {
        measure(file, shapes.entry(file.part()).or_default());
        if file.path.starts_with("crates/") {
            measure(file, &mut total);
        }
    }
    println!(
        "{:<14}{:>7}{:>8}{:>8}{:>11}{:>8}{:>6}{:>6}{:>6}{:>8}{:>8}{:>8}{:>8}",
        "",
        "files",
        "lines",
        "code",
        "functions",
        "median",
        "p90",
        "p99",
        "max",
        "inline",
        "docs",
        "wh-",
        "verb"
    );
    for (name, shape) in &shapes {
        print(name, shape);
    }
    print("crates/*", &total);
    Ok(())
}

fn print(name: &str, shape: &Shape) {
    let mut lengths = shape.functions.clone();
    lengths.sort_unstable();
    let at = |percent: usize| {
        let place = lengths.len().saturating_sub(1) * percent / 100;
        lengths.get(place).copied().unwrap_or_default()
    };
    let percent = |part: usize, of: usize| {
        format!(
            "{}.{}%",
            part * 100 / of.max(1),
            part * 1000 / of.max(1) % 10
        )
    };
    println!(
        "{name:<14}{:>7}{:>8}{:>8}{:>11}{:>8}{:>6}{:>6}{:>6}{:>8}{:>8}{:>8}{:>8}",
        shape.files,
        shape.lines,
        shape.code,
        lengths.len(),
        at(50),
        at(90),
        at(99),
        at(100),
        percent(shape.comments, shape.lines),
        shape.docs,
        percent(shape.questions, shape.docs),
        percent(shape.verbs, shape.docs),
    );
}

fn measure(file: &Source, shape: &mut Shape) {
    let tokens = file.tokens();
    let code = without_tests(&tokens);
    let lines = outside(&tokens, &code, file.text.lines().count());
    shape.files += 1;
    shape.lines += lines;
    shape.code += lines_of_code(&code);
    let mut last_doc = 0;
    for (before, token) in std::iter::once(None)
        .chain(code.iter().map(Some))
        .zip(&code)
    {
        let alone = before
            .is_none_or(|before| before.line + before.text.matches('\n').count() < token.line);
        match token.kind {
            Kind::Comment if alone => shape.comments += 1 + token.text.matches('\n').count(),
            Kind::Doc => {
                if last_doc + 1 != token.line {
                    shape.docs += 1;
                    let first = token.text.split_whitespace().next().unwrap_or_default();
                    let first = first.trim_end_matches(['.', ',', ':']);
                    let is_question = OPENINGS.contains(&first);
                    shape.questions += usize::from(is_question);
                    shape.verbs += usize::from(!is_question && is_verb(first));
                }
                last_doc = token.line;
            }
            _ => {}
        }
    }
    shape.functions.extend(functions(&code));
}

/// Number of lines with at least one token that is not a comment.
fn lines_of_code(code: &[&Token<'_>]) -> usize {
    let mut lines = BTreeSet::new();
    for token in code {
        if !matches!(token.kind, Kind::Comment | Kind::Doc) {
            lines.extend(token.line..=token.line + token.text.matches('\n').count());
        }
    }
    lines.len()
}

/// True for a word that looks like a verb in the third person.
fn is_verb(word: &str) -> bool {
    let ends = word.ends_with('s') && !word.ends_with("ss");
    let letters = word.chars().all(|c| c.is_ascii_alphabetic());
    ends && letters && word.starts_with(char::is_uppercase) && !NO_VERBS.contains(&word)
}

/// Number of lines without those of tests, which are what is left between kept tokens.
fn outside(all: &[Token<'_>], kept: &[&Token<'_>], lines: usize) -> usize {
    if all.len() == kept.len() {
        return lines;
    }
    let mut kept_lines = kept.iter().map(|token| token.line).peekable();
    let mut tests = 0;
    let mut open: Option<usize> = None;
    for token in all {
        if kept_lines.next_if_eq(&token.line).is_some() {
            tests += open
                .take()
                .map_or(0, |start| token.line.saturating_sub(start));
        } else if open.is_none() {
            open = Some(token.line);
        }
    }
    tests += open.map_or(0, |start| (lines + 1).saturating_sub(start));
    lines - tests
}

/// Lengths of the functions that have a body, from `fn` to the closing brace.
fn functions(code: &[&Token<'_>]) -> Vec<usize> {
    let mut lengths = Vec::new();
    for (place, token) in code.iter().enumerate() {
        let is_name = code
            .get(place + 1)
            .is_some_and(|next| next.kind == Kind::Word);
        if token.is("fn")
            && is_name
            && let Some(end) = end_of_body(code.get(place..).unwrap_or_default())
        {
            lengths.push(end + 1 - token.line);
        }
    }
    lengths
}

/// The line of the brace that closes the body, unless a semicolon ends the declaration before.
fn end_of_body(code: &[&Token<'_>]) -> Option<usize> {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for token in code.iter().filter(|token| token.kind == Kind::Mark) {
        match token.text {
            "(" | "[" => others += 1,
            ")" | "]" => others = others.saturating_sub(1),
            "{" => braces += 1,
            "}" if braces == 1 => return Some(token.line),
            "}" => braces = braces.saturating_sub(1),
            ";" if braces == 0 && others == 0 => return None,
            _ => {}
        }
    }
    None
}
