//! `cargo xtask tidy`: rules of language that a compiler does not check.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};

use crate::source::{Kind, Source, Token, files, without_tests};
pub(crate) use words::OPENINGS;
use words::{ACCEPTED, EXAMPLE_USERS, EXEMPT, NAMES, PATHS, PHRASES};

/// A violation of a rule.
struct Finding {
    rule: Rule,
    part: String,
    /// `path:line`.
    place: String,
    problem: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Comments,
    Strings,
    Markdown,
    Names,
    Openings,
    Types,
    Paths,
}

const RULES: [Rule; 7] = [
    Rule::Comments,
    Rule::Strings,
    Rule::Markdown,
    Rule::Names,
    Rule::Openings,
    Rule::Types,
    Rule::Paths,
];

/// Checks a worktree and fails if it finds something.
pub(crate) fn check(root: &Path) -> Result<()> {
    let findings = findings(root)?;
    for Finding { place, problem, .. } in &findings {
        println!("{place}: {problem}");
    }
    if findings.is_empty() {
        println!("tidy: ok");
        return Ok(());
    }
    bail!("tidy found {} things to reword or rename", findings.len())
}

/// Prints the number of findings by part of the repository and rule.
pub(crate) fn count(root: &Path) -> Result<()> {
    let mut counts: BTreeMap<String, BTreeMap<Rule, usize>> = BTreeMap::new();
    for Finding { rule, part, .. } in findings(root)? {
        for part in [part, "total".to_owned()] {
            *counts.entry(part).or_default().entry(rule).or_default() += 1;
        }
    }
    let total = counts.remove("total").unwrap_or_default();
    let names = RULES.map(|rule| format!("{:>9}", format!("{rule:?}").to_lowercase()));
    println!("{:<14}{}{:>8}", "", names.concat(), "all");
    for (part, by_rule) in counts.iter().chain([(&"total".to_owned(), &total)]) {
        let count = |rule| by_rule.get(&rule).copied().unwrap_or_default();
        let cells = RULES.map(|rule| format!("{:>9}", count(rule)));
        let sum: usize = by_rule.values().sum();
        println!("{part:<14}{}{sum:>8}", cells.concat());
    }
    Ok(())
}

fn findings(root: &Path) -> Result<Vec<Finding>> {
    let files = files(root)?;
    let exempt = |file: &&Source| EXEMPT.iter().any(|exempt| file.path.starts_with(exempt));
    let checked = files.iter().filter(|file| !exempt(file));
    let mut findings: Vec<Finding> = checked.flat_map(in_file).collect();
    findings.extend(types(&files));
    Ok(findings)
}

fn in_file(file: &Source) -> Vec<Finding> {
    let finding = |rule: Rule, line: usize, problem: String| Finding {
        rule,
        part: file.part().to_owned(),
        place: format!("{}:{line}", file.path),
        problem,
    };
    let mut found = Vec::new();
    let tokens = file.tokens();
    for block in blocks(&tokens) {
        let rule = match block.kind {
            Kind::Literal => Rule::Strings,
            Kind::Doc | Kind::Comment => Rule::Comments,
            Kind::Word => {
                let name = names(block.text.as_str());
                found.extend(name.map(|part| {
                    let problem = format!("`{part}` in the name `{}`", block.text);
                    finding(Rule::Names, block.line, problem)
                }));
                continue;
            }
            Kind::Mark => continue,
        };
        for (line, problem) in phrases(&block.text) {
            found.push(finding(rule, block.line + line, problem));
        }
        if block.kind == Kind::Doc
            && let Some(first) = block.text.split_whitespace().next()
            && OPENINGS.contains(&first.trim_end_matches('.'))
            && !accepted(&prose_words(&block.text)).contains(&0)
        {
            let problem = format!("a doc comment begins with `{first}`");
            found.push(finding(Rule::Openings, block.line, problem));
        }
    }
    if file.extension() == "md" {
        for (line, problem) in phrases(&without_fences(&file.text)) {
            found.push(finding(Rule::Markdown, line + 1, problem));
        }
    }
    for (line, text) in (1..).zip(file.text.lines()) {
        found.extend(machine_path(text).map(|path| {
            let problem = format!("`{path}` is a path of one machine");
            finding(Rule::Paths, line, problem)
        }));
    }
    found
}

/// Tokens as they are read: the lines of a comment belong together.
struct Block {
    kind: Kind,
    line: usize,
    text: String,
}

