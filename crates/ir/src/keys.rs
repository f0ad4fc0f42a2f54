//! Keys of documents that people write. One that nothing reads is a mistake, and most often a known one
//! misspelt; one that is there twice says two things.
use rustc_hash::FxHashSet;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Checks that no object of a JSON document has a key twice. What is not JSON passes: whoever reads it says why.
///
/// # Errors
/// A message that names the key.
///
/// ```
/// # use sizewise_ir::keys::unrepeated;
/// assert_eq!(unrepeated(br#"{"a": {"b": 1}, "c": [{"b": 2.5}]}"#), Ok(()));
/// assert!(unrepeated(br#"{"a": [{"b": 1, "b": 1}]}"#).is_err_and(|message| message.contains("`b`")));
/// ```
pub fn unrepeated(text: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<Unrepeated>(text) {
        Err(error) if error.is_data() => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// A document that is looked through for keys that are there twice.
struct Unrepeated;

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unrepeated, D::Error> {
        deserializer.deserialize_any(Unrepeated)
    }
}

impl<'de> Visitor<'de> for Unrepeated {
    type Value = Unrepeated;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_unit<E>(self) -> Result<Unrepeated, E> {
        Ok(Unrepeated)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unrepeated, A::Error> {
        while items.next_element::<Unrepeated>()?.is_some() {}
        Ok(Unrepeated)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Unrepeated, A::Error> {
        let mut seen: FxHashSet<String> = FxHashSet::default();
        while let Some(key) = fields.next_key::<String>()? {
            if seen.contains(&key) {
                let key: String = key.chars().take(64).collect();
                return Err(A::Error::custom(format!("the key `{key}` is there twice")));
            }
            seen.insert(key);
            fields.next_value::<Unrepeated>()?;
        }
        Ok(Unrepeated)
    }
}

/// The known name that is likest to `name`.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Names are short; what is longer is like none of them.
    let name: String = name.chars().take(64).flat_map(char::to_lowercase).collect();
    // Of names that are as many changes away, the one that begins alike is meant: `mim` is `min`, not `dim`.
    let likeness = |known: &str| {
        let known = known.to_lowercase();
        match strsim::normalized_damerau_levenshtein(&name, &known) {
            0.0 => 0.0,
            likeness => likeness + strsim::jaro_winkler(&name, &known) / 100.0,
        }
    };
    let rated = known.into_iter().map(|known| (likeness(known), known));
    // The first of those that are equally like.
    rated.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, known)| known)
}

/// The known name that is likest to `name`, if it is so like it that `name` may be a misspelling.
pub fn similar<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let start: String = name.chars().take(64).collect();
    nearest(name, known).filter(|near| strsim::normalized_damerau_levenshtein(&start, near) > 0.5)
}

/// What to say of a key that nothing reads: the nearest known one, and all there are.
pub fn unknown(key: &str, known: &[&str]) -> String {
    let key: String = key.chars().take(64).collect();
    let all: Vec<String> = known.iter().map(|known| format!("`{known}`")).collect();
    match nearest(&key, known.iter().copied()) {
        Some(near) if known.len() > 1 => {
            format!("there is no field `{key}` here; the nearest is `{near}` (known: {})", all.join(", "))
        }
        Some(near) => format!("there is no field `{key}` here, only `{near}`"),
        None => format!("there is no field `{key}` here: expected none"),
    }
}

#[cfg(test)]
mod tests {
    use super::{nearest, similar, unknown};

    #[test]
    fn the_nearest_name_is_the_one_misspelt() {
        let known = ["id", "symbols", "given", "goal", "guards"];
        for (name, near) in
            [("gaurds", "guards"), ("Goal", "goal"), ("sybmols", "symbols"), ("givn", "given"), ("ids", "id")]
        {
            assert_eq!(nearest(name, known), Some(near), "{name}");
        }
        assert_eq!(nearest("x", []), None);
        assert_eq!((similar("AUT", ["AUTO", "STATIC"]), similar("x", ["AUTO"])), (Some("AUTO"), None));
    }

    #[test]
    fn the_message_names_what_there_is() {
        for (key, known, message) in [
            (
                "mn",
                &["min", "max"][..],
                "there is no field `mn` here; the nearest is `min` (known: `min`, `max`)",
            ),
            ("x", &["id"], "there is no field `x` here, only `id`"),
            ("x", &[], "there is no field `x` here: expected none"),
        ] {
            assert_eq!(unknown(key, known), message);
        }
    }
}
