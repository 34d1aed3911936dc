//! Names: paths, identifiers, addresses, references, error codes, versions and quantities.
//!
//! A name is recognised by its shape, so the language around it does not matter.

use super::{Run, Runs, class, classes, is_unspaced, is_word, quantity};
use crate::data::{COMMON_IDENTIFIERS, FILE_EXTENSIONS};

/// Length of a text that is searched for names, in bytes. The end of longer output is hardly ever
/// used again.
const MAX_TEXT: usize = 60_000;
/// Shorter identifiers are words, in bytes.
const MIN_IDENTIFIER: usize = 6;
/// Longer names are data, in bytes.
const MAX_NAME: usize = 160;

/// Any byte of a name.
const ANY: u16 = class::WORD | class::JOINER;
/// A run without any of these contains no name. Plain words make up most of any text.
const DISTINCTIVE: u16 = class::UPPER | class::DIGIT | class::UNDERSCORE | class::DOT;

/// The kind of thing that a name denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// A file.
    Path,
    /// A function, type, variable or the like in a program.
    Identifier,
    /// A web address.
    Address,
    /// A ticket, a pull request or a commit.
    Reference,
    /// The code of an error.
    ErrorCode,
    /// A version.
    Version,
    /// A number with its unit, and the words before it.
    Quantity,
}

/// Returns the normalised form of a path: its last two parts. The same file is named from the root,
/// from the project and from a folder inside it; whole paths would make three files of it.
pub fn path_key(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let bytes = path.bytes().enumerate().rev();
    let mut slashes = bytes.filter(|(_, byte)| *byte == b'/');
    if slashes.next().is_none() {
        return path;
    }
    let start = slashes.next().map_or(0, |(at, _)| at + 1);
    let key = path.get(start..).unwrap_or(path);
    ["./", "../", "~/", "/"]
        .into_iter()
        .find_map(|prefix| key.strip_prefix(prefix))
        .unwrap_or(key)
}

/// Returns the normalised form of a name: names of one kind are the same if their keys are equal.
pub fn name_key(kind: NameKind, text: &str) -> &str {
    match kind {
        NameKind::Path => path_key(text),
        NameKind::Reference if !text.starts_with('#') && !text.contains('-') => {
            text.get(..7).unwrap_or(text)
        }
        NameKind::Version => text.trim_start_matches('v'),
        NameKind::Quantity => quantity::bare(text),
        _ => text,
    }
}

/// Returns the part of a text that is searched for names.
pub(crate) fn named_text(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or(text)
}

/// Calls `visit` with every occurrence of a name in a text.
pub fn names<'a>(text: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) {
    let text = named_text(text);
    let mut runs = Runs::new(text, ANY);
    while let Some(run) = runs.next() {
        let run = without_escape(text, run);
        if let Some(start) = address_start(text, &run) {
            runs.at = start + address(text.get(start..).unwrap_or_default(), visit);
            continue;
        }
        if run.classes & DISTINCTIVE == 0 {
            continue;
        }
        if run.classes & class::DIGIT != 0 {
            number_reference(text, &run, visit);
            quantity::find(text, &run, visit);
        }
        if run.classes & class::WIDE != 0 {
            of_wide_run(run.text, visit);
        } else {
            of_run(run.text, run.classes, visit);
        }
    }
}

/// Returns a run without the letter of an escape before it: in a quoted text, `\nThere` is a new line and
/// a word.
fn without_escape<'a>(text: &str, run: Run<'a>) -> Run<'a> {
    let before = run.start.checked_sub(1);
    let before = before.and_then(|at| text.as_bytes().get(at));
    let mut letters = run.text.bytes();
    let is_escape = before == Some(&b'\\')
        && matches!(letters.next(), Some(b'n' | b't' | b'r'))
        && letters.next().is_some_and(|next| next.is_ascii_uppercase());
    match run.text.get(1..) {
        Some(rest) if is_escape => Run {
            text: rest,
            start: run.start + 1,
            ..run
        },
        _ => run,
    }
}

/// Visits the names in a run with characters beyond ASCII.
///
/// Punctuation among those separates names, and in scripts without spaces so do letters: a name is
/// written right into the sentence.
fn of_wide_run<'a>(run: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) {
    for part in run.split(|c: char| !c.is_ascii() && !c.is_alphanumeric()) {
        if !part.contains(is_unspaced) {
            of_run(part, classes(part), visit);
            continue;
        }
        let mut rest = part;
        if let Some(end) = path_end(part) {
            let (path, after) = part.split_at(end);
            of_run(without_sentence(path), classes(path), visit);
            rest = after;
        }
        for word in rest.split(is_unspaced) {
            of_run(word, classes(word), visit);
        }
    }
}

