//! The texts inside a tool call's arguments, which are kept as the host's JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Returns the string values of a JSON text, one below the other; they hold what the model wrote
/// into a call. Text that is not JSON is returned as it is.
pub(crate) fn text(json: &str) -> Cow<'_, str> {
    let mut joined = None;
    let mut json_text = serde_json::Deserializer::from_str(json);
    let parsed = Strings(&mut joined).deserialize(&mut json_text);
    match parsed.and_then(|()| json_text.end()) {
        Ok(()) => joined.unwrap_or_default(),
        Err(_) => Cow::Borrowed(json),
    }
}

/// Appends the strings of a value.
struct Strings<'s, 'de>(&'s mut Option<Cow<'de, str>>);

impl<'de> Strings<'_, 'de> {
    /// Appends a string, or begins with `first` if it is the first one.
    fn add(self, text: &str, first: impl FnOnce() -> Cow<'de, str>) {
        match self.0 {
            None => *self.0 = Some(first()),
            Some(joined) => {
                let joined = joined.to_mut();
                joined.push('\n');
                joined.push_str(text);
            }
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
        while list.next_element_seed(Strings(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while object.next_key::<IgnoredAny>()?.is_some() {
            object.next_value_seed(Strings(self.0))?;
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
