//! Events read directly from the pages of a database whose b-tree is damaged.
//!
//! A table keeps its rows in leaf pages and finds them through a tree of interior pages; one wrong
//! bit in the tree hides every leaf below it. This module reads each page by itself. Whatever looks
//! like a row of the journal is decoded, and its checksum decides, so a wrong guess does no harm.
//!
//! ```text
//!  leaf page:  0x0d .. .. | cells | ..   | pointer, pointer, ..        row, row, row |
//!  row:        size, seq, header (a type for each column), columns [, next page]
//! ```

use std::path::Path;

use flamestack_core::event::Recorded;

use super::journal;
use crate::error::Result;

/// The page size of our stores, SQLite's default.
pub(super) const PAGE: u16 = 4096;
/// The first byte of a leaf page of a table.
const LEAF: u8 = 13;
/// A row larger than this goes on in other pages.
const MOST_IN_PAGE: usize = PAGE as usize - 35;
/// Minimum part of such a row that stays in its page.
const LEAST_IN_PAGE: usize = (PAGE as usize - 12) * 32 / 255 - 23;
/// Upper bound of the size of an event.
const LARGEST: usize = 1_000_000_000;

/// Visits every event in a leaf page of a database file, in any order and possibly more than once.
pub(super) fn scan(database: &Path, found: &mut dyn FnMut(Recorded)) -> Result<()> {
    let file = fs_err::read(database)?;
    for (number, page) in file.chunks(usize::from(PAGE)).enumerate() {
        // The first page starts with the file header.
        let header = page.get(if number == 0 { 100 } else { 0 }..);
        let Some(header) = header.filter(|header| header.first() == Some(&LEAF)) else {
            continue;
        };
        let pointers = header.get(8..).unwrap_or_default().chunks_exact(2);
        let count = header.get(3..5).map_or(0, big_endian);
        for pointer in pointers.take(usize::try_from(count).unwrap_or_default()) {
            let place = usize::try_from(big_endian(pointer)).unwrap_or_default();
            if let Some(entry) = page.get(place..).and_then(|cell| event(&file, cell)) {
                found(entry);
            }
        }
    }
    Ok(())
}

/// Decodes the event in a row, if it is one.
fn event(file: &[u8], cell: &[u8]) -> Option<Recorded> {
    let (size, cell) = varint(cell)?;
    let (seq, cell) = varint(cell)?;
    let row = whole(file, cell, usize::try_from(size).ok()?)?;
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
fn whole(file: &[u8], cell: &[u8], size: usize) -> Option<Vec<u8>> {
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
        let number = usize::try_from(next).ok()?.checked_sub(1)?;
        let start = number.checked_mul(usize::from(PAGE))?;
        let page = file.get(start..start + usize::from(PAGE))?;
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
