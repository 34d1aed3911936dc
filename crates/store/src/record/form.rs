//! Forms: how the domain's values look in the journal.
//!
//! The domain knows nothing of its storage, and the form of a value is fixed forever. So the forms are
//! declared here: of plain values by [`stored_as`], of structs and enums by records that derive serde's
//! traits for a type elsewhere (`remote`). The compiler checks that a record has every field of its
//! type.

use std::fmt::{Display, Write as _};
use std::str::FromStr;

use flamestack_core::autonomy::{AdviceKind, Boundary, Heuristic, SuggestionState};
use flamestack_core::compaction::{Anchor, AnchorKind, CompactionKind};
use flamestack_core::event::Closing;
use flamestack_core::frame::{Origin, Outcome, Rank, Span, Status};
use flamestack_core::id::{BlobId, Fingerprint, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::session::DiffTotals;
use flamestack_core::stall::StallKind;
use flamestack_core::subagent::{EndedBy, SubagentEnd};
use flamestack_core::text::{Text, Title};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value with a form in the journal.
pub(crate) trait Stored: Sized {
    /// Writes the form.
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    /// Reads the form.
    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
    /// Returns true if the value says nothing, so that a field may be left out.
    fn is_absent(&self) -> bool {
        false
    }
    /// Writes a list of values.
    fn store_all<S: Serializer>(values: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(Form))
    }
    /// Reads a list of values.
    fn load_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Self>, D::Error> {
        let values: Vec<Form<Self>> = Vec::deserialize(deserializer)?;
        Ok(values.into_iter().map(|Form(value)| value).collect())
    }
}

/// Writes a field that has the attribute `with = "form"`.
pub(crate) fn serialize<T: Stored, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.store(serializer)
}

/// Reads a field that has the attribute `with = "form"`.
pub(crate) fn deserialize<'de, T: Stored, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::load(deserializer)
}

/// Returns true for a field that is left out.
pub(crate) fn is_absent<T: Stored>(value: &T) -> bool {
    value.is_absent()
}

/// A value that serde writes and reads in its form.
pub(crate) struct Form<T>(pub(crate) T);

impl<T: Stored> Serialize for Form<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.store(serializer)
    }
}

impl<'de, T: Stored> Deserialize<'de> for Form<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::load(deserializer).map(Self)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Form).serialize(serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value: Option<Form<T>> = Option::deserialize(deserializer)?;
        Ok(value.map(|Form(value)| value))
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::store_all(self, serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::load_all(deserializer)
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Stored> Stored for Box<T> {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::store(self, serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::load(deserializer).map(Box::new)
    }
}

/// Declares the form of types as one of serde's own types, with a function each way and, where a field
/// of the type may be left out, the test for that.
macro_rules! stored_as {
    ($($type:ty as $form:ty: |$value:ident| $write:expr, |$read:pat_param| $parse:expr
        $(, absent: $absent:expr)?;)+) => {$(
        impl Stored for $type {
            fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                $write.serialize(serializer)
            }

            fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = |$read: $form| -> Result<Self, String> { $parse };
                read(<$form>::deserialize(deserializer)?).map_err(D::Error::custom)
            }

            $(fn is_absent(&self) -> bool {
                self == &$absent
            })?
        }
    )+};
}

