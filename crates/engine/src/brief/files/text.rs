//! The text of a file, however it is written in bytes and however much of it there is.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::Limit;

/// What was read.
pub(super) struct Found {
    pub(super) text: String,
    /// How many lines of it are the file's first; the others are its last.
    pub(super) counted: Option<usize>,
    /// Whether some of it is no text.
    pub(super) is_damaged: bool,
}

/// Reads the text of a file that has so many bytes.
pub(super) fn read(file: &mut File, size: u64, limit: Limit) -> std::io::Result<Found> {
    let is_whole = size <= limit.head + limit.tail;
    let first = if is_whole {
        limit.head + limit.tail
    } else {
        limit.head
    };
    // One more, so that the end is seen without asking for more room.
    let room = usize::try_from(size.min(first) + 1).unwrap_or_default();
    let mut head = Vec::with_capacity(room);
    (&mut *file).take(first).read_to_end(&mut head)?;
    let form = Form::of(&head);
    let (mut text, mut is_damaged) = form.decode(&head);
    let mut counted = None;
    if !is_whole {
        // Two bytes may be one character.
        file.seek(SeekFrom::Start((size - limit.tail) & !1))?;
        let mut tail = Vec::new();
        (&mut *file).take(limit.tail + 1).read_to_end(&mut tail)?;
        let (rest, damaged) = form.decode(&tail);
        // The parts begin and end in the middle of a line.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        text.truncate(whole);
        counted = Some(text.matches('\n').count());
        text.push('\n');
        text.push_str(rest.split_once('\n').map_or("", |(_, rest)| rest));
        // A cut inside a character is no damage.
        is_damaged = is_damaged && damaged && text.contains('\u{fffd}');
    }
    if text.contains('\r') {
        text = text.replace("\r\n", "\n").replace('\r', "\n");
    }
    Ok(Found {
        text,
        counted,
        is_damaged,
    })
}

/// How text is written in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Utf8,
    Utf16Little,
    Utf16Big,
}

impl Form {
    fn of(head: &[u8]) -> Self {
        match head {
            [0xff, 0xfe, ..] => Self::Utf16Little,
            [0xfe, 0xff, ..] => Self::Utf16Big,
            // Without a mark: ASCII in two bytes has a zero in every other one.
            [first, 0, second, 0, ..] if *first != 0 && *second != 0 => Self::Utf16Little,
            [0, first, 0, second, ..] if *first != 0 && *second != 0 => Self::Utf16Big,
            _ => Self::Utf8,
        }
    }

    fn decode(self, bytes: &[u8]) -> (String, bool) {
        let pair: fn([u8; 2]) -> u16 = match self {
            Self::Utf8 => {
                let text = String::from_utf8_lossy(bytes);
                let is_damaged = matches!(text, std::borrow::Cow::Owned(_));
                return (text.trim_start_matches('\u{feff}').to_owned(), is_damaged);
            }
            Self::Utf16Little => u16::from_le_bytes,
            Self::Utf16Big => u16::from_be_bytes,
        };
        let units = bytes
            .chunks_exact(2)
            .filter_map(|two| Some(pair(two.try_into().ok()?)));
        let mut is_damaged = false;
        let text: String = char::decode_utf16(units)
            .map(|unit| {
                unit.unwrap_or_else(|_| {
                    is_damaged = true;
                    char::REPLACEMENT_CHARACTER
                })
            })
            .collect();
        (text.trim_start_matches('\u{feff}').to_owned(), is_damaged)
    }
}
