//! Private keys: PEM of all makes, OpenSSH, PGP and `PuTTY`, on one line or on many, whole, cut off
//! at either end, or without any armour.

use crate::Finding;
use crate::rule::Spot;
use crate::value::{KEY_LINE, holds_marker, is_key_line};
use crate::view::{View, find, is_base64, is_blank, is_quote};

pub(crate) const KIND: &str = "private-key";

/// The largest key with its armour; RSA of 16384 bits takes 13 KB.
const LONGEST: usize = 64 << 10;

/// Returns the key that the keyword at `spot` is part of.
pub(crate) fn private_key(spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    if view.has(spot.at, "BEGIN") {
        return whole(spot).or_else(|| begun(spot));
    }
    if view.has(spot.at, "END") {
        return ended(spot);
    }
    if view.has(spot.at, "Private-Lines") {
        let count = view.run(view.run(spot.end, 4, is_blank), 4, |byte| {
            byte.is_ascii_digit()
        });
        return lines(view, between(view, count));
    }
    bare(spot)
}

fn is_dash(byte: u8) -> bool {
    byte == b'-'
}

/// Returns the end of a label that says that a private key follows or precedes. URLs encode its
/// blanks.
fn label(view: View<'_>, at: usize) -> Option<usize> {
    let letter =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b" +%_".contains(&byte);
    let end = view.run(at, 64, letter);
    let label = view.slice(at..end);
    let mut names = ["PRIVATE KEY", "PRIVATE+KEY", "PRIVATE%20KEY"].into_iter();
    names.any(|name| find(label, name).is_some()).then_some(end)
}

/// Returns the key from its beginning to its end, whatever is between its lines: numbers, margins,
/// quotes, file names.
fn whole(spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    let begin_end = label(view, spot.end)?;
    let body = view.run(begin_end, 8, is_dash);
    if body - begin_end < 4 {
        return None;
    }
    let window = view.slice(body..body + LONGEST);
    let dashes = find(window, "----")?;
    let between = window.get(..dashes)?;
    let end = view.run(body + dashes, 8, |byte| is_dash(byte) || byte == b' ');
    // Another beginning means that this key was cut off before its end. Two markers in a text
    // about keys have the text between them, not a key.
    let keyed = between
        .split(|byte| !is_base64(*byte))
        .filter(|line| is_key_line(line));
    let keyed = keyed.map(<[u8]>::len).sum::<usize>() * 3 >= between.len().max(KEY_LINE);
    if !view.has(end, "END") || !keyed || holds_marker(between) {
        return None;
    }
    let end = label(view, end + 3).map_or(end + 3, |end| view.run(end, 5, is_dash));
    let start = start(view, spot.at);
    Some(Finding {
        start,
        end,
        kind: KIND,
    })
}

/// Returns the place where the dashes before a label begin.
fn start(view: View<'_>, at: usize) -> usize {
    let start = view.run_back(at, 9, |byte| is_dash(byte) || byte == b' ');
    view.run(start, 9, |byte| byte == b' ')
}

/// Returns the key that was cut off before its end.
fn begun(spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    let mut at = view.run(label(view, spot.end)?, 8, is_dash);
    // `Proc-Type: 4,ENCRYPTED` and other headers.
    for _ in 0..6 {
        let name = between(view, at);
        let colon = view.run(name, 24, |byte| {
            byte.is_ascii_alphanumeric() || is_dash(byte)
        });
        if name == at || colon == name || !view.has(colon, ": ") {
            break;
        }
        at = view.run(colon, 256, |byte| !b"\n\\[".contains(&byte));
    }
    let found = lines(view, between(view, at))?;
    let start = start(view, spot.at);
    Some(Finding { start, ..found })
}

/// Returns the key of which only the end is there, with the lines before it.
fn ended(spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    let dashes = start(view, spot.at);
    let after = label(view, spot.end)?;
    let end = view.run(after, 8, is_dash);
    let joint = |byte: u8| byte.is_ascii_whitespace() || is_quote(byte) || b"=>|,".contains(&byte);
    let (mut at, mut first) = (dashes, None);
    while spot.at - at < LONGEST {
        let run_end = view.run_back(at, 64, joint);
        let run = view.run_back(run_end, LONGEST, is_base64);
        // The last line is shorter.
        let short = first.is_none() && at == dashes && run < run_end;
        if is_key_line(view.slice(run..run_end)) {
            first = Some(run);
        } else if !short {
            break;
        }
        at = run;
    }
    let start = first.filter(|_| spot.at > dashes && end > after)?;
    Some(Finding {
        start,
        end,
        kind: KIND,
    })
}

