//! Decodes the text of a file, or of its beginning and its end.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::ReadLimit;

/// The text of a file.
pub(super) struct FileText {
    pub(super) text: String,
    /// Number of lines that are the file's first; the others are its last.
    pub(super) counted: Option<usize>,
    /// True if some bytes are not text.
    pub(super) is_damaged: bool,
}

/// Reads the text of a file of `size` bytes.
pub(super) fn read(file: &mut File, size: u64, limit: ReadLimit) -> std::io::Result<FileText> {
    let is_whole = size <= limit.head + limit.tail;
    let first = if is_whole {
        limit.head + limit.tail
    } else {
        limit.head
    };
    // One byte more, so that the end is seen without growing the buffer.
    let room = usize::try_from(size.min(first) + 1).unwrap_or_default();
    let mut head = Vec::with_capacity(room);
    (&mut *file).take(first).read_to_end(&mut head)?;
    let encoding = Encoding::detect(&head);
    let (mut text, mut is_damaged) = encoding.decode(&head);
    let mut counted = None;
    if !is_whole {
        // An even offset: two bytes may be one character.
        file.seek(SeekFrom::Start((size - limit.tail) & !1))?;
        let mut tail = Vec::new();
        (&mut *file).take(limit.tail + 1).read_to_end(&mut tail)?;
        let (rest, is_tail_damaged) = encoding.decode(&tail);
        // Both parts are cut in the middle of a line.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        text.truncate(whole);
        counted = Some(text.matches('\n').count());
        text.push('\n');
        text.push_str(rest.split_once('\n').map_or("", |(_, rest)| rest));
        // A cut inside a character is not damage.
        is_damaged = is_damaged && is_tail_damaged && text.contains('\u{fffd}');
    }
    if text.contains('\r') {
        text = text.replace("\r\n", "\n").replace('\r', "\n");
    }
    Ok(FileText {
        text,
        counted,
        is_damaged,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

impl Encoding {
    fn detect(head: &[u8]) -> Self {
        match head {
            [0xff, 0xfe, ..] => Self::Utf16Little,
            [0xfe, 0xff, ..] => Self::Utf16Big,
            // Without a byte order mark: ASCII in two bytes has a zero in every other one.
            [first, 0, second, 0, ..] if *first != 0 && *second != 0 => Self::Utf16Little,
            [0, first, 0, second, ..] if *first != 0 && *second != 0 => Self::Utf16Big,
            _ => Self::Utf8,
        }
    }

    /// Returns the text, and true if some bytes were replaced.
    fn decode(self, bytes: &[u8]) -> (String, bool) {
        let (text, is_damaged) = match self {
            Self::Utf8 => {
                let text = String::from_utf8_lossy(bytes);
                let is_damaged = matches!(text, Cow::Owned(_));
                (text, is_damaged)
            }
            Self::Utf16Little => decode_utf16(bytes, u16::from_le_bytes),
            Self::Utf16Big => decode_utf16(bytes, u16::from_be_bytes),
        };
        (text.trim_start_matches('\u{feff}').to_owned(), is_damaged)
    }
}

fn decode_utf16(bytes: &[u8], join: fn([u8; 2]) -> u16) -> (Cow<'_, str>, bool) {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| join(*pair)).collect();
    let is_damaged = char::decode_utf16(units.iter().copied()).any(|unit| unit.is_err());
    (String::from_utf16_lossy(&units).into(), is_damaged)
}
