//! The newest request and the standing directives, verbatim.

use flamestack_core::text::condense;
use flamestack_core::transcript::{Entry, EntryKind, Speaker};
use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::data::{PROMPTS, WordSet, section};

/// Words of the user, and the entry that has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Index of the entry.
    pub entry: usize,
    /// The words.
    pub text: String,
}

impl Said {
    /// Returns the words in another form.
    pub(super) fn map(self, form: impl FnOnce(&str) -> String) -> Self {
        Self {
            entry: self.entry,
            text: form(&self.text),
        }
    }
}

static GO_ON: LazyLock<WordSet> = LazyLock::new(|| words_of("go-on"));
static LEAD: LazyLock<WordSet> = LazyLock::new(|| words_of("lead"));
static HOST_COMMANDS: LazyLock<WordSet> = LazyLock::new(|| words_of("host-commands"));

fn words_of(name: &str) -> WordSet {
    section(PROMPTS, name)
        .flat_map(str::split_whitespace)
        .collect()
}

/// Number of words of a message that only asks to go on.
const GO_ON_WORDS: usize = 8;
/// Number of messages before a short request among which the one that it refers to is looked for, and the
/// length from which one says what it is about, in bytes.
const MAX_EARLIER: usize = 4;
const MIN_EARLIER: usize = 24;
/// Number of directives that are kept, the newest ones.
const MAX_DIRECTIVES: usize = 8;
/// Longer messages are documents, whose sentences are not directives, in bytes.
const MAX_MESSAGE: usize = 1_500;
/// Maximum length of a directive, in bytes.
const MAX_DIRECTIVE: usize = 240;
/// Number of bytes of a message that are searched for tags.
const MAX_TAGGED: usize = 200_000;

/// Returns true if a person wrote an entry.
pub(super) fn is_from_user(entry: &Entry) -> bool {
    words(entry).is_some()
}

/// Returns what a person wrote in an entry, without what the host added; nothing for the host's own
/// words, its commands, and commands of the user's shell.
pub(super) fn words(entry: &Entry) -> Option<String> {
    let EntryKind::User { speaker, text } = &entry.kind else {
        return None;
    };
    if entry.agent.is_some() || matches!(speaker, Speaker::Host | Speaker::Shell) {
        return None;
    }
    typed(text)
}

/// Returns what a person wrote of a message, without what the host added.
pub(crate) fn typed(text: &str) -> Option<String> {
    let text = text
        .get(..text.floor_char_boundary(MAX_TAGGED))
        .unwrap_or(text);
    if let Some(command) = inside(text, "command-name") {
        return slash_command(
            command.trim(),
            inside(text, "command-args").unwrap_or("").trim(),
        );
    }
    let text = without_tags(text).replace("[image omitted]", " ");
    let text = text
        .split_once("## My request for Codex:")
        .map_or(text.as_str(), |(_, it)| it);
    let text = text.trim();
    if let Some(command) = text.strip_prefix('/')
        && HOST_COMMANDS.contains(command.trim())
    {
        return None;
    }
    let beginning = text.trim_start_matches('[');
    let beginning: String = beginning
        .chars()
        .take(60)
        .collect::<String>()
        .to_lowercase();
    let is_noise = section(PROMPTS, "noise").any(|noise| beginning.starts_with(noise));
    (!text.is_empty() && !is_noise).then(|| text.to_owned())
}

fn slash_command(name: &str, arguments: &str) -> Option<String> {
    let name = name.trim_start_matches('/');
    if matches!(name, "plan" | "goal") && !arguments.is_empty() {
        return Some(arguments.to_owned());
    }
    let is_own = !name.is_empty() && !HOST_COMMANDS.contains(name);
    is_own.then(|| format!("/{name} {arguments}").trim().to_owned())
}

/// Returns the content of the first element with a name.
fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    rest.split_once(&format!("</{tag}>"))
        .map(|(content, _)| content)
}

/// Removes the elements that hosts add to a message.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // Names of elements that stay: the host does not add them, or they have no end.
    let mut unended = BTreeSet::new();
    while let Some(at) = rest.find('<') {
        let (before, element) = rest.split_at(at);
        kept.push_str(before);
        let name = element.get(1..).unwrap_or_default();
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
        let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default();
        let is_known = || section(PROMPTS, "tags").any(|tag| tag == name);
        // An element without an end has none further on either.
        let after = if unended.contains(name) || !is_known() {
            None
        } else {
            element.split_once(&format!("</{name}>"))
        };
        if let Some((_, after)) = after {
            rest = after;
        } else {
            unended.insert(name);
            kept.push('<');
            rest = element.get(1..).unwrap_or_default();
        }
    }
    kept.push_str(rest);
    kept
}