/// Returns the key that has nothing around it, which the first bytes of its encoding give away.
fn bare(spot: Spot<'_>) -> Option<Finding> {
    /// Continuations of keys that begin with their length, `MII` and three characters.
    const BEGINNINGS: &[&str] = &["IBAAKB", "IBAAKC", "IBADAN", "IBADCC", "IBAzCC"];
    let view = spot.view;
    if !view.edge(spot.at, crate::view::is_name) {
        return None;
    }
    let after = spot.at + 6;
    let known = BEGINNINGS.iter().any(|begin| view.has(after, begin))
        // An encrypted one.
        || view.has(after + 2, "BgkqhkiG9w0BBQ");
    if view.has(spot.at, "MII") && !known {
        return None;
    }
    lines(view, spot.at)
}

/// Returns the lines of a key that begin at `at`.
fn lines(view: View<'_>, at: usize) -> Option<Finding> {
    let body = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let (mut next, mut end) = (at, None);
    loop {
        let run = view.run(next, usize::MAX, body);
        let run_end = view.run(run, 2, |byte| byte == b'=');
        let line = view.slice(next..run);
        let ends =
            |byte: u8| byte < b' ' || is_quote(byte) || b"\\<.".contains(&byte) || byte > 127;
        let stands_alone =
            view.at(run_end).is_none_or(ends) || view.has(run_end, "---") || run_end > run;
        let worded = line.iter().all(u8::is_ascii_lowercase);
        match end {
            None if !is_key_line(line) => return None,
            _ if line.len() >= KEY_LINE => {}
            // The last line is shorter, so it must have a line to itself.
            Some(_) if !line.is_empty() && stands_alone && !worded => {}
            _ => break,
        }
        end = Some(run_end);
        next = between(view, run_end);
        if next == run_end {
            break;
        }
    }
    end.map(|end| Finding {
        start: at,
        end,
        kind: KIND,
    })
}

/// Returns the place after what is between two lines of a key, in files, JSON, URLs, logs, code and
/// the output of `cat -n`, `grep -n` and `diff`.
fn between(view: View<'_>, start: usize) -> usize {
    let mut at = start;
    while at < start + 512 {
        let rest = view.slice(at..at + 8);
        let line_begins = at == start || matches!(view.back(at, 1), Some(b'\n'));
        at = match rest {
            [b'\\', ..] => {
                let letter = view.run(at, 8, |byte| byte == b'\\');
                match view.slice(letter..letter + 5) {
                    [b'u', b'0', b'0', b'0', b'a' | b'A' | b'd' | b'D'] => letter + 5,
                    [b'n' | b'r' | b't' | b'\n' | b'"' | b'\'', ..] => letter + 1,
                    _ => break,
                }
            }
            [b'%', b'0' | b'2', b'A' | b'D' | b'a' | b'd' | b'0', ..] => at + 3,
            [b'+' | b'-', b' ' | b'\n', ..] => at + 1,
            [b'-', ..] if line_begins && at > start => at + 1,
            [b'/', b'/', b' ', ..] => at + 2,
            [byte, ..] if byte.is_ascii_whitespace() || is_quote(*byte) => at + 1,
            [b'>' | b'|' | b',' | b';' | b'#' | b'*', ..] => at + 1,
            _ => match numbered(view, at, line_begins) {
                Some(after) => after,
                None => break,
            },
        };
    }
    at
}

/// Returns the end of the number at the beginning of a line, and of the file's name before it.
fn numbered(view: View<'_>, at: usize, line_begins: bool) -> Option<usize> {
    let after_number = |at: usize| {
        let end = view.run(at, 6, |byte| byte.is_ascii_digit());
        let sign = match view.slice(end..end + 3) {
            [b'|' | b':' | b'\t' | b'-' | b' ', ..] => 1,
            [0xe2, 0x86, 0x92] => 3,
            _ => return None,
        };
        (end > at).then_some(end + sign)
    };
    after_number(at).or_else(|| {
        let name = |byte: u8| crate::view::is_name(byte) || b"/:".contains(&byte);
        let end = view.run(at, if line_begins { 160 } else { 0 }, name);
        let mut places =
            (at + 1..end).filter(|place| view.is(*place, |byte| b":-".contains(&byte)));
        places.find_map(|place| after_number(place + 1))
    })
}
