//! The words of `flame run`: lines of events, frames and endings, and what the user may answer.

use flamestack_core::Status;
use flamestack_core::frame::CLAIMED;
use flamestack_core::text::shortened;
use flamestack_engine::views::grouped;
use flamestack_orchestrator::{
    Ask, AskKind, FrameCost, FrontInput, Reply, RunEnding, RunEvent, Spending,
};

/// Reads a typed line as a message: `FRAME: text`, or text for the running frame.
pub(super) fn said(line: &str) -> Option<FrontInput> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let id = |name: &&str| name.len() == 8 && name.chars().all(|c| c.is_ascii_alphanumeric());
    let (frame, text) = match line.split_once(": ") {
        Some((name, text)) if id(&name) => (Some(name.to_owned()), text),
        _ => (None, line),
    };
    Some(FrontInput::Say {
        frame,
        text: text.to_owned(),
    })
}

pub(super) fn question(ask: &Ask) -> String {
    match &ask.kind {
        AskKind::Permission {
            permission,
            patterns,
        } => format!(
            "Allow {permission}: {}? [y]es, [a]lways in this session, [N]o",
            patterns.join(", ")
        ),
        AskKind::Questions(questions) => {
            let one = |(text, options): &(String, Vec<String>)| match options.as_slice() {
                [] => text.clone(),
                options => format!("{text} ({})", options.join(" | ")),
            };
            let all: Vec<String> = questions.iter().map(one).collect();
            format!("The agent asks: {} (empty: no answer)", all.join(" / "))
        }
    }
}

pub(super) fn answer(ask: &Ask, line: &str) -> Reply {
    let declined = || Reply::Reject("declined by the user".to_owned());
    match &ask.kind {
        AskKind::Permission { .. } => match line {
            "y" | "yes" => Reply::Once,
            "a" | "always" => Reply::Always,
            _ => declined(),
        },
        AskKind::Questions(_) if line.is_empty() => declined(),
        AskKind::Questions(questions) => {
            let mut answers: Vec<Vec<String>> = line
                .split(" / ")
                .map(|answer| vec![answer.trim().to_owned()])
                .collect();
            answers.resize(questions.len().max(1), vec![line.to_owned()]);
            Reply::Answers(answers)
        }
    }
}

pub(super) fn closing(ending: &RunEnding) -> String {
    match ending {
        RunEnding::Completed => "Completed: every frame has its result".to_owned(),
        RunEnding::Failed => "Failed: the goal was not reached".to_owned(),
        RunEnding::Invalidated => "The goal was given up".to_owned(),
        RunEnding::Parked { reason, until } => {
            format!("Parked: {reason}{}", until.map_or_else(String::new, at))
        }
        RunEnding::Blocked { on } => format!("Blocked: {}", on.join("; ")),
        RunEnding::Paused => "Paused".to_owned(),
        RunEnding::Gone => "The frame of the goal no longer exists".to_owned(),
    }
}

fn at(until: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(until);
    let zone = jiff::tz::TimeZone::system();
    time.map_or_else(
        |_| String::new(),
        |time| format!(" until {}", time.to_zoned(zone).strftime("%Y-%m-%d %H:%M")),
    )
}

/// Returns the mark of a frame's status.
pub(super) fn mark(frame: &FrameCost) -> &'static str {
    match frame.status {
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Blocked => "!",
        Status::Invalidated => "-",
        Status::Planned => "○",
        Status::InProgress if frame.running => "▶",
        Status::InProgress => "…",
    }
}

/// Returns a frame with its status and cost: of its own and, if it has frames below, in total.
pub(super) fn frame_line(frame: &FrameCost) -> String {
    let indent = "  ".repeat(frame.depth);
    let mut text = format!("{indent}{} {} {}", mark(frame), frame.frame, frame.title);
    text.push_str(&claimed(frame.is_claimed));
    if frame.attempts > 1 {
        text.push_str(&format!(" (attempt {})", frame.attempts));
    }
    if frame.own.turns > 0 {
        text.push_str(&format!(" · {}", spent(&frame.own)));
    }
    if frame.total != frame.own && frame.total.turns > 0 {
        text.push_str(&format!(" · total {}", spent(&frame.total)));
    }
    text
}

