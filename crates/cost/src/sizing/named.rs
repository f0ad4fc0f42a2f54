//! Names of dimensions: `x.0`, `x.shape[0]`, `batch`.
use super::{Sizing, SizingError};
use rustc_hash::FxHashSet;
use sizewise_expr::escape::abridged;
use sizewise_expr::{Expr, Symbol, print};

/// The most dimensions that a message names.
const MAX_NAMED: usize = 12;

/// An expression in the sizes of inputs: `2*x.shape[0]`.
pub fn shown(sizing: &Sizing, e: Expr) -> String {
    let pool = &sizing.env.pool;
    let name = |symbol: Symbol| match whole(sizing, symbol) {
        Some((path, dim)) => format!("{path}.shape[{dim}]"),
        None => pool.symbol_name(symbol).to_owned(),
    };
    print::python(pool, e, &name)
}

/// The input and the dimension that a symbol is the whole size of.
fn whole(sizing: &Sizing, symbol: Symbol) -> Option<(String, usize)> {
    let is_it = |e: Expr| sizing.env.pool.as_symbol(e) == Some(symbol);
    place(sizing, &|e| is_it(e))
}

fn place(sizing: &Sizing, is_it: &dyn Fn(Expr) -> bool) -> Option<(String, usize)> {
    sizing.inputs.iter().find_map(|input| {
        let dim = input.allowed.as_ref()?.iter().position(|&e| is_it(e))?;
        Some((input.path.clone(), dim))
    })
}

/// A symbol as the dimension that gives its size: `x.0`; a symbol that no dimension has, by its name.
pub fn of_symbol(sizing: &Sizing, symbol: Symbol) -> String {
    let has = |e: Expr| sizing.env.pool.free_symbols(&[e]).contains(&symbol);
    if let Some(input) = sizing.inputs.iter().find(|input| input.scalar.is_some_and(has)) {
        return input.path.clone();
    }
    match whole(sizing, symbol).or_else(|| place(sizing, &has)) {
        Some((path, dim)) => format!("{path}.{dim}"),
        None => sizing.env.pool.symbol_name(symbol).to_owned(),
    }
}

/// The symbols of an expression that have no greatest value, as dimensions. For a size that data decide, these are the
/// dimensions that limit it.
pub fn endless(sizing: &Sizing, e: Expr) -> Vec<String> {
    let pool = &sizing.env.pool;
    let is_input = |symbol: &Symbol| sizing.is_of_inputs(*symbol);
    let (mut symbols, by_data): (Vec<Symbol>, Vec<Symbol>) =
        pool.free_symbols(&[e]).into_iter().partition(is_input);
    if !by_data.is_empty() {
        let facts = sizing.open.iter().flat_map(|open| open.known_facts().conditions());
        for of_fact in facts.map(|&fact| pool.free_symbols(&[fact])) {
            if by_data.iter().any(|symbol| of_fact.contains(symbol)) {
                symbols.extend(of_fact.into_iter().filter(is_input));
            }
        }
        let mut seen = FxHashSet::default();
        symbols.retain(|&symbol| seen.insert(symbol));
    }
    let mut names: Vec<String> = symbols
        .into_iter()
        .filter(|&symbol| sizing.range(symbol).1.is_none())
        .map(|symbol| of_symbol(sizing, symbol))
        .collect();
    names.dedup();
    names
}

/// That something has no greatest value: which dimensions have to get one, or that none was found.
pub fn no_bound(what: &str, names: &[String]) -> SizingError {
    match names {
        [] => SizingError::Unanswered(format!("no bound of {what} was found")),
        names => SizingError::Question(format!("{what} has no bound: give {} a max", names.join(" and "))),
    }
}

/// The size that a name means.
///
/// # Errors
/// When there is no such dimension.
pub fn dimension(sizing: &Sizing, name: &str) -> Result<Expr, SizingError> {
    if let Some((&symbol, _)) = sizing.dims.iter().find(|(_, known)| *known == name)
        && let Some(e) = sizing.env.pool.known_symbol_expr(symbol)
    {
        return Ok(e);
    }
    let (mut paths, mut found) = (Vec::new(), None);
    for input in &sizing.inputs {
        if let Some(e) = input.scalar.filter(|_| name == input.path || *name == *input.placeholder) {
            found = Some(e);
        }
        for (dim, &size) in input.allowed.iter().flatten().enumerate() {
            for of in [input.path.as_str(), &input.placeholder] {
                if name == format!("{of}.{dim}") || name == format!("{of}.shape[{dim}]") {
                    found = Some(size);
                }
            }
            if !sizing.env.pool.is_constant(size) {
                paths.push(format!("{}.{dim}", input.path));
            }
        }
    }
    // A symbol of the program.
    let symbol = || {
        let symbol = sizing.env.pool.find_symbol(name)?;
        let e = sizing.env.pool.known_symbol_expr(symbol)?;
        (!sizing.is_open(e)).then_some(e)
    };
    found.or_else(symbol).ok_or_else(|| {
        let mut names: Vec<String> = sizing.dims.values().cloned().collect();
        names.sort();
        names.extend(paths);
        names.dedup();
        let more = names.len().saturating_sub(MAX_NAMED);
        names.truncate(MAX_NAMED);
        let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let known = if names.is_empty() { "none varies".to_owned() } else { names.join(", ") + &and_more };
        SizingError::Question(format!("no input has the dimension `{}`; there are: {known}", abridged(name)))
    })
}
