//! Rules of users: patterns of secrets that only they know, and of texts that are not secret.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::view::View;
use crate::{MARKER, SEARCHES, is_kind, marker, redact_with};

/// Kind of what a rule without a name finds.
pub const UNNAMED: &str = "custom";
/// Maximum number of rules, and of exceptions.
const MAX_RULES: usize = 100;
/// Maximum length of a pattern, in bytes.
const LONGEST: usize = 1000;
/// Maximum memory of a compiled pattern, in bytes.
const LARGEST: usize = 1 << 20;

/// A rule that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// The name cannot be part of a replacement.
    #[error("`{0}` cannot be the name of a rule: use up to 32 small letters, digits and dashes")]
    Name(String),
    /// The pattern is not a regular expression.
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// The reason, in a few words.
        reason: String,
    },
    /// The pattern is too long, or needs too much memory.
    #[error("`{0}…` is too large: write a shorter pattern, or one that repeats less often")]
    Size(String),
    /// The pattern matches everywhere.
    #[error("`{0}` matches the empty text, and so matches everywhere")]
    Empty(String),
    /// There are too many rules.
    #[error("there are {0} rules; the limit is {MAX_RULES}")]
    Many(usize),
}

/// Takes secrets out of text, by the built-in rules and those of the user.
#[derive(Clone, Default)]
pub struct Redactor {
    custom: Option<Arc<Custom>>,
}

/// The rules of a user.
#[derive(Default)]
pub(crate) struct Custom {
    /// The replacement and the pattern of each rule.
    rules: Vec<(String, Regex)>,
    /// Secrets that these match as a whole stay.
    exceptions: Vec<Regex>,
}

impl Redactor {
    /// Compiles rules, each with the name that is shown in place of what it finds, and exceptions.
    pub fn new<'r>(
        rules: impl IntoIterator<Item = (&'r str, &'r str)>,
        exceptions: impl IntoIterator<Item = &'r str>,
    ) -> Result<Self, BadRule> {
        let mut custom = Custom::default();
        for (name, pattern) in rules {
            if !is_kind(name) {
                return Err(BadRule::Name(name.to_owned()));
            }
            let rule = (format!("{MARKER}{name}]"), compile(pattern, pattern)?);
            custom.rules.push(rule);
        }
        for pattern in exceptions {
            let whole = format!(r"\A(?:{pattern})\z");
            custom.exceptions.push(compile(pattern, &whole)?);
        }
        let most = custom.rules.len().max(custom.exceptions.len());
        if most > MAX_RULES {
            return Err(BadRule::Many(most));
        }
        let custom = (most > 0).then(|| Arc::new(custom));
        Ok(Self { custom })
    }

    /// Returns `text` with every secret replaced by `[redacted:KIND]`; borrowed if there was none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(custom) = self.custom.as_deref() else {
            return redact_with(text, None);
        };
        let mut clean = Cow::Borrowed(text);
        for round in 1..=SEARCHES {
            let before = clean.len();
            let replaced = custom.replace(&clean, round == SEARCHES);
            let is_settled = replaced.is_none() && round > 1;
            if let Some(replaced) = replaced {
                clean = Cow::Owned(replaced);
            }
            if is_settled {
                break;
            }
            if let Cow::Owned(redacted) = redact_with(&clean, Some(custom)) {
                clean = Cow::Owned(redacted);
            } else if before == clean.len() {
                break;
            }
        }
        clean
    }

    /// Returns `text` with every secret replaced, without a copy if there was none.
    pub fn redact_owned(&self, text: String) -> String {
        match self.redact(&text) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => text,
        }
    }

    /// Returns the replacement of `text` if it held a secret.
    pub fn replacement(&self, text: &str) -> Option<String> {
        match self.redact(text) {
            Cow::Owned(clean) => Some(clean),
            Cow::Borrowed(_) => None,
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let custom = self.custom.as_deref();
        f.debug_struct("Redactor")
            .field("rules", &custom.map_or(0, |custom| custom.rules.len()))
            .field(
                "exceptions",
                &custom.map_or(0, |custom| custom.exceptions.len()),
            )
            .finish()
    }
}

impl Custom {
    /// Returns true if the user said that `secret` is not one.
    pub(crate) fn allows(&self, secret: &str) -> bool {
        self.exceptions
            .iter()
            .any(|pattern| pattern.is_match(secret))
    }

    fn replace_all(&self, part: &str, pattern: &Regex, replacement: &str) -> String {
        let replaced = pattern.replace_all(part, |found: &regex::Captures<'_>| {
            let secret = found.get(0).map_or("", |secret| secret.as_str());
            if self.allows(secret) {
                secret
            } else {
                replacement
            }
            .to_owned()
        });
        replaced.into_owned()
    }

    /// Replaces what the rules find. The last time, what is left between two replacements goes as a
    /// whole: a pattern may match again and again in what it left, and that must have an end.
    fn replace(&self, text: &str, is_last: bool) -> Option<String> {
        let mut clean: Option<String> = None;
        for (replacement, pattern) in &self.rules {
            let text = clean.as_deref().unwrap_or(text);
            if pattern.is_match(text)
                && let Some(replaced) = replace_between_markers(text, |part| {
                    let is_secret = |found: &str| !found.is_empty() && !self.allows(found);
                    let found = pattern
                        .find_iter(part)
                        .any(|found| is_secret(found.as_str()));
                    match found {
                        true if is_last => Some(replacement.clone()),
                        true => Some(self.replace_all(part, pattern, replacement)),
                        false => None,
                    }
                })
            {
                clean = Some(replaced);
            }
        }
        clean
    }
}

/// Applies `change` to the parts of `text` that are not replacements already.
fn replace_between_markers(text: &str, change: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut clean, mut copied, mut at, mut changed) = (String::new(), 0, 0, false);
    let view = View {
        bytes: text.as_bytes(),
        floor: 0,
    };
    loop {
        let place = text.get(at..)?.find(MARKER).map(|place| at + place);
        let end = place.map(|place| marker(view, place));
        // The beginning of a text that only looks like a replacement.
        if let (Some(place), Some(None)) = (place, end) {
            at = place + MARKER.len();
            continue;
        }
        let part = text.get(copied..place.unwrap_or(text.len()))?;
        let replaced = change(part);
        changed |= replaced.is_some();
        clean.push_str(replaced.as_deref().unwrap_or(part));
        let (Some(place), Some(Some(end))) = (place, end) else {
            return changed.then_some(clean);
        };
        clean.push_str(text.get(place..end)?);
        (copied, at) = (end, end);
    }
}

fn compile(pattern: &str, whole: &str) -> Result<Regex, BadRule> {
    let short = || pattern.chars().take(60).collect::<String>();
    if pattern.len() > LONGEST {
        return Err(BadRule::Size(short()));
    }
    let regex = RegexBuilder::new(whole)
        .multi_line(true)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => BadRule::Size(short()),
            error => BadRule::Syntax {
                pattern: short(),
                reason: reason(&error.to_string()),
            },
        })?;
    if regex.is_match("") {
        return Err(BadRule::Empty(short()));
    }
    Ok(regex)
}

/// Returns the last line of the parser's message; the others draw the place.
fn reason(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}