/// Declares records, each of which derives serde's traits for the type named in quotes and is its form.
/// A field with `= default` may be missing, and is left out where it says nothing; brackets hold further
/// attributes.
macro_rules! records {
    ($($(#[$about:meta])* $record:ident for $stored:ident as $type:literal {
        $($(#[$doc:meta])* $field:ident: $form:ty $(= $default:ident)? $([$($more:meta),+])?,)+
    })+) => {$(
        $(#[$about])*
        #[derive(Serialize, Deserialize)]
        #[serde(remote = $type)]
        pub(crate) struct $record {
            $($(#[$doc])*
            #[serde(with = "form" $(, $default, skip_serializing_if = "form::is_absent")?)]
            $(#[serde($($more),+)])?
            $field: $form,)+
        }

        $crate::record::form::stored_by! { $stored: $record; }
    )+};
}

/// Declares the record of an enum, as [`records`] does. With a second name, that record reads it, by
/// [`super::tagged`].
macro_rules! tagged_record {
    ($record:ident as $type:literal by $tag:literal {$($variants:tt)+}) => {
        $crate::record::form::tagged_record! {
            @ [Serialize, Deserialize] [tag = $tag,] $record $type {$($variants)+}
        }
    };
    ($record:ident, $reader:ident as $type:literal by $tag:literal {$($variants:tt)+}) => {
        $crate::record::form::tagged_record! {
            @ [Serialize] [tag = $tag,] $record $type {$($variants)+}
        }
        $crate::record::form::tagged_record! {
            @ [Deserialize] [] $reader $type {$($variants)+}
        }
    };
    (@ [$($derive:ident),+] [$($tag:tt)*] $record:ident $type:literal {
        $($(#[$about:meta])* $variant:ident
            $({$($field:ident: $form:ty $(= $default:ident)? $([$($more:meta),+])?),+})?
            $(($inner:ty))?,)+
    }) => {
        #[derive($($derive),+)]
        #[serde($($tag)* remote = $type, rename_all = "snake_case")]
        enum $record {
            $($(#[$about])* $variant
                $({$(
                    #[serde(with = "form" $(, $default, skip_serializing_if = "form::is_absent")?)]
                    $(#[serde($($more),+)])?
                    $field: $form,
                )+})?
                $((#[serde(with = "form")] $inner))?,)+
        }
    };
}

/// Declares the form of types by a record that derives it for them.
macro_rules! stored_by {
    ($($type:ty: $record:ty;)+) => {$(
        impl Stored for $type {
            fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$record>::serialize(self, serializer)
            }

            fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$record>::deserialize(deserializer)
            }
        }
    )+};
}

/// Declares the form of enums with names as these names, with the words for an unknown one.
macro_rules! stored_by_name {
    ($($type:ty: $kind:literal;)+) => {
        $crate::record::form::stored_as! {$(
            $type as String: |value| value.as_str(),
                |name| known(Self::from_name(&name), &name, $kind);
        )+}
    };
}

pub(crate) use {records, stored_as, stored_by, stored_by_name, tagged_record};

stored_as! {
    bool as Self: |flag| flag, |flag| Ok(flag), absent: false;
    u64 as Self: |number| number, |number| Ok(number);
    u32 as Self: |number| number, |number| Ok(number);
    i32 as Self: |number| number, |number| Ok(number);
    String as Self: |text| text, |text| Ok(text);
    Seq as i64: |seq| seq.0, |number| Ok(Self(number));
    Timestamp as i64: |at| at.0, |number| Ok(Self(number));
    Rank as i64: |rank| rank.0, |number| Ok(Self(number));
    Text as String: |text| text.as_str(), |text| Ok(Self::recorded(text));
    Title as String: |title| title.as_str(), |text| Ok(Self::recorded(text));
    FrameId as String: |id| id.as_str(), |text| parse(&text);
    SessionRef as String: |session| session.to_string(), |text| parse(&text);
    BlobId as String: |id| id.as_str(), |hex| known(Self::from_hex(&hex), &hex, "a hash");
    Origin as String: |origin| origin.as_str(),
        |name| known(Self::from_name(&name), &name, "an origin"),
        // Journals from before origins existed have none.
        absent: Self::Asked;
    Outcome as String: |outcome| outcome.status().as_str(),
        |name| known(Self::from_name(&name), &name, "an outcome");
    Closing as String: |closing| closing.status().as_str(),
        |name| match Outcome::from_name(&name) {
            Some(Outcome::Completed) => Ok(Self::Completed),
            Some(Outcome::Failed) => Ok(Self::Failed),
            _ => Err(format!("a frame does not close as `{name}`")),
        };
    SubagentEnd as String: |end| end.state().as_str(),
        |name| known(Self::from_name(&name), &name, "an end");
    EndedBy as String: |by| by.as_str(),
        |name| known(Self::from_name(&name), &name, "a source of an end"),
        // Journals from before it was recorded have none.
        absent: Self::Host;
    // A kind that a later version added becomes a general one, so that the text is not lost.
    Anchor as (String, String): |anchor| (anchor.kind.as_str(), &anchor.text),
        |(kind, text)| Ok(Self {
            kind: AnchorKind::from_name(&kind).unwrap_or(AnchorKind::Goal),
            text,
        });
    Span as (String, Option<String>, Option<String>):
        |span| (span.session.to_string(), &span.first, &span.last),
        |(session, first, last)| Ok(Self { session: parse(&session)?, first, last });
    DiffTotals as (u64, u64, u64): |diff| (diff.added, diff.deleted, diff.files),
        |(added, deleted, files)| Ok(Self { added, deleted, files });
}

stored_by_name! {
    Status: "a status";
    StallKind: "a kind of stall";
    CompactionKind: "a kind of compaction";
    AdviceKind: "a kind of advice";
    Heuristic: "a heuristic";
    Boundary: "a boundary";
    SuggestionState: "a state of a suggestion";
}

fn parse<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(crate) fn known<T>(value: Option<T>, name: &str, kind: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("`{name}` is not {kind}"))
}

/// A fingerprint is 16 hex digits, and a list of them one text without separators.
impl Stored for Fingerprint {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        parse_mark(digits.as_bytes()).map_err(D::Error::custom)
    }

    fn store_all<S: Serializer>(marks: &[Self], serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = String::with_capacity(16 * marks.len());
        for mark in marks {
            // Writing into a string cannot fail.
            let _ = write!(digits, "{:016x}", mark.0);
        }
        serializer.serialize_str(&digits)
    }

    fn load_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Self>, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let marks: Result<_, String> = digits.as_bytes().chunks(16).map(parse_mark).collect();
        marks.map_err(D::Error::custom)
    }
}

fn parse_mark(digits: &[u8]) -> Result<Fingerprint, String> {
    let text = String::from_utf8_lossy(digits);
    let mark = u64::from_str_radix(&text, 16).ok();
    let mark = mark.filter(|_| digits.len() == 16);
    mark.map(Fingerprint)
        .ok_or_else(|| format!("`{text}` is not a mark"))
}
