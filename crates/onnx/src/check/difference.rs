//! A model, and what a spec allows of its inputs, as what is compared with another one.
use super::conditions::broadcast::BROADCASTS;
use super::evaluate::evaluate_fully;
use super::examples::{Walked, walked};
use super::guards::{left_to_data, node_of};
use super::limits::Limits;
use super::symbolic::Symbolic;
use super::ways::is_branch;
use prost::Message;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_check::check::{Acceptance, Enforced, Enforcement, Shapes};
use sizewise_check::spec::{Shape, Spec, SpecError};
use sizewise_diff::{Allowed, Input, Kind, Outcome, Side, Source};
use sizewise_expr::{Expr, Int, Pool, Symbol, Value as Number};
use sizewise_ir::{Bounds, SymbolHints};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::{Dtype, Value};
use sizewise_onnx_model::walk::{Walk, declared};
use sizewise_solve::Budget;

/// The steps of larger models are not compared as a whole.
const MAX_STEP_BYTES: usize = 64 << 20;

/// A model as what is compared: it accepts inputs that are as it declares and that it runs on.
pub fn side<'m>(model: &'m Model, name: &str) -> Side<'m> {
    let Walked { symbolic, mut walk, results } = walked(model, None);
    let (mut allowed, determined) = declared_of(&symbolic, walk.env.pool.clone(), name);
    allowed.set.conditions = symbolic.conditions();
    let hints = hints(&symbolic);
    let acceptance = match refused(model, &symbolic, &walk) {
        Some(reason) => Err(reason),
        None => determined.map(|()| accepted(&allowed, &symbolic, &mut walk, &hints)),
    };
    let results = results.unwrap_or_default().iter().map(sizes).collect();
    Side {
        name: name.to_owned(),
        nodes: walk.visits.max(model.graph.node.len()),
        inputs: allowed.inputs.clone(),
        pool: allowed.set.pool.clone(),
        hints,
        ranges: ranges(&symbolic),
        outputs: Some(kinds_of_outputs(model)),
        acceptance,
        results,
        source: Box::new(Followed { model, allowed }),
    }
}

/// The inputs that a spec allows of a model, whether the model takes them or not.
///
/// # Errors
/// When the spec does not fit the model.
pub fn side_of_spec<'m>(model: &'m Model, name: &str, spec: &Spec) -> Result<Side<'m>, SpecError> {
    let limits = Limits::new(model, spec)?;
    let symbolic = Symbolic::new(model, Some(&limits), &|at| 7 + 4 * at as i64);
    let (mut allowed, mut determined) = declared_of(&symbolic, symbolic.env.pool.clone(), name);
    allowed.set.conditions = symbolic.conditions();
    if let Some(demand) = symbolic.demands.first() {
        let (input, dim) = &demand.place;
        let says = format!("the spec lets {input}.shape[{dim}] vary, and the model declares a number");
        determined = determined.and(Err(says));
    }
    Ok(allowed.side(determined, hints(&symbolic), ranges(&symbolic)))
}

/// A model that was walked.
struct Followed<'m> {
    model: &'m Model,
    /// What it declares.
    allowed: Allowed,
}

impl Source for Followed<'_> {
    /// As `sizewise eval` answers it, for inputs that are as the model declares.
    fn replay(&self, shapes: &Shapes) -> Outcome {
        match self.allowed.refusal(shapes) {
            Ok(()) => {}
            Err(Some(reason)) => return Outcome::Refuses(reason),
            Err(None) => return Outcome::Open,
        }
        let mut given = FxHashMap::default();
        for input in &self.allowed.inputs {
            let Some(Shape::Tensor(sizes)) = shapes.get(&input.placeholder) else { return Outcome::Open };
            let sizes: Option<Vec<i64>> = sizes.iter().map(Int::to_i64).collect();
            let Some(sizes) = sizes else { return Outcome::Open };
            given.insert(input.placeholder.to_string(), sizes);
        }
        match evaluate_fully(self.model, &given, &FxHashMap::default()) {
            Ok(evaluated) => {
                let size = |sizes: &Vec<super::ShownSize>| {
                    sizes.iter().map(|size| size.number().map(Json::from)).collect::<Option<Vec<Json>>>()
                };
                let outputs = evaluated.outputs.iter().map(|sizes| sizes.as_ref().and_then(size));
                Outcome::Accepts(outputs.map(|sizes| sizes.map(Json::from)).collect())
            }
            Err(refused) if refused.is_unsupported => Outcome::Open,
            Err(refused) => Outcome::Refuses(match refused.node {
                Some(node) => format!("{node}: {}", refused.message),
                None => refused.message,
            }),
        }
    }

    fn line(&self, output: usize) -> Option<String> {
        let name = &self.model.graph.output.get(output)?.name;
        let node = self.model.graph.node.iter().find(|node| node.output.contains(name))?;
        Some(format!("node {}", if node.name.is_empty() { name } else { &node.name }))
    }

    fn steps(&self) -> Option<Vec<u8>> {
        if self.model.graph.encoded_len() > MAX_STEP_BYTES {
            return None;
        }
        let mut graph = self.model.graph.clone();
        // Shapes that are declared of inputs are compared by themselves.
        for input in graph.input.iter_mut().chain(&mut graph.output) {
            input.r#type = None;
        }
        graph.value_info.clear();
        let mut text = graph.encode_to_vec();
        for input in &self.allowed.inputs {
            text.extend(dtype_of(&input.kind).bytes().chain([0]));
        }
        text.extend(surroundings(self.model).bytes());
        Some(text)
    }

    fn whole(&self) -> Option<Vec<u8>> {
        let graph = &self.model.graph;
        (graph.encoded_len() <= MAX_STEP_BYTES).then(|| {
            let mut text = graph.encode_to_vec();
            text.extend(surroundings(self.model).bytes());
            text
        })
    }
}

