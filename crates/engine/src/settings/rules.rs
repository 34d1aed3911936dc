//! Redaction rules in settings: regular expressions, with names or without.
//!
//! ```toml
//! [redact.rules]
//! acme-key = 'acme_[0-9a-f]{32}'
//! ```
//!
//! Rules of all layers apply together, so that no file takes back what another one protects.

use flamestack_redact::{BadRule, Redactor, UNNAMED};

/// A name and a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactionRule {
    /// Name, which is shown in place of what the rule finds.
    pub name: String,
    /// The regular expression.
    pub pattern: String,
}

impl RedactionRule {
    pub(super) fn new(name: &str, pattern: &str) -> Self {
        Self {
            name: name.to_owned(),
            pattern: pattern.to_owned(),
        }
    }
}

/// Parses rules: a table of TOML with a pattern by name, a list of patterns, or one pattern.
pub(super) fn parse_rules(text: &str) -> Vec<RedactionRule> {
    let text = text.trim();
    let value = format!("rules = {text}").parse::<toml::Table>();
    let value = value.ok().and_then(|mut table| table.remove("rules"));
    let named = |(name, pattern): (&String, &toml::Value)| {
        Some(RedactionRule::new(name, pattern.as_str()?))
    };
    match value {
        Some(toml::Value::Table(rules)) => rules.iter().filter_map(named).collect(),
        Some(toml::Value::Array(rules)) => rules
            .iter()
            .filter_map(|pattern| Some(RedactionRule::new(UNNAMED, pattern.as_str()?)))
            .collect(),
        _ if text.is_empty() => Vec::new(),
        _ => vec![RedactionRule::new(UNNAMED, text)],
    }
}

/// Compiles rules and exceptions.
pub(super) fn compile(
    rules: &[RedactionRule],
    exceptions: &[RedactionRule],
) -> Result<Redactor, BadRule> {
    Redactor::new(
        rules.iter().map(|rule| (&*rule.name, &*rule.pattern)),
        exceptions.iter().map(|rule| &*rule.pattern),
    )
}

/// Writes rules for a reader.
pub(super) fn listed(rules: &[RedactionRule]) -> String {
    let line = |rule: &RedactionRule| format!("{} = '{}'", rule.name, rule.pattern);
    rules.iter().map(line).collect::<Vec<_>>().join(", ")
}
