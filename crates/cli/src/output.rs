//! The printer: the only place that writes to standard output and standard error.
//!
//! Colour is used on a terminal only, `NO_COLOR` is honoured, and nothing is said by colour alone.
//! What is printed reads as it is written: no recorded text turns or hides what is around it.

use std::io::{BufWriter, IsTerminal, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use flamestack_core::Status;
use flamestack_engine::views::{disguises, printable, undisguised};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::failure::Failure;

/// Something secondary.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Something to look at first.
pub(crate) const BOLD: Style = Style::new().bold();
/// A name that can be typed.
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
        // The buffer lies below the stream that takes colours out: that one writes piece by piece,
        // and each piece would be a system call, 20,000 of them for a tree of 10,000 lines.
        let buffered: Box<dyn Write> = Box::new(BufWriter::with_capacity(64 * 1024, stdout));
        Self {
            out: AutoStream::new(buffered, choice),
            json,
        }
    }

    /// Whether machines read along.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A line of text.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        writeln!(self.out, "{}", undisguised(text.as_ref()))
            .map_err(|error| Failure::unwritten(&error))
    }

    /// Text exactly as it is where no terminal would obey it, harmless where one would.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), Failure> {
        if std::io::stdout().is_terminal() {
            self.text(&printable(text))
        } else {
            self.flush()?;
            let mut out = std::io::stdout().lock();
            let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            written.map_err(|error| Failure::unwritten(&error))
        }
    }

    /// Text that has its line breaks already.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let text = undisguised(text);
        self.out
            .write_all(text.as_bytes())
            .map_err(|error| Failure::unwritten(&error))
    }

    /// Data for machines. Strings mean what was recorded; what would drive or disguise a terminal
    /// is escaped in them.
    pub(crate) fn data(&mut self, value: &Value) -> Result<(), Failure> {
        let harmful = |c: char| (c.is_control() && c != '\n') || disguises(c);
        let mut text = format!("{value:#}\n");
        if text.contains(harmful) {
            let mut escaped = String::with_capacity(text.len() + 64);
            for c in text.chars() {
                if harmful(c) {
                    escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
                } else {
                    escaped.push(c);
                }
            }
            text = escaped;
        }
        self.out
            .write_all(text.as_bytes())
            .map_err(|error| Failure::unwritten(&error))
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| Failure::unwritten(&error))
    }

    /// An error, on standard error. What was printed before comes first.
    pub(crate) fn complain(&mut self, message: &str, hint: Option<&str>) {
        let mut err = AutoStream::auto(std::io::stderr());
        let red = AnsiColor::Red.on_default().bold();
        // If standard output is what failed, that is what there is to say.
        drop(self.out.flush());
        if self.json {
            let error = serde_json::json!({ "error": message, "hint": hint });
            drop(writeln!(err, "{error}"));
            return;
        }
        let mut said = || -> std::io::Result<()> {
            writeln!(err, "{red}error{red:#}: {}", printable(message))?;
            if let Some(hint) = hint {
                let hint = printable(hint);
                writeln!(err, "{BOLD}hint{BOLD:#}: {hint}")?;
            }
            Ok(())
        };
        // Nobody is left to tell if standard error is gone; the exit code still tells.
        drop(said());
    }

    /// Something worth knowing that is no error, on standard error.
    pub(crate) fn notice(&mut self, message: &str) -> Result<(), Failure> {
        self.flush()?;
        let mut err = AutoStream::auto(std::io::stderr());
        // What was asked for is done, whether or not anybody hears the note.
        drop(writeln!(err, "{BOLD}note{BOLD:#}: {}", printable(message)));
        Ok(())
    }
}

/// How a status is coloured. The icon beside it says the same without colour.
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

/// Text in a style.
pub(crate) fn painted(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A bar on standard error for work that takes long; nothing where that is no terminal.
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

    pub(crate) fn at(&self, done: u64, total: u64) {
        // Work that is done with its first report is not worth a flash of a bar.
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
