//! The table and the diagram of `docs/sessions.md`, made from the rules of `flamestack-core`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use flamestack_core::session::state::{RULES, SessionState, Signal, SignalSource};

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->";

/// Returns the page with its generated part replaced.
pub(crate) fn page(now: &str) -> Result<String> {
    let (before, rest) = now
        .split_once(BEGIN)
        .context("docs/sessions.md has no beginning mark")?;
    let (_, after) = rest
        .split_once(END)
        .context("docs/sessions.md has no end mark")?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", generated()))
}

fn generated() -> String {
    let mut text = String::from(
        "<!-- Made from crates/core/src/session/state.rs by `cargo xtask generate`. -->\n\n\
         ### States\n\n| state | meaning |\n|---|---|\n",
    );
    // Writing into a string cannot fail.
    for state in SessionState::ALL {
        let _ = writeln!(text, "| `{}` | {} |", state.as_str(), state.about());
    }
    text.push_str("\n### Signals\n\n| signal | source | recorded as |\n|---|---|---|\n");
    for signal in Signal::ALL {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            signal.as_str(),
            signal.source().as_str(),
            signal.recorded_as()
        );
    }
    text.push_str("\n### Transitions\n\n| signal | from | to | why |\n|---|---|---|---|\n");
    for rule in RULES {
        let from: Vec<String> = rule
            .from
            .iter()
            .map(|state| format!("`{}`", state.as_str()))
            .collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` | {} |",
            rule.signal.as_str(),
            from.join(", "),
            rule.to.as_str(),
            rule.why
        );
    }
    text.push_str("\n### Diagram\n\n```mermaid\nstateDiagram-v2\n    [*] --> beginning: opened\n");
    // One arrow between two states, with all of its signals.
    let mut arrows: BTreeMap<(SessionState, SessionState), Vec<&str>> = BTreeMap::new();
    for rule in RULES {
        for from in rule.from {
            let signals = arrows.entry((*from, rule.to)).or_default();
            let derived = rule.signal.source() == SignalSource::Time;
            signals.push(if derived {
                "time"
            } else {
                rule.signal.as_str()
            });
        }
    }
    for ((from, to), signals) in arrows {
        // Every state can be closed; forty more arrows would hide the rest.
        if to != SessionState::Closed {
            let _ = writeln!(
                text,
                "    {} --> {}: {}",
                from.as_str(),
                to.as_str(),
                signals.join(", ")
            );
        }
    }
    text.push_str("    closed --> [*]\n```\n\nNot drawn: every other state can be `closed`.\n\n");
    text
}
