//! Texts, ordered maps and the numbers that the schema constrains.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::dtype::{Dtype, Layout, MemoryFormat};

/// A string, borrowed from the document when it has no escapes there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::pt2) struct Text<'a>(pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A map in the document's order. Keys may repeat; who builds a table from it refuses that.
#[derive(Debug, Clone)]
pub(in crate::pt2) struct Ordered<'a, V>(pub Vec<(Text<'a>, V)>);

impl<V> Default for Ordered<'_, V> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Ordered<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedVisitor<'a, V>(PhantomData<(&'a (), V)>);
        impl<'de: 'a, 'a, V: Deserialize<'de>> Visitor<'de> for OrderedVisitor<'a, V> {
            type Value = Ordered<'a, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key()? {
                    entries.push((key, map.next_value()?));
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(OrderedVisitor(PhantomData))
    }
}

/// The value of `as_none`: `true`, or an empty list in older files.
#[derive(Debug, Clone, Copy)]
pub(in crate::pt2) struct Nothing;

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NothingVisitor;
        impl<'de> Visitor<'de> for NothingVisitor {
            type Value = Nothing;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`")
            }
            fn visit_bool<E: Error>(self, _: bool) -> Result<Nothing, E> {
                Ok(Nothing)
            }
            fn visit_unit<E: Error>(self) -> Result<Nothing, E> {
                Ok(Nothing)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Nothing, A::Error> {
                match seq.next_element::<IgnoredAny>()? {
                    None => Ok(Nothing),
                    Some(_) => Err(Error::invalid_length(1, &self)),
                }
            }
        }
        deserializer.deserialize_any(NothingVisitor)
    }
}

/// An integer of 64 bits. One that does not fit is named as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pt2) struct Int(pub i64);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntVisitor;
        impl Visitor<'_> for IntVisitor {
            type Value = Int;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Int, E> {
                Ok(Int(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Int, E> {
                i64::try_from(value).map(Int).map_err(|_| {
                    E::custom(format!("the integer {value} does not fit a signed 64-bit integer"))
                })
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Int, E> {
                if value.fract() == 0.0 && value.abs() >= 9.2e18 {
                    return Err(E::custom(format!(
                        "an integer of about {value:e} does not fit a signed 64-bit integer"
                    )));
                }
                Err(E::invalid_type(serde::de::Unexpected::Float(value), &self))
            }
        }
        deserializer.deserialize_i64(IntVisitor)
    }
}

/// A bound of a range, which may lie beyond the integers of 64 bits: sizes are such integers, and ranges are computed
/// from theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pt2) enum Limit {
    /// Below all integers of 64 bits.
    Below,
    At(i64),
    /// Above all integers of 64 bits.
    Above,
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LimitVisitor;
        impl Visitor<'_> for LimitVisitor {
            type Value = Limit;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Limit, E> {
                Ok(Limit::At(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Limit, E> {
                Ok(i64::try_from(value).map_or(Limit::Above, Limit::At))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Limit, E> {
                // Integers of more than 64 bits are given as doubles; -2^63 and 2^63 are doubles.
                const BEYOND: f64 = 9_223_372_036_854_775_808.0;
                match value {
                    _ if value <= -BEYOND => Ok(Limit::Below),
                    _ if value >= BEYOND => Ok(Limit::Above),
                    _ => Err(E::invalid_type(serde::de::Unexpected::Float(value), &self)),
                }
            }
        }
        deserializer.deserialize_i64(LimitVisitor)
    }
}

/// A double: a number, or a string such as "Infinity", "-Infinity" or "NaN" that Python's `float()` reads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::pt2) struct Double(pub f64);

impl<'de> Deserialize<'de> for Double {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        let value = match written.as_bytes().first() {
            Some(b'"') => serde_json::from_str::<String>(written).ok().and_then(|text| python_float(&text)),
            _ => written.parse().ok(),
        };
        value.map(Double).ok_or_else(|| {
            let found: String = written.chars().take(60).collect();
            D::Error::custom(format!("expected a floating point number, found {found}"))
        })
    }
}

/// What Python's `float(text)` gives: spaces around, underscores between digits, `inf` and `nan` in any case.
fn python_float(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits_around = |at: usize| {
        let bytes = text.as_bytes();
        at > 0 && bytes[at - 1].is_ascii_digit() && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    if text.match_indices('_').any(|(at, _)| !digits_around(at)) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Declares an integer of the schema that stands for a member of an enumeration.
macro_rules! enumeration {
    ($name:ident($ty:ty), $what:literal) => {
        #[doc = concat!("The number of a ", $what, ".")]
        #[derive(Debug, Clone, Copy)]
        pub(in crate::pt2) struct $name(pub $ty);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let Int(number) = Int::deserialize(deserializer)?;
                <$ty>::from_export_number(number).map($name).ok_or_else(|| {
                    D::Error::custom(format!(concat!("no ", $what, " has the number {}"), number))
                })
            }
        }
    };
}

enumeration!(ScalarType(Dtype), "ScalarType");
enumeration!(LayoutNumber(Layout), "Layout");
enumeration!(MemoryFormatNumber(MemoryFormat), "MemoryFormat");
