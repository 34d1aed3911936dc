//! The printer: the only place that writes to standard output and standard error.
//!
//! Colour is used on a terminal only, `NO_COLOR` is honoured, and nothing is said by colour alone.
//! Lines are fitted to the terminal, or to `COLUMNS`; elsewhere they have any length, so that programs
//! read the same text everywhere.
//! Recorded text is escaped so that it cannot drive the terminal or disguise what is around it.

use std::collections::VecDeque;
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use flamestack_core::Status;
use flamestack_core::text::shortened;
use flamestack_engine::hints::Voice;
use flamestack_engine::views::canvas::{columns, wrapped};
use flamestack_engine::views::{Canvas, Ink, disguises, printable, size, undisguised};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::failure::Failure;
use crate::local_time;

/// Maximum length of a message on standard error, in characters.
const MESSAGE_LIMIT: usize = 2_000;

/// Style of secondary text.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Style of what to look at first.
pub(crate) const BOLD: Style = Style::new().bold();
/// Style of a name that can be typed.
pub(crate) const ID: Style = AnsiColor::Cyan.on_default();

/// The printer.
pub(crate) struct Output {
    out: AutoStream<Box<dyn Write>>,
    json: bool,
    /// Columns of a line; `None` if a line may have any length.
    width: Option<usize>,
}

/// Bytes that are kept of the beginning, and of the end, of a command's output.
const KEPT: usize = 1_000_000;

/// The output of a command, as far as it is kept.
#[derive(Default)]
pub(crate) struct Transcript {
    start: Vec<u8>,
    end: VecDeque<u8>,
    left_out: u64,
}

impl Transcript {
    fn add(&mut self, bytes: &[u8]) {
        let room = KEPT.saturating_sub(self.start.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.start.extend_from_slice(first);
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(KEPT);
        self.end.drain(..over);
        self.left_out += over as u64;
    }

    /// Returns the output as text; the middle of a very long one is left out, and that is said.
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.start.clone();
        if self.left_out > 0 {
            let left_out = format!("\n[{} left out]\n", size(self.left_out));
            bytes.extend_from_slice(left_out.as_bytes());
        }
        bytes.extend(&self.end);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let stdout = std::io::stdout();
        let choice = AutoStream::choice(&stdout);
        // The buffer is below the stream that strips colours: that one writes piece by piece,
        // and each piece would be a system call, 20,000 of them for a tree of 10,000 lines.
        let buffered: Box<dyn Write> = Box::new(BufWriter::with_capacity(64 * 1024, stdout));
        Self {
            out: AutoStream::new(buffered, choice),
            json,
            width: width_of(&std::io::stdout()),
        }
    }

