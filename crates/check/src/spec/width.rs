//! Whether one spec allows all that another one allows, as far as their entries say it.
use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

/// An entry of a spec, with the places that have it.
fn entries<'j>(spec: &'j Json, path: &str, found: &mut IndexMap<String, &'j Json>) {
    match spec {
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| entries(item, &format!("{path}[{at}]"), found));
        }
        Json::Object(map) if !is_entry(map) => {
            map.iter().for_each(|(key, item)| entries(item, &format!("{path}.{key}"), found));
        }
        entry => drop(found.insert(path.to_owned(), entry)),
    }
}

/// Whether an object is a dimension, and no container of inputs.
fn is_entry(map: &Map<String, Json>) -> bool {
    ["dim", "derived", "auto", "hint", "min", "max"].iter().any(|key| map.contains_key(*key))
        && map.values().all(|value| !value.is_array())
}

/// The name of a dimension.
fn name(entry: &Json) -> Option<&str> {
    entry.get("dim").and_then(Json::as_str)
}

/// Whether an entry allows what another one allows, the other places aside.
fn is_as_wide(entry: &Json, other: &Json) -> bool {
    let end = |entry: &Json, key: &str| entry.get(key).and_then(Json::as_i64);
    match (name(entry), name(other)) {
        _ if entry == other => true,
        (Some(_), Some(_)) => {
            let below = end(entry, "min").unwrap_or(0) <= end(other, "min").unwrap_or(0);
            let above = match (end(entry, "max"), end(other, "max")) {
                (None, _) => true,
                (Some(most), Some(other)) => most >= other,
                (Some(_), None) => false,
            };
            below && above
        }
        _ => false,
    }
}

/// The wider of two entries at each place, as a spec like `least`; and whether all are those of `found`. Where `found`
/// has one size for several places that `least` tells apart, its entry is narrower.
pub(super) fn at_least(found: &Json, least: &Json) -> (Json, bool) {
    let (mut of_found, mut of_least) = (IndexMap::new(), IndexMap::new());
    entries(found, "", &mut of_found);
    entries(least, "", &mut of_least);
    let mut names: IndexMap<&str, &str> = IndexMap::new();
    let mut joined: Vec<&str> = Vec::new();
    for (place, entry) in &of_found {
        let other = of_least.get(place).and_then(|other| name(other));
        if let (Some(name), Some(other)) = (name(entry), other)
            && *names.entry(name).or_insert(other) != other
        {
            joined.push(name);
        }
    }
    // A dimension is taken in all its places, or in none.
    let is_wide = |own: &str| {
        let mut places = of_found.iter().filter(|(_, entry)| name(entry) == Some(own));
        let is_wide = |(place, entry): (&String, &&Json)| {
            of_least.get(place).is_some_and(|other| is_as_wide(entry, other))
        };
        !joined.contains(&own) && places.all(is_wide)
    };
    let mut is_found = of_found.len() == of_least.len();
    let mut wider: IndexMap<String, Json> = IndexMap::new();
    for (place, other) in &of_least {
        let entry = of_found.get(place).filter(|entry| match name(entry) {
            Some(own) => is_wide(own),
            None => is_as_wide(entry, other),
        });
        is_found &= entry.is_some();
        wider.insert(place.clone(), (*entry.unwrap_or(other)).clone());
    }
    (rebuilt(least, "", &wider), is_found)
}

/// A spec with other entries.
fn rebuilt(spec: &Json, path: &str, entries: &IndexMap<String, Json>) -> Json {
    match spec {
        Json::Array(items) => {
            let item = |(at, item): (usize, &Json)| rebuilt(item, &format!("{path}[{at}]"), entries);
            items.iter().enumerate().map(item).collect()
        }
        Json::Object(map) if !is_entry(map) => {
            let item = |(key, item): (&String, &Json)| {
                (key.clone(), rebuilt(item, &format!("{path}.{key}"), entries))
            };
            Json::Object(map.iter().map(item).collect())
        }
        entry => entries.get(path).unwrap_or(entry).clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_place_gets_the_wider_entry() {
        let dim = |name: &str, min: i64, max: Option<i64>| json!({"dim": name, "min": min, "max": max});
        let least = json!({"x": [dim("b", 2, None), "AUTO"], "y": [dim("b", 2, None), dim("n", 2, Some(9))]});
        let found = json!({"x": [dim("b", 0, None), dim("m", 0, Some(12))], "y": [dim("b", 0, None), dim("n", 0, Some(9))]});
        let (wider, is_found) = at_least(&found, &least);
        assert!(!is_found);
        assert_eq!(
            wider,
            json!({"x": [dim("b", 0, None), "AUTO"], "y": [dim("b", 0, None), dim("n", 0, Some(9))]})
        );
        assert_eq!(at_least(&wider, &least), (wider.clone(), true));
        // One size in the place of two is narrower.
        let joined = json!({"x": [dim("b", 0, None), "AUTO"], "y": [dim("b", 0, None), dim("b", 0, None)]});
        assert_eq!(at_least(&joined, &least), (least, false));
    }
}
