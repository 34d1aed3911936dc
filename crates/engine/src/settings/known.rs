//! The table of all settings. The configuration reference in the docs is generated from it.

use std::sync::OnceLock;

use flamestack_core::text::{QUOTE_LIMIT, shortened};

use super::layers::unknown;
use super::rules::{RedactionRule, compile, parse_rules};
use crate::autonomy::policy::{check_heuristics, heuristics_taken};
use crate::error::Result;

/// Maximum memory of a compiled pattern, in bytes.
const LARGEST_PATTERN: usize = 1024 * 1024;

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Name in files and on the command line.
    pub key: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Value if it is not set.
    pub default: &'static str,
    /// Origin that it is accepted from.
    pub set_by: SetBy,
    /// Environment variables of a predecessor that set it, too.
    pub former: &'static [&'static str],
    /// Description for the user.
    pub about: &'static str,
}

/// Origin that a setting is accepted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// Only the user, in files of their own and in the environment. Everything that acts, sends,
    /// prompts, deletes, permits or waits is one of these: a cloned repository must not decide it.
    User,
    /// Also the team file of a repository: what shapes contexts and briefs, and further redaction.
    Team,
}

/// Kind of a setting's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size: a number with `B`, `kB`, `MB` or `GB`.
    Size,
    /// A whole number within bounds.
    Number {
        /// Minimum.
        least: u64,
        /// Maximum.
        most: u64,
    },
    /// A maximum, or 0 for no limit.
    Limit {
        /// Smallest limit.
        least: u64,
    },
    /// One of a few words.
    Word(&'static [&'static str]),
    /// On or off; `true` and `false` mean the same.
    Switch,
    /// Regular expressions separated by commas. An invalid one is reported and skipped.
    Patterns,
    /// Redaction rules, by name. Those of all layers apply together.
    Rules,
    /// A share from 0 to 1.
    Share,
    /// Names of heuristics separated by commas, or one word for a selection of them.
    Heuristics,
}