/// Returns a path without the sentence that leads up to it. Folders may be named in any script, so
/// only the first one is looked at: `修改src/解析/a.rs` is `src/解析/a.rs`.
fn without_sentence(path: &str) -> &str {
    let first = path.find('/').unwrap_or(path.len());
    let start = path
        .char_indices()
        .take_while(|(at, _)| *at < first)
        .filter(|(_, c)| is_unspaced(*c))
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8());
    let start = if start < first { start } else { 0 };
    path.get(start..).unwrap_or(path)
}

/// Visits the names in a run.
fn of_run<'a>(run: &'a str, classes: u16, visit: &mut impl FnMut(NameKind, &'a str)) {
    if classes & DISTINCTIVE == 0 {
        return;
    }
    let mut rest = run;
    if classes & class::DOT != 0
        && let Some(end) = path_end(run)
    {
        let (path, after) = run.split_at(end);
        let path = path.trim_start_matches(['+', '-', '@', '[', ']']);
        if path.len() > 4 && path.len() <= MAX_NAME {
            visit(NameKind::Path, path);
        }
        rest = after;
    }
    if classes & class::DIGIT != 0 {
        numbered(rest, visit);
    }
    if classes & (class::UPPER | class::UNDERSCORE) == 0 {
        return;
    }
    for word in Runs::new(rest, class::WORD) {
        if word.classes & (class::UPPER | class::UNDERSCORE) == 0 {
            continue;
        }
        if is_error_code(word.text) {
            visit(NameKind::ErrorCode, word.text);
        } else if is_identifier(word.text) {
            visit(NameKind::Identifier, word.text);
        }
    }
}

/// Visits versions, which contain dots and dashes, and references, which contain dashes.
fn numbered<'a>(run: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) {
    for part in Runs::new(run, class::WORD | class::DOT | class::DASH) {
        if part.classes & class::DOT != 0
            && let Some(version) = version(part.text)
        {
            visit(NameKind::Version, version);
        }
        // Most parts are identifiers, which are neither.
        if part.classes & (class::DOT | class::DASH) == 0 && !is_commit(&part) {
            continue;
        }
        for word in Runs::new(part.text, class::WORD | class::DASH) {
            let is_reference = match word.classes & class::DASH {
                0 => is_commit(&word),
                _ => is_ticket(word.text),
            };
            if is_reference {
                visit(NameKind::Reference, word.text);
            } else if word.text.starts_with("CVE-") && word.text.len() > 9 {
                visit(NameKind::ErrorCode, word.text);
            }
        }
    }
}

/// Visits `#123`, if the run follows a `#` that is not part of something else.
fn number_reference<'a>(text: &'a str, run: &Run<'a>, visit: &mut impl FnMut(NameKind, &'a str)) {
    let Some(head) = text.get(..run.start).and_then(|t| t.strip_suffix('#')) else {
        return;
    };
    let before = head.as_bytes().last();
    let inside = before.is_some_and(|b| is_word(*b) || matches!(b, b'&' | b'#' | b'/'));
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let digits = run.text.bytes().take_while(is_digit).count();
    let after = run.text.as_bytes().get(digits);
    if !inside && (2..=6).contains(&digits) && after.is_none_or(|byte| !is_word(*byte)) {
        let reference = text.get(head.len()..run.start + digits).unwrap_or_default();
        visit(NameKind::Reference, reference);
    }
}

/// Returns the start of the address whose scheme is at the end of a run.
fn address_start(text: &str, run: &Run<'_>) -> Option<usize> {
    let end = run.start + run.text.len();
    // The first byte rules out nearly all runs.
    if text.as_bytes().get(end) != Some(&b':') || !text.get(end..)?.starts_with("://") {
        return None;
    }
    let scheme = ["https", "http"]
        .into_iter()
        .find(|scheme| run.text.ends_with(scheme))?;
    Some(end - scheme.len())
}

/// Visits the address at the start of a text, without query and fragment; returns its whole length.
fn address<'a>(text: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) -> usize {
    const ENDS: [char; 11] = [')', '>', ']', '"', '\'', '`', ',', '\\', '}', '<', '|'];
    let ends = |c: char| c.is_whitespace() || ENDS.contains(&c);
    let length = text.find(ends).unwrap_or(text.len());
    let whole = text.get(..length).unwrap_or_default();
    let address = whole.split(['?', '#']).next().unwrap_or_default();
    let address = address.trim_end_matches(['.', ',', ';', ':', '*', '/']);
    if address.len() > "https://".len() && address.len() <= MAX_NAME {
        visit(NameKind::Address, address);
    }
    length
}

