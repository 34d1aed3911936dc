//! Encodings of text for drawings and URLs.

/// Escapes a text for XML, between tags or in an attribute. Characters that XML 1.0 does not have are
/// left out.
///
/// Contexts have an escape of their own in `flamestack_context`, which spends fewer tokens on code and
/// shows what it replaces.
pub fn xml_escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            '\u{fffe}' | '\u{ffff}' => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// Encodes a text for a URL: letters, digits, `-`, `_`, `.`, `~` and the characters of `plain` stay, every
/// other byte becomes `%` and two digits.
pub fn percent_encoded(text: &str, plain: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if is_plain || plain.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_characters_that_xml_does_not_have_are_escaped() {
        let text = "<a href=\"x\">R&D's\u{1b}[0m\n\u{fffe}</a>";
        assert_eq!(
            xml_escaped(text),
            "&lt;a href=&quot;x&quot;&gt;R&amp;D&#39;s[0m\n&lt;/a&gt;"
        );
    }

    #[test]
    fn urls_keep_only_plain_characters() {
        assert_eq!(
            percent_encoded("/tmp/a b/ü", b""),
            "%2Ftmp%2Fa%20b%2F%C3%BC"
        );
        assert_eq!(percent_encoded("/tmp/a b", b"/"), "/tmp/a%20b");
    }
}
