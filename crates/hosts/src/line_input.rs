//! Lines of any length, read within bounds.

use std::io::{self, BufRead};

/// A line that was read.
pub(crate) struct LineRead {
    /// Number of bytes with the line break; 0 at the end of the input.
    pub(crate) bytes: u64,
    /// True if there was a line break; only the last line may have none.
    pub(crate) is_ended: bool,
    /// True if the line was too long and was skipped.
    pub(crate) is_skipped: bool,
}

/// Reads a line into the buffer, without its line break, if it has at most `limit` bytes.
pub(crate) fn read_line(
    input: &mut impl BufRead,
    limit: usize,
    buffer: &mut Vec<u8>,
) -> io::Result<LineRead> {
    buffer.clear();
    let mut line = LineRead {
        bytes: 0,
        is_ended: false,
        is_skipped: false,
    };
    while !line.is_ended {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
        if buffer.len() + part.len() > limit {
            line.is_skipped = true;
            *buffer = Vec::new();
        }
        if !line.is_skipped {
            buffer.extend_from_slice(part);
        }
        line.is_ended = end.is_some();
        let used = part.len() + usize::from(line.is_ended);
        line.bytes += used as u64;
        input.consume(used);
    }
    Ok(line)
}
