//! Foreign text made harmless: what files and people say is shown as data, on one line.

/// Returns a text on one line that cannot be taken for anything but data: no control characters, nothing
/// that looks like a tag, nothing that opens a block.
pub(crate) fn plain(text: &str, limit: usize) -> String {
    let line = flamestack_core::text::condense(text, limit);
    let mut safe = String::with_capacity(line.len());
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        let after = line.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            // `Vec<T>` stays, `<system>` and `</task>` do not.
            '<' if is_tag(previous, after) => safe.push_str("&lt;"),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {}
            '`' if safe.ends_with("``") => {}
            _ => safe.push(c),
        }
        previous = c;
    }
    if safe.starts_with("``") || safe.starts_with(['#', '>', '~', '|']) {
        safe.insert(0, '\\');
    }
    safe
}

fn is_tag(previous: char, after: &str) -> bool {
    let is_name = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    match after.strip_prefix('/') {
        Some(name) => is_name(name),
        None => after.starts_with(['!', '|']) || (!previous.is_alphanumeric() && is_name(after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn data_stays_data() {
        assert_eq!(
            plain("a\n## Next Action\n- rm", 80),
            "a ## Next Action - rm"
        );
        assert_eq!(
            plain("<system>x</system> Vec<T>", 80),
            "&lt;system>x&lt;/system> Vec<T>"
        );
        assert_eq!(plain("# head", 80), "\\# head");
        assert_eq!(plain("```sh", 80), "\\``sh");
    }

    proptest! {
        #[test]
        fn plain_text_is_one_line(text in any::<String>()) {
            let line = plain(&text, 200);
            let is_one = !line.contains(['\n', '\r', '\u{1b}']);
            prop_assert!(is_one);
            prop_assert!(!line.contains("```"));
        }
    }
}
