//! Patterns for lines of output, as `data/outcomes.txt` describes them.
//!
//! They are matched segment by segment between the stars, each at its first position, so that the
//! time is the length of the line times that of the pattern, whatever the line contains.

/// A pattern for a whole line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePattern(&'static str);

impl LinePattern {
    /// Returns the pattern of a line of the data file.
    pub(super) fn new(pattern: &'static str) -> Self {
        Self(pattern)
    }

    /// Returns true if the pattern matches a line, whose indentation does not count.
    pub(super) fn matches(self, line: &str) -> bool {
        let line = line.trim();
        let mut segments = split_at_stars(self.0);
        let Some(first) = segments.next() else {
            return line.is_empty();
        };
        let Some(mut at) = segment_end(first, line, 0) else {
            return false;
        };
        let mut last = None;
        for segment in segments {
            last = Some(segment);
            let found =
                starts(segment, line, at).find_map(|start| segment_end(segment, line, start));
            match found {
                Some(end) => at = end,
                None => return false,
            }
        }
        match last {
            None | Some("") => last.is_some() || at == line.len(),
            // The last segment ends the line, which its first position need not do.
            Some(segment) => {
                at == line.len()
                    || starts(segment, line, at)
                        .any(|start| segment_end(segment, line, start) == Some(line.len()))
            }
        }
    }
}

/// Splits a pattern at its stars, except for those after a backslash.
fn split_at_stars(pattern: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = Some(pattern);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut escaped = false;
        let star = text.find(|c| {
            let is_star = c == '*' && !escaped;
            escaped = c == '\\' && !escaped;
            is_star
        });
        let (segment, after) = match star {
            Some(at) => (text.get(..at)?, text.get(at + 1..)),
            None => (text, None),
        };
        rest = after;
        Some(segment)
    })
}

/// Returns the positions of a line, from one on, at which a segment may begin. Trying all of them was
/// a third of the time of an import.
fn starts<'l>(segment: &str, line: &'l str, from: usize) -> Box<dyn Iterator<Item = usize> + 'l> {
    let rest = line.get(from..).unwrap_or_default();
    let at = move |(at, _): (usize, &str)| from + at;
    match segment.chars().next() {
        None | Some('%' | '@' | '&' | '\\') => Box::new(positions(line, from)),
        Some('#') => Box::new(rest.match_indices(|c: char| c.is_ascii_digit()).map(at)),
        Some(literal) => Box::new(rest.match_indices(literal).map(at)),
    }
}

/// Returns the positions of a line from one on.
fn positions(line: &str, from: usize) -> impl Iterator<Item = usize> {
    (from..=line.len()).filter(|at| line.is_char_boundary(*at))
}

/// Returns the end of a segment that begins at a position of a line; nothing if it does not match.
fn segment_end(segment: &str, line: &str, start: usize) -> Option<usize> {
    let mut at = start;
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        let rest = line.get(at..)?;
        at += match c {
            '#' | '%' => {
                let is_part = |c: char| c.is_ascii_digit() || (c == '.' && segment.contains('%'));
                let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let number = rest.get(..length)?;
                let inside = line.get(..at)?.ends_with(|c: char| c.is_ascii_digit());
                let counts = c == '%' || number.bytes().any(|digit| digit != b'0');
                (length > 0 && !inside && counts).then_some(length)?
            }
            '@' => file_name(rest)?,
            '&' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let word = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let after = chars.as_str();
                let mut ends = positions(line, at).take_while(|end| *end <= at + word);
                return ends.find_map(|end| segment_end(after, line, end));
            }
            '\\' => literal(chars.next()?, rest)?,
            c => literal(c, rest)?,
        };
    }
    Some(at)
}

fn literal(c: char, rest: &str) -> Option<usize> {
    rest.starts_with(c).then(|| c.len_utf8())
}

/// Returns the length of the file name that begins a text.
fn file_name(text: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || "_@./[]-".contains(c);
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (_, extension) = text.get(..length)?.rsplit_once('.')?;
    let is_extension = |c: char| c.is_ascii_alphanumeric();
    let fits = (1..=5).contains(&extension.len()) && extension.chars().all(is_extension);
    fits.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_whole_lines() {
        for (pattern, line, matches) in [
            ("FAIL *", "  FAIL pkg 0.1s", true),
            ("FAIL *", "FAILED", false),
            ("# fail", "12 fail", true),
            ("# fail", "0 fail", false),
            (
                "*# failed*in %s*",
                "== 1 failed, 3 passed in 0.12s ==",
                true,
            ),
            ("*# failed*in %s*", "== 10 passed in 0.12s ==", false),
            ("pass *# passed", "pass 3 passed 4 passed", true),
            ("@:#:#: *", "src/a-b/c.rs:12:5: expected", true),
            ("@:#:#: *", "Listening on :12:5: x", false),
            ("&Error: *", "TypeError: x is not a function", true),
            ("make: \\*\\*\\* *", "make: *** [all] Error 2", true),
            ("\\# fail #", "# fail 3", true),
            ("error[E%]: *", "error[E0432]: unresolved import", true),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(
                LinePattern::new(pattern).matches(line),
                matches,
                "{pattern} / {line}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_star_takes_any_text(before in ".{0,20}", after in ".{0,20}") {
            let line = format!("x{before}error 7 {after}x");
            prop_assert!(LinePattern::new("*error # *").matches(&line));
        }
    }
}
