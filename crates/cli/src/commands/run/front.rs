//! The terminal side of `flame run`: lines, a live view of the tree, questions and messages.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use flamestack_core::frame::CLAIMED;
use flamestack_engine::views::canvas::shortened;
use flamestack_engine::views::printable;
use flamestack_orchestrator::{
    Ask, Choice, FrameCost, Front, FrontInput, RunEnding, RunEvent, RunSummary,
};

use super::words::{answer, closing, frame_line, line, question, said, spent};
use crate::failure::Failure;
use crate::output::{Output, colour, height, painted};

/// Shortest time between two drawings of the live view.
const DRAW: Duration = Duration::from_millis(250);
/// Maximum number of frames in the live view.
const VIEW: usize = 20;
/// Number of interruptions after which nothing is waited for, not even the server.
const AT_ONCE: usize = 3;
/// Time between two looks for an interruption while the user is asked.
const LOOK: Duration = Duration::from_millis(100);

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
            if count.fetch_add(1, Ordering::SeqCst) + 1 >= AT_ONCE {
                leave();
            }
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
            self.output.line(printable(&line))?;
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

    /// Draws the frames that are open, at most as many as the terminal has room for.
    fn draw(&mut self, summary: &RunSummary) -> Result<(), Failure> {
        self.erase()?;
        let width = crate::output::width().unwrap_or(80).saturating_sub(1);
        let room = height().unwrap_or(VIEW).saturating_sub(2).clamp(1, VIEW);
        let open = |frame: &&FrameCost| frame.status.is_open() || frame.depth == 0;
        let frames: Vec<&FrameCost> = summary.frames.iter().filter(open).collect();
        for frame in frames.iter().take(room) {
            let lead = "  ".repeat(frame.depth.min(width / 4));
            let text = shortened(frame_line(frame).trim_start(), width - lead.len());
            let text = painted(colour(frame.status), text);
            self.output.text(&format!("{lead}{text}\n"))?;
        }
        let shown = frames.len().min(room);
        let closed = summary.frames.len() - frames.len();
        let rest = frames.len() - shown;
        let more = if rest > 0 {
            format!(", {rest} more open")
        } else {
            String::new()
        };
        let total = spent(&summary.total());
        let claims = match summary.frames.iter().filter(|one| one.is_claimed).count() {
            0 => String::new(),
            claims => format!(" ({claims} {CLAIMED})"),
        };
        let last = format!("{closed} finished{claims}{more} · {total} · Ctrl-C pauses");
        self.output.dim(shortened(&last, width))?;
        self.drawn = shown + 1;
        self.output.flush()
    }

    fn next_ask(&mut self) {
        if self.asking.is_some() || self.waiting.is_empty() {
            return;
        }
        let ask = self.waiting.remove(0);
        let shown = self.say(&printable(&question(&ask)));
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
        for frame in &summary.frames {
            let (id, title) = (frame.frame, &frame.title);
            if let Some(reason) = &frame.reason {
                let text = format!("To decide: {id} {title}: {reason}");
                self.output.line(printable(&text))?;
            }
            if let Some(folder) = &frame.unmerged {
                self.output
                    .line(format!("Not merged: {id} {title}: {folder}"))?;
            }
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
        if self.typed.is_none() {
            return Choice::Leave;
        }
        let text = format!(
            "`{title}` was cut off by a crash while it used tools; their effects are unknown. Let its session look and go on? [y/N]"
        );
        if self.say(&printable(&text)).is_err() {
            return Choice::Leave;
        }
        let interrupts = self.interrupts.load(Ordering::SeqCst);
        while let Some(typed) = &self.typed {
            match typed.recv_timeout(LOOK) {
                Ok(line) if matches!(line.trim(), "y" | "yes") => return Choice::GoOn,
                Err(RecvTimeoutError::Timeout)
                    if self.interrupts.load(Ordering::SeqCst) == interrupts => {}
                _ => break,
            }
        }
        Choice::Leave
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
            // The terminal has shown what was typed below the view.
            self.drawn += usize::from(self.drawn > 0);
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

/// Ends this process. The journal is complete at any moment, and the guard ends the server.
#[expect(clippy::exit, reason = "the user wants to wait for nothing")]
fn leave() {
    std::process::exit(130);
}