/// Returns the end of the path that a run begins with: after a known extension in its last part.
fn path_end(run: &str) -> Option<usize> {
    // Runs are short: a loop over their bytes is faster than a search.
    let slash = run.bytes().rposition(|byte| byte == b'/');
    let last_part = slash.map_or(0, |at| at + 1);
    let part = run.get(last_part..)?;
    let dots = part.bytes().enumerate().rev();
    dots.filter(|(_, byte)| *byte == b'.').find_map(|(dot, _)| {
        let (stem, after) = (part.get(..dot)?, part.get(dot + 1..)?);
        let has_stem = stem
            .bytes()
            .next_back()
            .is_some_and(|byte| is_word(byte) || byte == b']');
        let is_extension_byte = |byte: &u8| is_word(*byte) && byte.is_ascii();
        let length = after.bytes().take_while(is_extension_byte).count();
        let (extension, rest) = after.split_at(length);
        let ends = rest
            .chars()
            .next()
            .is_none_or(|c| c.is_ascii() || is_unspaced(c));
        (has_stem && ends && FILE_EXTENSIONS.contains(extension))
            .then_some(last_part + dot + 1 + length)
    })
}

/// Returns the version in `1.2.3` or `v1.2.3-rc.1`. Four numbers are an IP address.
fn version(part: &str) -> Option<&str> {
    let bytes = part.as_bytes();
    let start = (0..bytes.len()).find(|at| {
        let begins = bytes
            .get(*at)
            .is_some_and(|b| b.is_ascii_digit() || *b == b'v');
        begins
            && at
                .checked_sub(1)
                .is_none_or(|at| bytes.get(at) == Some(&b'-'))
    })?;
    let candidate = part.get(start..)?;
    let numbers = candidate.strip_prefix('v').unwrap_or(candidate);
    let after = numbers.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let core = numbers
        .get(..numbers.len() - after.len())?
        .trim_end_matches('.');
    let after = numbers.get(core.len()..)?;
    let groups = core.split('.').filter(|group| !group.is_empty()).count();
    if groups != 3 || core.matches('.').count() != 2 || after.bytes().next().is_some_and(is_word) {
        return None;
    }
    let suffix = after.strip_prefix('-').map_or(0, |suffix| {
        let is_suffix = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
        suffix.bytes().take_while(is_suffix).count()
    });
    let dash = usize::from(suffix > 0);
    let version = numbers.get(..core.len() + dash + suffix)?;
    Some(version.trim_end_matches('.'))
}

/// `ABC-123`.
fn is_ticket(word: &str) -> bool {
    word.split_once('-').is_some_and(|(team, number)| {
        (2..=8).contains(&team.len())
            && team.bytes().all(|byte| byte.is_ascii_uppercase())
            && (1..=6).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A commit's hash or the beginning of one.
fn is_commit(word: &Run<'_>) -> bool {
    word.classes == class::LOWER | class::DIGIT
        && (7..=40).contains(&word.text.len())
        && word.text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `E0308`, `TS2345`, `ENOENT`.
fn is_error_code(word: &str) -> bool {
    const ERRNO: [&str; 6] = [
        "ENOENT",
        "EACCES",
        "EPERM",
        "EEXIST",
        "EADDRINUSE",
        "ETIMEDOUT",
    ];
    if !(5..=14).contains(&word.len()) {
        return false;
    }
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = word.len() - digits.len();
    if letters == 0 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    match digits.len() {
        0 => ERRNO.contains(&word) || word.starts_with("ECONN"),
        4 | 5 => letters <= 2,
        _ => false,
    }
}

/// `snake_case`, `camelCase`, `PascalCase`: words that only programs have.
fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    if !(MIN_IDENTIFIER..=MAX_NAME).contains(&bytes.len())
        || !first.is_ascii_alphabetic()
        || !last.is_ascii_alphanumeric()
    {
        return false;
    }
    let (mut joined, mut hump) = (false, false);
    let mut lower = first.is_ascii_lowercase();
    for byte in bytes.iter().skip(1) {
        match byte {
            b'_' => joined = true,
            b'A'..=b'Z' => hump |= lower,
            b'a'..=b'z' | b'0'..=b'9' => lower = true,
            _ => return false,
        }
    }
    // `HTTPServer` has no second hump; `myHTTP` has.
    let second_is_upper = bytes.get(1).is_some_and(u8::is_ascii_uppercase);
    let is_compound = joined || hump && (first.is_ascii_lowercase() || !second_is_upper);
    is_compound && !COMMON_IDENTIFIERS.contains(word)
}