/// Returns true for "yes", "continue", "2", "ok, do it": words that ask for nothing of their own.
pub(super) fn only_asks_to_continue(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '_';
    let mut words = lower
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .peekable();
    if words.peek().is_none() {
        return true;
    }
    if text.chars().count() <= 12 {
        let trimmed = text.trim_matches(|c: char| !c.is_alphanumeric());
        if section(PROMPTS, "go-on-beginnings").any(|beginning| trimmed.starts_with(beginning)) {
            return true;
        }
    }
    let words: Vec<&str> = words.take(GO_ON_WORDS + 1).collect();
    let plain = |word: &str| {
        let word = word.replace('\'', "");
        GO_ON.contains(word.as_str()) || word.bytes().all(|byte| byte.is_ascii_digit())
    };
    words.len() <= GO_ON_WORDS && words.iter().all(|word| plain(word))
}

/// The newest request, and the last message after it that only asks to go on.
pub(super) fn request(entries: &[Entry]) -> (Option<Said>, Option<Said>) {
    let mut after = None;
    for (entry, text) in said(entries).rev() {
        let said = Said { entry, text };
        if !only_asks_to_continue(&said.text) {
            return (Some(said), after);
        }
        after.get_or_insert(said);
    }
    (None, after)
}

/// Returns the newest request before an entry that is specific enough to be understood alone.
pub(super) fn request_before(entries: &[Entry], entry: usize) -> Option<Said> {
    let before = entries.get(..entry)?;
    let mut earlier = said(before).rev().take(MAX_EARLIER);
    let found = earlier.find(|(_, text)| text.len() >= MIN_EARLIER && !only_asks_to_continue(text));
    found.map(|(entry, text)| Said { entry, text })
}

/// Returns the number of requests after an entry.
pub(super) fn requests_after(entries: &[Entry], entry: usize) -> usize {
    let newer = said(entries).rev().take_while(|(at, _)| *at > entry);
    newer
        .filter(|(_, text)| !only_asks_to_continue(text))
        .count()
}

fn said(entries: &[Entry]) -> impl DoubleEndedIterator<Item = (usize, String)> {
    let indexed = entries.iter().enumerate();
    indexed.filter_map(|(at, entry)| Some((at, words(entry)?)))
}

/// Returns the standing directives: sentences of the user that open with an order, the newest last.
pub(super) fn directives(entries: &[Entry]) -> Vec<Said> {
    let mut found: Vec<Said> = Vec::new();
    let newest = said(entries).next_back().map(|(entry, _)| entry);
    for (entry, text) in said(entries).rev() {
        let kind = entries.get(entry).map(|entry| &entry.kind);
        let is_typed = matches!(
            kind,
            Some(EntryKind::User {
                speaker: Speaker::Person,
                ..
            })
        );
        if !is_typed || text.len() > MAX_MESSAGE {
            continue;
        }
        let mut orders: Vec<&str> = sentences(&text).into_iter().filter_map(order).collect();
        // "Don't do anything" holds until the next message.
        orders.retain(|order| newest == Some(entry) || !is_momentary(order));
        for order in orders.into_iter().rev() {
            let is_known = found
                .iter()
                .any(|known| known.text.eq_ignore_ascii_case(order));
            if !is_known && found.len() < MAX_DIRECTIVES {
                let text = order.to_owned();
                found.push(Said { entry, text });
            }
        }
        if found.len() >= MAX_DIRECTIVES {
            break;
        }
    }
    found.reverse();
    found
}

/// Splits prose into sentences; fenced code is left out.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        let mut from = 0;
        let bytes = line.as_bytes();
        for (at, c) in line.char_indices() {
            let end = at + c.len_utf8();
            let ends = matches!(c, '。' | '！' | '？')
                || (matches!(c, '.' | '!' | '?')
                    && bytes.get(end).is_some_and(u8::is_ascii_whitespace));
            if ends {
                found.push(line.get(from..end).unwrap_or_default());
                from = end;
            }
        }
        found.push(line.get(from..).unwrap_or_default());
    }
    let marks = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '•' | '>');
    let trimmed = found
        .into_iter()
        .map(|sentence| sentence.trim_start_matches(marks).trim());
    trimmed.filter(|sentence| !sentence.is_empty()).collect()
}

/// Returns the order of a sentence: all of it, or a clause of it that forbids or demands something.
fn order(sentence: &str) -> Option<&str> {
    if sentence.contains(['?', '？']) || sentence.ends_with(':') || sentence.len() > MAX_DIRECTIVE
    {
        return None;
    }
    if looks_pasted(sentence) {
        return None;
    }
    let clause = if opens_with_order(sentence) {
        sentence
    } else {
        inner_order(sentence)?
    };
    let words = clause
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2);
    (words.count() >= 2).then_some(clause)
}

/// Returns true for an order that says how to answer one message.
fn is_momentary(order: &str) -> bool {
    let lower = order.to_lowercase().replace('’', "'");
    let is_there = |phrase: &str| lower.contains(phrase);
    only_asks_to_continue(order) || section(PROMPTS, "momentary").any(is_there)
}

fn looks_pasted(sentence: &str) -> bool {
    sentence.ends_with(['{', '}', ';'])
        || sentence.starts_with(['+', '|', '$', '❯', '#', '{', '['])
        || sentence.contains("=>")
        || sentence.contains("{{")
        || sentence.contains("--help")
}

