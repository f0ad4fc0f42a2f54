//! The changes of a spec as Python to paste: names with what they become.
use super::text::{auto, dim, linear, variable};
use crate::spec::Change;
use indexmap::IndexMap;

/// What a name is assigned to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Assigned {
    /// A named dimension in this range.
    Dim(i64, Option<i64>),
    /// `factor * root + offset`.
    Linear { root: String, factor: i64, offset: i64 },
    /// One size.
    Size(i64),
    /// What torch.export infers within these bounds.
    Auto(i64, Option<i64>),
    /// The size of the example, for an input that is no tensor.
    Static,
}

/// Assignments. Written out, each name stands after those that it is computed from, and nothing is computed from what is
/// left to torch.export, which it could not be.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lines {
    comments: Vec<String>,
    values: IndexMap<String, Assigned>,
}

impl Lines {
    /// Says what a name stands for.
    pub fn comment(&mut self, text: String) {
        if !self.comments.contains(&text) {
            self.comments.push(text);
        }
    }

    /// Assigns a new dimension to its name.
    pub fn introduce(&mut self, name: &str, min: i64, max: Option<i64>) {
        self.values.entry(name.to_owned()).or_insert(Assigned::Dim(min, max));
    }

    /// Makes a number static.
    pub fn fix(&mut self, path: &str) {
        self.values.insert(path.to_owned(), Assigned::Static);
    }

    /// Whether a name is left to torch.export.
    pub fn is_left(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some(Assigned::Auto(..)))
    }

    /// What becomes of `factor * name + offset` where the name is left to torch.export; `None` where it is not.
    pub fn left_change(&self, name: &str, factor: i64, offset: i64) -> Option<Change> {
        match self.values.get(name) {
            Some(Assigned::Auto(min, max)) => {
                Change::Auto { min: *min, max: *max }.composed(name, factor, offset)
            }
            _ => None,
        }
    }

    /// Changes what a name is assigned to.
    pub fn change(&mut self, name: &str, change: &Change) {
        let value = match change {
            Change::Range { min, max } => Assigned::Dim(*min, *max),
            Change::Derived { root, factor, offset } => {
                Assigned::Linear { root: root.clone(), factor: *factor, offset: *offset }
            }
            Change::Linear { root, factor, offset, min, max } => {
                self.values.insert(root.clone(), Assigned::Dim(*min, *max));
                Assigned::Linear { root: root.clone(), factor: *factor, offset: *offset }
            }
            Change::Size(size) => Assigned::Size(*size),
            Change::Auto { min, max } => return self.leave(name, *min, *max),
        };
        self.values.insert(name.to_owned(), value);
    }

    /// Leaves a name to torch.export, and all that is computed from it, each within its own bounds.
    fn leave(&mut self, name: &str, min: i64, max: Option<i64>) {
        let left = Change::Auto { min, max };
        self.values.insert(name.to_owned(), Assigned::Auto(min, max));
        let computed = self.values.iter().filter_map(|(other, value)| match value {
            Assigned::Linear { root, factor, offset } if root == name => {
                Some((other.clone(), left.composed(name, *factor, *offset)?))
            }
            _ => None,
        });
        for (other, change) in computed.collect::<Vec<_>>() {
            self.change(&other, &change);
        }
    }

    /// What each name may be, in words; those of new names that only others are computed from are left out.
    pub fn needs(&self, is_size: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let sizes = self.values.iter().filter(|(name, _)| is_size(name));
        sizes.map(|(name, value)| (name.clone(), self.in_words(value))).collect()
    }

    fn in_words(&self, value: &Assigned) -> String {
        match value {
            Assigned::Dim(min, max) => range_in_words(*min, *max),
            Assigned::Size(size) => format!("{size} only"),
            Assigned::Static => "the size of the example".to_owned(),
            Assigned::Auto(0, None) => "Dim.AUTO: the module checks it".to_owned(),
            Assigned::Auto(min, max) => {
                format!("Dim.AUTO, {}: the module checks it", range_in_words(*min, *max))
            }
            Assigned::Linear { root, factor, offset } => match self.values.get(root) {
                Some(Assigned::Dim(min, max)) if root.starts_with('_') => {
                    let scaled = |size: i64| size.checked_mul(*factor)?.checked_add(*offset);
                    let range = scaled(*min).map(|min| range_in_words(min, max.and_then(scaled)));
                    // Of names that are computed from one new name, each says how.
                    let is_shared =
                        self.values.values().filter(|value| value.root() == Some(root.as_str())).count() > 1;
                    let what = match offset {
                        0 if !is_shared => format!("a multiple of {factor}"),
                        _ => linear(if is_shared { root } else { "k" }, *factor, *offset),
                    };
                    format!("{what}, {}", range.unwrap_or_default())
                }
                _ if (*factor, *offset) == (1, 0) => format!("equal to {root}"),
                _ => linear(root, *factor, *offset),
            },
        }
    }

    /// Forgets new names that nothing is computed from, unless they are kept.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        loop {
            let used: Vec<String> =
                self.values.values().filter_map(Assigned::root).map(str::to_owned).collect();
            let before = self.values.len();
            self.values.retain(|name, _| keep(name) || used.contains(name));
            if self.values.len() == before {
                return;
            }
        }
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.comments.len() + self.values.len()
    }

    /// Whether a name is assigned to one size.
    pub fn fixes_a_size(&self) -> bool {
        self.values.values().any(|value| matches!(value, Assigned::Size(_)))
    }

    /// The lines as Python.
    pub fn text(&self) -> String {
        let mut lines = self.comments.clone();
        let mut written: Vec<&str> = Vec::new();
        while written.len() < self.values.len() {
            let is_ready = |name: &str, value: &Assigned| {
                let root = value.root().filter(|root| self.values.contains_key(*root));
                !written.contains(&name) && root.is_none_or(|root| written.contains(&root))
            };
            let next = self.values.iter().find(|(name, value)| is_ready(name, value));
            // Names are never computed from each other in a circle.
            let Some((name, value)) = next else { break };
            lines.push(format!("{} = {}", variable(name), value.python(name)));
            written.push(name);
        }
        lines.join("\n")
    }
}

