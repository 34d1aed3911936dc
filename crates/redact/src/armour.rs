//! Private keys in their armour, whole: PEM of all makes, OpenSSH, PGP, on one line or on many.
//! Keys that were cut off or lost their armour are rows of the table.

use crate::Finding;
use crate::rule::Spot;
use crate::value::{KEY_LINE, holds_marker, is_key_line};
use crate::view::{find, is_base64};

pub(crate) const KIND: &str = "private-key";

/// The largest key with its armour; RSA of 16384 bits takes 13 KB.
const LONGEST: usize = 64 << 10;

/// Returns the key that begins at `spot`, whatever is between its lines: numbers, margins,
/// quotes, file names.
pub(crate) fn private_key(spot: Spot<'_>) -> Option<Finding> {
    let view = spot.view;
    let label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let dash = |byte: u8| byte == b'-';
    let begin_end = view.run(spot.end, 48, label);
    find(view.slice(spot.end..begin_end), "PRIVATE KEY")?;
    let body = view.run(begin_end, 8, dash);
    if body - begin_end < 4 {
        return None;
    }
    let window = view.slice(body..body + LONGEST);
    let dashes = find(window, "----")?;
    let between = window.get(..dashes)?;
    let end = view.run(body + dashes, 8, |byte| dash(byte) || byte == b' ');
    // Another beginning means that this key was cut off before its end. Two markers in a text
    // about keys have the text between them, not a key.
    let lines = between
        .split(|byte| !is_base64(*byte))
        .filter(|line| is_key_line(line));
    let keyed = lines.map(<[u8]>::len).sum::<usize>() * 3 >= between.len().max(KEY_LINE);
    if !view.has(end, "END ") || !keyed || holds_marker(between) {
        return None;
    }
    let end = view.run(view.run(end, 52, label), 5, dash);
    let start = view.run_back(spot.at, 9, |byte| dash(byte) || byte == b' ');
    let blanks = view.slice(start..spot.at).iter();
    let blanks = blanks.take_while(|byte| **byte == b' ').count();
    Some(Finding {
        start: start + blanks,
        end,
        kind: KIND,
    })
}
