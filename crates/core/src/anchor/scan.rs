//! Finding names in text: paths, identifiers, addresses, references, error codes, versions. Numbers
//! with units are `quantity`'s.
//!
//! One pass over the bytes, no pattern engine: a transcript has megabytes. A name is recognised by
//! its own shape, so the language around it does not matter.

use super::extension::is_extension;
use super::name::NameKind;
use super::quantity;

/// Names in texts longer than this are not worth their price: it is output that nobody read.
const LONGEST_TEXT: usize = 60_000;
/// Shorter identifiers are words.
const SHORTEST_IDENTIFIER: usize = 6;
/// Longer names are data.
const LONGEST_NAME: usize = 160;

/// What a byte is inside a name, a bit for each. None: it stands between names.
mod is {
    /// A small letter.
    pub(super) const LOW: u8 = 1;
    /// A capital.
    pub(super) const HIGH: u8 = 2;
    pub(super) const DIGIT: u8 = 4;
    pub(super) const UNDERSCORE: u8 = 8;
    pub(super) const DOT: u8 = 16;
    pub(super) const DASH: u8 = 32;
    /// Anything else that holds the words of a path together.
    pub(super) const JOIN: u8 = 64;
    /// Part of a character beyond ASCII.
    pub(super) const WIDE: u8 = 128;

    /// Any part of a word.
    pub(super) const WORD: u8 = LOW | HIGH | DIGIT | UNDERSCORE | WIDE;
    /// Anything that holds words together.
    pub(super) const JOINED: u8 = DOT | DASH | JOIN;
    /// Without any of these there is no name: plain words make up most of any text.
    pub(super) const TELLING: u8 = HIGH | DIGIT | UNDERSCORE | DOT;
}

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "counts to 255")]
        let here = byte as u8;
        #[expect(clippy::indexing_slicing, reason = "both have 256 places")]
        {
            classes[byte] = match here {
                b'a'..=b'z' => is::LOW,
                b'A'..=b'Z' => is::HIGH,
                b'0'..=b'9' => is::DIGIT,
                b'_' => is::UNDERSCORE,
                b'.' => is::DOT,
                b'-' => is::DASH,
                b'/' | b'@' | b'+' | b'[' | b']' | b'~' => is::JOIN,
                0x80.. => is::WIDE,
                _ => 0,
            };
        }
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

fn is_word(byte: u8) -> bool {
    class(byte) & is::WORD != 0
}

/// Calls `visit` with every name of a text, as often as it stands there.
pub fn names<'a>(text: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) {
    let text = text
        .get(..text.floor_char_boundary(LONGEST_TEXT))
        .unwrap_or(text);
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let mut met = class(byte);
        if met == 0 {
            if byte == b'#' {
                number_reference(text, at, visit);
            }
            at += 1;
            continue;
        }
        let mut end = at + 1;
        let mut behind = 0;
        while let Some(&byte) = bytes.get(end) {
            let here = class(byte);
            if here == 0 {
                behind = byte;
                break;
            }
            met |= here;
            end += 1;
        }
        if behind == b':' {
            let run = text.get(at..end).unwrap_or_default();
            let scheme = ["https", "http"].into_iter().find(|s| run.ends_with(s));
            if let Some(scheme) = scheme
                && text.get(end..).is_some_and(|rest| rest.starts_with("://"))
            {
                let start = end - scheme.len();
                at = start + address(text.get(start..).unwrap_or_default(), visit);
                continue;
            }
        }
        if met & is::TELLING != 0 {
            let run = text.get(at..end).unwrap_or_default();
            if met & is::DIGIT != 0 {
                quantity::find(text, at, end, visit);
            }
            if met & is::WIDE != 0 {
                of_wide(run, visit);
            } else {
                of_any(run, met, visit);
            }
        }
        at = end;
    }
}

fn of_any<'a>(run: &'a str, met: u8, visit: &mut impl FnMut(NameKind, &'a str)) {
    if met & is::JOINED == 0 {
        of_word(run, met, visit);
    } else {
        of_run(run, met, visit);
    }
}

