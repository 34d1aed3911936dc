//! Elements as values, and a writer of XML 1.0 that is well-formed for any text.

use std::borrow::Cow;

use flamestack_core::text::{disguises, undisguised};

/// An element with its attributes and content. Texts are borrowed where possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Name of the element. Names are constants and need no escaping.
    pub name: &'static str,
    /// Attributes, in order.
    pub attributes: Vec<(&'static str, Cow<'a, str>)>,
    /// Content.
    pub content: Content<'a>,
}

/// Content of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content<'a> {
    /// Nothing.
    #[default]
    Empty,
    /// Text.
    Text(Cow<'a, str>),
    /// Several texts with separators between them.
    List(Vec<Cow<'a, str>>, Separator),
    /// Other elements.
    Elements(Vec<Element<'a>>),
}

/// Separator between the texts of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// For names and paths.
    Comma,
    /// For sentences.
    Line,
}

impl Separator {
    /// Returns the separator as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comma => ", ",
            Self::Line => "\n",
        }
    }
}

impl<'a> Element<'a> {
    /// Creates an empty element.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            content: Content::Empty,
        }
    }

    /// Creates an element with a text.
    pub fn text(name: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            content: Content::Text(text.into()),
            ..Self::new(name)
        }
    }

    /// Adds an attribute.
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// Copies all borrowed texts.
    pub fn into_owned(self) -> Element<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let attributes = self.attributes.into_iter();
        Element {
            name: self.name,
            attributes: attributes
                .map(|(name, value)| (name, owned(value)))
                .collect(),
            content: match self.content {
                Content::Empty => Content::Empty,
                Content::Text(text) => Content::Text(owned(text)),
                Content::List(items, separator) => {
                    Content::List(items.into_iter().map(owned).collect(), separator)
                }
                Content::Elements(elements) => {
                    Content::Elements(elements.into_iter().map(Element::into_owned).collect())
                }
            },
        }
    }

    /// Returns the element and the elements directly inside it.
    pub fn and_inside(&self) -> impl Iterator<Item = &Self> {
        let inside = match &self.content {
            Content::Elements(elements) => elements.as_slice(),
            _ => &[],
        };
        std::iter::once(self).chain(inside)
    }

    /// Writes the element on lines of its own.
    ///
    /// Every element ends in `>` and a line break, see [`flamestack_extract::tokens::Tokenizer`]. Nothing is
    /// indented: a blank before a tag costs a token on every line, a tenth of a whole context.
    pub fn write(&self, out: &mut String) {
        self.open(out);
        match &self.content {
            Content::Empty => {
                out.push_str("/>\n");
                return;
            }
            Content::Text(text) => {
                out.push('>');
                escape(out, text);
            }
            Content::List(items, separator) => {
                out.push('>');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        out.push_str(separator.as_str());
                    }
                    escape(out, item);
                }
            }
            Content::Elements(elements) => {
                out.push_str(">\n");
                for element in elements {
                    element.write(out);
                }
            }
        }
        close(out, self.name);
    }

    /// Writes the start tag without its end, so that it can still become an empty element.
    fn open(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            escape_attribute(out, value);
            out.push('"');
        }
    }

    /// Writes the start tag on a line of its own.
    pub fn write_start(&self, out: &mut String) {
        self.open(out);
        out.push_str(">\n");
    }

    /// Writes the end tag on a line of its own.
    pub fn write_end(&self, out: &mut String) {
        close(out, self.name);
    }
}

fn close(out: &mut String, name: &str) {
    out.push_str("</");
    out.push_str(name);
    out.push_str(">\n");
}

/// Writes text between tags.
///
/// `>` needs an escape only where it would end a CDATA section, and code is full of arrows.
pub fn escape(out: &mut String, text: &str) {
    write_escaped(out, text, false);
}

/// Writes the value of an attribute.
pub fn escape_attribute(out: &mut String, text: &str) {
    write_escaped(out, text, true);
}

fn write_escaped(out: &mut String, text: &str, attribute: bool) {
    out.reserve(text.len());
    // Plain runs are copied whole; nearly all text is one run.
    let mut plain = 0;
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(rest) = bytes.get(from..)
        && let Some(found) = rest.iter().position(|byte| is_suspect(*byte))
    {
        let at = from + found;
        // Suspects start a character: every continuation byte is above suspicion.
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
            break;
        };
        from = at + c.len_utf8();
        let Some(escaped) = escape_of(c, bytes, at, attribute) else {
            continue;
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        match escaped {
            Escaped::As(replacement) => out.push_str(replacement),
            Escaped::Char(replacement) => out.push(replacement),
            Escaped::Disguise(c) => {
                let plain = undisguised(c.encode_utf8(&mut [0; 4])).replace('<', "&lt;");
                out.push_str(&plain);
            }
        }
        plain = from;
    }
    out.push_str(text.get(plain..).unwrap_or_default());
}

