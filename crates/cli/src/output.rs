//! The printer: the only place that writes to standard output and standard error.
//!
//! Colour is used on a terminal only, `NO_COLOR` is honoured, and nothing is said by colour alone.
//! Recorded text is escaped so that it cannot drive the terminal or disguise what is around it.

use std::io::{BufWriter, IsTerminal, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use flamestack_core::Status;
use flamestack_core::text::shortened;
use flamestack_engine::views::{Ink, disguises, printable, undisguised};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::failure::Failure;

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
        }
    }

    /// Returns true if the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a line of text.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        written(writeln!(self.out, "{}", undisguised(text.as_ref())))
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
        let mut said = || -> std::io::Result<()> {
            writeln!(err, "{red}error{red:#}: {}", printable(message))?;
            if let Some(hint) = &hint {
                let hint = printable(hint);
                writeln!(err, "{BOLD}hint{BOLD:#}: {hint}")?;
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
        drop(writeln!(err, "{BOLD}note{BOLD:#}: {message}"));
        Ok(())
    }
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