    /// Returns the medium for views.
    pub(crate) fn canvas(&self) -> Canvas<'static> {
        Canvas {
            paint: &paint,
            width: self.width,
            now: Some(local_time::now()),
            voice: Voice::Cli,
        }
    }

    /// Returns true if a user reads standard output as it is written.
    pub(crate) fn is_terminal(&self) -> bool {
        !self.json && std::io::stdout().is_terminal()
    }

    /// Returns true if the cursor can be moved on standard output.
    pub(crate) fn is_screen(&self) -> bool {
        self.is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
    }

    /// Returns true if the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a line of text. On a narrow terminal it continues in further lines, indented.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        let fitted = fitted(&undisguised(text.as_ref()), self.width);
        self.write(&fitted)
    }

    /// Prints a name and a value, with further lines of the value below its first.
    pub(crate) fn fact(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let name = painted(DIM, format!("{name:<12}"));
        let lines = self
            .canvas()
            .paragraph(&format!("{name} "), &undisguised(value));
        self.write(&lines)
    }

    /// Prints a line of secondary text.
    pub(crate) fn dim(&mut self, text: impl std::fmt::Display) -> Result<(), Failure> {
        self.line(painted(DIM, text))
    }

    /// Prints text byte for byte, or with escapes made harmless on a terminal.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), Failure> {
        if std::io::stdout().is_terminal() {
            self.text(&printable(text))
        } else {
            self.flush()?;
            let mut out = std::io::stdout().lock();
            written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
        }
    }

    /// Prints text that already has its line breaks.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(&undisguised(text))
    }

    /// Moves on the terminal and draws there, in one piece. Moves are made even if colours are not wanted.
    pub(crate) fn draw(&mut self, moves: &str, text: &str) -> Result<(), Failure> {
        self.flush()?;
        let text = undisguised(text);
        let mut all = moves.to_owned();
        if self.out.current_choice() == ColorChoice::Never {
            all.push_str(&strip_str(&text).to_string());
        } else {
            all.push_str(&text);
        }
        let mut out = std::io::stdout().lock();
        written(out.write_all(all.as_bytes()).and_then(|()| out.flush()))
    }

    /// Waits for a command, printing its output as it comes, and returns what it printed. With JSON
    /// as our own output, all of it goes to standard error.
    pub(crate) fn relay(&mut self, mut child: Child) -> Result<(ExitStatus, Transcript), Failure> {
        self.flush()?;
        let kept = Mutex::new(Transcript::default());
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let json = self.json;
        std::thread::scope(|scope| {
            let kept = &kept;
            scope.spawn(move || {
                if json {
                    copy(out, &mut std::io::stderr(), kept);
                } else {
                    copy(out, &mut std::io::stdout(), kept);
                }
            });
            scope.spawn(move || copy(err, &mut std::io::stderr(), kept));
        });
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((child.wait()?, kept))
    }

    /// Prints JSON. Characters that would drive or disguise a terminal are escaped inside strings.
    pub(crate) fn data(&mut self, value: &Value) -> Result<(), Failure> {
        let harmful = |c: char| (c.is_control() && c != '\n') || disguises(c);
        let mut text = format!("{value:#}\n");
        if text.contains(harmful) {
            let mut escaped = String::with_capacity(text.len() + 64);
            for c in text.chars() {
                if harmful(c) {
                    let units = c.encode_utf16(&mut [0; 2]).to_vec();
                    escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
                } else {
                    escaped.push(c);
                }
            }
            text = escaped;
        }
        self.write(&text)
    }

    /// Prints JSON as one line, for programs that read events as they come.
    pub(crate) fn json_line(&mut self, value: &Value) -> Result<(), Failure> {
        self.write(&format!("{value}\n"))
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        written(self.out.write_all(text.as_bytes()))
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        written(self.out.flush())
    }

    /// Prints an error on standard error, after everything printed so far.
    pub(crate) fn print_error(&mut self, message: &str, hint: Option<&str>) {
        let message = &shortened(message, MESSAGE_LIMIT);
        let hint = hint.map(|hint| shortened(hint, MESSAGE_LIMIT));
        let mut err = AutoStream::auto(std::io::stderr());
        let red = AnsiColor::Red.on_default().bold();
        // If standard output itself failed, that is the error being printed.
        drop(self.out.flush());
        if self.json {
            let error = serde_json::json!({ "error": message, "hint": hint });
            drop(writeln!(err, "{error}"));
            return;
        }
        let width = width_of(&std::io::stderr());
        let mut said = || -> std::io::Result<()> {
            let error = format!("{red}error{red:#}: {}", printable(message));
            write!(err, "{}", fitted(&error, width))?;
            if let Some(hint) = &hint {
                let hint = format!("{BOLD}hint{BOLD:#}: {}", printable(hint));
                write!(err, "{}", fitted(&hint, width))?;
            }
            Ok(())
        };
        // If standard error is gone too, the exit code still says it.
        drop(said());
    }

    /// Prints a question on standard error, after everything printed so far.
    pub(crate) fn question(&mut self, question: &str) -> Result<(), Failure> {
        self.flush()?;
        let mut err = AutoStream::auto(std::io::stderr());
        written(write!(err, "{} [y/N] ", printable(question)).and_then(|()| err.flush()))
    }

    /// Prints a note on standard error.
    pub(crate) fn notice(&mut self, message: &str) -> Result<(), Failure> {
        self.flush()?;
        let mut err = AutoStream::auto(std::io::stderr());
        // The command itself succeeded, even if the note cannot be printed.
        let message = printable(&shortened(message, MESSAGE_LIMIT));
        let note = format!("{BOLD}note{BOLD:#}: {message}");
        drop(write!(
            err,
            "{}",
            fitted(&note, width_of(&std::io::stderr()))
        ));
        Ok(())
    }
}

