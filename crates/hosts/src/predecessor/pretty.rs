//! JSON as the predecessors print it: two blanks a level, and their order of fields.
//!
//! The order is ours to keep and not left to the JSON library's map, so that an export has the same
//! bytes however that library was built.

use serde_json::{Map, Value};

use super::{object, own};

/// The predecessors' fields around the frames, in their order.
const AROUND: [&str; 4] = ["version", "frames", "activeFrameID", "rootFrameIDs"];

/// Where a field comes: those around the frames, a frame's own, then others by name. What a file
/// says of its format comes first among the others.
fn place(name: &str) -> usize {
    let known = AROUND.iter().chain(&object::FIELDS);
    let place = known.chain(&["format"]).position(|known| *known == name);
    place.unwrap_or(usize::MAX)
}

/// Prints a value, with a line break at the end.
pub(super) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    print(value, 0, &mut text);
    text.push('\n');
    text
}

fn print(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                next(place, depth + 1, text);
                print(item, depth + 1, text);
            }
            line(depth, text);
            text.push(']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            text.push('{');
            for (place, (name, value)) in ordered(fields).into_iter().enumerate() {
                next(place, depth + 1, text);
                text.push_str(&Value::from(name).to_string());
                text.push_str(": ");
                print(value, depth + 1, text);
            }
            line(depth, text);
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn next(place: usize, depth: usize, text: &mut String) {
    if place > 0 {
        text.push(',');
    }
    line(depth, text);
}

fn line(depth: usize, text: &mut String) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

fn ordered(fields: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut fields: Vec<(&str, &Value)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    fields.sort_by_key(|(name, _)| (*name == own::FIELD, place(name), *name));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_come_in_the_predecessors_order() {
        let value = json!({
            "flamestack": {}, "zeta": [], "alpha": [1, {"b": "\"\n"}],
            "title": "t", "status": "planned", "version": 1,
        });
        insta::assert_snapshot!(pretty(&value), @r#"
        {
          "version": 1,
          "status": "planned",
          "title": "t",
          "alpha": [
            1,
            {
              "b": "\"\n"
            }
          ],
          "zeta": [],
          "flamestack": {}
        }
        "#);
        assert_eq!(
            serde_json::from_str::<Value>(&pretty(&value)).unwrap(),
            value
        );
    }
}
