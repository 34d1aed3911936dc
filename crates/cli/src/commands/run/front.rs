//! The terminal side of `flame run`: lines, a live view of the tree, questions and messages.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use flamestack_engine::views::canvas::wrapped;
use flamestack_engine::views::printable;
use flamestack_orchestrator::{Ask, Choice, Front, FrontInput, RunEnding, RunEvent, RunSummary};

use super::keyboard::{self, Keyboard};
use super::view;
use super::words::{answer, closing, frame_line, line, question, said, spent};
use crate::failure::Failure;
use crate::output::{BOLD, Output, height, painted, width};

/// Shortest time between two drawings of the live view.
const DRAW: Duration = Duration::from_millis(250);
/// Maximum number of frames in the live view.
const VIEW: usize = 20;
/// Lines of the screen that frames leave free: heading, sum, the line that is typed, and an event.
const BESIDE: usize = 4;
/// Number of interruptions after which nothing is waited for, not even the server.
const AT_ONCE: usize = 3;
/// Time between two looks for an interruption while the user is asked.
const LOOK: Duration = Duration::from_millis(100);

/// The user at a terminal, or a program that reads lines or JSON.
pub(super) struct TerminalFront<'o> {
    output: &'o mut Output,
    /// The user's keyboard; none without a terminal.
    keyboard: Option<Keyboard>,
    interrupts: Arc<AtomicUsize>,
    heard: usize,
    /// The ask that the next line answers.
    asking: Option<Ask>,
    waiting: Vec<Ask>,
    /// Number of lines above the cursor that belong to the live view; none if it is not on the screen.
    drawn: Option<usize>,
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
        let is_screen = output.is_screen();
        let keyboard = is_terminal.then(|| {
            if is_screen {
                Keyboard::drawn()
            } else {
                Keyboard::plain()
            }
        });
        Ok(Self {
            output,
            keyboard,
            interrupts,
            heard: 0,
            asking: None,
            waiting: Vec::new(),
            drawn: None,
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
        } else if matches!(event, RunEvent::Doing { .. }) && self.output.is_screen() {
            // The live view shows it.
        } else if let Some(line) = line(event) {
            self.erase()?;
            self.output.line(printable(&line))?;
        }
        self.output.flush()
    }

    /// A reader that went away stops the output, not the run.
    fn note(&mut self, shown: &Result<(), Failure>) {
        if shown.is_err() && !self.failed {
            self.failed = true;
            self.interrupts.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Removes the live view, which is drawn again as soon as there is progress.
    fn erase(&mut self) -> Result<(), Failure> {
        let Some(lines) = self.drawn.take() else {
            return Ok(());
        };
        self.last = None;
        if let Some(keyboard) = &self.keyboard {
            keyboard.hide();
        }
        self.output.draw(&up(lines), "")
    }

    /// Draws lines at the bottom of the screen, over the ones before, and below them what is typed.
    fn draw(&mut self, lines: &[String], width: usize) -> Result<(), Failure> {
        let before = self.drawn.take();
        let moves = before.map_or_else(String::new, up);
        let typed = self.keyboard.as_ref().and_then(|one| one.show(width));
        let mut text = String::new();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(&typed.unwrap_or_default());
        self.drawn = Some(lines.len());
        self.output.draw(&moves, &text)
    }

    /// Returns the question that the next line answers, as lines.
    fn question(&self, width: usize) -> Vec<String> {
        let text = self.asking.as_ref().map(|ask| printable(&question(ask)));
        text.map_or_else(Vec::new, |text| asked(&text, width))
    }

    fn next_ask(&mut self) {
        if self.asking.is_some() || self.waiting.is_empty() {
            return;
        }
        let ask = self.waiting.remove(0);
        // The live view shows it as long as it is open.
        if !self.output.is_screen() {
            let line = self.output.line(printable(&question(&ask)));
            let shown = line.and_then(|()| self.output.flush());
            self.note(&shown);
        }
        self.last = None;
        self.asking = Some(ask);
    }

    /// Prints the end: what each frame cost, and what is left to decide. `is_named` is true for a run that
    /// the user named, since the newest may be another one.
    pub(super) fn summary(
        &mut self,
        summary: &RunSummary,
        ending: &RunEnding,
        is_named: bool,
    ) -> Result<(), Failure> {
        if self.output.is_json() {
            self.output.json_line(&summary.to_json())?;
            return self.output.flush();
        }
        self.erase()?;
        self.output.line("")?;
        if self.output.is_screen() {
            let width = width().unwrap_or(80).saturating_sub(1);
            for line in view::table(summary, width) {
                self.output.line(line)?;
            }
        } else {
            for frame in &summary.frames {
                self.output.line(printable(&frame_line(frame)))?;
            }
        }
        let seconds = summary.wall_ms / 1000;
        let total = spent(&summary.total());
        self.output
            .line(format!("{} · {seconds} s, {total}", closing(ending)))?;
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
            let goal = summary.frames.first().filter(|_| is_named);
            let name = goal.map_or_else(String::new, |goal| format!(" {}", goal.frame));
            let (option, higher) = match &summary.limit {
                Some(limit) => (format!(" {}", limit.option()), ", with a higher limit"),
                None => (String::new(), ""),
            };
            self.output.line(format!(
                "`flame run --resume{name}{option}` goes on{higher}."
            ))?;
        }
        self.output.flush()
    }
}

