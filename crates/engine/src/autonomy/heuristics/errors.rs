//! Errors, made comparable, and how often each occurred.

use std::collections::BTreeMap;

/// Maximum number of different errors that a frame remembers.
const DIFFERENT: usize = 32;
/// Length of an error that is compared, in characters.
const COMPARED: usize = 400;
/// Length of an error that is shown, in characters.
const SHOWN: usize = 120;

/// Replaces what changes from run to run by placeholders: paths, numbers and times, hexadecimal ids,
/// and runs of blanks.
pub fn normalise_error(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().take(COMPARED).chain([' ']) {
        let is_part = c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '_' | '-' | '~' | ':');
        if is_part {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.push_str(&placeholder(&word));
            word.clear();
        }
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn placeholder(word: &str) -> String {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    if word.contains(['/', '\\']) && word.len() > 1 {
        return "PATH".to_owned();
    }
    let is_hex = word
        .strip_prefix("0x")
        .unwrap_or(word)
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if has_digit && is_hex && word.len() >= 7 {
        return "ID".to_owned();
    }
    if !has_digit {
        return word.to_owned();
    }
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            // Times and decimal numbers are one number.
            '0'..='9' | '.' | ':' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            other => out.push(other),
        }
    }
    out
}

/// Errors of a frame and how often each occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorLog {
    counts: BTreeMap<String, u32>,
    /// The error that occurred most often, as it was last seen, and how often.
    worst: Option<(String, u32)>,
}

impl ErrorLog {
    /// Counts an error.
    pub fn add(&mut self, line: &str) {
        let key = normalise_error(line);
        if key.is_empty() {
            return;
        }
        if !self.counts.contains_key(&key) && self.counts.len() >= DIFFERENT {
            // The rarest one goes, the first of them in the order of their texts.
            let rarest = self.counts.iter().min_by_key(|(_, count)| **count);
            if let Some(rarest) = rarest.map(|(key, _)| key.clone()) {
                self.counts.remove(&rarest);
            }
        }
        let count = self.counts.entry(key).or_default();
        *count = count.saturating_add(1);
        if self.worst.as_ref().is_none_or(|(_, most)| *count >= *most) {
            let shown: String = line.trim().chars().take(SHOWN).collect();
            self.worst = Some((shown, *count));
        }
    }

    /// Returns the error that occurred most often, and how often.
    pub fn worst(&self) -> Option<(&str, u32)> {
        self.worst
            .as_ref()
            .map(|(line, count)| (line.as_str(), *count))
    }

    /// Returns a log that knows the worst error alone.
    pub fn worst_alone(&self) -> Self {
        Self {
            counts: BTreeMap::new(),
            worst: self.worst.clone(),
        }
    }

    /// Forgets all errors, because the check that reported them succeeds now.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