/// What decides beside the graph.
fn surroundings(model: &Model) -> String {
    let Model { imports, functions, ir_version, backend, .. } = model;
    format!("{imports:?} {functions:?} {ir_version} {backend:?}")
}

fn dtype_of(kind: &Kind) -> &str {
    match kind {
        Kind::Tensor { dtype, .. } => dtype,
        _ => "",
    }
}

/// What a model or a spec says of the inputs.
fn declared_of(symbolic: &Symbolic, pool: Pool, name: &str) -> (Allowed, Result<(), String>) {
    let inputs = symbolic.sizes.iter().map(|(input, sizes)| Input {
        placeholder: input.name.as_str().into(),
        path: input.name.clone(),
        is_keyword: false,
        call: None,
        kind: match input.is_tensor && input.shape.is_some() {
            true => Kind::Tensor { sizes: sizes.clone(), dtype: dtype(input.dtype) },
            false => Kind::Other,
        },
    });
    Allowed::new(name, pool, inputs.collect())
}

/// Why the model does not run on the example sizes, or why it is not known.
fn refused(model: &Model, symbolic: &Symbolic, walk: &Walk) -> Option<String> {
    if let Some(failure) = walk.failures.first() {
        let message = match &failure.error {
            KernelError::Invalid { message, .. } => message.clone(),
            _ => "it is not followed".to_owned(),
        };
        return Some(format!("{}: {message}", node_of(walk, failure.step)));
    }
    let sizes = symbolic.at(|symbol| symbolic.hint(symbol))?;
    evaluate_fully(model, &sizes, &FxHashMap::default()).err().map(|refused| refused.message)
}

/// What the model accepts: inputs as declared that satisfy what its nodes need.
fn accepted(allowed: &Allowed, symbolic: &Symbolic, walk: &mut Walk, hints: &SymbolHints) -> Acceptance {
    let mut set = allowed.set.clone();
    let fitting = super::integers::integers(symbolic, walk, &Budget::small());
    let symbols: Vec<Symbol> = set.variables.iter().map(|v| v.symbol).collect();
    let enforced = |by, line| Enforced { by, line };
    let mut demands = vec![enforced(Enforcement::AtEntry, None); set.conditions.len()];
    let mut add = |condition: Expr, enforced: Enforced, says: String| {
        if !set.pool.free_symbols(&[condition]).iter().all(|symbol| symbols.contains(symbol)) {
            set.left_open.push(says);
        } else if !set.conditions.contains(&condition) {
            set.conditions.push(condition);
            demands.push(enforced);
        }
    };
    // An integer that wraps around need not be refused.
    for fits in fitting {
        add(fits.condition, enforced(Enforcement::Path, None), "an integer wraps around".to_owned());
    }
    for guard in walk.env.guards() {
        // Of two sizes that are equal at the example, either may be 1.
        let is_way = is_branch(guard) || BROADCASTS.iter().any(|&clause| guard.clause == clause.into());
        let by = if is_way { Enforcement::Path } else { Enforcement::ByStep };
        let node = node_of(walk, guard.origin.0 as usize);
        let says = format!("{node}: {}", guard.clause.name());
        add(guard.condition, enforced(by, Some(format!("node {node}"))), says);
    }
    set.left_open.extend(left_to_data(symbolic, walk));
    set.not_followed = walk.unknown.len();
    Acceptance {
        results_are_derived: set.not_followed == 0,
        set,
        demands,
        hints: hints.clone(),
        results: Vec::new(),
    }
}

fn hints(symbolic: &Symbolic) -> SymbolHints {
    let hint = |(symbol, _): &(Symbol, _)| Some((*symbol, Number::Int(symbolic.hint(*symbol)?.into())));
    symbolic.symbols.iter().filter_map(hint).collect()
}

fn ranges(symbolic: &Symbolic) -> Vec<Bounds> {
    let range = |(_, named): &(Symbol, super::SizeSymbol)| Bounds { min: Some(named.min), max: named.max };
    symbolic.symbols.iter().map(range).collect()
}

fn sizes(value: &Value) -> Option<Vec<Expr>> {
    match value {
        Value::Tensor(tensor) => tensor.shape.clone(),
        _ => None,
    }
}

/// The outputs in words, as the model declares them.
fn kinds_of_outputs(model: &Model) -> Vec<String> {
    let kind = |output: &sizewise_onnx_model::read::message::ValueInfoProto| {
        let output = declared(&output.name, output.r#type.as_ref());
        let dtype = dtype(output.dtype);
        match output.shape {
            Some(sizes) if output.is_tensor => format!("a {dtype} tensor of rank {}", sizes.len()),
            _ if output.is_tensor => format!("a {dtype} tensor"),
            _ => "no tensor".to_owned(),
        }
    };
    model.graph.output.iter().map(kind).collect()
}

/// The type of elements as torch calls it, so that models are compared with programs; its short name if torch has none.
fn dtype(dtype: Option<Dtype>) -> String {
    let Some(dtype) = dtype else { return "untyped".to_owned() };
    let torch = sizewise_ir::Dtype::ALL
        .iter()
        .find(|known| [known.short_name(), known.name()].contains(&dtype.name()));
    torch.map_or(dtype.name(), |known| known.name()).to_owned()
}