impl Drop for TerminalFront<'_> {
    fn drop(&mut self) {
        // What is printed next begins on a line of its own.
        let erased = self.erase();
        self.note(&erased);
    }
}

impl Front for TerminalFront<'_> {
    fn event(&mut self, event: &RunEvent) {
        self.show(event);
    }

    fn progress(&mut self, summary: &dyn Fn() -> RunSummary) {
        let due = self.last.is_none_or(|last| last.elapsed() >= DRAW);
        if !due || !self.output.is_screen() {
            return;
        }
        self.last = Some(Instant::now());
        // A terminal may wrap a line that fills it.
        let width = width().unwrap_or(80).saturating_sub(1);
        let question = self.question(width);
        let room = height()
            .unwrap_or(VIEW)
            .saturating_sub(BESIDE + question.len());
        let mut lines = view::lines(&summary(), width, room.clamp(1, VIEW));
        lines.extend(question);
        let drawn = self.draw(&lines, width);
        self.note(&drawn);
    }

    fn ask(&mut self, ask: &Ask) -> bool {
        if self.keyboard.is_none() {
            return false;
        }
        self.waiting.push(ask.clone());
        self.next_ask();
        true
    }

    fn unknown_outcome(&mut self, title: &str) -> Choice {
        if self.keyboard.is_none() {
            return Choice::Leave;
        }
        let text = format!(
            "`{title}` was cut off by a crash while it used tools; their effects are unknown. Let its session look and go on? [y/N]"
        );
        let width = width().unwrap_or(80).saturating_sub(1);
        let lines = asked(&printable(&text), width);
        let shown = if self.output.is_screen() {
            self.draw(&lines, width)
        } else {
            let line = self.output.line(printable(&text));
            line.and_then(|()| self.output.flush())
        };
        if shown.is_err() {
            return Choice::Leave;
        }
        let interrupts = self.interrupts.load(Ordering::SeqCst);
        while let Some(keyboard) = &self.keyboard {
            match keyboard.wait(LOOK) {
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
                let note = "pausing: what runs may finish; Ctrl-C again stops immediately";
                self.show(&RunEvent::Note(note.to_owned()));
                inputs.push(FrontInput::Pause);
            } else {
                inputs.push(FrontInput::Stop);
            }
        }
        let lines = self.keyboard.as_ref().map(Keyboard::typed);
        for line in lines.unwrap_or_default() {
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

/// Returns the moves from the line that is typed to the beginning of a view, which they remove.
fn up(lines: usize) -> String {
    if lines == 0 {
        "\r\x1b[J".to_owned()
    } else {
        format!("\x1b[{lines}F\x1b[J")
    }
}

/// Returns a question as lines.
fn asked(text: &str, width: usize) -> Vec<String> {
    let text = wrapped("", "  ", text, width);
    text.lines().map(|line| painted(BOLD, line)).collect()
}

/// Ends this process. The journal is complete at any moment, and the guard ends the server.
#[expect(clippy::exit, reason = "the user wants to wait for nothing")]
fn leave() {
    keyboard::restore();
    std::process::exit(130);
}
