//! The texts inside a tool call's arguments, which are kept as the host's JSON.
//!
//! Only strings and their keys matter here: what a model wrote into a call is in them. The JSON is
//! walked once, without a tree; what is no JSON is one text.

use std::borrow::Cow;

/// Calls `visit` with the key and the text of every string value, in the order of the JSON.
///
/// The key of a string in a list is that of the list. Text that is no JSON object, list or string
/// is visited whole, with an empty key.
pub fn strings<'a>(json: &'a str, visit: &mut impl FnMut(&'a str, Cow<'a, str>)) {
    let bytes = json.as_bytes();
    let Some(start) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return;
    };
    if !matches!(bytes.get(start), Some(b'{' | b'[' | b'"')) {
        visit("", Cow::Borrowed(json));
        return;
    }
    let mut key = "";
    let mut at = start;
    while let Some(found) = find_quote(bytes, at) {
        let Some(end) = end_of_string(bytes, found + 1) else {
            // Cut off in the middle: what there is of the string counts.
            visit(key, unescape(json.get(found + 1..).unwrap_or_default()));
            return;
        };
        let inside = json.get(found + 1..end).unwrap_or_default();
        at = end + 1;
        let next = bytes
            .get(at..)
            .and_then(|rest| rest.iter().find(|byte| !byte.is_ascii_whitespace()));
        if next == Some(&b':') {
            key = inside;
        } else {
            visit(key, unescape(inside));
        }
    }
}

fn find_quote(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter()
        .position(|byte| *byte == b'"')
        .map(|at| from + at)
}

/// Where the string that began before `from` ends.
fn end_of_string(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A JSON string's text.
fn unescape(inside: &str) -> Cow<'_, str> {
    if !inside.contains('\\') {
        return Cow::Borrowed(inside);
    }
    let mut text = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => {
                let (c, left) = code_point(chars.as_str());
                text.push(c);
                rest = left;
                continue;
            }
            Some(other) => text.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The character behind `\u`, and what comes after it. Halves without their partner are replaced.
fn code_point(after: &str) -> (char, &str) {
    let unit = |text: &str| {
        text.get(..4)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let Some(first) = unit(after) else {
        return (char::REPLACEMENT_CHARACTER, after);
    };
    let rest = after.get(4..).unwrap_or_default();
    if !(0xd800..0xdc00).contains(&first) {
        let c = char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
        return (c, rest);
    }
    let second = rest.strip_prefix("\\u").and_then(unit);
    match second {
        Some(second) if (0xdc00..0xe000).contains(&second) => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            (c, rest.get(6..).unwrap_or_default())
        }
        _ => (char::REPLACEMENT_CHARACTER, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(json: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        strings(json, &mut |key, text| {
            found.push((key.to_owned(), text.into_owned()));
        });
        found
    }

    #[test]
    fn keys_stay_with_their_strings() {
        let json = r#"{"file_path": "src/a.rs", "n": 3, "edits": [{"old": "a\n\"b\"", "new": ""}], "tags": ["x", "y"]}"#;
        let expected = [
            ("file_path", "src/a.rs"),
            ("old", "a\n\"b\""),
            ("new", ""),
            ("tags", "x"),
            ("tags", "y"),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
            .collect();
        assert_eq!(all(json), expected);
    }

    #[test]
    fn what_is_no_json_is_one_text() {
        assert_eq!(
            all("*** Begin Patch"),
            [(String::new(), "*** Begin Patch".to_owned())]
        );
        assert_eq!(all(r#""plain""#), [(String::new(), "plain".to_owned())]);
        assert_eq!(all("  "), []);
        assert_eq!(
            all(r#"{"a": "cut off"#),
            [("a".to_owned(), "cut off".to_owned())]
        );
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        assert_eq!(
            all(r#"["\u65e5 \ud83d\ude00 \ud83d \\n \/"]"#),
            [(String::new(), "日 😀 \u{fffd} \\n /".to_owned())]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_walked(text in any::<String>()) {
            strings(&text, &mut |_, _| {});
            strings(&format!("{{\"{text}"), &mut |_, _| {});
        }
    }
}
