//! A file, line by line, whatever it holds.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Report;

/// A longer line is skipped: no event of a conversation is that long, and memory stays flat.
const LONGEST: usize = 32 * 1024 * 1024;

/// Reads the lines of a file as JSON objects.
pub(super) struct Lines {
    path: PathBuf,
    reader: BufReader<fs_err::File>,
    buffer: Vec<u8>,
    number: u64,
    /// Bytes that lie behind.
    pub(super) position: u64,
}

/// A line that is a JSON object.
pub(super) struct Line<'l> {
    pub(super) number: u64,
    pub(super) text: &'l str,
    pub(super) value: Value,
}

/// What became of a line.
enum Outcome {
    End,
    Skip,
    Read,
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

    /// The next line that can be read; those that cannot be go into the report.
    pub(super) fn next(&mut self, report: &mut Report) -> Result<Option<Line<'_>>, std::io::Error> {
        loop {
            match self.fill(report)? {
                Outcome::End => return Ok(None),
                Outcome::Skip => continue,
                Outcome::Read => {}
            }
            let place = || format!("line {}", self.number);
            let value = match std::str::from_utf8(&self.buffer) {
                Err(error) => {
                    report.problem(&self.path, place(), format!("is not UTF-8: {error}"));
                    continue;
                }
                Ok(text) => match serde_json::from_str::<Value>(text) {
                    Ok(value) if value.is_object() => value,
                    Ok(_) => {
                        report.problem(&self.path, place(), "is not a JSON object");
                        continue;
                    }
                    Err(error) if error.is_eof() => {
                        report.problem(&self.path, place(), "is cut short");
                        continue;
                    }
                    Err(error) => {
                        report.problem(&self.path, place(), format!("is not JSON: {error}"));
                        continue;
                    }
                },
            };
            // Checked just above.
            let text = std::str::from_utf8(&self.buffer).unwrap_or_default();
            return Ok(Some(Line {
                number: self.number,
                text,
                value,
            }));
        }
    }

    /// Brings the next line into the buffer, without its line break.
    fn fill(&mut self, report: &mut Report) -> Result<Outcome, std::io::Error> {
        self.buffer.clear();
        let mut length = 0_u64;
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            if self.buffer.len() + part.len() <= LONGEST {
                self.buffer.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            length += used as u64;
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if length == 0 {
            return Ok(Outcome::End);
        }
        self.number += 1;
        self.position += length;
        report.lines += 1;
        if self.buffer.len() as u64 + 1 < length {
            let what = format!("has {length} bytes, which is no event of a conversation");
            report.problem(&self.path, format!("line {}", self.number), what);
            self.buffer = Vec::new();
            return Ok(Outcome::Skip);
        }
        if self.buffer.iter().all(u8::is_ascii_whitespace) {
            return Ok(Outcome::Skip);
        }
        Ok(Outcome::Read)
    }
}
