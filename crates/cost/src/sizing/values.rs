//! Bounds of every value.
use super::at::at_json;
use super::extremes::{End, Ends};
use super::named;
use super::{At, Sizing, SizingError, When};
use serde_json::{Map, Value as Json, json};
use sizewise_check::report::int_json;
use sizewise_expr::escape::abridged;
use sizewise_expr::{Expr, Int, print};
use sizewise_ir::keys::nearest;
use std::fmt::Write;
use std::rc::Rc;

/// The most assignments at which a program is run, to see that it takes them; fewer of large programs.
pub(super) const MAX_REPLAYED: usize = 1_024;
/// The most nodes that these runs visit.
const MAX_VISITED: usize = 1_000_000;

/// A value with its sizes.
#[derive(Clone, Debug)]
pub struct Sized {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: String,
    /// The bytes of an element.
    pub item: i64,
    /// Its sizes.
    pub sizes: Vec<Expr>,
    /// When a run makes it.
    pub when: When,
}

impl Sized {
    /// A value of this name.
    pub fn new(name: &str, dtype: &str, item: i64, sizes: &[Expr]) -> Sized {
        Sized {
            name: name.to_owned(),
            dtype: dtype.to_owned(),
            item,
            sizes: sizes.to_vec(),
            when: When::default(),
        }
    }
}

/// The bounds of a value.
#[derive(Clone, Debug)]
pub struct ValueBounds {
    /// The value.
    pub value: Sized,
    /// Those of its sizes.
    pub dims: Vec<Rc<Ends>>,
    /// Those of the number of its elements.
    pub elements: Rc<Ends>,
    /// Whether no allowed input makes it: it has no sizes then.
    pub is_never_made: bool,
    /// Why it may have other sizes than these; empty where the bounds are exact: what they say is attained, or proved not
    /// to exist.
    pub reasons: Vec<String>,
    /// The dimensions without which something would have a greatest value, `x.1`.
    pub needs: Vec<String>,
}

impl ValueBounds {
    /// Those of a value that no allowed input makes.
    pub(super) fn never(value: Sized) -> ValueBounds {
        let dims = value.sizes.iter().map(|_| Rc::default()).collect();
        let (elements, reasons) = (Rc::default(), vec!["no allowed input makes it".to_owned()]);
        ValueBounds { value, dims, elements, is_never_made: true, reasons, needs: Vec::new() }
    }

    /// Says why nothing is known to attain the bounds.
    pub(super) fn is_bound_only(&mut self, reason: &str) {
        for ends in self.dims.iter_mut().chain([&mut self.elements]) {
            let ends = Rc::make_mut(ends);
            ends.min.at = None;
            ends.max.at = None;
        }
        self.reasons.push(reason.to_owned());
    }

    /// Whether the bounds are exact.
    pub fn is_exact(&self) -> bool {
        self.reasons.is_empty()
    }
}