fn blocks(tokens: &[Token<'_>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut last = (Kind::Mark, 0);
    for token in tokens {
        let is_comment = matches!(token.kind, Kind::Doc | Kind::Comment);
        match blocks.last_mut() {
            Some(block) if is_comment && last == (token.kind, token.line - 1) => {
                block.text.push('\n');
                block.text.push_str(token.text);
            }
            _ => blocks.push(Block {
                kind: token.kind,
                line: token.line,
                text: token.text.to_owned(),
            }),
        }
        last = (token.kind, token.line);
    }
    blocks
}

/// Finds rejected phrases, with the line on which each begins, from 0.
fn phrases(text: &str) -> Vec<(usize, String)> {
    let words = prose_words(text);
    let accepted = accepted(&words);
    let mut problems = Vec::new();
    for (place, (_, line)) in words.iter().enumerate() {
        let rejected = PHRASES
            .iter()
            .filter(|(phrase, _)| at(&words, place, phrase));
        for (phrase, instead) in rejected.filter(|_| !accepted.contains(&place)) {
            problems.push((*line, format!("“{phrase}”: {instead}")));
        }
    }
    problems
}

/// Returns the places of words that are part of an accepted phrase.
fn accepted(words: &[(String, usize)]) -> BTreeSet<usize> {
    let mut places = BTreeSet::new();
    for place in 0..words.len() {
        for phrase in ACCEPTED.iter().filter(|phrase| at(words, place, phrase)) {
            places.extend(place..place + phrase.split(' ').count());
        }
    }
    places
}

/// Returns true if a phrase is at a place among words.
fn at(words: &[(String, usize)], place: usize, phrase: &str) -> bool {
    let mut found = words.iter().skip(place).map(|(word, _)| word.as_str());
    phrase.split(' ').all(|word| found.next() == Some(word))
}

/// The words of a text in lower case, without code in backticks, each with its line from 0.
fn prose_words(text: &str) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    let mut line = 0;
    for (number, span) in text.split('`').enumerate() {
        let is_code = number % 2 == 1 && !span.contains("\n\n");
        for (below, row) in span.split('\n').enumerate() {
            line += usize::from(below > 0);
            let row = row.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_');
            let found = row.filter(|word| !word.is_empty() && !is_code);
            words.extend(found.map(|word| (word.to_lowercase(), line)));
        }
    }
    words
}

/// Markdown with empty lines in place of its code blocks.
fn without_fences(text: &str) -> String {
    let mut fenced = false;
    let prose = text.lines().map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if fenced || is_fence { "" } else { line }
    });
    prose.collect::<Vec<_>>().join("\n")
}

/// Finds the rejected parts of an identifier.
fn names(name: &str) -> impl Iterator<Item = &'static str> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
    }
    let rejected = NAMES.iter().copied();
    rejected.filter(move |rejected| parts.iter().any(|part| part == rejected))
}

/// Finds public types that share their name. The compiler warns of unreachable `pub`.
fn types(files: &[Source]) -> Vec<Finding> {
    let mut places: BTreeMap<String, BTreeSet<(&str, String)>> = BTreeMap::new();
    let in_crates = |file: &&Source| file.path.starts_with("crates/") && !file.is_test();
    for file in files.iter().filter(in_crates) {
        let tokens = file.tokens();
        let code = without_tests(&tokens);
        for window in code.windows(3) {
            if let [public, keyword, name] = window
                && public.is("pub")
                && ["struct", "enum", "trait", "type", "union"].contains(&keyword.text)
            {
                let place = (file.part(), format!("{}:{}", file.path, name.line));
                places
                    .entry(name.text.to_owned())
                    .or_default()
                    .insert(place);
            }
        }
    }
    let mut found = Vec::new();
    for (name, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        for (part, place) in places {
            found.push(Finding {
                rule: Rule::Types,
                part: (*part).to_owned(),
                place: place.clone(),
                problem: format!("{} public types are called `{name}`", places.len()),
            });
        }
    }
    found
}

/// Finds the beginning of a path that exists on one machine only.
fn machine_path(line: &str) -> Option<&'static str> {
    PATHS.iter().copied().find(|path| {
        line.match_indices(path).any(|(at, _)| {
            let before = line.get(..at).and_then(|before| before.chars().next_back());
            let after = line.get(at + path.len()..).unwrap_or_default();
            let user = after
                .split(|c: char| !c.is_alphanumeric())
                .next()
                .unwrap_or_default();
            // `src/work/` is a path of a project, `…/home/` the test's own.
            let absolute = !before.is_some_and(|c| c.is_alphanumeric() || "_-.~}".contains(c));
            absolute && !EXAMPLE_USERS.contains(&user) && !user.is_empty()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_across_lines_and_not_in_code() {
        let found = phrases("It is `told` and so\nmany things; stands for told.");
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [0, 1]);
    }

    #[test]
    fn accepted_phrases_cover_the_words_in_them() {
        assert_eq!(phrases("Creates one if there is none.").len(), 0);
        assert_eq!(
            phrases("It says where the work stands; it stands there.").len(),
            1
        );
        assert!(accepted(&prose_words("What defines done")).contains(&0));
        assert!(!accepted(&prose_words("What a session is")).contains(&0));
    }

    #[test]
    fn names_are_split() {
        assert_eq!(names("is_told").count(), 1);
        assert_eq!(names("KinTold").count(), 2);
        assert_eq!(names("kinds_of_tolding").count(), 0);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(machine_path("see /work/main"), Some("/work/"));
        assert_eq!(machine_path("at /home/ada/shop and src/work/a"), None);
        assert_eq!(machine_path("(/home/carol/x)"), Some("/home/"));
    }
}
