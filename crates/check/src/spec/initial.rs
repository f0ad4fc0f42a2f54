//! The spec that a program has: what its recorded sizes and ranges say, as a spec that one can edit.
use super::change::dimension_name;
use super::contract::{Contract, UNCHECKED_MINIMUM, bound_conditions};
use super::inputs::InputKind;
use super::parse::Spec;
use crate::records::range;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json, json};
use sizewise_env::SymbolInfo;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_ir::{Bounds, PathStep};

/// How wide the dimensions of an initial spec are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// In the ranges that the program records. Sizes of which it demands more than ranges say are left to the program.
    Recorded,
    /// Any size. Sizes of which the program demands anything are left to it.
    Demanded,
    /// Any size.
    Any,
}

impl Spec {
    /// The spec of a program: a named dimension for each symbol, a derived one where a size is computed from
    /// one symbol, `"AUTO"` where it is computed from several or left to the program, null where it is
    /// static, a number where the program demands that number.
    pub fn initial(contract: &Contract, width: Width) -> Spec {
        let mut tree = Json::Object(Map::new());
        let left = left_to_program(contract, width);
        let settled = if width == Width::Recorded { FxHashMap::default() } else { settled(contract) };
        let names = names(contract);
        for input in &contract.inputs {
            let entry = match &input.kind {
                InputKind::Tensor { sizes, .. } => {
                    let entries = sizes.iter().map(|&e| {
                        if let Some(size) = settled.get(&e).and_then(Int::to_i64) {
                            return json!(size);
                        }
                        let symbols = contract.env.pool.free_symbols(&[e]);
                        let is_left = symbols.iter().any(|s| left.contains(s));
                        if is_left { json!("AUTO") } else { entry(contract, &names, width, e) }
                    });
                    Json::Array(entries.collect())
                }
                // A number that the program made constant is static; of another one it may demand anything.
                InputKind::Scalar(e) if contract.env.pool.is_constant(*e) => Json::Null,
                InputKind::Scalar(_) if width == Width::Any => json!("DYNAMIC"),
                InputKind::Scalar(_) => json!("AUTO"),
                InputKind::Constant(_) | InputKind::Other => Json::Null,
            };
            place(&mut tree, &input.input.path, entry);
        }
        Spec::of_tree(tree)
    }
}

/// The symbols of conditions that the program's contract has and dimensions of this width do not imply.
fn left_to_program(contract: &Contract, width: Width) -> FxHashSet<Symbol> {
    let mut left = FxHashSet::default();
    if width == Width::Any {
        return left;
    }
    let mut env = contract.env.with_own_pool();
    for symbol in contract.input_symbols() {
        if env.is_float(symbol) {
            continue;
        }
        let name = env.pool.symbol_name(symbol).to_string();
        let bounds = match width {
            Width::Recorded => range(contract.bounds(symbol)),
            _ => ValueRange::at_least(Int::ZERO),
        };
        env.declare(&name, bounds, SymbolInfo::default());
    }
    for condition in demanded(contract, &mut env.pool, width == Width::Demanded) {
        if !env.statically_known_true(condition) {
            left.extend(env.pool.free_symbols(&[condition]));
        }
    }
    left
}

/// The conditions of the program's contract on its inputs, with or without the ranges of symbols.
fn demanded(contract: &Contract, pool: &mut Pool, with_symbols: bool) -> Vec<Expr> {
    let mut conditions: Vec<Expr> = contract.guards.iter().map(|guard| guard.condition).collect();
    for (e, bounds) in &contract.ranges {
        if contract.env.pool.as_symbol(*e).is_none() || with_symbols {
            // The exported module checks no lower bounds below 3.
            let checked = Bounds { min: bounds.min.filter(|&min| min > UNCHECKED_MINIMUM), ..*bounds };
            conditions.extend(bound_conditions(pool, *e, checked));
        }
    }
    conditions
}