/// Returns true if a character that starts with this byte may need an escape. `0xc2` starts those
/// from U+0080, `0xef` those up to U+FFFF.
fn is_suspect(byte: u8) -> bool {
    matches!(
        byte,
        0..0x20 | b'&' | b'<' | b'>' | b'"' | 0x7f | 0xc2
            // The first bytes of characters that disguise text.
            | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3
    )
}

enum Escaped {
    As(&'static str),
    Char(char),
    /// A character that makes text look like other text; removed or named.
    Disguise(char),
}

fn escape_of(c: char, text: &[u8], at: usize, attribute: bool) -> Option<Escaped> {
    let before = || text.get(..at).unwrap_or_default();
    match c {
        '&' => Some(Escaped::As("&amp;")),
        '<' => Some(Escaped::As("&lt;")),
        '>' if before().ends_with(b"]]") => Some(Escaped::As("&gt;")),
        '"' if attribute => Some(Escaped::As("&quot;")),
        // A parser would turn these into blanks.
        '\n' if attribute => Some(Escaped::As("&#10;")),
        '\t' if attribute => Some(Escaped::As("&#9;")),
        '\n' | '\t' => None,
        // A parser reads both kinds of line end as `\n`; a lone `\r` has to be spelled out.
        '\r' if !attribute && text.get(at + 1) == Some(&b'\n') => Some(Escaped::As("")),
        '\r' => Some(Escaped::As("&#13;")),
        // No XML 1.0 document may hold these in any form. Their pictures say what was there.
        '\0'..'\u{20}' => char::from_u32(0x2400 + u32::from(c)).map(Escaped::Char),
        '\u{7f}' => Some(Escaped::Char('\u{2421}')),
        // The first are allowed but discouraged, and some terminals obey them.
        '\u{80}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
            Some(Escaped::Char(char::REPLACEMENT_CHARACTER))
        }
        c if disguises(c) => Some(Escaped::Disguise(c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(&mut out, text);
        out
    }

    #[test]
    fn only_what_must_be_is_escaped() {
        assert_eq!(escaped("a -> b && c < d"), "a -> b &amp;&amp; c &lt; d");
        assert_eq!(escaped("]]>"), "]]&gt;");
        assert_eq!(escaped("\u{1b}[31mred\0"), "␛[31mred␀");
        assert_eq!(escaped("one\r\ntwo\rthree"), "one\ntwo&#13;three");
        assert_eq!(escaped("\u{9b}x\u{ffff}"), "\u{fffd}x\u{fffd}");
        assert_eq!(escaped("a\u{200b}b\u{e0041}c\u{202e}d"), "abc&lt;U+202E>d");
        for honest in ["…日本語", "می\u{200c}خواهم", "👩\u{200d}👧❤\u{fe0f}"] {
            assert_eq!(escaped(honest), honest);
        }
    }

    #[test]
    fn elements_end_their_lines() {
        let element = Element {
            content: Content::Elements(vec![
                Element::text("title", "R&D"),
                Element {
                    content: Content::List(vec!["a.rs".into(), "b.rs".into()], Separator::Comma),
                    ..Element::new("artifacts")
                },
                Element::new("next").with("title", "say \"hi\"\n"),
            ]),
            ..Element::new("frame").with("id", "k3f9x2mq")
        };
        let mut out = String::new();
        element.write(&mut out);
        insta::assert_snapshot!(out, @r#"
        <frame id="k3f9x2mq">
        <title>R&amp;D</title>
        <artifacts>a.rs, b.rs</artifacts>
        <next title="say &quot;hi&quot;&#10;"/>
        </frame>
        "#);
    }

    proptest! {
        #[test]
        fn any_text_survives_as_xml(text in any::<String>()) {
            let mut out = String::new();
            Element::text("a", text.as_str()).with("b", text.as_str()).write(&mut out);
            let mut reader = Reader::from_str(&out);
            loop {
                match reader.read_event() {
                    Ok(Event::Eof) => break,
                    Ok(_) => {}
                    Err(problem) => prop_assert!(false, "{problem}: {out:?}"),
                }
            }
            // Nothing but what XML 1.0 allows.
            let allowed = |c: char| matches!(c, '\t' | '\n' | '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
            prop_assert!(out.chars().all(allowed), "{out:?}");
            prop_assert!(!out.contains(disguises), "{out:?}");
        }
    }
}
