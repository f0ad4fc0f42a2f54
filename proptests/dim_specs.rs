//! Laws of specs of `Dim`s as Python: what is printed is read back as what was meant, and torch.export takes its ranges.
use crate::campaign;

use campaign::{config, count};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use sizewise::spec::Spec;

/// Names of dimensions: plain ones, those that the text needs itself, words of Python, and what stands in for these.
const NAMES: [&str; 9] = ["b", "b_", "seq", "Dim", "Dim_", "torch", "class", "class_", "größe"];

/// The range of a named dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    min: Option<i64>,
    max: Option<i64>,
}

/// What a spec says of one size.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Entry {
    Static,
    Size(i64),
    Hint(&'static str, Range),
    /// `factor * name + offset`.
    Dim {
        name: usize,
        factor: i64,
        offset: i64,
    },
}

/// A tensor, or a container of some.
#[derive(Clone, Debug)]
enum Tree {
    Tensor(Vec<Entry>),
    /// A tensor of which only some dimensions are said.
    Some(Vec<(usize, Entry)>),
    List(Vec<Tree>),
    Dict(Vec<(String, Tree)>),
}

fn range() -> impl Strategy<Value = Range> {
    let ends = (
        0..6i64,
        prop_oneof![2 => (0..3i64).prop_map(Some), 1 => (3..1i64 << 40).prop_map(Some), 1 => Just(None)],
    );
    (ends, any::<bool>()).prop_map(|((min, length), is_written)| Range {
        min: (min > 0 || is_written).then_some(min),
        max: length.map(|length| min + length),
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let linear = (0..NAMES.len(), 1..4i64, -4..6i64);
    let plain = (0..NAMES.len()).prop_map(|name| Entry::Dim { name, factor: 1, offset: 0 });
    prop_oneof![
        1 => Just(Entry::Static),
        1 => (0..9i64).prop_map(Entry::Size),
        1 => (prop::sample::select(vec!["AUTO", "DYNAMIC"]), range()).prop_map(|(hint, range)| Entry::Hint(hint, range)),
        3 => plain,
        2 => linear.prop_map(|(name, factor, offset)| Entry::Dim { name, factor, offset }),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let tensor = prop::collection::vec(entry(), 0..4).prop_map(Tree::Tensor);
    let some = prop::collection::btree_map(0..4usize, entry(), 1..3)
        .prop_map(|entries| Tree::Some(entries.into_iter().collect()));
    prop_oneof![3 => tensor, 1 => some].prop_recursive(2, 12, 3, |inner| {
        let keys = prop::sample::select(vec!["x", "a b", "it's", "größe", "min"]);
        let dict = prop::collection::btree_map(keys, inner.clone(), 1..3).prop_map(|items| {
            Tree::Dict(items.into_iter().map(|(key, item)| (key.to_owned(), item)).collect())
        });
        prop_oneof![prop::collection::vec(inner, 1..3).prop_map(Tree::List), dict]
    })
}

impl Range {
    fn json(self) -> Map<String, Json> {
        let ends = [("min", self.min), ("max", self.max)];
        ends.into_iter().filter_map(|(key, end)| Some((key.to_owned(), json!(end?)))).collect()
    }

    /// What torch.export takes in its place, `least` being the least size from which none is computed below 0.
    fn taken(self, least: i64) -> Taken {
        let min = self.min.unwrap_or(0).max(least);
        match self.max {
            Some(max) if max == min => Taken::Size(min),
            Some(max) if max < 2 => Taken::Auto(min, Some(max)),
            max => Taken::Dim(min, max),
        }
    }
}

/// What torch.export takes in the place of a named dimension.
enum Taken {
    Size(i64),
    Auto(i64, Option<i64>),
    Dim(i64, Option<i64>),
}

impl Entry {
    fn json(&self, ranges: &[Range]) -> Json {
        match self {
            Entry::Static => Json::Null,
            Entry::Size(size) => json!(size),
            Entry::Hint(hint, range) => {
                let mut fields = range.json();
                fields.insert("hint".to_owned(), json!(hint));
                Json::Object(fields)
            }
            Entry::Dim { name, factor, offset } => {
                let mut root = ranges[*name].json();
                let name = NAMES[*name];
                root.insert("dim".to_owned(), json!(name));
                let product = if *factor == 1 { name.to_owned() } else { format!("{factor}*{name}") };
                match offset {
                    0 if *factor == 1 => Json::Object(root),
                    0 => json!({"derived": product, "root": root}),
                    1.. => json!({"derived": format!("{product} + {offset}"), "root": root}),
                    _ => json!({"derived": format!("{product} - {}", -offset), "root": root}),
                }
            }
        }
    }

    /// What a reader makes of the text: the dimension's name, factor, offset and range, or the bounds of a hint.
    fn meant(&self, ranges: &[Range], least: &[i64]) -> String {
        let hint = |hint: &str, min: i64, max: Option<i64>| format!("{hint} in {min}..{max:?}");
        match self {
            Entry::Static => "static".to_owned(),
            Entry::Size(size) => size.to_string(),
            Entry::Hint(name, Range { min, max }) => hint(name, min.unwrap_or(0), *max),
            Entry::Dim { name, factor, offset } => match ranges[*name].taken(least[*name]) {
                Taken::Size(size) => (factor * size + offset).to_string(),
                Taken::Auto(min, max) => {
                    hint("AUTO", factor * min + offset, max.map(|max| factor * max + offset))
                }
                Taken::Dim(min, max) => format!("{factor}*{} + {offset}, in {min}..{max:?}", NAMES[*name]),
            },
        }
    }
}

impl Tree {
    fn entries(&self) -> Vec<&Entry> {
        match self {
            Tree::Tensor(entries) => entries.iter().collect(),
            Tree::Some(entries) => entries.iter().map(|(_, entry)| entry).collect(),
            Tree::List(items) => items.iter().flat_map(Tree::entries).collect(),
            Tree::Dict(items) => items.iter().flat_map(|(_, item)| item.entries()).collect(),
        }
    }

    /// The tree with each entry as `write` has it.
    fn map(&self, write: &impl Fn(&Entry) -> Json) -> Json {
        match self {
            Tree::Tensor(entries) => entries.iter().map(write).collect(),
            Tree::Some(entries) => {
                Json::Object(entries.iter().map(|(dim, entry)| (dim.to_string(), write(entry))).collect())
            }
            Tree::List(items) => items.iter().map(|item| item.map(write)).collect(),
            Tree::Dict(items) => {
                Json::Object(items.iter().map(|(key, item)| (key.clone(), item.map(write))).collect())
            }
        }
    }
}

/// The least size of each name from which none is computed below 0.
fn least(entries: &[&Entry]) -> Vec<i64> {
    let of = |i: usize| {
        let needed = entries.iter().filter_map(move |entry| match entry {
            Entry::Dim { name, factor, offset } if *name == i => {
                Some((-offset + factor - 1).div_euclid(*factor))
            }
            _ => None,
        });
        needed.max().unwrap_or(0).max(0)
    };
    (0..NAMES.len()).map(of).collect()
}

/// A tree that was read, with its entries as [`Entry::meant`] has them.
fn read(json: &Json) -> Json {
    let number = |json: &Json| json.as_i64();
    match json {
        Json::Null => json!("static"),
        Json::Number(size) => json!(size.to_string()),
        Json::String(word) => match word.as_str() {
            "STATIC" => json!("static"),
            hint => json!(format!("{hint} in 0..None")),
        },
        Json::Array(items) => items.iter().map(read).collect(),
        Json::Object(fields) => {
            let range =
                |of: &Json| format!("in {}..{:?}", number(&of["min"]).unwrap_or(0), number(&of["max"]));
            if let Some(Json::String(hint)) = fields.get("hint") {
                return json!(format!("{hint} {}", range(json)));
            }
            if let Some(Json::String(name)) = fields.get("dim") {
                return json!(format!("1*{name} + 0, {}", range(json)));
            }
            if let (Some(Json::String(text)), Some(root)) = (fields.get("derived"), fields.get("root")) {
                let name = root["dim"].as_str().unwrap_or_default();
                let text = text.replace("- ", "+ -");
                let (product, offset) = text.split_once(" + ").unwrap_or((&text, "0"));
                let factor = product.split_once('*').map_or("1", |(factor, _)| factor);
                assert!(product.ends_with(name), "{text} is not computed from {name}");
                return json!(format!("{factor}*{name} + {offset}, {}", range(root)));
            }
            Json::Object(fields.iter().map(|(key, item)| (key.clone(), read(item))).collect())
        }
        Json::Bool(_) => json.clone(),
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn what_is_printed_is_read_back_as_what_torch_takes(
        tree in prop::collection::vec(tree(), 1..4), ranges in prop::collection::vec(range(), NAMES.len()),
    ) {
        let tree = Tree::Dict(tree.into_iter().enumerate().map(|(i, item)| (format!("x{i}"), item)).collect());
        let least = least(&tree.entries());
        // A range without a size is no spec.
        prop_assume!(ranges.iter().zip(&least).all(|(range, least)| range.max.is_none_or(|max| max >= *least)));
        count(1);
        let given = tree.map(&|entry| entry.json(&ranges));
        let spec = Spec::parse(given.to_string().as_bytes()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let text = spec.to_python();
        let again = Spec::parse(text.as_bytes())
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let meant = tree.map(&|entry| json!(entry.meant(&ranges, &least)));
        prop_assert_eq!(read(&again.to_json()), meant, "{}", text);
        prop_assert_eq!(again.to_python(), text);
    }
}