fn opens_with_order(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    let mut rest = lower.as_str();
    for _ in 0..3 {
        let trimmed = rest.trim_start_matches([',', ':', ';', '-', ' ']);
        let word = trimmed
            .split([' ', ',', ':', ';'])
            .next()
            .unwrap_or_default();
        if !LEAD.contains(word) {
            rest = trimmed;
            break;
        }
        rest = trimmed.get(word.len()..).unwrap_or_default();
    }
    let rest = rest.trim_start_matches([',', ':', ';', '-', ' ']);
    let begins = |phrase: &str| {
        let after = rest.strip_prefix(phrase);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
    };
    let is_followed = rest.split(' ').nth(1).is_some();
    section(PROMPTS, "orders").any(begins)
        && is_followed
        && !section(PROMPTS, "no-orders").any(begins)
        && !rest
            .split(' ')
            .next()
            .is_some_and(|word| word.ends_with([',', '.', ':']))
}

/// Returns the clause of a sentence after a comma or conjunction that forbids or demands something.
fn inner_order(sentence: &str) -> Option<&str> {
    const SEPARATORS: [&str; 7] = [", ", "; ", ": ", " - ", " but ", " and ", " please "];
    const STRONG: [&str; 10] = [
        "never ",
        "do not ",
        "don't ",
        "don’t ",
        "dont ",
        "make sure ",
        "must not ",
        "only use ",
        "only change ",
        "only run ",
    ];
    let mut clauses: Vec<&str> = Vec::new();
    for separator in SEPARATORS {
        for (at, _) in sentence.match_indices(separator) {
            clauses.extend(sentence.get(at + separator.len()..));
        }
    }
    let is_strong = |clause: &&str| {
        let lower = clause.to_lowercase();
        STRONG.iter().any(|phrase| lower.starts_with(phrase)) && opens_with_order(clause)
    };
    clauses
        .into_iter()
        .filter(is_strong)
        .max_by_key(|clause| clause.len())
}

/// Returns the beginning of a request without fenced code, from its first line of prose on.
pub(super) fn gist(text: &str, limit: usize) -> String {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push(line);
        }
    }
    let is_pasted = |line: &&&str| {
        let line = line.trim_start();
        line.is_empty()
            || line.starts_with(['❯', '$', '>', '{', '}', '[', '|', '+', '='])
            || line.starts_with("at ")
    };
    let skipped = lines.iter().take_while(|line| is_pasted(line)).count();
    let prose = lines.get(skipped..).filter(|rest| !rest.is_empty());
    let prose = condense(&prose.unwrap_or(&lines).join("\n"), limit);
    if prose.is_empty() {
        condense(text, limit)
    } else {
        prose
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(speaker: Speaker, text: &str) -> Entry {
        let text = text.to_owned();
        Entry::from(EntryKind::User { speaker, text })
    }

    #[test]
    fn the_words_of_the_user_are_found_among_those_of_the_host() {
        let person = |text: &str| words(&said(Speaker::Person, text));
        assert_eq!(
            person("fix it<system-reminder>be nice</system-reminder>").as_deref(),
            Some("fix it")
        );
        assert_eq!(person("<system-reminder>be nice</system-reminder>"), None);
        assert_eq!(person("[Request interrupted by user]"), None);
        assert_eq!(person("/clear"), None);
        assert_eq!(
            person("a < b <b>bold</b>").as_deref(),
            Some("a < b <b>bold</b>")
        );
        let slash = |text: &str| words(&said(Speaker::Slash, text));
        assert_eq!(slash("<command-name>/clear</command-name>"), None);
        let review = "<command-name>/review</command-name><command-args>the parser</command-args>";
        assert_eq!(slash(review).as_deref(), Some("/review the parser"));
        assert_eq!(words(&said(Speaker::Host, "fix it")), None);
    }

    #[test]
    fn a_message_that_only_agrees_is_no_request() {
        for text in [
            "yes",
            "ok, go ahead!",
            "2",
            "続けて",
            "Sounds good, do it",
            "👍",
        ] {
            assert!(only_asks_to_continue(text), "{text}");
        }
        for text in ["yes, but rename it", "fix the tests", "なぜですか"] {
            assert!(!only_asks_to_continue(text), "{text}");
        }
        let entries = [
            said(Speaker::Person, "Rename the parser"),
            said(Speaker::Person, "yes, go on"),
        ];
        let (request, after) = request(&entries);
        assert_eq!(
            request.map(|it| (it.entry, it.text)),
            Some((0, "Rename the parser".to_owned()))
        );
        assert_eq!(after.map(|it| it.entry), Some(1));
    }

    #[test]
    fn orders_are_directives() {
        let text = "Look at the log. Please never push to main! I don't think it works.\n\
                    - Use tabs in Makefiles\n```\nnever mind this code\n```\n\
                    Rename it, but do not touch the docs. Should you use it?";
        let found = directives(&[said(Speaker::Person, text)]);
        let found: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
        insta::assert_debug_snapshot!(found, @r#"
        [
            "Please never push to main!",
            "Use tabs in Makefiles",
            "do not touch the docs.",
        ]
        "#);
    }
}
