//! Reading a JSON Lines file that may contain anything.

use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flamestack_core::SessionRef;
use flamestack_core::transcript::Entry;
use serde_json::Value;

use super::{ReadReport, RecordedSession, RecordingError, Sink, TranscriptItem, deliver};
use crate::line_input::read_line;

/// Maximum length of a line, in bytes. Longer lines are skipped to bound the memory.
const MAX_LINE: usize = 32 * 1024 * 1024;

/// Reads the lines of a file as JSON objects.
pub(super) struct Lines {
    path: PathBuf,
    reader: BufReader<fs_err::File>,
    buffer: Vec<u8>,
    number: u64,
    /// Number of bytes read so far.
    pub(super) position: u64,
}

/// A line that is a JSON object.
pub(super) struct Line<'l> {
    pub(super) number: u64,
    pub(super) text: &'l str,
    pub(super) value: Value,
}

/// The items of a recording that were found and not delivered yet, and the report on it.
#[derive(Default)]
pub(super) struct Output {
    pub(super) items: Vec<TranscriptItem>,
    pub(super) report: ReadReport,
    /// The session of the recording, once it is known.
    pub(super) session: Option<SessionRef>,
}

impl Output {
    /// Begins the session of the recording.
    pub(super) fn begin(&mut self, recorded: RecordedSession) {
        self.session = Some(recorded.session.clone());
        self.items.push(TranscriptItem::Session(recorded));
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.items.push(TranscriptItem::Entry(Box::new(entry)));
    }
}

/// Converts the lines of a recording to items.
pub(super) trait LineConverter {
    /// Returns the output, to which the methods add.
    fn output(&mut self) -> &mut Output;
    /// Converts a line. An error is a predicate of the line: "has no type".
    fn line(&mut self, line: Line<'_>) -> Result<(), String>;
    /// Adds the entries that are known only at the end.
    fn end(&mut self) {}
}

/// Reads a recording whose lines are converted one after the other.
pub(super) fn read_lines(
    path: &Path,
    mut converter: impl LineConverter,
    sink: &mut Sink<'_>,
) -> Result<ReadReport, RecordingError> {
    let mut lines = Lines::open(path)?;
    while let Some(line) = lines.next(&mut converter.output().report)? {
        let number = line.number;
        let outcome = converter.line(line);
        let output = converter.output();
        if let Err(problem) = outcome {
            output.report.line_problem(path, number, problem);
        }
        if deliver(output.items.drain(..), lines.position, sink).is_break() {
            return Ok(std::mem::take(&mut output.report));
        }
    }
    converter.end();
    let output = std::mem::take(converter.output());
    let ended = output.session.map(TranscriptItem::Ended);
    let items = output.items.into_iter().chain(ended);
    // It does not matter anymore if the sink breaks.
    let _: ControlFlow<()> = deliver(items, lines.position, sink);
    Ok(output.report)
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, std::io::Error> {
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(1 << 20, fs_err::File::open(path)?),
            buffer: Vec::new(),
            number: 0,
            position: 0,
        })
    }

    /// Returns the next valid line and reports invalid ones.
    pub(super) fn next(
        &mut self,
        report: &mut ReadReport,
    ) -> Result<Option<Line<'_>>, std::io::Error> {
        loop {
            let line = read_line(&mut self.reader, MAX_LINE, &mut self.buffer)?;
            if line.bytes == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.position += line.bytes;
            report.lines += 1;
            if line.is_skipped {
                let length = line.bytes;
                let problem = format!("has {length} bytes, more than the limit of {MAX_LINE}");
                report.line_problem(&self.path, self.number, problem);
                continue;
            }
            if self.buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse_object(&self.buffer) {
                Ok(value) => {
                    return Ok(Some(Line {
                        number: self.number,
                        // Valid, since it was parsed.
                        text: std::str::from_utf8(&self.buffer).unwrap_or_default(),
                        value,
                    }));
                }
                Err(problem) => report.line_problem(&self.path, self.number, problem),
            }
        }
    }
}

fn parse_object(line: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("is not UTF-8: {error}"))?;
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) if error.is_eof() => Err("is truncated".to_owned()),
        Err(error) => Err(format!("is not JSON: {error}")),
    }
}
