//! The texts inside a tool call's arguments, which are kept as the host's JSON.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Returns the string values of a JSON text, one below the other; they hold what the model wrote
/// into a call. Text that is not JSON is returned as it is.
pub(crate) fn text(json: &str) -> Cow<'_, str> {
    with_replaced(json).0
}

/// Arguments that have the text that an edit replaces.
const REPLACED: [&str; 4] = ["old_string", "oldString", "oldText", "old_str"];

/// Returns the same, with the parts of it that an edit replaces.
pub(crate) fn with_replaced(json: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
    let (mut joined, mut replaced) = (None, Vec::new());
    let strings = Strings {
        joined: &mut joined,
        replaced: &mut replaced,
        is_replaced: false,
    };
    let mut json_text = serde_json::Deserializer::from_str(json);
    let parsed = strings.deserialize(&mut json_text);
    match parsed.and_then(|()| json_text.end()) {
        Ok(()) => (joined.unwrap_or_default(), replaced),
        Err(_) => (Cow::Borrowed(json), Vec::new()),
    }
}

/// Appends the strings of a value.
struct Strings<'s, 'de> {
    joined: &'s mut Option<Cow<'de, str>>,
    replaced: &'s mut Vec<Range<usize>>,
    is_replaced: bool,
}

impl<'de> Strings<'_, 'de> {
    /// Appends a string, or begins with `first` if it is the first one.
    fn add(self, text: &str, first: impl FnOnce() -> Cow<'de, str>) {
        let start = match self.joined {
            None => {
                *self.joined = Some(first());
                0
            }
            Some(joined) => {
                let joined = joined.to_mut();
                joined.push('\n');
                joined.push_str(text);
                joined.len() - text.len()
            }
        };
        if self.is_replaced {
            self.replaced.push(start..start + text.len());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strings<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strings<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.add(text, || Cow::Borrowed(text));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.add(text, || Cow::Owned(text.to_owned()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list
            .next_element_seed(Strings {
                joined: &mut *self.joined,
                replaced: &mut *self.replaced,
                ..self
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<Cow<'_, str>>()? {
            object.next_value_seed(Strings {
                joined: &mut *self.joined,
                replaced: &mut *self.replaced,
                is_replaced: REPLACED.contains(&key.as_ref()),
            })?;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strings_are_joined_in_their_order() {
        let json = r#"{"file_path": "src/a.rs", "n": 3, "x": [true, null, 1.5, -1],
            "edits": [{"old": "a\n\"b\"", "new": ""}], "tags": ["日", "\ud83d\ude00"]}"#;
        assert_eq!(text(json), "src/a.rs\na\n\"b\"\n\n日\n😀");
        assert_eq!(text(r#""plain""#), "plain");
        assert_eq!(text(r#"{"n": 1}"#), "");
    }

    #[test]
    fn text_that_is_not_json_is_taken_as_it_is() {
        for other in ["*** Begin Patch", "", r#"{"a": "cut off"#, r#""a" b"#] {
            assert_eq!(text(other), other);
        }
        let deep = "[".repeat(100_000);
        assert_eq!(text(&deep), deep);
    }

    proptest! {
        #[test]
        fn every_text_comes_through_json_unchanged(texts in prop::collection::vec(any::<String>(), 0..5)) {
            let json = serde_json::to_string(&texts).unwrap();
            prop_assert_eq!(text(&json), texts.join("\n"));
        }
    }
}
