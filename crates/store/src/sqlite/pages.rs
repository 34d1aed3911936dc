//! Events read directly from the pages of a database or a write-ahead log that is damaged.
//!
//! A table keeps its rows in leaf pages and finds them through a tree of interior pages; one wrong
//! bit in the tree hides every leaf below it. This module reads each page separately. Whatever looks
//! like a row of the journal is decoded, and its checksum decides, so a wrong guess does no harm.
//! A write-ahead log is a list of pages; SQLite ignores all of them from the first damaged one on.
//!
//! ```text
//!  leaf page:  0x0d .. .. | cells | ..   | pointer, pointer, ..        row, row, row |
//!  row:        size, seq, header (a type for each column), columns [, next page]
//!  log:        header of 32 bytes, then frames: page number, size at a commit, salts, sums, page
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use flamestack_core::event::Recorded;

use super::journal;
use crate::error::Result;

/// The page size of our stores, SQLite's default.
pub(super) const PAGE: u16 = 4096;
/// The first byte of a leaf page of a table.
const LEAF: u8 = 13;
/// A row larger than this continues in other pages.
const MOST_IN_PAGE: usize = PAGE as usize - 35;
/// Minimum part of such a row that stays in its page.
const LEAST_IN_PAGE: usize = (PAGE as usize - 12) * 32 / 255 - 23;
/// Length of the header of a write-ahead log, and of the header of each of its frames.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Upper bound of the size of an event.
const LARGEST: usize = 1_000_000_000;

/// Visits every event in a leaf page of a database file, in any order and possibly more than once.
pub(super) fn scan(database: &Path, found: &mut dyn FnMut(Recorded)) -> Result<()> {
    let file = fs_err::read(database)?;
    let pages = Pages {
        file: &file,
        newer: BTreeMap::new(),
    };
    for (number, page) in (1..).zip(file.chunks(usize::from(PAGE))) {
        scan_page(&pages, number, page, found);
    }
    Ok(())
}

/// Visits every event in a write-ahead log, up to its last commit, in the order of writing. Frames
/// after damage are read too.
pub(super) fn scan_log(database: &Path, log: &Path, found: &mut dyn FnMut(Recorded)) -> Result<()> {
    let log = match fs_err::read(log) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let file = fs_err::read(database)?;
    let mut pages = Pages {
        file: &file,
        newer: BTreeMap::new(),
    };
    let frames = log.get(LOG_HEADER..).unwrap_or_default();
    let frames = frames.chunks_exact(FRAME_HEADER + usize::from(PAGE));
    let mut frames: Vec<&[u8]> = frames.collect();
    // Frames with other salts are left from before the log was last begun anew; what was never
    // committed was never acknowledged.
    let salts = salts_of(&frames);
    let committed = frames.iter().rposition(|frame| {
        frame.get(8..16) == salts && frame.get(4..8).is_some_and(|size| big_endian(size) > 0)
    });
    frames.truncate(committed.map_or(0, |last| last + 1));
    for frame in frames {
        let (header, page) = frame.split_at_checked(FRAME_HEADER).unwrap_or_default();
        let number = header.get(..4).map_or(0, big_endian);
        pages.newer.insert(number, page);
        scan_page(&pages, number, page, found);
    }
    Ok(())
}

/// Returns the salts that most frames at the start of a log have.
fn salts_of<'f>(frames: &[&'f [u8]]) -> Option<&'f [u8]> {
    let first = frames.iter().take(3).filter_map(|frame| frame.get(8..16));
    let first: Vec<&[u8]> = first.collect();
    // One of three may be damaged.
    let agreed = |salts: &&&[u8]| first.iter().filter(|other| other == salts).count() > 1;
    first.iter().find(agreed).or(first.first()).copied()
}

/// The pages of a database: those of the file, some of them in a newer version.
struct Pages<'f> {
    file: &'f [u8],
    newer: BTreeMap<u64, &'f [u8]>,
}

impl<'f> Pages<'f> {
    /// Returns the page with a number; the first is 1.
    fn get(&self, number: u64) -> Option<&'f [u8]> {
        if let Some(page) = self.newer.get(&number) {
            return Some(page);
        }
        let start = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = start.checked_mul(usize::from(PAGE))?;
        self.file.get(start..start + usize::from(PAGE))
    }
}

