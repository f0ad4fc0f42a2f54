//! The shapes of all values of a model.
use super::declaration::full_name;
use super::examples::{Walked, walked_for_shapes};
use super::plain::plain;
use super::size::ShownSize;
use super::symbolic::{SizeSymbol, Symbolic, hint_in};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use sizewise_check::report::TensorInfo;
use sizewise_env::ShapeEnv;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Symbol};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::{Dtype, Value};
use sizewise_onnx_model::walk::Walk;
use sizewise_solve::Budget;

/// The shapes of a model's values.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    /// The symbols, and where their sizes stand.
    pub symbols: Vec<SizeSymbol>,
    /// For each value its element type and its sizes as texts, numbers being numbers; and least upper bounds of sizes
    /// that data decide.
    pub values: IndexMap<String, ShownValue, FxBuildHasher>,
}

/// The shape of a value.
#[derive(Debug, Clone)]
pub struct ShownValue {
    /// Its element type.
    pub dtype: Option<Dtype>,
    /// Its sizes.
    pub shape: Option<Vec<ShownSize>>,
}

/// The shapes of all values of the main graph.
pub fn shapes(model: &Model) -> Shapes {
    let Walked { symbolic, mut walk, .. } = walked_for_shapes(model);
    shapes_of(model, &symbolic, &mut walk)
}

/// The shapes of all values, and the conditions on sizes under which they hold.
pub fn guarded_shapes(model: &Model) -> (Shapes, Vec<String>) {
    let Walked { symbolic, mut walk, .. } = walked_for_shapes(model);
    let shapes = shapes_of(model, &symbolic, &mut walk);
    let known = |symbol: &Symbol| symbolic.symbols.iter().any(|(known, _)| known == symbol);
    let mut conditions: IndexSet<Expr> = walk.env.guards().iter().map(|guard| guard.condition).collect();
    conditions.extend(walk.failures.iter().filter_map(|failure| match &failure.error {
        KernelError::Invalid { condition, .. } => *condition,
        _ => None,
    }));
    conditions.extend(
        super::integers::integers(&symbolic, &mut walk, &Budget::small())
            .into_iter()
            .map(|fits| fits.condition),
    );
    let pool = &walk.env.pool;
    conditions.retain(|&e| pool.free_symbols(&[e]).iter().all(known));
    let conditions = conditions.into_iter().map(|e| print::expression(pool, e)).collect();
    (shapes, conditions)
}

/// The shapes that a walk found.
pub(super) fn shapes_of(model: &Model, symbolic: &Symbolic, walk: &mut Walk) -> Shapes {
    let known: FxHashSet<Symbol> = symbolic.symbols.iter().map(|(symbol, _)| *symbol).collect();
    let mut values = IndexMap::with_capacity_and_hasher(model.links.count(), FxBuildHasher);
    // Most sizes stand in many shapes.
    let mut sizes: FxHashMap<Expr, ShownSize> = FxHashMap::default();
    let Walk { values: found, env, .. } = walk;
    let mut size = |&e: &Expr| sizes.entry(e).or_insert_with(|| shown_size(env, &known, e)).clone();
    for (name, number) in model.all_values() {
        let Some(Some(value)) = found.get(number) else { continue };
        let shown = match value {
            Value::Tensor(tensor) => ShownValue {
                dtype: Some(tensor.dtype),
                shape: tensor.shape.as_ref().map(|sizes| sizes.iter().map(&mut size).collect()),
            },
            Value::Sequence(sequence) => ShownValue { dtype: Some(sequence.dtype), shape: None },
            _ => ShownValue { dtype: None, shape: None },
        };
        values.insert(name.clone(), shown);
    }
    let named =
        |(symbol, named): &(Symbol, SizeSymbol)| SizeSymbol { hint: hint_in(env, *symbol), ..named.clone() };
    Shapes { symbols: symbolic.symbols.iter().map(named).collect(), values }
}

fn shown_size(env: &mut ShapeEnv, known: &FxHashSet<Symbol>, size: Expr) -> ShownSize {
    if let Some(number) = size.as_inline() {
        return ShownSize::Number(number);
    }
    if env.pool.free_symbols(&[size]).iter().all(|symbol| known.contains(symbol)) {
        let size = plain(env, size);
        return ShownSize::Text(print::expression(&env.pool, size).into());
    }
    ShownSize::Open(env.upper_bound(size).map(|bound| bound.to_string()))
}

/// A value of a report.
pub(super) fn info(name: &str, value: Option<&ShownValue>) -> TensorInfo {
    let shape = value.and_then(|value| value.shape.as_ref());
    let is_open = |size: &ShownSize| matches!(size, ShownSize::Open(Some(_)));
    let bound = |size: &ShownSize| Some(size.known_json()).filter(|bound| !bound.is_null());
    TensorInfo {
        name: name.to_owned(),
        shape: shape.map(|sizes| sizes.iter().map(ShownSize::json).collect()),
        dtype: dtype(value),
        value: None,
        upper_bound: shape
            .filter(|sizes| sizes.iter().any(is_open))
            .map(|sizes| sizes.iter().map(bound).collect()),
    }
}

/// The name of the element type.
fn dtype(value: Option<&ShownValue>) -> String {
    let dtype = value.and_then(|value| value.dtype);
    dtype.map_or("unknown", full_name).to_owned()
}