/// Above this, numbers are shown by their distance to a power of 2.
const FAR: i64 = 1 << 40;

/// `2^63 - 2` for 9223372036854775806; any other number as it is.
fn far(size: i64) -> String {
    let below = (41..=63).find_map(|power: u32| {
        let distance = (1_i128 << power) - i128::from(size);
        (0..=2).contains(&distance).then(|| match distance {
            0 => format!("2^{power}"),
            distance => format!("2^{power} - {distance}"),
        })
    });
    below.unwrap_or_else(|| size.to_string())
}

/// `2..64`, `2 or more`, `any size`, `2..2^63 - 2`.
pub fn range_in_words(min: i64, max: Option<i64>) -> String {
    match (min, max) {
        (min, Some(max)) if min == max => format!("{min} only"),
        (min, Some(max)) if max > FAR => format!("{min}..{}", far(max)),
        (min, Some(max)) => format!("{min}..{max}"),
        (..=0, None) => "any size".to_owned(),
        (min, None) => format!("{min} or more"),
    }
}

impl Assigned {
    fn root(&self) -> Option<&str> {
        match self {
            Assigned::Linear { root, .. } => Some(root),
            _ => None,
        }
    }

    fn python(&self, name: &str) -> String {
        match self {
            Assigned::Dim(min, max) => dim(name, *min, *max),
            Assigned::Linear { root, factor, offset } => linear(&variable(root), *factor, *offset),
            Assigned::Size(size) => size.to_string(),
            Assigned::Auto(min, max) => auto(*min, *max),
            Assigned::Static => "Dim.STATIC".to_owned(),
        }
    }
}