/// Declares [`KNOWN`]: the description of each setting, who may set it, its key, its default, the kind
/// of its values, and the environment variable of a predecessor where there was one.
macro_rules! settings {
    ($($(#[doc = $about:literal])+ $by:ident $key:literal = $default:literal: $kind:expr
        $(, also $former:literal)?;)+) => {
        /// All settings, sorted by key.
        pub const KNOWN: &[Setting] = &[$(Setting {
            key: $key,
            kind: $kind,
            default: $default,
            set_by: SetBy::$by,
            former: &[$($former)?],
            about: concat!($($about),+).trim_ascii_start(),
        }),+];
    };
}

settings! {
    /// Heuristics that suggest or act without being asked: those that were right in at least 90% of the
    /// cases on recordings that they were not fitted to (`measured`: none so far), `all`, `none`, or a
    /// list of names. `measured,NAME` adds one, `measured,-NAME` turns one off.
    /// `should-push` and `should-pop` use all with `measured` that are not turned off, otherwise those
    /// that are listed.
    User "autonomy.heuristics" = "measured": Kind::Heuristics, also "STACK_ENABLED_HEURISTICS";
    /// Level of autonomy: do nothing unasked (`manual`), show suggestions to the user at
    /// boundaries of the work (`suggest`), or also open and close frames there (`auto`).
    User "autonomy.level" = "suggest": Kind::Word(&["manual", "suggest", "auto"]), also "STACK_AUTONOMY_LEVEL";
    /// Minimum share of a heuristic's suggestions in this project that must prove right. Below it,
    /// after at least 20 cases, the heuristic turns itself off.
    User "autonomy.min_precision" = "0.9": Kind::Share;
    /// Minimum score of a suggestion to close a frame, in percent. A score is the probability that the
    /// suggestion is right.
    User "autonomy.pop_threshold" = "90": number(0, 100), also "STACK_POP_THRESHOLD";
    /// Minimum score of a suggestion to open a frame, in percent.
    User "autonomy.push_threshold" = "90": number(0, 100), also "STACK_PUSH_THRESHOLD";
    /// Adds the pending suggestion to the context, as one line for the model.
    User "autonomy.suggest_in_context" = "off": Kind::Switch, also "STACK_SUGGEST_IN_CONTEXT";
    /// Maximum length of a continuation brief, in tokens.
    Team "brief.budget" = "2000": number(256, 1_000_000);
    /// Time that a frame popped without results waits for a summary, in milliseconds. After that
    /// its results are derived from its record.
    User "compaction.completion_timeout_ms" = "120000": number(0, 86_400_000);
    /// The summary that a compacted session continues with: the host's, with what it lost appended
    /// (`assist`), or one written by Flamestack without calling a model (`own`).
    User "compaction.mode" = "assist": Kind::Word(&["assist", "own"]);
    /// Maximum length of a summary written by Flamestack, in tokens.
    Team "compaction.own_budget" = "4000": number(256, 1_000_000);
    /// Maximum length of what is appended to a host's summary to restore what it lost, in tokens.
    Team "compaction.restore_budget" = "1000": number(256, 1_000_000);
    /// When a prompt exceeds this share of the model's usable window, in percent, the end of a frame
    /// is reported as a good point to compact. 0 turns this off.
    User "compaction.soft_threshold" = "70": number(0, 100);
    /// Tokens reserved for ancestors. Tokens that one part does not need are used by the others.
    Team "context.budget.ancestors" = "1500": number(0, 1_000_000), also "STACK_TOKEN_BUDGET_ANCESTORS";
    /// Tokens reserved for the current frame, the results of its children, its plan and the user's
    /// directives.
    Team "context.budget.current" = "800": number(0, 1_000_000), also "STACK_TOKEN_BUDGET_CURRENT";
    /// Tokens reserved for guidance and tags.
    Team "context.budget.overhead" = "200": number(0, 1_000_000), also "STACK_TOKEN_BUDGET_OVERHEAD";
    /// Tokens reserved for finished siblings, finished siblings of ancestors, and failed attempts.
    Team "context.budget.siblings" = "1500": number(0, 1_000_000), also "STACK_TOKEN_BUDGET_SIBLINGS";
    /// Maximum length of a context, in tokens.
    Team "context.budget.total" = "4000": number(256, 1_000_000), also "STACK_TOKEN_BUDGET_TOTAL";
    /// Amount of guidance about the stack itself in a context.
    Team "context.guidance" = "brief": Kind::Word(&["off", "brief", "full"]);
    /// Maximum number of ancestors in a context. The parent and the grandparent are always
    /// included.
    Team "context.max_ancestors" = "0": limit(2);
    /// Maximum number of finished siblings in a context.
    Team "context.max_siblings" = "0": limit(1);
    /// Minimum relevance score of finished siblings and of finished siblings of ancestors; those
    /// below it are left out where room is short.
    Team "context.minimum_relevance" = "30": number(0, 1_000_000);
    /// Tokenizer that counts tokens: the o200k vocabulary, or an estimate of four characters per
    /// token.
    Team "context.tokenizer" = "o200k": Kind::Word(&["o200k", "estimate"]);
    /// Maximum share of a model's usable window that a context takes, in thousandths: 20 means 2 %.
    /// Applies if the host reports the size of the window.
    Team "context.window_share" = "20": number(1, 1000);
    /// Inform the user when a delegation would exceed `delegation.max_depth` (`warn`), or
    /// refuse the call and give the model the reason (`deny`).
    User "delegation.at_limit" = "warn": Kind::Word(&["warn", "deny"]);
    /// Maximum number of agents above a subagent, derived from the tree of sessions. While this is not
    /// set, the host's own limit (`subagent_depth` in OpenCode) applies. 0 for no
    /// limit.
    User "delegation.max_depth" = "3": limit(1);
    /// Level of detail in the diagnostics file.
    User "diagnostics.level" = "info": Kind::Word(&["off", "info", "debug"]);
    /// Maximum size of the diagnostics file. A file that reaches it is renamed to
    /// `diagnostics.log.1`.
    User "diagnostics.max_size" = "1 MB": Kind::Size;
    /// Sends what a host's sessions finish to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names, as
    /// `flame export --otlp` does: amounts and statuses (`on`), or titles and results too (`content`). A
    /// process of its own sends them, which delays nothing.
    User "export.otlp" = "off": Kind::Word(&["off", "on", "content"]);
    /// Finished work that is folded out of the prompt: none (`off`), frames that were pushed and
    /// popped (`explicit`), or also frames that were only observed, once the user sends the next
    /// message (`auto`).
    User "fold" = "explicit": Kind::Word(&["off", "explicit", "auto"]);
    /// Session for the work on a planned frame that a model activates: the same session (`inline`), or a
    /// new one for that frame (`session`).
    User "frames.isolation" = "inline": Kind::Word(&["inline", "session"]);
    /// Hours between automatic clean-ups, which run while a host's session is idle. Like `flame gc`,
    /// they keep a project below `gc.max_size`. 0 turns them off.
    User "gc.interval_hours" = "24": number(0, 8760);
    /// Age in days at which raw text (messages and outputs of tools) is deleted by `flame gc` and by
    /// automatic clean-ups, that of open frames too. Results, notes and the journal stay. 0 keeps it.
    User "gc.max_age_days" = "0": number(0, 36_500);
    /// Maximum size of a project's state after `flame gc`.
    User "gc.max_size" = "50 MB": Kind::Size;
    /// Position of the context in the prompt: a fixed header with updates appended to later messages
    /// (`auto`), or the whole context with each request, in the system prompt (`system`) or in the
    /// newest user message (`message`).
    User "inject.placement" = "auto": Kind::Word(&["auto", "system", "message"]);
    /// Exceptions from redaction: a secret that one of these patterns matches as a whole is kept,
    /// such as a key that is only used in tests.
    User "redact.allow" = "": Kind::Rules;
    /// Your own redaction rules, in addition to the built-in ones: text that a pattern matches is
    /// replaced with `[redacted:NAME]` before it is written. Rules of all files apply together.
    Team "redact.rules" = "": Kind::Rules;
    /// Position of a frame's context in its session during `flame run`: a first message that the model
    /// does not answer (`message`), or the system prompt of each turn (`system`).
    User "run.context" = "message": Kind::Word(&["message", "system"]);
    /// After a crash cut off a turn that had used tools, so that its effects are unknown:
    /// ask you (`ask`; without a terminal, block the frame), block the frame (`stop`), or
    /// prompt the session to check the state and continue (`continue`).
    User "run.interrupted" = "ask": Kind::Word(&["ask", "stop", "continue"]);
    /// Number of reminders to a session that ends its turn without saying that its frame is finished,
    /// before its last message is taken as the result.
    User "run.reminders" = "0": number(0, 10);
    /// Number of further attempts at a frame whose attempt failed.
    User "run.retries" = "1": number(0, 10);
    /// Time that a provider keeps a prompt in its cache, in minutes. A session that was silent for longer is
    /// shown as idle: its next prompt is paid for in full.
    User "session.cold_after" = "5": number(1, 10_080);
    /// After a turn was cut off because its host ended: do nothing (`never`); add a note on
    /// what was in flight, half done and changed since to the user's next message (`ask`); or continue
    /// the session, once, when its host starts again (`auto`).
    User "session.resume" = "ask": Kind::Word(&["never", "ask", "auto"]);
    /// Time without a sign of life after which a session is shown as stale, in hours.
    User "session.stale_after" = "48": number(1, 87_600);
    /// Also tells the model that its work is repeating itself, in the answer of `stack_status`. The
    /// user always sees it in `flame status`.
    User "stalls.show_model" = "off": Kind::Switch;
    /// Time that a command waits for other processes that are writing, in milliseconds.
    User "store.busy_timeout_ms" = "30000": number(1, 600_000);
    /// Completes a subagent that has been idle for `subagents.idle_delay`, on hosts that give
    /// subagents no ids. With ids, a subagent ends only when the host reports it.
    User "subagents.auto_complete" = "on": Kind::Switch, also "STACK_SUBAGENT_AUTO_COMPLETE";
    /// Time after which an ended subagent is no longer listed by default, in milliseconds.
    User "subagents.cleanup_after" = "3600000": number(0, 31_536_000_000);
    /// Tracks subagents and gives them frames. If off, their work is recorded in the frame of the
    /// session that started them.
    User "subagents.enabled" = "on": Kind::Switch, also "STACK_SUBAGENT_ENABLED";
    /// Idle time after which a subagent without an id counts as complete, in milliseconds.
    User "subagents.idle_delay" = "5000": number(0, 86_400_000), also "STACK_SUBAGENT_IDLE_DELAY";
    /// Shows the work of the parent in the context of a subagent.
    Team "subagents.inject_parent_context" = "on": Kind::Switch;
    /// Minimum run time for a subagent to get a frame, in milliseconds, however few messages it has. A
    /// shorter one with fewer messages than `subagents.min_messages` is only logged.
    User "subagents.min_duration" = "60000": number(0, 86_400_000), also "STACK_SUBAGENT_MIN_DURATION";
    /// Minimum number of messages for a subagent to get a frame, however short its run is.
    User "subagents.min_messages" = "3": number(0, 1_000_000), also "STACK_SUBAGENT_MIN_MESSAGES";
    /// Patterns of the titles of subagents, for hosts that give them no ids. Case is ignored.
    User "subagents.patterns" = r"@.*subagent,subagent,\[Task\]": Kind::Patterns, also "STACK_SUBAGENT_PATTERNS";
    /// Shows the results of subagents in the context of their parent.
    Team "subagents.propagate_summaries" = "on": Kind::Switch;
    /// Tools that are offered to the model: the most important ones (`core`), all of them (`full`),
    /// or none (`off`).
    User "tools" = "core": Kind::Word(&["core", "full", "off"]);
    /// Work that becomes a frame without a tool call: each prompt, item of the host's to-do list and
    /// subagent (`prompts`), the same with one frame for all prompts of a topic (`auto`), or nothing but
    /// the session itself (`off`).
    User "track" = "prompts": Kind::Word(&["off", "prompts", "auto"]);
}

const fn number(least: u64, most: u64) -> Kind {
    Kind::Number { least, most }
}

const fn limit(least: u64) -> Kind {
    Kind::Limit { least }
}

/// Returns the setting with a key.
pub fn setting(key: &str) -> Result<&'static Setting> {
    let is_named = |setting: &&Setting| setting.key == key || setting.rule_name(key).is_some();
    let found = KNOWN.iter().find(is_named);
    found.ok_or_else(|| unknown(key, None))
}

