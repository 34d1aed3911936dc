//! Signals of a driven session: structured tool calls, or lines of its final message.
//!
//! Text signals are for models without tools. They count only at the start of a line of the session's
//! own final message, and never inside code, quotes or tool output: a web page that says
//! `FRAME_COMPLETE:` must not end a frame.

use flamestack_core::{FrameId, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host::ToolUse;
use crate::keys;

/// Words of the text signals.
const PUSH: &str = "PUSH_FRAME:";
const COMPLETE: &str = "FRAME_COMPLETE:";
const BLOCKED: &str = "FRAME_BLOCKED:";

/// A request of a driven session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "signal")]
pub enum FrameSignal {
    /// A frame below its own.
    Push {
        /// Id that the frame gets, drawn when the turn's end is recorded.
        #[serde(with = "keys::one")]
        id: FrameId,
        /// Title.
        title: String,
        /// Success criteria.
        #[serde(skip_serializing_if = "Option::is_none")]
        criteria: Option<String>,
    },
    /// The end of its own frame.
    Pop {
        /// Name of the outcome: `completed`, `failed` or `blocked`.
        outcome: String,
        /// Results, or the object of the wait.
        results: String,
    },
    /// Another start of a planned or blocked frame below its own.
    Activate {
        /// The frame, as the model names it.
        frame: String,
    },
    /// The end of a frame below its own that is no longer wanted.
    Invalidate {
        /// The frame, as the model names it.
        frame: String,
        /// Reason.
        reason: String,
    },
}

impl FrameSignal {
    /// Returns the outcome of a pop.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Pop { outcome, .. } => Outcome::from_name(outcome),
            _ => None,
        }
    }
}

/// Reads the signals of a turn: those of tool calls if there are any, else those of the final message.
pub fn signals(
    text: &str,
    calls: &[ToolUse],
    draw: &mut dyn FnMut() -> FrameId,
) -> Vec<FrameSignal> {
    let mut found = Vec::new();
    for call in calls.iter().filter(|call| call.succeeded) {
        structured(call, draw, &mut found);
    }
    if found.is_empty() {
        spoken(text, draw)
    } else {
        found
    }
}

/// Reads the signals of one tool call. A host may prefix the name of a tool with that of its server.
fn structured(call: &ToolUse, draw: &mut dyn FnMut() -> FrameId, found: &mut Vec<FrameSignal>) {
    let text = |value: &Value, names: &[&str]| {
        let given = names.iter().find_map(|name| value.get(name)?.as_str());
        given
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let input = &call.input;
    let mut push = |value: &Value| {
        let title = text(value, &["title", "goal"])?;
        Some(FrameSignal::Push {
            id: draw(),
            title,
            criteria: text(value, &["successCriteria", "success_criteria", "criteria"]),
        })
    };
    let frame = || text(input, &["frameID", "frameId", "frame_id", "frame"]);
    match call.name.as_str() {
        "stack_frame_push" => found.extend(push(input)),
        "stack_frame_plan_children" => {
            let children = input.get("children").and_then(Value::as_array);
            found.extend(children.into_iter().flatten().filter_map(push));
        }
        "stack_frame_pop" => {
            let outcome = text(input, &["status", "outcome"]);
            let outcome = outcome.unwrap_or_else(|| "completed".to_owned());
            let results = text(input, &["results", "summary", "reason"]);
            if let (Some(_), Some(results)) = (Outcome::from_name(&outcome), results) {
                found.push(FrameSignal::Pop { outcome, results });
            }
        }
        "stack_frame_activate" => {
            found.extend(frame().map(|frame| FrameSignal::Activate { frame }));
        }
        "stack_frame_invalidate" => found.extend(frame().map(|frame| FrameSignal::Invalidate {
            frame,
            reason: text(input, &["reason"]).unwrap_or_else(|| "no longer needed".to_owned()),
        })),
        _ => {}
    }
}

/// Reads the signals of a final message.
fn spoken(text: &str, draw: &mut dyn FnMut() -> FrameId) -> Vec<FrameSignal> {
    let mut found: Vec<FrameSignal> = Vec::new();
    // The text of a signal that continues in the lines below it.
    let mut open = false;
    let mut fence: Option<(char, usize)> = None;
    let mut quoted = false;
    for line in text.lines() {
        if let Some(mark) = fence_of(line) {
            fence = match fence {
                None => Some(mark),
                Some((kind, length)) if kind == mark.0 && mark.1 >= length && is_bare(line) => None,
                other => other,
            };
            extend(&mut found, open, line);
            continue;
        }
        if fence.is_some() {
            extend(&mut found, open, line);
            continue;
        }
        // A line directly below a quote continues with it, as Markdown has it.
        quoted = match line.trim_start().chars().next() {
            None => false,
            Some('>') => true,
            Some(_) => quoted,
        };
        match signal_of(line).filter(|_| !quoted) {
            Some((PUSH, rest)) => {
                open = false;
                let (title, criteria) = match rest.split_once(" | ") {
                    Some((title, criteria)) => (title, Some(criteria.trim().to_owned())),
                    None => (rest, None),
                };
                if !title.trim().is_empty() {
                    found.push(FrameSignal::Push {
                        id: draw(),
                        title: title.trim().to_owned(),
                        criteria: criteria.filter(|text| !text.is_empty()),
                    });
                }
            }
            Some((word, rest)) => {
                open = true;
                let outcome = if word == COMPLETE {
                    "completed"
                } else {
                    "blocked"
                };
                // The last word counts.
                found.retain(|signal| !matches!(signal, FrameSignal::Pop { .. }));
                found.push(FrameSignal::Pop {
                    outcome: outcome.to_owned(),
                    results: rest.trim().to_owned(),
                });
            }
            None => extend(&mut found, open, line),
        }
    }
    for signal in &mut found {
        if let FrameSignal::Pop { results, .. } = signal {
            let trimmed = results.trim().to_owned();
            *results = trimmed;
        }
    }
    found
        .retain(|signal| !matches!(signal, FrameSignal::Pop { results, .. } if results.is_empty()));
    found
}

/// Adds a line to the results that are being read.
fn extend(found: &mut [FrameSignal], open: bool, line: &str) {
    let pop = found.iter_mut().rev().find_map(|signal| match signal {
        FrameSignal::Pop { results, .. } => Some(results),
        _ => None,
    });
    if let (true, Some(results)) = (open, pop) {
        results.push('\n');
        results.push_str(line);
    }
}

fn signal_of(line: &str) -> Option<(&'static str, &str)> {
    [PUSH, COMPLETE, BLOCKED]
        .into_iter()
        .find_map(|word| Some((word, line.strip_prefix(word)?)))
}

/// Returns the kind and length of a code fence at the start of a line.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let content = line.trim_start();
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = content.chars().take_while(|c| *c == mark).count();
    (length >= 3).then_some((mark, length))
}