/// Copies what a command prints until it ends. The command continues if the reader is gone.
fn copy(from: Option<impl Read>, to: &mut impl Write, kept: &Mutex<Transcript>) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 8192];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(length) => {
                let bytes = piece.get(..length).unwrap_or_default();
                drop(to.write_all(bytes).and_then(|()| to.flush()));
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.add(bytes);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Returns the columns of standard output.
pub(crate) fn width() -> Option<usize> {
    width_of(&std::io::stdout())
}

/// Returns the rows of the terminal that standard output is.
pub(crate) fn height() -> Option<usize> {
    let (_, height) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(height.0))
}

/// Minimum width that lines are fitted to.
const NARROWEST: usize = 30;

/// Returns the columns of a stream: `COLUMNS` if it is set, else the width of the terminal.
fn width_of(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let set = std::env::var("COLUMNS").ok();
    let set = set.and_then(|columns| columns.parse::<usize>().ok());
    let width = set.or_else(|| {
        let (width, _) = terminal_size::terminal_size_of(stream)?;
        Some(usize::from(width.0))
    });
    width
        .filter(|width| *width > 0)
        .map(|width| width.max(NARROWEST))
}

/// Fits lines to a width. A line that is too long continues in further lines, indented below it.
fn fitted(text: &str, width: Option<usize>) -> String {
    let mut lines = String::with_capacity(text.len() + 1);
    // An empty text is an empty line.
    for line in text.split('\n') {
        if let Some(width) = width.filter(|width| columns(line) > *width) {
            let content = line.trim_start();
            let (lead, content) = line.split_at(line.len() - content.len());
            lines.push_str(&wrapped(lead, &format!("{lead}  "), content, width));
        } else {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    lines
}

fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| Failure::unwritten(&error))
}

/// Returns the colour of a status. The icon beside it says the same without colour.
pub(crate) fn colour(status: Status) -> Style {
    match status {
        Status::InProgress => AnsiColor::Yellow.on_default().bold(),
        Status::Blocked => AnsiColor::Magenta.on_default(),
        Status::Planned => Style::new(),
        Status::Completed => AnsiColor::Green.on_default(),
        Status::Failed => AnsiColor::Red.on_default(),
        Status::Invalidated => DIM,
    }
}

/// Colours a piece of a view.
pub(crate) fn paint(ink: Ink, text: &str) -> String {
    let style = match ink {
        Ink::Bold => BOLD,
        Ink::Dim => DIM,
        Ink::Id => ID,
        Ink::Status(status) => colour(status),
    };
    painted(style, text)
}

/// Wraps text in a style.
pub(crate) fn painted(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A progress bar on standard error for long work; invisible unless that is a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::no_length().with_message(what);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Runs work that reports its progress.
    pub(crate) fn during<T>(
        what: &'static str,
        work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T,
    ) -> T {
        let progress = Self::new(what);
        work(&mut |done, total| progress.at(done, total))
    }

    pub(crate) fn at(&self, done: u64, total: u64) {
        // Work that finishes with its first report would only make a bar flash.
        if done >= total && self.0.length().is_none() {
            return;
        }
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
