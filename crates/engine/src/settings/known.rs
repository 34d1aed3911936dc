//! All settings there are. The configuration reference in the docs is made from this table.

use std::sync::OnceLock;

use crate::error::EngineError;

/// How much memory a pattern may take, in bytes.
const LARGEST_PATTERN: usize = 1024 * 1024;

/// Something that can be set.
#[derive(Debug)]
pub struct Setting {
    /// Its name in files and on the command line.
    pub key: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// The value if nobody sets it.
    pub default: &'static str,
    /// Names in the environment, the first one first.
    pub environment: &'static [&'static str],
    /// What it does.
    pub about: &'static str,
}

/// Which values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size: a number with `B`, `kB`, `MB` or `GB`.
    Size,
    /// A whole number within bounds.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The most there may be of something, or 0 for no limit.
    Limit {
        /// The least that a limit may be.
        least: u64,
    },
    /// One of a few words.
    Word(&'static [&'static str]),
    /// On or off; `true` and `false` mean the same.
    Switch,
    /// Regular expressions with commas between them. A bad one is reported and skipped.
    Patterns,
}

/// The settings, by key.
pub const KNOWN: &[Setting] = &[
    Setting {
        key: "brief.budget",
        kind: Kind::Number {
            least: 256,
            most: 1_000_000,
        },
        default: "2000",
        environment: &["FLAME_BRIEF_BUDGET"],
        about: "Tokens that a continuation brief never has more of.",
    },
    Setting {
        key: "compaction.completion_timeout_ms",
        kind: Kind::Number {
            least: 0,
            most: 86_400_000,
        },
        default: "120000",
        environment: &["FLAME_COMPACTION_COMPLETION_TIMEOUT_MS"],
        about: "How long a frame that was popped without results waits for a summary, in milliseconds, before what is kept of its work stands for it.",
    },
    Setting {
        key: "compaction.mode",
        kind: Kind::Word(&["assist", "own"]),
        default: "assist",
        environment: &["FLAME_COMPACTION_MODE"],
        about: "Whose summary a compacted conversation goes on with: the host's, with what it lost put behind it, or our own, for which no model is called.",
    },
    Setting {
        key: "compaction.own_budget",
        kind: Kind::Number {
            least: 256,
            most: 1_000_000,
        },
        default: "4000",
        environment: &["FLAME_COMPACTION_OWN_BUDGET"],
        about: "Tokens that our own summary never has more of.",
    },
    Setting {
        key: "compaction.restore_budget",
        kind: Kind::Number {
            least: 256,
            most: 1_000_000,
        },
        default: "1000",
        environment: &["FLAME_COMPACTION_RESTORE_BUDGET"],
        about: "Tokens of what a host's summary lost that are put behind it.",
    },
    Setting {
        key: "compaction.soft_threshold",
        kind: Kind::Number {
            least: 0,
            most: 100,
        },
        default: "70",
        environment: &["FLAME_COMPACTION_SOFT_THRESHOLD"],
        about: "The part of a model's usable window, in percent, from which on a frame's end is said to be a good place to compact; 0 for never.",
    },
    Setting {
        key: "context.budget.ancestors",
        kind: Kind::Number {
            least: 0,
            most: 1_000_000,
        },
        default: "1500",
        environment: &[
            "FLAME_CONTEXT_BUDGET_ANCESTORS",
            "STACK_TOKEN_BUDGET_ANCESTORS",
        ],
        about: "Tokens for ancestors where everything else needs its own; what one part leaves, the others get.",
    },
    Setting {
        key: "context.budget.current",
        kind: Kind::Number {
            least: 0,
            most: 1_000_000,
        },
        default: "800",
        environment: &["FLAME_CONTEXT_BUDGET_CURRENT", "STACK_TOKEN_BUDGET_CURRENT"],
        about: "Tokens for the current frame, what its children came to, its plan and the user's directives.",
    },
    Setting {
        key: "context.budget.overhead",
        kind: Kind::Number {
            least: 0,
            most: 1_000_000,
        },
        default: "200",
        environment: &[
            "FLAME_CONTEXT_BUDGET_OVERHEAD",
            "STACK_TOKEN_BUDGET_OVERHEAD",
        ],
        about: "Tokens for guidance and tags.",
    },
    Setting {
        key: "context.budget.siblings",
        kind: Kind::Number {
            least: 0,
            most: 1_000_000,
        },
        default: "1500",
        environment: &[
            "FLAME_CONTEXT_BUDGET_SIBLINGS",
            "STACK_TOKEN_BUDGET_SIBLINGS",
        ],
        about: "Tokens for finished siblings, uncles and failed attempts.",
    },
    Setting {
        key: "context.budget.total",
        kind: Kind::Number {
            least: 256,
            most: 1_000_000,
        },
        default: "4000",
        environment: &["FLAME_CONTEXT_BUDGET_TOTAL", "STACK_TOKEN_BUDGET_TOTAL"],
        about: "Tokens that a context never has more of.",
    },
    Setting {
        key: "context.guidance",
        kind: Kind::Word(&["off", "brief", "full"]),
        default: "brief",
        environment: &["FLAME_CONTEXT_GUIDANCE"],
        about: "How much a context says about the stack itself.",
    },
    Setting {
        key: "context.max_ancestors",
        kind: Kind::Limit { least: 2 },
        default: "0",
        environment: &["FLAME_CONTEXT_MAX_ANCESTORS"],
        about: "The most ancestors in a context, the parent and the grandparent always among them.",
    },
    Setting {
        key: "context.max_siblings",
        kind: Kind::Limit { least: 1 },
        default: "0",
        environment: &["FLAME_CONTEXT_MAX_SIBLINGS"],
        about: "The most finished siblings in a context.",
    },
    Setting {
        key: "context.minimum_relevance",
        kind: Kind::Number {
            least: 0,
            most: 1_000_000,
        },
        default: "30",
        environment: &["FLAME_CONTEXT_MINIMUM_RELEVANCE"],
        about: "Finished siblings and uncles that score less are left out.",
    },
    Setting {
        key: "context.tokenizer",
        kind: Kind::Word(&["o200k", "estimate"]),
        default: "o200k",
        environment: &["FLAME_CONTEXT_TOKENIZER"],
        about: "What counts tokens: a real vocabulary, or four characters a token.",
    },
    Setting {
        key: "context.window_share",
        kind: Kind::Number {
            least: 1,
            most: 1000,
        },
        default: "20",
        environment: &["FLAME_CONTEXT_WINDOW_SHARE"],
        about: "The most of a model's usable window that a context takes, in thousandths, where the host says how large it is.",
    },
    Setting {
        key: "diagnostics.level",
        kind: Kind::Word(&["off", "info", "debug"]),
        default: "info",
        environment: &["FLAME_DIAGNOSTICS_LEVEL"],
        about: "How much goes into the diagnostics file.",
    },
    Setting {
        key: "diagnostics.max_size",
        kind: Kind::Size,
        default: "1 MB",
        environment: &["FLAME_DIAGNOSTICS_MAX_SIZE"],
        about: "The diagnostics file is renamed to `diagnostics.log.1` and begun anew at this size.",
    },
    Setting {
        key: "fold",
        kind: Kind::Word(&["off", "explicit", "auto"]),
        default: "explicit",
        environment: &["FLAME_FOLD"],
        about: "Which finished work leaves a host's prompt: none, frames that were pushed and popped, or also frames that were only seen, once the user speaks again.",
    },
    Setting {
        key: "frames.isolation",
        kind: Kind::Word(&["inline", "session"]),
        default: "inline",
        environment: &["FLAME_FRAMES_ISOLATION"],
        about: "Where a planned frame is worked on that a model activates: in the same conversation, or in one of its own.",
    },
    Setting {
        key: "gc.max_size",
        kind: Kind::Size,
        default: "50 MB",
        environment: &["FLAME_GC_MAX_SIZE"],
        about: "The size that `flame gc` keeps a project under.",
    },
    Setting {
        key: "inject.placement",
        kind: Kind::Word(&["auto", "system", "message"]),
        default: "auto",
        environment: &["FLAME_INJECT_PLACEMENT"],
        about: "Where a host's model is told about the stack: a header that stays and updates behind it, or everything with each request, in the system prompt or in the newest user message.",
    },
    Setting {
        key: "store.busy_timeout_ms",
        kind: Kind::Number {
            least: 1,
            most: 600_000,
        },
        default: "30000",
        environment: &["FLAME_STORE_BUSY_TIMEOUT_MS"],
        about: "How long a command waits for other writers, in milliseconds.",
    },
    Setting {
        key: "subagents.auto_complete",
        kind: Kind::Switch,
        default: "on",
        environment: &[
            "FLAME_SUBAGENTS_AUTO_COMPLETE",
            "STACK_SUBAGENT_AUTO_COMPLETE",
        ],
        about: "Whether a subagent that a host gives no ids for is complete once it has been idle for long enough. With ids, only what the host says ends one.",
    },
    Setting {
        key: "subagents.cleanup_after",
        kind: Kind::Number {
            least: 0,
            most: 31_536_000_000,
        },
        default: "3600000",
        environment: &["FLAME_SUBAGENTS_CLEANUP_AFTER"],
        about: "Milliseconds after which an ended subagent is no longer listed unless all are asked for.",
    },
    Setting {
        key: "subagents.enabled",
        kind: Kind::Switch,
        default: "on",
        environment: &["FLAME_SUBAGENTS_ENABLED", "STACK_SUBAGENT_ENABLED"],
        about: "Whether the work of subagents is tracked and becomes frames. Without it, what they do is recorded in the frame of the conversation that started them.",
    },
    Setting {
        key: "subagents.idle_delay",
        kind: Kind::Number {
            least: 0,
            most: 86_400_000,
        },
        default: "5000",
        environment: &["FLAME_SUBAGENTS_IDLE_DELAY", "STACK_SUBAGENT_IDLE_DELAY"],
        about: "Milliseconds that a subagent without ids is idle before it counts as complete.",
    },
    Setting {
        key: "subagents.inject_parent_context",
        kind: Kind::Switch,
        default: "on",
        environment: &["FLAME_SUBAGENTS_INJECT_PARENT_CONTEXT"],
        about: "Whether a subagent is told what its parent works on.",
    },
    Setting {
        key: "subagents.min_duration",
        kind: Kind::Number {
            least: 0,
            most: 86_400_000,
        },
        default: "60000",
        environment: &[
            "FLAME_SUBAGENTS_MIN_DURATION",
            "STACK_SUBAGENT_MIN_DURATION",
        ],
        about: "Milliseconds that make a subagent's run worth a frame, however few messages it has. A shorter one with fewer messages is only logged.",
    },
    Setting {
        key: "subagents.min_messages",
        kind: Kind::Number {
            least: 0,
            most: 1_000_000,
        },
        default: "3",
        environment: &[
            "FLAME_SUBAGENTS_MIN_MESSAGES",
            "STACK_SUBAGENT_MIN_MESSAGES",
        ],
        about: "Messages that make a subagent's run worth a frame, however short it is.",
    },
    Setting {
        key: "subagents.patterns",
        kind: Kind::Patterns,
        default: r"@.*subagent,subagent,\[Task\]",
        environment: &["FLAME_SUBAGENTS_PATTERNS", "STACK_SUBAGENT_PATTERNS"],
        about: "Titles by which the subagents of a host are known that gives no ids. Upper and lower case are the same.",
    },
    Setting {
        key: "subagents.propagate_summaries",
        kind: Kind::Switch,
        default: "on",
        environment: &["FLAME_SUBAGENTS_PROPAGATE_SUMMARIES"],
        about: "Whether a parent's context has what its subagents came to.",
    },
    Setting {
        key: "tools",
        kind: Kind::Word(&["core", "full", "off"]),
        default: "core",
        environment: &["FLAME_TOOLS"],
        about: "Which tools a host's model is offered: the few that matter, all of them, or none.",
    },
];