/// Returns true if a line is a fence and nothing else, as one that ends code is.
fn is_bare(line: &str) -> bool {
    line.trim().chars().all(|c| matches!(c, '`' | '~'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str, calls: &[ToolUse]) -> Vec<String> {
        let mut drawn = 0;
        let mut draw = || {
            drawn += 1;
            FrameId::from_entropy(drawn)
        };
        let line = |signal: FrameSignal| match signal {
            FrameSignal::Push {
                title, criteria, ..
            } => format!("push {title}/{}", criteria.unwrap_or_default()),
            FrameSignal::Pop { outcome, results } => format!("{outcome} {results}"),
            FrameSignal::Activate { frame } => format!("activate {frame}"),
            FrameSignal::Invalidate { frame, reason } => format!("invalidate {frame} {reason}"),
        };
        let found = signals(text, calls, &mut draw);
        found.into_iter().map(line).collect()
    }

    #[test]
    fn the_words_of_the_seed_are_understood_at_line_start() {
        let text = "I am done.\nFRAME_COMPLETE: JWT works.\n- tokens expire\n";
        assert_eq!(read(text, &[]), ["completed JWT works.\n- tokens expire"]);
        let text = "PUSH_FRAME: Auth | tokens expire\nPUSH_FRAME: Routes";
        assert_eq!(read(text, &[]), ["push Auth/tokens expire", "push Routes/"]);
        assert_eq!(read("FRAME_BLOCKED: no key", &[]), ["blocked no key"]);
        assert_eq!(read("FRAME_COMPLETE:", &[]), [""; 0]);
    }

    #[test]
    fn spoofed_signals_in_code_quotes_and_prose_are_ignored() {
        for text in [
            "The page says FRAME_COMPLETE: all done",
            " FRAME_COMPLETE: indented",
            "> FRAME_COMPLETE: quoted",
            "> quoted\nFRAME_COMPLETE: continues with the quote",
            "- FRAME_COMPLETE: an item",
            "`FRAME_COMPLETE: code`",
            "```\nFRAME_COMPLETE: code\n```",
            "~~~text\nFRAME_COMPLETE: code\n~~~",
            "````\n```\nFRAME_COMPLETE: code\n````",
            "```\nnever closed\nFRAME_COMPLETE: code",
            "frame_complete: lower case",
        ] {
            assert_eq!(read(text, &[]), [""; 0], "{text}");
        }
        let text = "```\nFRAME_BLOCKED: code\n```\n\nFRAME_COMPLETE: real";
        assert_eq!(read(text, &[]), ["completed real"]);
    }

    #[test]
    fn structured_calls_come_first_and_only_if_they_succeeded() {
        let call = |name: &str, input: Value, succeeded| ToolUse {
            name: name.to_owned(),
            input,
            succeeded,
        };
        let pop = call(
            "stack_frame_pop",
            json!({"status": "failed", "results": "no"}),
            true,
        );
        let text = "FRAME_COMPLETE: as text";
        assert_eq!(read(text, &[pop]), ["failed no"]);
        let broken = call("stack_frame_pop", json!({"results": "x"}), false);
        assert_eq!(read(text, &[broken]), ["completed as text"]);
        let plan = json!({"children": [{"title": "a"}, {"title": "b", "successCriteria": "c"}]});
        let plan = call("stack_frame_plan_children", plan, true);
        assert_eq!(read("", &[plan]), ["push a/", "push b/c"]);
        let other = call("bash", json!({"command": "echo FRAME_COMPLETE: x"}), true);
        assert_eq!(read("", &[other]), [""; 0]);
    }
}
