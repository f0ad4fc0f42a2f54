//! The sizes of a model's inputs as a spec.
use super::names::has_operator;
use super::symbolic::{SizeSymbol, Symbolic};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json, json};
use sizewise_check::spec::{Spec, dimension_name, linear_text};
use sizewise_expr::escape::is_identifier;
use sizewise_expr::{Expr, Symbol};
use sizewise_onnx_model::walk::Given;

/// The sizes as a spec. `None` where numbers are too large to be written.
pub(super) fn written(symbolic: &Symbolic) -> Option<Spec> {
    let names = dimension_names(symbolic);
    let mut tree = Map::new();
    for (at, (input, sizes)) in symbolic.sizes.iter().enumerate() {
        let declared = input.shape.iter().flatten();
        let entry = |((dim, &size), given): ((usize, &Expr), &Given)| match (symbolic.varied(at, dim), given)
        {
            (None, Given::Size(_)) => Some(Json::Null),
            // What the model itself declares as an expression over several names stays so.
            (varied, given) => {
                let is_own = matches!(given, Given::Name(text) if has_operator(text));
                entry(symbolic, &names, varied.unwrap_or(size), is_own)
            }
        };
        let entries = match &input.shape {
            Some(_) => sizes.iter().enumerate().zip(declared).map(entry).collect::<Option<Json>>()?,
            None => Json::Null,
        };
        tree.insert(input.name.clone(), entries);
    }
    Some(Spec::of_tree(tree.into()))
}

/// What a size is in the spec: a number, or a sum of named dimensions, each times a number. Another one is left as the model
/// declares it.
fn entry(symbolic: &Symbolic, names: &FxHashMap<Symbol, String>, size: Expr, is_own: bool) -> Option<Json> {
    let poly = symbolic.env.pool.poly(size);
    let offset = poly.constant.to_i64()?;
    let (mut parts, mut roots) = (Vec::new(), Vec::new());
    for (term, factor) in &poly.terms {
        let symbol = symbolic.env.pool.as_symbol(*term).filter(|_| factor.is_positive());
        let found = symbol.and_then(|symbol| Some((symbolic.named(symbol)?, names.get(&symbol)?)));
        let Some((SizeSymbol { min, max, .. }, name)) = found else { return Some(Json::Null) };
        parts.push(linear_text(name, factor.to_i64()?, 0));
        roots.push(json!({"dim": name, "min": min, "max": max}));
    }
    let text = linear_text(&parts.join(" + "), 1, offset);
    Some(match &mut roots[..] {
        [] => json!(offset),
        [root] if root["dim"] == text => root.take(),
        [root] => json!({"derived": text, "root": root.take()}),
        _ if is_own => Json::Null,
        _ => json!({"derived": text, "roots": roots}),
    })
}

/// The names of dimensions: those that the model or the spec gives, where they are names in Python, or ones made of
/// the places.
pub(super) fn dimension_names(symbolic: &Symbolic) -> FxHashMap<Symbol, String> {
    let is_kept = |named: &SizeSymbol| named.declared.as_deref().is_some_and(is_identifier);
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
