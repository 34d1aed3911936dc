//! JSON text into objects, with the place of whatever is wrong.
//!
//! A plain JSON map silently keeps the last of two equal keys, which would lose a frame. So the
//! `frames` of a state are read as a list of names and values, and whoever asks can see both.

use std::fmt;
use std::str;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::error::Problem;
use super::fields::Object;

/// A `state.json`: its frames in the order of the file, and everything else it says.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) fields: Object,
    pub(super) frames: Vec<(String, Value)>,
}

/// Reads a whole state.
pub(super) fn state(bytes: &[u8]) -> Result<Document, Problem> {
    json(bytes)
}

/// Reads a single frame.
pub(super) fn object(bytes: &[u8]) -> Result<Object, Problem> {
    json(bytes)
}

fn json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    let text = str::from_utf8(bytes).map_err(|error| Problem::NotText {
        at: error.valid_up_to(),
    })?;
    // Editors on some systems put a byte order mark in front of UTF-8; it says nothing.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Problem::Empty);
    }
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        if error.is_eof() {
            return Problem::CutOff { line, column };
        }
        let place = format!(" at line {line} column {column}");
        let message = error.to_string();
        Problem::Malformed {
            message: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
            line,
            column,
        }
    })
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StateVisitor)
    }
}

struct StateVisitor;

impl<'de> Visitor<'de> for StateVisitor {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `frames`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut fields = Map::new();
        let mut frames = None;
        while let Some(name) = map.next_key::<String>()? {
            if name != "frames" {
                fields.insert(name, map.next_value()?);
            } else if frames.is_none() {
                frames = Some(map.next_value::<Named>()?.0);
            } else {
                return Err(A::Error::duplicate_field("frames"));
            }
        }
        let frames = frames.ok_or_else(|| A::Error::missing_field("frames"))?;
        Ok(Document { fields, frames })
    }
}

/// The entries of an object, equal names included.
struct Named(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamedVisitor)
    }
}

struct NamedVisitor;

impl<'de> Visitor<'de> for NamedVisitor {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a frame under each name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Named(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_both_seen() {
        let document = state(br#"{"version":1,"frames":{"a":1,"a":2}}"#).unwrap();
        let names: Vec<_> = document
            .frames
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["a", "a"]);
        assert_eq!(document.fields.len(), 1);
    }

    #[test]
    fn a_byte_order_mark_says_nothing() {
        assert!(state("\u{feff}{\"frames\":{}}".as_bytes()).is_ok());
        assert_eq!(state("\u{feff} \n".as_bytes()).unwrap_err(), Problem::Empty);
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let told = |text: &[u8]| state(text).unwrap_err().to_string();
        assert_eq!(
            told(b"{\n  \"frames\": {},,}"),
            "key must be a string (line 2, column 16)"
        );
        assert_eq!(
            told(b"{\"frames\": {\"a\": {"),
            "the file ends in the middle of its JSON, at line 1, column 18"
        );
        assert_eq!(
            told(b"{\"frames\": []}"),
            "invalid type: sequence, expected an object with a frame under each name \
             (line 1, column 11)"
        );
        assert_eq!(
            told(b"[]"),
            "invalid type: sequence, expected an object with `frames` (line 1, column 0)"
        );
        assert_eq!(told(b"{}"), "missing field `frames` (line 1, column 2)");
        assert_eq!(
            told(b"{\"frames\":{},\"frames\":{}}"),
            "duplicate field `frames` (line 1, column 21)"
        );
        assert_eq!(
            told(b"{\"a\xff"),
            "the file is not UTF-8 text (from byte 3 on)"
        );
        let deep = format!("{{\"frames\":{{\"a\":{}", "[".repeat(10_000));
        assert!(told(deep.as_bytes()).starts_with("recursion limit exceeded"));
    }
}
