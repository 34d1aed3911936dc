//! Frame ids in the run's journal, as text. Core types are not a wire format.

use flamestack_core::FrameId;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

fn parse<'de, D: Deserializer<'de>>(text: &str) -> Result<FrameId, D::Error> {
    text.parse().map_err(D::Error::custom)
}

/// One id.
pub(crate) mod one {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(id: &FrameId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(id.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FrameId, D::Error> {
        parse::<D>(&String::deserialize(from)?)
    }
}

/// An id that may be missing.
pub(crate) mod option {
    use super::*;

    #[expect(clippy::ref_option, reason = "serde passes the field")]
    pub(crate) fn serialize<S: Serializer>(id: &Option<FrameId>, to: S) -> Result<S::Ok, S::Error> {
        id.as_ref().map(FrameId::as_str).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<FrameId>, D::Error> {
        Option::<String>::deserialize(from)?
            .map(|text| parse::<D>(&text))
            .transpose()
    }
}

/// A list of ids.
pub(crate) mod many {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(ids: &[FrameId], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(ids.iter().map(FrameId::as_str))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<FrameId>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| parse::<D>(text)).collect()
    }
}