/// The setting of a name.
pub fn setting(key: &str) -> Result<&'static Setting, EngineError> {
    KNOWN
        .iter()
        .find(|setting| setting.key == key)
        .ok_or_else(|| EngineError::UnknownSetting {
            key: key.chars().take(80).collect(),
            nearest: nearest(key, KNOWN.iter().map(|setting| setting.key)),
            origin: None,
        })
}

/// The most similar of some names, if one is similar enough.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known.to_owned())
}

impl Setting {
    /// Checks a value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        match self.kind {
            Kind::Size => parse_size(value).map(|_| ()),
            Kind::Number { least, most } => match value.trim().parse::<u64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(()),
                _ => Err(format!(
                    "is `{value}`, but must be a whole number from {least} to {most}"
                )),
            },
            Kind::Limit { least } => match value.trim().parse::<u64>() {
                Ok(number) if number == 0 || number >= least => Ok(()),
                _ => Err(format!(
                    "is `{value}`, but must be a whole number from {least} on, or 0 for no limit"
                )),
            },
            Kind::Word(words) if words.contains(&value.trim()) => Ok(()),
            Kind::Word(words) => Err(format!(
                "is `{value}`, but must be one of {}",
                words.join(", ")
            )),
            Kind::Switch => parse_switch(value).map(|_| ()),
            // Bad ones are skipped, so nothing is wrong with the value.
            Kind::Patterns => Ok(()),
        }
    }

    /// Which values it takes, in words.
    pub fn takes(&self) -> String {
        match self.kind {
            Kind::Size => "a size such as `50 MB`".to_owned(),
            Kind::Number { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Limit { least } => {
                format!("a whole number from {least} on, or 0 for no limit")
            }
            Kind::Word(words) => words
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", "),
            Kind::Switch => "`on` or `off`".to_owned(),
            Kind::Patterns => "regular expressions with commas between them".to_owned(),
        }
    }
}

