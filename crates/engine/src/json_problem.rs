//! Problems of JSON from elsewhere, in the words of JSON.

/// Returns a problem with the type of a value in plain words: serde names the types of its own data model, as in
/// `invalid type: map, expected a sequence`. Other problems stay as they are.
pub fn in_plain_words(problem: &str) -> String {
    // What was found may be a text that contains these words too.
    let parts = problem
        .strip_prefix("invalid type: ")
        .and_then(|parts| parts.rsplit_once(", expected "));
    let Some((found, expected)) = parts else {
        return problem.to_owned();
    };
    let expected = match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        other => other,
    };
    format!("expected {expected}, not {}", named(found))
}

/// Names what was found.
fn named(found: &str) -> String {
    match found.split_once(' ') {
        None if found == "map" => "an object".to_owned(),
        None if found == "sequence" => "a list".to_owned(),
        Some(("unit", "value")) => "null".to_owned(),
        Some(("boolean", value)) => value.to_owned(),
        Some(("integer", value)) => format!("the number {value}"),
        Some(("floating", value)) => {
            format!("the number {}", value.trim_start_matches("point "))
        }
        Some(("string", value)) => format!("the text {value}"),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_json() {
        for (problem, words) in [
            (
                "invalid type: map, expected a sequence",
                "expected a list, not an object",
            ),
            (
                "invalid type: sequence, expected a map",
                "expected an object, not a list",
            ),
            (
                "invalid type: null, expected a string",
                "expected a string, not null",
            ),
            (
                "invalid type: unit value, expected a string",
                "expected a string, not null",
            ),
            (
                "invalid type: integer `7`, expected a string",
                "expected a string, not the number `7`",
            ),
            (
                "invalid type: floating point `1.5`, expected a string",
                "expected a string, not the number `1.5`",
            ),
            (
                "invalid type: boolean `true`, expected a string",
                "expected a string, not `true`",
            ),
            (
                "invalid type: string \"a, expected b\", expected a boolean",
                "expected a boolean, not the text \"a, expected b\"",
            ),
            ("missing field `title`", "missing field `title`"),
        ] {
            assert_eq!(in_plain_words(problem), words);
        }
    }
}
