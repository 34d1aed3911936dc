//! Reads an object as the enum variant that one of its fields names.
//!
//! Serde's own tagged enums keep all fields in memory until they have seen the tag: an event with
//! 120,000 notes took 70 MB. The journal's writer puts the tag first, so the fields after it can be
//! read as they come.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// A deserializer for enums whose variants are named by a field, after at most the field `by`.
pub(super) struct Tagged<D> {
    inner: D,
    tag: &'static str,
}

impl<D> Tagged<D> {
    pub(super) fn new(inner: D, tag: &'static str) -> Self {
        Self { inner, tag }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tagged<D> {
    type Error = D::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(EnumVisitor {
            tag: self.tag,
            visitor,
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct EnumVisitor<V> {
    tag: &'static str,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for EnumVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field `{}`", self.tag)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(TaggedMap { tag: self.tag, map })
    }
}

struct TaggedMap<A> {
    tag: &'static str,
    map: A,
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for TaggedMap<A> {
    type Error = A::Error;
    type Variant = Fields<A>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        mut self,
        seed: S,
    ) -> Result<(S::Value, Fields<A>), A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            if key == self.tag {
                let variant = self.map.next_value_seed(seed)?;
                return Ok((variant, Fields(self.map)));
            }
            if key != "by" {
                break;
            }
            self.map.next_value::<IgnoredAny>()?;
        }
        Err(A::Error::missing_field(self.tag))
    }
}

/// The fields after the tag.
struct Fields<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        while self.0.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        seed.deserialize(MapAccessDeserializer::new(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }
}