/// Returns the most similar of some names, if one is similar enough.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known.to_owned())
}

impl Setting {
    /// Returns the environment variables that set it; the first one takes precedence.
    pub fn environment(&self) -> Vec<String> {
        let own = format!("FLAME_{}", self.key.to_uppercase().replace('.', "_"));
        let former = self.former.iter().map(|&name| name.to_owned());
        std::iter::once(own).chain(former).collect()
    }

    /// Returns the name in the key of a single rule, such as `redact.rules.NAME`.
    pub(super) fn rule_name<'k>(&self, key: &'k str) -> Option<&'k str> {
        let name = key.strip_prefix(self.key)?.strip_prefix('.')?;
        (self.kind == Kind::Rules && !name.contains('.')).then_some(name)
    }

    /// Checks a value for a key: the setting's own, or that of a single rule.
    pub(super) fn check_at(&self, key: &str, value: &str) -> Result<(), String> {
        match self.rule_name(key) {
            Some(name) => check_rules(&[RedactionRule::new(name, value.trim())]),
            None => self.check(value),
        }
    }

    /// Checks a value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        if self.kind == Kind::Rules {
            return check_rules(&parse_rules(value));
        }
        if self.kind == Kind::Heuristics {
            return check_heuristics(value);
        }
        let number = || value.trim().parse::<u64>();
        let is_valid = match self.kind {
            Kind::Size => size(value).is_some(),
            Kind::Number { least, most } => number().is_ok_and(|n| (least..=most).contains(&n)),
            Kind::Limit { least } => number().is_ok_and(|n| n == 0 || n >= least),
            Kind::Word(words) => words.contains(&value.trim()),
            Kind::Switch => switch(value).is_some(),
            Kind::Share => share(value).is_some(),
            // Invalid patterns are skipped, so the value itself is valid.
            Kind::Patterns | Kind::Rules | Kind::Heuristics => true,
        };
        if is_valid {
            return Ok(());
        }
        let valid = match self.kind {
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            _ => self.takes(),
        };
        Err(format!("cannot be `{value}`; use {valid}"))
    }

    /// Describes the valid values.
    pub fn takes(&self) -> String {
        match self.kind {
            Kind::Size => "a size such as `50 MB`".to_owned(),
            Kind::Number { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Limit { least } => {
                format!("a whole number of at least {least}, or 0 for no limit")
            }
            Kind::Word(words) => words
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", "),
            Kind::Switch => "`on` or `off`".to_owned(),
            Kind::Patterns => "regular expressions separated by commas".to_owned(),
            Kind::Heuristics => heuristics_taken(),
            Kind::Share => "a number from 0 to 1".to_owned(),
            Kind::Rules => {
                "regular expressions by name, added with `flame config set ".to_owned()
                    + self.key
                    + ".NAME PATTERN`"
            }
        }
    }
}

