//! The terminal side of `flame run`: lines, a live view of the tree, questions and messages.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use flamestack_core::Status;
use flamestack_core::text::shortened;
use flamestack_orchestrator::{
    Ask, AskKind, Choice, FrameCost, Front, FrontInput, Reply, RunEnding, RunEvent, RunSummary,
    Spending,
};

use crate::failure::Failure;
use crate::output::{Output, colour, painted};

/// Shortest time between two drawings of the live view.
const DRAW: Duration = Duration::from_millis(250);
/// Maximum number of lines of the live view.
const VIEW: usize = 20;

/// The user at a terminal, or a program that reads lines or JSON.
pub(super) struct TerminalFront<'o> {
    output: &'o mut Output,
    /// Lines that the user types; none without a terminal.
    typed: Option<Receiver<String>>,
    interrupts: Arc<AtomicUsize>,
    heard: usize,
    /// The ask that the next line answers.
    asking: Option<Ask>,
    waiting: Vec<Ask>,
    drawn: usize,
    last: Option<Instant>,
    failed: bool,
}

impl<'o> TerminalFront<'o> {
    pub(super) fn new(output: &'o mut Output) -> Result<Self, Failure> {
        let interrupts = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&interrupts);
        let handled = ctrlc::set_handler(move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        handled.map_err(|error| Failure::failed(error.to_string(), None))?;
        let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let typed = is_terminal.then(|| {
            let (sender, receiver) = channel();
            std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
            receiver
        });
        Ok(Self {
            output,
            typed,
            interrupts,
            heard: 0,
            asking: None,
            waiting: Vec::new(),
            drawn: 0,
            last: None,
            failed: false,
        })
    }

    /// Shows an event.
    pub(super) fn show(&mut self, event: &RunEvent) {
        let shown = self.print(event);
        self.note(&shown);
    }

    fn print(&mut self, event: &RunEvent) -> Result<(), Failure> {
        if self.output.is_json() {
            self.output.json_line(&event.to_json())?;
        } else if let Some(line) = line(event) {
            self.erase()?;
            self.output.line(line)?;
        }
        self.output.flush()
    }

