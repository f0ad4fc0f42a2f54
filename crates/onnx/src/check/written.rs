//! The sizes of a model's inputs as a spec.
use super::names::has_operator;
use super::symbolic::{Named, Symbolic};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json, json};
use sizewise_check::spec::{Change, dimension_name};
use sizewise_expr::escape::is_identifier;
use sizewise_expr::{Expr, Symbol};
use sizewise_onnx_model::walk::Given;

/// The most sizes that are derived of each other.
const MAX_DEPTH: usize = 1;

/// A dimension of a spec.
enum Size {
    Number(i64),
    Linear { root: String, factor: i64, offset: i64, min: i64, max: Option<i64> },
}

impl Size {
    /// `factor * self + offset`; `None` where the numbers are too large.
    fn scaled(self, by: i64, plus: i64) -> Option<Size> {
        Some(match self {
            Size::Number(number) => Size::Number(number.checked_mul(by)?.checked_add(plus)?),
            Size::Linear { root, factor, offset, min, max } => Size::Linear {
                factor: factor.checked_mul(by)?,
                offset: offset.checked_mul(by)?.checked_add(plus)?,
                root,
                min,
                max,
            },
        })
    }

    fn json(self) -> Json {
        match self {
            Size::Number(number) => json!(number),
            Size::Linear { root, factor: 1, offset: 0, min, max } => {
                json!({"dim": root, "min": min, "max": max})
            }
            Size::Linear { root, factor, offset, min, max } => {
                let mut text = if factor == 1 { root.clone() } else { format!("{factor}*{root}") };
                match offset {
                    0 => {}
                    offset if offset > 0 => text += &format!(" + {offset}"),
                    offset => text += &format!(" - {}", offset.unsigned_abs()),
                }
                json!({"derived": text, "root": {"dim": root, "min": min, "max": max}})
            }
        }
    }
}

/// The sizes as a spec, with changes of some symbols. `None` where a change cannot be written.
pub(super) fn written(symbolic: &Symbolic, changes: &FxHashMap<Symbol, Change>) -> Option<Json> {
    let names = dimension_names(symbolic);
    let mut tree = Map::new();
    for (at, (input, sizes)) in symbolic.sizes.iter().enumerate() {
        let declared = input.shape.iter().flatten();
        let entry = |((dim, &size), given): ((usize, &Expr), &Given)| match (symbolic.varied(at, dim), given)
        {
            (None, Given::Size(_)) => Some(Json::Null),
            (varied, given) => {
                let size = varied.unwrap_or(size);
                // What the model itself declares as an expression stays so.
                let is_own = matches!(given, Given::Name(text) if has_operator(text));
                sum(symbolic, &names, changes, size)
                    .filter(|_| !is_own)
                    .or_else(|| entry(symbolic, &names, changes, size))
            }
        };
        let entries = match &input.shape {
            Some(_) => sizes.iter().enumerate().zip(declared).map(entry).collect::<Option<Json>>()?,
            None => Json::Null,
        };
        tree.insert(input.name.clone(), entries);
    }
    Some(tree.into())
}

/// A size that is a sum of several symbols which no change replaces.
fn sum(
    symbolic: &Symbolic,
    names: &FxHashMap<Symbol, String>,
    changes: &FxHashMap<Symbol, Change>,
    e: Expr,
) -> Option<Json> {
    let poly = symbolic.env.pool.poly(e);
    if poly.terms.len() < 2 {
        return None;
    }
    let (mut parts, mut roots) = (Vec::new(), Vec::new());
    for (term, factor) in &poly.terms {
        let symbol = symbolic.env.pool.as_symbol(*term).filter(|_| factor.is_positive())?;
        let Size::Linear { root, factor: 1, offset: 0, min, max } =
            size(symbolic, names, changes, symbol, 0)?
        else {
            return None;
        };
        parts.push(if factor.is_one() { root.clone() } else { format!("{factor}*{root}") });
        roots.push(json!({"dim": root, "min": min, "max": max}));
    }
    let mut text = parts.join(" + ");
    match poly.constant.to_i64()? {
        0 => {}
        offset if offset > 0 => text += &format!(" + {offset}"),
        offset => text += &format!(" - {}", offset.unsigned_abs()),
    }
    Some(json!({"derived": text, "roots": roots}))
}

/// What a size is in the spec. A size that several symbols make is left as the model declares it.
fn entry(
    symbolic: &Symbolic,
    names: &FxHashMap<Symbol, String>,
    changes: &FxHashMap<Symbol, Change>,
    e: Expr,
) -> Option<Json> {
    let pool = &symbolic.env.pool;
    if let Some(number) = e.as_inline() {
        return Some(json!(number));
    }
    let poly = pool.poly(e);
    let [(term, factor)] = poly.terms.as_slice() else { return Some(Json::Null) };
    let Some(symbol) = pool.as_symbol(*term) else { return Some(Json::Null) };
    let (factor, offset) = (factor.to_i64()?, poly.constant.to_i64()?);
    size(symbolic, names, changes, symbol, 0)?.scaled(factor, offset).map(Size::json)
}

fn size(
    symbolic: &Symbolic,
    names: &FxHashMap<Symbol, String>,
    changes: &FxHashMap<Symbol, Change>,
    symbol: Symbol,
    depth: usize,
) -> Option<Size> {
    let (_, named) = symbolic.symbols.iter().find(|(known, _)| *known == symbol)?;
    let name = names.get(&symbol)?.clone();
    let plain = |root, min, max| Size::Linear { root, factor: 1, offset: 0, min, max };
    Some(match changes.get(&symbol) {
        None => plain(name, named.min, named.max),
        Some(&Change::Size(number)) => Size::Number(number),
        Some(&Change::Range { min, max }) => plain(name, min, max),
        Some(&Change::Linear { ref root, factor, offset, min, max }) => {
            Size::Linear { root: fresh(root, names), factor, offset, min, max }
        }
        // One may be the same as another, which may not be the same as the first.
        Some(&Change::Derived { ref root, factor, offset }) if depth <= MAX_DEPTH => {
            let other = names.iter().find(|(_, known)| *known == root)?.0;
            size(symbolic, names, changes, *other, depth + 1)?.scaled(factor, offset)?
        }
        Some(_) => return None,
    })
}

/// A name that no dimension has.
fn fresh(name: &str, names: &FxHashMap<Symbol, String>) -> String {
    let mut name = name.to_owned();
    while names.values().any(|known| *known == name) {
        name.push('_');
    }
    name
}

/// The names of dimensions: those that the model or the spec gives, where they are names in Python, or ones made of
/// the places.
pub(super) fn dimension_names(symbolic: &Symbolic) -> FxHashMap<Symbol, String> {
    let is_kept = |named: &Named| named.declared.as_deref().is_some_and(is_identifier);
    let (kept, made): (Vec<_>, Vec<_>) = symbolic.symbols.iter().partition(|(_, named)| is_kept(named));
    let mut taken: FxHashSet<String> = FxHashSet::default();
    let mut names = FxHashMap::default();
    for (symbol, named) in kept.into_iter().chain(made) {
        let mut name = match (&named.declared, &named.source) {
            (Some(name), _) if is_identifier(name) => name.clone(),
            (Some(name), _) => dimension_name(name, 0),
            (None, Some((input, dim))) => dimension_name(input, *dim),
            (None, None) => named.name.clone(),
        };
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        names.insert(*symbol, name);
    }
    names
}
