//! The printer: the only place that writes to standard output and standard error.
//!
//! Colour is used on a terminal only, `NO_COLOR` is honoured, and nothing is said by colour alone.

use std::io::{BufWriter, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use flamestack_core::Status;
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
        Ok(writeln!(self.out, "{}", text.as_ref())?)
    }

    /// Text that has its line breaks already.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Data for machines.
    pub(crate) fn data(&mut self, value: &Value) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.out, value).map_err(std::io::Error::from)?;
        Ok(writeln!(self.out)?)
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// An error, on standard error. What was printed before comes first.
    pub(crate) fn complain(&mut self, message: &str, hint: Option<&str>) {
        let mut err = AutoStream::auto(std::io::stderr());
        let red = AnsiColor::Red.on_default().bold();
        let mut said = || -> std::io::Result<()> {
            self.out.flush()?;
            writeln!(
                err,
                "{red}error{red:#}: {}",
                flamestack_engine::views::printable(message)
            )?;
            if let Some(hint) = hint {
                let hint = flamestack_engine::views::printable(hint);
                writeln!(err, "{BOLD}hint{BOLD:#}: {hint}")?;
            }
            Ok(())
        };
        // Nobody is left to tell if standard error is gone; the exit code still tells.
        drop(said());
    }

    /// Something worth knowing that is no error, on standard error.
    pub(crate) fn notice(&mut self, message: &str) -> Result<(), Failure> {
        self.out.flush()?;
        let mut err = AutoStream::auto(std::io::stderr());
        Ok(writeln!(
            err,
            "{BOLD}note{BOLD:#}: {}",
            flamestack_engine::views::printable(message)
        )?)
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
