//! JSON texts, built from the inside out, in the order in which they are given.

/// A JSON text.
pub(super) type Json = String;

/// A string.
pub(super) fn string(text: &str) -> Json {
    serde_json::Value::from(text).to_string()
}

/// A string, or null.
pub(super) fn optional(text: Option<&str>) -> Json {
    text.map_or_else(|| "null".to_owned(), string)
}

/// An integer, or null.
pub(super) fn optional_int(value: Option<i64>) -> Json {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// A float; those that are no numbers are strings.
pub(super) fn float(value: f64) -> Json {
    if value.is_nan() {
        "\"NaN\"".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned()
    } else {
        format!("{value:?}")
    }
}

/// A list.
pub(super) fn array(items: impl IntoIterator<Item = Json>) -> Json {
    let mut text = String::from("[");
    for (index, item) in items.into_iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(&item);
    }
    text.push(']');
    text
}

/// An object.
pub(super) fn object<K: AsRef<str>>(fields: impl IntoIterator<Item = (K, Json)>) -> Json {
    let mut text = String::from("{");
    for (index, (name, value)) in fields.into_iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(&string(name.as_ref()));
        text.push_str(": ");
        text.push_str(&value);
    }
    text.push('}');
    text
}

/// A union: an object with its tag for the only key.
pub(super) fn tagged(tag: &str, value: Json) -> Json {
    object([(tag, value)])
}