    /// Prints a line in place of the live view.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.erase()?;
        self.output.line(text)?;
        self.output.flush()
    }

    /// A reader that went away stops the output, not the run.
    fn note(&mut self, shown: &Result<(), Failure>) {
        if shown.is_err() && !self.failed {
            self.failed = true;
            self.interrupts.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Removes the live view.
    fn erase(&mut self) -> Result<(), Failure> {
        let lines = std::mem::take(&mut self.drawn);
        if lines == 0 {
            return Ok(());
        }
        self.output.text(&format!("\x1b[{lines}F\x1b[J"))
    }

    fn draw(&mut self, summary: &RunSummary) -> Result<(), Failure> {
        self.erase()?;
        let width = crate::output::width().unwrap_or(80);
        let open = |frame: &&FrameCost| frame.status.is_open() || frame.depth == 0;
        let frames: Vec<&FrameCost> = summary.frames.iter().filter(open).collect();
        let mut lines = 0;
        for frame in frames.iter().take(VIEW) {
            let text = shortened(&frame_line(frame), width.saturating_sub(1)).into_owned();
            self.output.line(painted(colour(frame.status), text))?;
            lines += 1;
        }
        let rest = frames.len().saturating_sub(VIEW);
        let closed = summary.frames.len() - frames.len();
        self.output.dim(format!(
            "{closed} finished, {rest} more open · Ctrl-C pauses"
        ))?;
        self.drawn = lines + 1;
        self.output.flush()
    }

    fn next_ask(&mut self) {
        if self.asking.is_some() || self.waiting.is_empty() {
            return;
        }
        let ask = self.waiting.remove(0);
        let text = question(&ask);
        let shown = self.say(&text);
        self.note(&shown);
        self.asking = Some(ask);
    }

    /// Prints the end: what each frame cost, and what is left to decide.
    pub(super) fn summary(
        &mut self,
        summary: &RunSummary,
        ending: &RunEnding,
    ) -> Result<(), Failure> {
        if self.output.is_json() {
            self.output.json_line(&summary.to_json())?;
            return self.output.flush();
        }
        self.erase()?;
        self.output.line("")?;
        for frame in &summary.frames {
            self.output
                .line(painted(colour(frame.status), frame_line(frame)))?;
        }
        let seconds = summary.wall_ms / 1000;
        let total = spent(&summary.total());
        self.output
            .line(format!("{} in {seconds} s, {total}", closing(ending)))?;
        for frame in summary.frames.iter().filter(|frame| frame.reason.is_some()) {
            let reason = frame.reason.as_deref().unwrap_or_default();
            self.output.line(format!(
                "To decide: {} {}: {reason}",
                frame.frame, frame.title
            ))?;
        }
        if ending.is_resumable() {
            self.output.line("`flame run --resume` goes on.")?;
        }
        self.output.flush()
    }
}

impl Front for TerminalFront<'_> {
    fn event(&mut self, event: &RunEvent) {
        self.show(event);
    }

    fn progress(&mut self, summary: &dyn Fn() -> RunSummary) {
        let due = self.last.is_none_or(|last| last.elapsed() >= DRAW);
        if !due || self.asking.is_some() || !self.output.is_terminal() {
            return;
        }
        self.last = Some(Instant::now());
        let drawn = self.draw(&summary());
        self.note(&drawn);
    }

    fn ask(&mut self, ask: &Ask) -> bool {
        if self.typed.is_none() {
            return false;
        }
        self.waiting.push(ask.clone());
        self.next_ask();
        true
    }

    fn unknown_outcome(&mut self, title: &str) -> Choice {
        let Some(typed) = &self.typed else {
            return Choice::Leave;
        };
        let text = format!(
            "`{title}` was cut off by a crash while it used tools; their effects are unknown. Let its session look and go on? [y/N]"
        );
        if self
            .output
            .line(text)
            .and_then(|()| self.output.flush())
            .is_err()
        {
            return Choice::Leave;
        }
        match typed.recv() {
            Ok(line) if matches!(line.trim(), "y" | "yes") => Choice::GoOn,
            _ => Choice::Leave,
        }
    }

    fn inputs(&mut self) -> Vec<FrontInput> {
        let mut inputs = Vec::new();
        let interrupts = self.interrupts.load(Ordering::SeqCst);
        if interrupts > self.heard {
            self.heard = interrupts;
            if interrupts == 1 {
                let note = "pausing: what runs may finish; Ctrl-C again stops at once";
                self.show(&RunEvent::Note(note.to_owned()));
                inputs.push(FrontInput::Pause);
            } else {
                inputs.push(FrontInput::Stop);
            }
        }
        let lines: Vec<String> = match &self.typed {
            Some(typed) => typed.try_iter().collect(),
            None => Vec::new(),
        };
        for line in lines {
            match self.asking.take() {
                Some(ask) => {
                    let reply = answer(&ask, line.trim());
                    inputs.push(FrontInput::Answer { ask: ask.id, reply });
                    self.next_ask();
                }
                None => inputs.extend(said(&line)),
            }
        }
        inputs
    }
}

/// Reads a typed line as a message: `FRAME: text`, or text for the running frame.
fn said(line: &str) -> Option<FrontInput> {
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

fn question(ask: &Ask) -> String {
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

fn answer(ask: &Ask, line: &str) -> Reply {
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

fn closing(ending: &RunEnding) -> String {
    match ending {
        RunEnding::Completed => "Completed: every frame has its result".to_owned(),
        RunEnding::Failed => "Failed: the goal was not reached".to_owned(),
        RunEnding::Invalidated => "The goal was given up".to_owned(),
        RunEnding::Parked { reason, until } => {
            format!("Parked: {reason}{}", until.map_or_else(String::new, at))
        }
        RunEnding::Blocked { on } => format!("Blocked: {}", on.join("; ")),
        RunEnding::Paused => "Paused".to_owned(),
        RunEnding::Gone => "The frame of the goal does not exist any more".to_owned(),
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

/// Returns a frame with its status and cost: of its own and, if it has frames below, in total.
pub(super) fn frame_line(frame: &FrameCost) -> String {
    let mark = match frame.status {
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Blocked => "!",
        Status::Invalidated => "-",
        Status::Planned => "○",
        Status::InProgress if frame.running => "▶",
        Status::InProgress => "…",
    };
    let indent = "  ".repeat(frame.depth);
    let mut text = format!("{indent}{mark} {} {}", frame.frame, frame.title);
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

fn spent(spent: &Spending) -> String {
    let turns = if spent.turns == 1 { "turn" } else { "turns" };
    let mut text = format!("{} {turns}, {} tokens", spent.turns, spent.tokens());
    if spent.cost > 0.0 {
        text.push_str(&format!(", ${:.4}", spent.cost));
    }
    text
}

/// Returns the line of an event; none for what the live view shows.
fn line(event: &RunEvent) -> Option<String> {
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
        RunEvent::Doing { frame, what } => format!("{frame} {what}"),
        RunEvent::Turned {
            frame,
            verdict,
            spent: cost,
        } => format!(
            "{frame} {} ({})",
            shortened(verdict, 200),
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
