//! Subagents as text: their goals, states and costs.

use flamestack_core::id::Timestamp;
use flamestack_core::transcript::Usage;
use flamestack_core::{Text, Title};
use serde_json::{Value, json};

use super::{counted, grouped, one_line, time};
use crate::subagents::Listed;

/// Renders a subagent in a few lines, indented by its depth.
pub fn lines(listed: &Listed) -> Vec<String> {
    let run = &listed.run;
    let indent = "  ".repeat(listed.depth.min(12));
    let mut first = format!(
        "{indent}{}  {}  {}",
        run.session,
        run.state,
        one_line(listed.goal(), 72)
    );
    if let Some(on) = &run.waiting_for {
        first.push_str(&format!(" (waits for {})", one_line(on.as_str(), 60)));
    }
    if run.attempts > 1 {
        first.push_str(&format!(" (attempt {})", run.attempts));
    }
    let mut facts = vec![
        format!("started {}", time::minute(run.started)),
        format!("last seen {}", time::minute(run.active)),
        counted(listed.messages(), "message", "messages"),
        spent(&listed.spent),
    ];
    if let Some(kind) = &run.kind {
        facts.insert(0, kind.as_str().to_owned());
    }
    facts.push(match &listed.frame {
        Some(frame) => format!("frame {}", frame.id),
        None => "no frame".to_owned(),
    });
    let mut lines = vec![first, format!("{indent}  {}", facts.join(" · "))];
    if let Some(output) = &run.output {
        lines.push(format!(
            "{indent}  said: {}",
            one_line(output.as_str(), 200)
        ));
    }
    lines
}

/// Renders a subagent as lines of text.
pub fn block(listed: &Listed) -> String {
    lines(listed).join("\n") + "\n"
}

/// Renders tokens and cost.
pub fn spent(usage: &Usage) -> String {
    let inward = usage.input + usage.cache_read + usage.cache_write;
    let tokens = format!("{} in, {} out", grouped(inward), grouped(usage.output));
    match usage.micro_dollars {
        Some(micro) => format!("{tokens}, ${}", dollars(micro)),
        None => tokens,
    }
}

/// Renders millionths of a dollar as dollars.
fn dollars(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

/// Renders a subagent as JSON.
pub fn value(listed: &Listed) -> Value {
    let run = &listed.run;
    let at = |time: Timestamp| time::stamp(time);
    json!({
        "session": run.session.to_string(),
        "parent": run.parent.as_ref().map(ToString::to_string),
        "goal": listed.goal(),
        "agent": run.kind.as_ref().map(Title::as_str),
        "status": run.state.as_str(),
        "waitingFor": run.waiting_for.as_ref().map(Text::as_str),
        "attempts": run.attempts.max(1),
        "depth": listed.depth,
        "started": at(run.started),
        "lastActivity": at(run.active),
        "ended": run.ended.map(at),
        "messages": listed.messages(),
        "spent": usage(&listed.seen.spent),
        "spentWithBelow": usage(&listed.spent),
        "frame": listed.frame.as_ref().map(|frame| frame.id.to_string()),
        "output": run.output.as_ref().map(Text::as_str),
    })
}

/// Renders tokens and cost as JSON.
pub fn usage(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "microDollars": usage.micro_dollars,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_read_well() {
        let usage = Usage {
            input: 12_000,
            cache_read: 500,
            output: 34,
            micro_dollars: Some(1_020_304),
            ..Usage::default()
        };
        insta::assert_snapshot!(spent(&usage), @"12,500 in, 34 out, $1.020304");
    }
}