/// The names in a run with characters beyond ASCII. Signs among those stand between names, and in
/// scripts without blanks so do letters: a name is written right into the sentence.
fn of_wide<'a>(run: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) {
    let is_sign = |c: char| !c.is_ascii() && !c.is_alphanumeric();
    for piece in run.split(is_sign) {
        let met = piece.bytes().fold(0, |met, byte| met | class(byte));
        if met & is::TELLING == 0 {
            continue;
        }
        if !piece.contains(is_unspaced) {
            of_any(piece, met, visit);
            continue;
        }
        let mut rest = piece;
        if met & is::DOT != 0
            && let Some(end) = path_end(piece)
        {
            // Folders may be named in any script; what only stands before a path is no part of it.
            let path = piece.get(..end).unwrap_or_default();
            let first = path.find('/').unwrap_or(path.len());
            let named = path.get(..first).unwrap_or_default();
            let before = named.rfind(is_unspaced).map_or(0, |at| {
                at + named
                    .get(at..)
                    .and_then(|c| c.chars().next())
                    .map_or(0, char::len_utf8)
            });
            let before = if before < first { before } else { 0 };
            of_run(path.get(before..).unwrap_or_default(), met, visit);
            rest = piece.get(end..).unwrap_or_default();
        }
        for part in rest.split(is_unspaced) {
            let met = part.bytes().fold(0, |met, byte| met | class(byte));
            if met & is::TELLING != 0 {
                of_any(part, met, visit);
            }
        }
    }
}

/// Whether a character is of a script that has no blanks between words, or hangs endings on names.
fn is_unspaced(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{e7f}' | '\u{2e80}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// The name that a word is, if it is one.
fn of_word<'a>(word: &'a str, met: u8, visit: &mut impl FnMut(NameKind, &'a str)) {
    const OF_HASH: u8 = is::LOW | is::DIGIT;
    if met == OF_HASH && is_hash(word) {
        visit(NameKind::Reference, word);
    }
    if met & (is::HIGH | is::UNDERSCORE) == 0 {
        return;
    }
    if met & is::LOW == 0 && is_error_code(word) {
        visit(NameKind::ErrorCode, word);
    } else if is_identifier(word) {
        visit(NameKind::Identifier, word);
    }
}

/// `#123`, where it stands alone.
fn number_reference<'a>(text: &'a str, at: usize, visit: &mut impl FnMut(NameKind, &'a str)) {
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if before.is_some_and(|b| is_word(*b) || matches!(b, b'&' | b'#' | b'/')) {
        return;
    }
    let digits = bytes
        .get(at + 1..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let behind = bytes.get(at + 1 + digits);
    if (2..=6).contains(&digits) && behind.is_none_or(|byte| !is_word(*byte)) {
        visit(
            NameKind::Reference,
            text.get(at..=at + digits).unwrap_or_default(),
        );
    }
}

/// An address from its scheme on; says how long it is, with what belongs to it but is not kept.
fn address<'a>(rest: &'a str, visit: &mut impl FnMut(NameKind, &'a str)) -> usize {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                ')' | '>' | ']' | '"' | '\'' | '`' | ',' | '\\' | '}' | '<' | '|'
            )
    };
    let length = rest.find(ends).unwrap_or(rest.len());
    let whole = rest.get(..length).unwrap_or_default();
    let kept = whole.split(['?', '#']).next().unwrap_or_default();
    let kept = kept.trim_end_matches(['.', ',', ';', ':', '*', '/']);
    if kept.len() > "https://".len() && kept.len() <= LONGEST_NAME {
        visit(NameKind::Address, kept);
    }
    length
}

/// The names in a run of word and joining bytes.
fn of_run<'a>(run: &'a str, met: u8, visit: &mut impl FnMut(NameKind, &'a str)) {
    let has_dot = met & is::DOT != 0;
    let mut rest = run;
    if has_dot && let Some(end) = path_end(run) {
        let path = run.get(..end).unwrap_or_default();
        let path = path.trim_start_matches(['+', '-', '@', '[', ']']);
        if path.len() > 4 && path.len() <= LONGEST_NAME {
            visit(NameKind::Path, path);
        }
        rest = run.get(end..).unwrap_or_default();
    }
    if rest.is_empty() {
        return;
    }
    // Versions hold dots and dashes, references dashes; identifiers neither.
    if met & is::DIGIT != 0 {
        for part in rest.split(['/', '@', '+', '[', ']', '~']) {
            if let Some(version) = version(part) {
                visit(NameKind::Version, version);
            }
            for part in part.split('.') {
                if is_ticket(part) || is_hash(part) {
                    visit(NameKind::Reference, part);
                } else if part.starts_with("CVE-") && part.len() > 9 {
                    visit(NameKind::ErrorCode, part);
                }
            }
        }
    }
    for word in
        rest.split(|c: char| u8::try_from(c).is_ok_and(|byte| class(byte) & is::JOINED != 0))
    {
        if is_error_code(word) {
            visit(NameKind::ErrorCode, word);
        } else if is_identifier(word) {
            visit(NameKind::Identifier, word);
        }
    }
}

