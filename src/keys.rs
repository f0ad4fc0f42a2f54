//! Layer 0: keys of documents that people write. One that nothing reads is a mistake, and most often a known one misspelt.

/// The known name that is likest to `name`.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Names are short; what is longer is like none of them.
    let name: String = name.chars().take(64).flat_map(char::to_lowercase).collect();
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&name, &known.to_lowercase());
    let rated = known.into_iter().map(|known| (likeness(known), known));
    // The first of those that are equally like.
    rated.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, known)| known)
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
    use super::{nearest, unknown};

    #[test]
    fn the_nearest_name_is_the_one_misspelt() {
        let known = ["id", "symbols", "given", "goal", "guards"];
        for (name, near) in
            [("gaurds", "guards"), ("Goal", "goal"), ("sybmols", "symbols"), ("givn", "given"), ("ids", "id")]
        {
            assert_eq!(nearest(name, known), Some(near), "{name}");
        }
        assert_eq!(nearest("x", []), None);
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