fn claimed(is_claimed: bool) -> String {
    if is_claimed {
        format!(" ({CLAIMED})")
    } else {
        String::new()
    }
}

/// Returns a number of things.
pub(super) fn plural(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(count))
}

pub(super) fn spent(spent: &Spending) -> String {
    let turns = plural(spent.turns, "turn");
    let mut text = format!("{turns}, {}", plural(spent.tokens(), "token"));
    if spent.cost > 0.0 {
        text.push_str(&format!(", ${:.4}", spent.cost));
    }
    text
}

/// Returns the line of an event; none for what the live view shows.
pub(super) fn line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::Started { run, resumed } => {
            let word = if *resumed { "Resuming" } else { "Running" };
            format!("{word} {run}")
        }
        RunEvent::Server { url } => format!("OpenCode at {url}"),
        RunEvent::Prompted {
            frame,
            title,
            attempt,
            why,
        } => {
            let again = if *attempt > 1 {
                format!(", attempt {attempt}")
            } else {
                String::new()
            };
            format!("{frame} {title}: {why}{again}")
        }
        RunEvent::Doing { frame, title, what } => format!("{frame} {title}: {what}"),
        RunEvent::Turned {
            frame,
            title,
            verdict,
            is_claimed,
            spent: cost,
        } => format!(
            "{frame} {title}: {}{} ({})",
            shortened(verdict, 200),
            claimed(*is_claimed),
            spent(&Spending { turns: 1, ..*cost })
        ),
        RunEvent::Opened { parent, titles } => format!("{parent} opened: {}", titles.join(", ")),
        RunEvent::Session { .. } | RunEvent::Frame { .. } | RunEvent::Ended(_) => return None,
        RunEvent::Quiet { frame, seconds } => {
            format!("{frame} has been quiet for {seconds} s; it is not stopped")
        }
        RunEvent::Asked {
            frame,
            what,
            answer,
        } => {
            let frame = frame.map_or_else(String::new, |frame| format!("{frame} "));
            format!(
                "{frame}asked for {what}: {}",
                answer.as_deref().unwrap_or("…")
            )
        }
        RunEvent::Warning { frame, what } => format!("{frame} nears its budget: {what}"),
        RunEvent::Parked {
            frame,
            reason,
            until,
        } => {
            let frame = frame.map_or_else(String::new, |frame| format!("{frame} "));
            format!(
                "{frame}parked: {reason}{}",
                until.map_or_else(String::new, at)
            )
        }
        RunEvent::Note(text) => text.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flamestack_core::FrameId;

    #[test]
    fn a_claim_is_named_when_its_turn_ends_and_in_the_tree() {
        let turned = |is_claimed: bool| {
            let event = RunEvent::Turned {
                frame: FrameId::from_entropy(1),
                title: "Cart".to_owned(),
                verdict: "completed".to_owned(),
                is_claimed,
                spent: Spending::default(),
            };
            line(&event).unwrap()
        };
        assert!(turned(true).contains(" completed (claimed) ("));
        assert!(turned(false).contains(" completed ("));
        let frame = |is_claimed: bool| {
            let frame = FrameCost {
                frame: FrameId::from_entropy(1),
                depth: 0,
                title: "Cart".to_owned(),
                status: Status::Completed,
                is_claimed,
                reason: None,
                attempts: 1,
                own: Spending::default(),
                total: Spending::default(),
                running: false,
                doing: None,
                unmerged: None,
            };
            frame_line(&frame)
        };
        assert!(frame(true).ends_with(" Cart (claimed)"));
        assert!(frame(false).ends_with(" Cart"));
    }
}