/// Where a run that begins with a path has its end: behind a known file extension in its last part.
fn path_end(run: &str) -> Option<usize> {
    let bytes = run.as_bytes();
    let last = run.rfind('/').map_or(0, |at| at + 1);
    let mut end = run.len();
    while let Some(dot) = run.get(last..end).and_then(|part| part.rfind('.')) {
        let dot = last + dot;
        let before = dot.checked_sub(1).and_then(|at| bytes.get(at));
        let stem = before.is_some_and(|byte| is_word(*byte) || *byte == b']');
        let length = bytes
            .get(dot + 1..)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| is_word(**byte) && byte.is_ascii())
            .count();
        let extension = run.get(dot + 1..dot + 1 + length).unwrap_or_default();
        let behind = run
            .get(dot + 1 + length..)
            .and_then(|rest| rest.chars().next());
        let ends = behind.is_none_or(|c| c.is_ascii() || is_unspaced(c));
        if dot > last && stem && ends && is_extension(extension) {
            return Some(dot + 1 + length);
        }
        end = dot;
    }
    None
}

/// `1.2.3`, `v1.2.3-rc.1`; not an address of four numbers.
fn version(part: &str) -> Option<&str> {
    let start = part
        .char_indices()
        .find(|(at, c)| {
            let before = at.checked_sub(1).and_then(|at| part.as_bytes().get(at));
            (c.is_ascii_digit() || *c == 'v') && before.is_none_or(|byte| *byte == b'-')
        })
        .map(|(at, _)| at)?;
    let candidate = part.get(start..)?;
    let numbers = candidate.strip_prefix('v').unwrap_or(candidate);
    let core_length = numbers
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let core = numbers.get(..core_length)?.trim_end_matches('.');
    let mut groups = 0;
    for group in core.split('.') {
        if group.is_empty() {
            return None;
        }
        groups += 1;
    }
    let behind = numbers.get(core.len()..)?;
    if groups != 3 || behind.bytes().next().is_some_and(is_word) {
        return None;
    }
    let tail = if behind.starts_with('-') {
        behind
            .bytes()
            .skip(1)
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
            .count()
            + 1
    } else {
        0
    };
    numbers
        .get(..core.len() + if tail > 1 { tail } else { 0 })
        .map(|version| version.trim_end_matches('.'))
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

/// The beginning of a commit's hash, or all of it.
fn is_hash(word: &str) -> bool {
    let mut digit = false;
    let mut letter = false;
    (7..=40).contains(&word.len())
        && word.bytes().all(|byte| {
            digit |= byte.is_ascii_digit();
            letter |= matches!(byte, b'a'..=b'f');
            matches!(byte, b'0'..=b'9' | b'a'..=b'f')
        })
        && digit
        && letter
}

/// `E0308`, `TS2345`, `ENOENT`.
fn is_error_code(word: &str) -> bool {
    let bytes = word.as_bytes();
    if !(5..=14).contains(&bytes.len()) || !bytes.first().is_some_and(u8::is_ascii_uppercase) {
        return false;
    }
    let letters = bytes.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let digits = bytes
        .iter()
        .skip(letters)
        .take_while(|b| b.is_ascii_digit())
        .count();
    if letters + digits != bytes.len() {
        return false;
    }
    match digits {
        0 => {
            matches!(
                word,
                "ENOENT" | "EACCES" | "EPERM" | "EEXIST" | "EADDRINUSE" | "ETIMEDOUT"
            ) || word.starts_with("ECONN")
        }
        4 | 5 => letters <= 2,
        _ => false,
    }
}

/// `snake_case`, `camelCase`, `PascalCase`: words that only a program has.
fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    if bytes.len() < SHORTEST_IDENTIFIER || bytes.len() > LONGEST_NAME {
        return false;
    }
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    if !first.is_ascii_alphabetic() || !last.is_ascii_alphanumeric() {
        return false;
    }
    let mut joined = false;
    let mut hump = false;
    let mut low = first.is_ascii_lowercase();
    for byte in bytes.iter().skip(1) {
        match byte {
            b'_' => joined = true,
            b'A'..=b'Z' => hump |= low,
            b'a'..=b'z' | b'0'..=b'9' => low = true,
            _ => return false,
        }
    }
    // `HTTPServer` has no second hump; `myHTTP` has.
    let humps = hump
        && (first.is_ascii_lowercase() || bytes.get(1).is_some_and(|b| !b.is_ascii_uppercase()));
    (joined || humps) && !super::common::is_common(word)
}