/// Visits the events in a page, if it is a leaf.
fn scan_page(pages: &Pages<'_>, number: u64, page: &[u8], found: &mut dyn FnMut(Recorded)) {
    // The first page starts with the file header.
    let header = page.get(if number == 1 { 100 } else { 0 }..);
    let Some(header) = header.filter(|header| header.first() == Some(&LEAF)) else {
        return;
    };
    let pointers = header.get(8..).unwrap_or_default().chunks_exact(2);
    let count = header.get(3..5).map_or(0, big_endian);
    for pointer in pointers.take(usize::try_from(count).unwrap_or_default()) {
        let place = usize::try_from(big_endian(pointer)).unwrap_or_default();
        if let Some(entry) = page.get(place..).and_then(|cell| event(pages, cell)) {
            found(entry);
        }
    }
}

/// Decodes the event in a row, if it is one.
fn event(pages: &Pages<'_>, cell: &[u8]) -> Option<Recorded> {
    let (size, cell) = varint(cell)?;
    let (seq, cell) = varint(cell)?;
    let row = whole(pages, cell, usize::try_from(size).ok()?)?;
    let (header, _) = varint(&row)?;
    let header = usize::try_from(header).ok()?;
    let mut columns = row.get(header..)?;
    let (_, mut types) = varint(row.get(..header)?)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        let (kind, rest) = varint(types)?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            text if text >= 13 && text % 2 == 1 => (text - 13) / 2,
            _ => return None,
        };
        let (value, behind) = columns.split_at_checked(usize::try_from(length).ok()?)?;
        values.push((kind, value));
        (types, columns) = (rest, behind);
    }
    let [(0, _), batch, at, session, message, body, sum] = values.as_slice() else {
        return None;
    };
    let message = match message {
        (0, _) => None,
        given => Some(text(*given)?),
    };
    let row = journal::Row {
        seq,
        batch: integer(*batch)?,
        at: integer(*at)?,
        session: text(*session)?,
        message,
        body: text(*body)?,
        sum: integer(*sum)?,
    };
    row.check().ok()
}

/// Returns a row together with its overflow pages.
fn whole(pages: &Pages<'_>, cell: &[u8], size: usize) -> Option<Vec<u8>> {
    if size <= MOST_IN_PAGE {
        return cell.get(..size).map(<[u8]>::to_vec);
    }
    if size > LARGEST {
        return None;
    }
    let in_others = usize::from(PAGE) - 4;
    let wanted = LEAST_IN_PAGE + (size - LEAST_IN_PAGE) % in_others;
    let here = if wanted <= MOST_IN_PAGE {
        wanted
    } else {
        LEAST_IN_PAGE
    };
    let mut row = cell.get(..here)?.to_vec();
    let mut next = big_endian(cell.get(here..here + 4)?);
    while row.len() < size {
        let page = pages.get(next)?;
        let (pointer, content) = page.split_at_checked(4)?;
        row.extend(content.iter().take(size - row.len()));
        next = big_endian(pointer);
    }
    Some(row)
}

/// Reads a SQLite varint: seven bits per byte, eight in the ninth.
fn varint(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut number = 0_u64;
    for (place, byte) in bytes.iter().take(9).enumerate() {
        if place == 8 {
            number = number << 8 | u64::from(*byte);
            return Some((number.cast_signed(), bytes.get(9..)?));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number.cast_signed(), bytes.get(place + 1..)?));
        }
    }
    None
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn integer((kind, bytes): (i64, &[u8])) -> Option<i64> {
    match kind {
        8 => Some(0),
        9 => Some(1),
        1..=6 => {
            // The first bit is the sign.
            let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?;
            Some((big_endian(bytes) << unused).cast_signed() >> unused)
        }
        _ => None,
    }
}

fn text((kind, bytes): (i64, &[u8])) -> Option<String> {
    (kind >= 13)
        .then(|| String::from_utf8(bytes.to_vec()).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unpacked() {
        assert_eq!(varint(&[0x07, 0xff]), Some((7, &[0xff][..])));
        assert_eq!(varint(&[0x81, 0x00]), Some((128, &[][..])));
        assert_eq!(varint(&[0xff; 9]), Some((-1, &[][..])));
        assert_eq!(varint(&[0x80]), None);
        assert_eq!(integer((1, &[0xff])), Some(-1));
        assert_eq!(integer((2, &[0x01, 0x00])), Some(256));
        assert_eq!(integer((9, &[])), Some(1));
    }
}
