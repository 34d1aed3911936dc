//! Identifiers of frames, sessions, raw text and places in the journal; timestamps and fingerprints.
//!
//! Matching a typed prefix to a frame is the store's job.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Letters and digits that cannot be mistaken for one another when read aloud or retyped.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstvwxyz0123456789";
/// Number of letters in [`ALPHABET`]; an id starts with one, so it never looks like a number.
const LETTERS: u64 = 22;
/// Length of a frame id: about 39 bits, checked for uniqueness when a frame is opened.
pub const FRAME_ID_LEN: usize = 8;

/// Short, random, permanent id of a frame, such as `k3f9x2mq`.
///
/// Stored inline, since a context reads and compares hundreds of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId([u8; FRAME_ID_LEN]);

impl FrameId {
    /// Makes an id from randomness that the caller supplies.
    pub fn from_entropy(entropy: u64) -> Self {
        let mut id = [b'a'; FRAME_ID_LEN];
        let mut rest = entropy;
        for (place, symbol) in id.iter_mut().enumerate() {
            let base = if place == 0 { LETTERS } else { 32 };
            let which = usize::try_from(rest % base).unwrap_or_default();
            *symbol = ALPHABET.get(which).copied().unwrap_or(b'a');
            rest /= base;
        }
        Self(id)
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        // Both constructors only accept ASCII letters and digits.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameId").field(&self.as_str()).finish()
    }
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not a whole frame id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a frame id: eight lower-case letters and digits, starting with a letter")]
pub struct NotAFrameId(pub String);

impl FromStr for FrameId {
    type Err = NotAFrameId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Every row that is read is parsed here; searching the alphabet would be slower.
        let known = |byte: &u8| match byte {
            b'i' | b'l' | b'o' | b'u' => false,
            byte => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        };
        match <[u8; FRAME_ID_LEN]>::try_from(text.as_bytes()) {
            Ok(id @ [b'a'..=b'z', ..]) if id.iter().all(known) => Ok(Self(id)),
            _ => Err(NotAFrameId(text.chars().take(80).collect())),
        }
    }
}

/// A session of a host, written `host:id`, such as `opencode:ses_7f2a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionRef {
    // Shared: every event and every query carries one.
    host: Arc<str>,
    id: Arc<str>,
}

/// Host name of a user at a terminal.
pub const SHELL: &str = "shell";

impl SessionRef {
    /// Returns the session of a user at the terminal of one worktree.
    pub fn shell(worktree: &str) -> Self {
        Self {
            host: SHELL.into(),
            id: worktree.into(),
        }
    }

    /// Returns another session of the same host, if `id` is valid.
    pub fn beside(&self, id: &str) -> Option<Self> {
        format!("{}:{id}", self.host).parse().ok()
    }

    /// Returns the host program, such as `opencode` or `shell`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host's own id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns true for a user at a terminal.
    pub fn is_shell(&self) -> bool {
        &*self.host == SHELL
    }
}

impl fmt::Display for SessionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.id)
    }
}

/// Reason for which a text cannot name a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASession {
    /// There is no `host:` prefix.
    #[error("`{0}` names no host")]
    NoHost(String),
    /// The host name has characters other than `a-z`, `0-9` and `-`.
    #[error("`{0}` is not a host name")]
    BadHost(String),
    /// The id is empty, too long or has blanks or control characters.
    #[error(
        "a session id is 1 to 200 characters without blanks or control characters, unlike `{0}`"
    )]
    BadId(String),
}

impl NotASession {
    /// Returns an example of a valid name.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoHost(id) if !id.is_empty() => {
                format!("write it as `host:id`, for example `opencode:{id}`")
            }
            Self::NoHost(_) | Self::BadId(_) => {
                "write it as `host:id`, for example `opencode:ses_7f2a`".to_owned()
            }
            Self::BadHost(_) => {
                "a host's name has lower-case letters, digits and `-`: `opencode:ses_7f2a`"
                    .to_owned()
            }
        }
    }
}