/// A size as settings write it, in bytes; none, if it is not one.
pub fn size(text: &str) -> Option<u64> {
    parse_size(text).ok()
}

/// Whether a switch is on.
pub(crate) fn parse_switch(text: &str) -> Result<bool, String> {
    match text.trim() {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(format!("is `{text}`, but must be `on` or `off`")),
    }
}

/// The patterns of a list, each with what is wrong with it if it is none.
pub(crate) fn parse_patterns(text: &str) -> Vec<Result<regex::Regex, String>> {
    let patterns = text.split(',').map(str::trim);
    patterns
        .filter(|pattern| !pattern.is_empty())
        .map(pattern)
        .collect()
}

/// Regular expressions with commas between them. They are made when a text is first held against
/// them: most processes end before that, and making them takes longer than a whole command.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    list: String,
    made: OnceLock<Vec<regex::Regex>>,
}

impl Patterns {
    /// The patterns of a list. Those that are none are left out.
    pub fn new(list: &str) -> Self {
        Self {
            list: list.to_owned(),
            made: OnceLock::new(),
        }
    }

    /// Whether a text fits one of them.
    pub fn fit(&self, text: &str) -> bool {
        let made = self.made.get_or_init(|| {
            let parsed = parse_patterns(&self.list);
            parsed.into_iter().filter_map(Result::ok).collect()
        });
        made.iter().any(|pattern| pattern.is_match(text))
    }
}

/// A pattern, or what is wrong with it.
pub fn pattern(text: &str) -> Result<regex::Regex, String> {
    let built = regex::RegexBuilder::new(text)
        .case_insensitive(true)
        .size_limit(LARGEST_PATTERN)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => format!("`{text}` is too large"),
        _ => format!("`{text}` is not a regular expression"),
    })
}

/// A size in bytes from a number with a unit; without one it means bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let bad = || format!("is `{text}`, but must be a size such as `50 MB`");
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        _ => return Err(bad()),
    };
    number.checked_mul(factor).ok_or_else(bad)
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
        assert_eq!(parse_size("50 MB"), Ok(50_000_000));
        assert_eq!(parse_size("7"), Ok(7));
        assert_eq!(parse_size("3kb"), Ok(3000));
        for bad in [
            "",
            "MB",
            "-1",
            "1.5 MB",
            "1 TB",
            "99999999999999999999",
            "9999999999999 GB",
        ] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