impl Sizing<'_> {
    /// Keeps the values of these names only; all if there are none.
    ///
    /// # Errors
    /// When there is no such value.
    pub fn keep_values(&mut self, names: &[String]) -> Result<(), SizingError> {
        if let Some(name) = names.iter().find(|name| !self.values.iter().any(|value| value.name == **name)) {
            let within =
                |graph: &&String| name.strip_prefix(graph.as_str()).is_some_and(|n| n.starts_with('.'));
            if let Some(graph) = self.unreached.iter().find(within) {
                let message =
                    format!("no allowed input comes to `{graph}`: nothing makes `{}`", abridged(name));
                return Err(SizingError::Question(message));
            }
            let near = nearest(name, self.values.iter().map(|value| value.name.as_str()));
            let near = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
            return Err(SizingError::Question(format!("no node makes a tensor `{}`{near}", abridged(name))));
        }
        if !names.is_empty() {
            self.values.retain(|value| names.contains(&value.name));
        }
        Ok(())
    }

    /// The bounds of every value that the program makes, in its order.
    pub fn values(&mut self) -> Vec<ValueBounds> {
        let values = self.values.clone();
        let most = (MAX_VISITED / values.len().max(1)).clamp(4, MAX_REPLAYED);
        values.into_iter().map(|value| self.bounds_of(value, most)).collect()
    }

    /// The bounds of a value over the inputs of which something is known at present.
    pub(super) fn bounds_here(&mut self, value: Sized, most: usize) -> ValueBounds {
        let sizes: Vec<Expr> = value.sizes.iter().map(|&size| self.settled(size)).collect();
        let elements = self.env.pool.product(sizes.iter().copied());
        let mut dims: Vec<Rc<Ends>> = sizes.iter().map(|&size| self.ends(size)).collect();
        let mut all = self.ends(elements);
        let mut reasons = self.reasons.clone();
        if !value.when.by_data {
            for ends in dims.iter_mut().chain([&mut all]) {
                self.replayed(ends, most, &mut reasons);
            }
        }
        let is_open = sizes.iter().any(|&size| self.is_open(size));
        let settled = |ends: &Rc<Ends>| ends.min.is_settled && ends.max.is_settled;
        let is_settled = dims.iter().chain([&all]).all(settled);
        let needs = if all.max.value.is_some() { Vec::new() } else { named::endless(self, elements) };
        let by_data = value.when.by_data;
        let mut found = ValueBounds { value, dims, elements: all, is_never_made: false, reasons, needs };
        if by_data {
            found.is_bound_only("data decide whether it is made");
        } else if is_open && !is_settled {
            found.reasons.push("data decide a size".to_owned());
        } else if found.reasons.is_empty() && !is_settled {
            found.reasons.push("whether a bound is attained was not decided".to_owned());
        }
        found
    }

    /// Leaves out the assignments that the program refuses: what they attain is only a bound then.
    fn replayed(&mut self, ends: &mut Rc<Ends>, most: usize, reasons: &mut Vec<String>) {
        let refused: Vec<bool> = [&ends.min, &ends.max]
            .into_iter()
            .map(|end| end.at.is_some_and(|at| at >= most || !self.is_taken(at)))
            .collect();
        if refused.contains(&true) {
            let ends = Rc::make_mut(ends);
            for (end, refused) in [&mut ends.min, &mut ends.max].into_iter().zip(refused) {
                if refused {
                    let reason = match end.at {
                        Some(at) if at >= most => "not every input that attains a bound was run",
                        _ => {
                            "the program refuses an input that the spec allows, and that would attain a bound"
                        }
                    };
                    if !reasons.iter().any(|known| known == reason) {
                        reasons.push(reason.to_owned());
                    }
                    *end = End { at: None, is_settled: false, ..end.clone() };
                }
            }
        }
    }

    fn end_at(&self, end: &End) -> Option<At> {
        self.at(end.at?)
    }

    /// The bounds of a value as JSON.
    pub fn value_json(&self, bounds: &ValueBounds) -> Json {
        let number = |value: &Option<Int>, factor: i64| match value {
            Some(value) => int_json(&(value * &Int::from(factor))),
            None => Json::Null,
        };
        let ends = |ends: &Ends, factor: i64| {
            let mut fields = Map::new();
            for (name, end) in [("min", &ends.min), ("max", &ends.max)] {
                fields.insert(name.to_owned(), number(&end.value, factor));
                if let Some(at) = self.end_at(end) {
                    fields.insert(format!("{name}_at"), at_json(&at));
                }
            }
            fields
        };
        let ValueBounds { value, dims, elements, is_never_made, reasons, needs } = bounds;
        let dim = |(ends_of, &size): (&Rc<Ends>, &Expr)| {
            let mut fields = ends(ends_of, 1);
            fields.insert("size".to_owned(), Json::from(print::expression(&self.env.pool, size)));
            Json::Object(fields)
        };
        let dims: Vec<Json> = dims.iter().zip(&value.sizes).map(dim).collect();
        let mut json = json!({
            "value": value.name,
            "dtype": value.dtype,
            "dims": dims,
            "elements": ends(elements, 1),
            "bytes": ends(elements, value.item),
            "exact": reasons.is_empty(),
            "reasons": reasons,
            "needs": needs,
        });
        if let Some(when) = self.when_text(&value.when).filter(|_| !is_never_made) {
            json["when"] = Json::from(when);
        }
        json
    }

    /// The bounds of a value for people.
    pub fn value_text(&self, bounds: &ValueBounds) -> String {
        let ValueBounds { value, dims, elements, is_never_made, reasons, needs } = bounds;
        let mut out = String::new();
        if *is_never_made {
            _ = writeln!(out, "{}  {}", value.name, value.dtype);
            reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
            return out;
        }
        let sizes: Vec<String> = dims.iter().map(|ends| range(ends, 1)).collect();
        _ = writeln!(out, "{}  {}[{}]", value.name, value.dtype, sizes.join(", "));
        _ = write!(out, "  {} bytes", range(elements, value.item));
        if let Some(at) = self.end_at(&elements.max) {
            _ = write!(out, ", most at {}", super::at_text(&at));
        }
        out.push('\n');
        if let Some(when) = self.when_text(&value.when) {
            _ = writeln!(out, "  where {when}");
        }
        if !needs.is_empty() {
            _ = writeln!(out, "  no bound: give {} a max", needs.join(" and "));
        }
        reasons.iter().for_each(|reason| _ = writeln!(out, "  not exact: {reason}"));
        out
    }
}

/// `2..64`, or one number.
fn range(ends: &Ends, factor: i64) -> String {
    let factor = Int::from(factor);
    let number = |value: &Option<Int>, none: &str| match value {
        Some(value) => (value * &factor).to_string(),
        None => none.to_owned(),
    };
    match (&ends.min.value, &ends.max.value) {
        (Some(min), Some(max)) if min == max => (min * &factor).to_string(),
        (min, max) => format!("{}..{}", number(min, "?"), number(max, "")),
    }
}
