//! Ids of messages and parts, in OpenCode's own form.
//!
//! OpenCode orders the messages of a session by id: 48 bits of time and count in hexadecimal digits, then
//! 14 letters and digits. The time must not be ahead of the server's, or the answer to a prompt would be
//! ordered before it and the turn would never end.

/// Letters and digits of the second half.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Length of the second half.
const TAIL: usize = 14;

/// Makes the id of a message, or of a part, at a time in milliseconds.
pub(super) fn make(prefix: &str, now: i64, count: u64, seed: &str) -> String {
    let time = now.unsigned_abs().wrapping_mul(0x1000).wrapping_add(count);
    let hash = blake3::hash(format!("{prefix}/{seed}/{count}").as_bytes());
    let tail: String = hash
        .as_bytes()
        .iter()
        .take(TAIL)
        .filter_map(|byte| ALPHABET.get(usize::from(*byte) % ALPHABET.len()))
        .map(|letter| char::from(*letter))
        .collect();
    format!("{prefix}_{:012x}{tail}", time & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_time_and_repeatable() {
        let at = |now: i64| make("msg", now, 1, "run/3");
        assert_eq!(at(1_794_770_142_810), at(1_794_770_142_810));
        assert!(at(1_794_770_142_810) < at(1_794_770_142_811));
        assert_eq!(at(5).len(), "msg_".len() + 26);
        assert_ne!(make("msg", 5, 1, "run/3"), make("msg", 5, 1, "run/4"));
    }
}