fn check_rules(rules: &[RedactionRule]) -> Result<(), String> {
    let compiled = compile(rules, &[]);
    compiled.map_or_else(|bad| Err(format!("has an invalid rule: {bad}")), |_| Ok(()))
}

/// Parses the value of a switch.
pub(crate) fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    }
}

/// Parses a share, in percent.
pub(crate) fn share(text: &str) -> Option<u64> {
    let share = text.trim().parse::<f64>().ok()?;
    // Written with a point and digits only: no sign, no exponent, no words.
    let is_plain = text
        .trim()
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_share = is_plain && (0.0..=1.0).contains(&share);
    is_share.then(|| format!("{:.0}", share * 100.0).parse().ok())?
}

/// Maximum length of a pattern, in bytes.
const LONGEST_PATTERN: usize = 1000;

/// Parses a list of patterns. An invalid one gives its problem.
pub(crate) fn parse_patterns(text: &str) -> Vec<Result<regex::Regex, String>> {
    let patterns = text.split(',').map(str::trim);
    patterns
        .filter(|pattern| !pattern.is_empty())
        .map(pattern)
        .collect()
}

/// Regular expressions separated by commas. They are compiled for the first match: most processes end
/// before that, and compiling takes longer than a whole command.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    list: String,
    compiled: OnceLock<Vec<regex::Regex>>,
}

