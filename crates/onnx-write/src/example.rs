//! Whether a model that was written runs at the sizes of the program's example.
use super::items::value_inputs;
use super::model::Written;
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_ir::{Hint, Meta, Program, Sym};
use sizewise_onnx::check::{Filled, Refused, evaluate};
use sizewise_onnx_model::read::Model;

/// Why onnxruntime refuses the model at the sizes of the program's example, when it loads it or when it runs, whatever
/// the elements are; `None` where it does not, or where that is not known.
pub fn refused_at_example(program: &Program, written: &Written) -> Option<Refused> {
    let graph = written.model.graph.as_ref()?;
    let held: FxHashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let given: Vec<&Meta> = value_inputs(&program.graph)
        .into_iter()
        .filter(|id| !held.contains(&**program.graph.name(*id)))
        .map(|id| program.graph.meta(id))
        .collect();
    if given.len() != graph.input.len() {
        return None;
    }
    let (mut sizes, mut numbers) = (FxHashMap::default(), FxHashMap::default());
    for (input, meta) in graph.input.iter().zip(given) {
        let name = input.name.clone();
        match meta {
            Meta::Tensor(tensor) => {
                let list = tensor.sizes.iter().map(|size| example(program, *size));
                sizes.insert(name, list.collect::<Option<Vec<i64>>>()?);
            }
            Meta::SymInt(size) => {
                numbers.insert(name.clone(), Filled::All(example(program, *size)? as f64));
                sizes.insert(name, Vec::new());
            }
            _ => return None,
        }
    }
    let model = Model::read(written.model.encode_to_vec()).ok()?;
    // What one value of the elements makes wrong is no fault of the model.
    let mut refused = None;
    for value in [0.0, 1.0] {
        let mut filled = numbers.clone();
        for name in sizes.keys().filter(|name| !numbers.contains_key(*name)) {
            filled.insert(name.clone(), Filled::All(value));
        }
        match evaluate(&model, &sizes, &filled) {
            Err(found) if !found.is_unsupported => refused = Some(found),
            _ => return None,
        }
    }
    refused
}

/// A size at the program's example.
fn example(program: &Program, size: Sym<i64>) -> Option<i64> {
    match size {
        Sym::Literal(value) => Some(value),
        Sym::Expr(expr) => match program.exprs.get(expr)?.hint? {
            Hint::Int(value) => Some(value),
            Hint::Bool(_) | Hint::Float(_) => None,
        },
    }
}