/// Sizes that no number is recorded for, of which the contract's conditions leave one value.
fn settled(contract: &Contract) -> FxHashMap<Expr, Int> {
    let mut env = contract.unconstrained().env;
    for condition in demanded(contract, &mut env.pool, true) {
        env.assume(condition);
    }
    let sizes = contract.inputs.iter().filter_map(|input| match &input.kind {
        InputKind::Tensor { sizes, .. } => Some(sizes),
        _ => None,
    });
    let sizes: Vec<Expr> = sizes.flatten().copied().filter(|&e| !env.pool.is_constant(e)).collect();
    let only = |e| match env.bounds(e) {
        (Some(least), Some(most)) if least == most => Some((e, least)),
        _ => None,
    };
    sizes.into_iter().filter_map(only).collect()
}

/// A name for each symbol that is the whole size of some dimension, after the first one.
fn names(contract: &Contract) -> Vec<(Symbol, String)> {
    let mut names: Vec<(Symbol, String)> = Vec::new();
    for input in &contract.inputs {
        let InputKind::Tensor { sizes, .. } = &input.kind else { continue };
        for (i, &size) in sizes.iter().enumerate() {
            if let Some(symbol) = contract.env.pool.as_symbol(size)
                && !names.iter().any(|(s, _)| *s == symbol)
            {
                names.push((symbol, dimension_name(&input.path(), i)));
            }
        }
    }
    names
}

fn entry(contract: &Contract, names: &[(Symbol, String)], width: Width, size: Expr) -> Json {
    let pool = &contract.env.pool;
    let symbols = pool.free_symbols(&[size]);
    let [symbol] = symbols.as_slice() else {
        return if symbols.is_empty() { Json::Null } else { json!("AUTO") };
    };
    let name = names.iter().find(|(s, _)| s == symbol).map(|(_, name)| name.clone());
    let name = name.unwrap_or_else(|| format!("_{}", pool.symbol_name(*symbol)));
    let bounds = contract.bounds(*symbol);
    let dim = match width {
        Width::Recorded => json!({"dim": name, "min": bounds.min.unwrap_or(0).max(0), "max": bounds.max}),
        Width::Demanded | Width::Any => json!({"dim": name, "min": 0, "max": null}),
    };
    if pool.as_symbol(size).is_some() {
        return dim;
    }
    let poly = pool.poly(size);
    match poly.terms.as_slice() {
        [(monomial, factor)] if pool.as_symbol(*monomial).is_some() && factor.is_positive() => {
            let mut text = if factor.is_one() { name.to_owned() } else { format!("{factor}*{name}") };
            if poly.constant.is_positive() {
                text.push_str(&format!(" + {}", poly.constant));
            } else if poly.constant.is_negative() {
                text.push_str(&format!(" - {}", poly.constant.abs()));
            }
            json!({"derived": text, "root": dim})
        }
        _ => json!("AUTO"),
    }
}

/// Puts an entry at the end of a path of containers, which are made on the way.
pub(super) fn place(tree: &mut Json, path: &[PathStep], entry: Json) {
    let mut at = tree;
    for step in path {
        at = match step {
            PathStep::Index(i) => {
                if !at.is_array() {
                    *at = Json::Array(Vec::new());
                }
                let Json::Array(items) = at else { return };
                if items.len() <= *i {
                    items.resize(i + 1, Json::Null);
                }
                &mut items[*i]
            }
            PathStep::Parameter(name) | PathStep::Field(name) => member(at, name),
            PathStep::Key(key) => member(at, &key.name()),
        };
    }
    *at = entry;
}

fn member<'j>(at: &'j mut Json, name: &str) -> &'j mut Json {
    if !at.is_object() {
        *at = Json::Object(Map::new());
    }
    match at {
        Json::Object(fields) => fields.entry(name.to_string()).or_insert(Json::Null),
        other => other,
    }
}