impl Patterns {
    /// Takes the patterns of a list. Invalid ones are left out.
    pub fn new(list: &str) -> Self {
        Self {
            list: list.to_owned(),
            compiled: OnceLock::new(),
        }
    }

    /// Returns true if a text matches one of them.
    pub fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| {
            let parsed = parse_patterns(&self.list);
            parsed.into_iter().filter_map(Result::ok).collect()
        });
        compiled.iter().any(|pattern| pattern.is_match(text))
    }
}

/// Compiles a pattern.
pub fn pattern(text: &str) -> Result<regex::Regex, String> {
    // The limit on the compiled size is only looked at on the way: a megabyte of letters took 400 MB.
    if text.len() > LONGEST_PATTERN {
        let start = shortened(text, QUOTE_LIMIT);
        return Err(format!(
            "`{start}` is too large: it has more than {LONGEST_PATTERN} bytes"
        ));
    }
    let built = regex::RegexBuilder::new(text)
        .case_insensitive(true)
        .size_limit(LARGEST_PATTERN)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("`{text}` is too large"),
        _ => format!("`{text}` is not a regular expression"),
    })
}

/// Parses a size: a number with a unit. Returns the number of bytes.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        // A plain number could be meant in any unit, and sizes decide what is deleted.
        "b" => 1,
        "kb" | "k" => 1000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        _ => return None,
    };
    // As sizes are printed: `7.5 MB`.
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = tenths.parse::<u64>().ok().filter(|tenths| *tenths < 10)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    whole.checked_add(tenths * factor / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_good_value_and_keys_are_sorted() {
        for setting in KNOWN {
            assert_eq!(setting.check(setting.default), Ok(()), "{}", setting.key);
        }
        assert!(KNOWN.is_sorted_by_key(|setting| setting.key));
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("50 MB"), Some(50_000_000));
        assert_eq!(size("7 B"), Some(7));
        assert_eq!(size("3kb"), Some(3000));
        assert_eq!(size("1.5 MB"), Some(1_500_000));
        for bad in [
            "",
            "7",
            "MB",
            "-1",
            "1.55 MB",
            ".5 MB",
            "1. MB",
            "1 TB",
            "99999999999999999999",
            "9999999999999 GB",
        ] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }
}