impl FromStr for SessionRef {
    type Err = NotASession;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || {
            text.chars()
                .take(80)
                .flat_map(char::escape_debug)
                .collect::<String>()
        };
        let Some((host, id)) = text.split_once(':') else {
            return Err(NotASession::NoHost(shown()));
        };
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if host.is_empty() || host.len() > 40 || !host.bytes().all(plain) {
            return Err(NotASession::BadHost(host.chars().take(80).collect()));
        }
        let blank = |c: char| c.is_whitespace() || c.is_control();
        // The fast path for nearly all ids: every row that is read is parsed here.
        let is_plain = id.len() <= 200 && id.bytes().all(|b| b.is_ascii_graphic());
        let is_odd = || id.chars().count() > 200 || id.chars().any(blank);
        if id.is_empty() || !is_plain && is_odd() {
            return Err(NotASession::BadId(shown()));
        }
        Ok(Self {
            host: host.into(),
            id: id.into(),
        })
    }
}

/// Name of a piece of raw text: the hash of its content, in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(String);

impl BlobId {
    /// Accepts the 64 hex digits of a 256-bit hash.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digits = hex
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        (hex.len() == 64 && digits).then(|| Self(hex.to_owned()))
    }

    /// Returns the hash in hex.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A 64-bit fingerprint for de-duplicating observed host items: a hash of the session, the kind of
/// item and the host's name for it.
///
/// Among ten million items, the odds of any collision are one in 370,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// Hashes an item: FNV-1a, then the finaliser of `MurmurHash3`.
    pub fn of(session: &SessionRef, kind: &str, name: &str) -> Self {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let mut hash = OFFSET;
        for part in [&*session.host, &*session.id, kind, name] {
            // A byte that no UTF-8 text has separates the parts.
            for byte in part.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
            }
        }
        // FNV alone hardly mixes the last bytes into the low bits.
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        Self(hash ^ (hash >> 33))
    }
}

/// Place of an event in the journal; the first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub i64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl fmt::Display for Timestamp {
    /// Formats to the minute, in UTC: `2026-11-15T10:30Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.div_euclid(60_000);
        let (days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
        // Years begin in March, so that a leap day is the last day of its year (Hinnant, civil_from_days).
        let days = days + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, later) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        let year = year + era * 400 + later;
        let (hour, minute) = (minute / 60, minute % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_to_the_minute() {
        for (at, text) in [
            (0, "1970-01-01T00:00Z"),
            (951_782_399_999, "2000-02-28T23:59Z"),
            (951_782_400_000, "2000-02-29T00:00Z"),
            (1_794_770_142_810, "2026-11-15T19:15Z"),
            (-1, "1969-12-31T23:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00Z"),
        ] {
            assert_eq!(Timestamp(at).to_string(), text);
        }
    }

    #[test]
    fn an_id_survives_being_typed_again() {
        for entropy in [0, 1, 22, 703, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let id = FrameId::from_entropy(entropy);
            assert_eq!(id.as_str().parse::<FrameId>(), Ok(id));
            assert!(
                id.as_str().starts_with(|c: char| c.is_ascii_lowercase()),
                "{id}"
            );
        }
    }

    #[test]
    fn invalid_ids_are_rejected() {
        for text in [
            "",
            "abc",
            "1bcdefgh",
            "ABCDEFGH",
            "abcdefgi",
            "abcdefgh9",
            "日本語日本語日本",
        ] {
            assert!(text.parse::<FrameId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_session_is_a_host_and_an_id() {
        let session: SessionRef = "opencode:ses_7f2a:1".parse().unwrap();
        assert_eq!((session.host(), session.id()), ("opencode", "ses_7f2a:1"));
        assert_eq!(session.to_string(), "opencode:ses_7f2a:1");
        assert!(
            "ses_7f2a"
                .parse::<SessionRef>()
                .unwrap_err()
                .remedy()
                .contains("opencode:")
        );
        for text in [":x", "Open:x", "a b:x", "x:", "x:a b", "x:a\0b"] {
            assert!(text.parse::<SessionRef>().is_err(), "{text}");
        }
    }
}
