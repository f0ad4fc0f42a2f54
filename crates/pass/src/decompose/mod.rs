//! Operators that are not of the core ATen set become calls of those that are. Each operator's meaning is a line of
//! `formulas.rs` or a function; shapes are inferred by the fake kernels as the calls are made, so that what is recorded
//! holds for all sizes. Graphs within are decomposed too. What has no decomposition is named.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py`, `torch/_refs` and the composite kernels of
//! `aten/src/ATen/native`; the forms are those that `run_decompositions()` leaves.
mod attention;
mod builder;
mod call;
mod choices;
mod convolutions;
mod creation;
mod distances;
mod einsum;
mod elementwise;
mod formula;
mod formulas;
mod losses;
mod margins;
mod normalization;
mod padding;
mod pieces;
mod products;
mod recurrent;
mod reductions;
mod regions;
mod sampling;
mod series;
mod table;
mod turning;
mod views;

use super::error::PassError;
use super::rewrite::{Rewriter, rename_results, with_graph};
use super::tracer::{Edit, OldCall, Proxy, TraceError, Tracer, retrace_graphs};
use super::{dead_code, derive};
use builder::Builder;
use sizewise_ir::{Argument, Dialect, Dtype, Graph, GraphInput, Input, Node, PassedAs, Program, Target};
use sizewise_kernels::Operators;
use sizewise_kernels::autocast::Regions;
use sizewise_verify::is_core_or_excepted;
pub use table::operators as decomposed_operators;

const NAME: &str = "decompose";

/// What a decomposition gives: the values that stand for the operator's results.
type Made = Result<Vec<Proxy>, TraceError>;

/// The operators that are replaced.
#[derive(Clone, Copy)]
enum Wanted<'w> {
    /// All that are not of the core set.
    All,
    /// These, where they can be.
    These(&'w [String]),
}

/// A program of core ATen operators: the others are replaced by what they mean.
///
/// # Errors
/// When the program is of another dialect than ATen, or operators are left that have no decomposition:
/// [`PassError::Left`] names them.
pub fn decompose(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    if program.dialect != Dialect::Aten {
        let message = format!(
            "the program is of the {} dialect; only ATen programs are decomposed (see `functionalize`)",
            program.dialect
        );
        return Err(PassError::failed(NAME, message));
    }
    decomposed(program, operators, Wanted::All)
}

/// The program with these operators (`aten.im2col.default`) replaced by what they mean, where there is a decomposition;
/// others stay. It may be of the training dialect, if nothing in it writes.
///
/// # Errors
/// When the program cannot be traced anew.
pub fn decompose_these(
    program: &Program,
    operators: &Operators,
    these: &[String],
) -> Result<Program, PassError> {
    decomposed(program, operators, Wanted::These(these))
}

fn decomposed(program: &Program, operators: &Operators, wanted: Wanted<'_>) -> Result<Program, PassError> {
    if let Some(name) = reads_memory(&program.graph) {
        let message = format!(
            "{name} reads memory as its operand lies there, and decompositions may lay the operand out otherwise"
        );
        return Err(PassError::failed(NAME, message));
    }
    let source = match wanted {
        Wanted::All => with_graph(program, with_numbers_read(&program.graph)),
        Wanted::These(_) => program.clone(),
    };
    let mut left = Vec::new();
    let traced =
        retrace_graphs(&source, operators, &mut |tracer, step| edited(tracer, step, (wanted, &mut left)))
            .map_err(|error| PassError::failed(NAME, error.to_string()))?;
    if !left.is_empty() {
        return Err(PassError::left(NAME, left));
    }
    let mut made = traced.program;
    let outputs: Vec<Argument> = {
        let pairs = made.graph.outputs().iter().zip(&made.signature.outputs);
        pairs.filter(|(_, spec)| spec.is_user_output()).map(|(argument, _)| argument.clone()).collect()
    };
    rename_results(&mut made, &outputs);
    let clean = dead_code::run(&made, operators)?;
    // Strides of what follows an operator whose decomposition lies otherwise in memory.
    match derive::run(&clean, operators) {
        Err(error) if derive::run(program, operators).is_ok() => {
            let message =
                format!("a decomposition lies otherwise in memory than its operator's result: {error}");
            Err(PassError::failed(NAME, message))
        }
        derived => Ok(derived.unwrap_or(clean)),
    }
}

/// A node that takes elements by their distances in memory from what an operator made.
fn reads_memory(graph: &Graph) -> Option<&str> {
    let given =
        |id| graph.inputs().iter().any(|input| matches!(input, GraphInput::Value(known) if *known == id));
    let of_made = |node: &Node| {
        let mut made = false;
        node.inputs.iter().take(1).for_each(|input| input.arg.for_each_value(&mut |id| made |= !given(id)));
        made
    };
    let by_distance =
        |node: &Node| matches!(node.target.op(), Some(("aten", op, _)) if op.starts_with("as_strided"));
    graph.nodes().iter().find(|node| by_distance(node) && of_made(node)).map(|node| &*node.name)
}

/// What data decide is read by the core operators, whose symbols are the same: numbers of tensors, and how many places.
fn with_numbers_read(graph: &Graph) -> Graph {
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        let mut node = node.clone();
        let core = match node.target.op() {
            Some(("aten", "item", "default")) => Some("_local_scalar_dense"),
            Some(("aten", "argwhere", "default")) => Some("nonzero"),
            _ => None,
        };
        if let Some(core) = core {
            node.target = Target::parse(&format!("torch.ops.aten.{core}.default"));
        }
        rewriter.keep(&node, &mut |inner| with_numbers_read(&inner.graph));
    }
    rewriter.finish()
}

/// What becomes of a call.
fn edited(
    tracer: &mut Tracer<'_>,
    step: &OldCall<'_>,
    (wanted, left): (Wanted<'_>, &mut Vec<String>),
) -> Result<Edit, TraceError> {
    let Some((namespace, _, _)) = step.node.target.op() else { return Ok(Edit::Repeat) };
    if namespace != "aten" {
        return Ok(Edit::Repeat);
    }
    let op = step.node.target.to_string();
    if op == "aten.sym_size.int" {
        return size_read(tracer, step);
    }
    let around = tracer.regions();
    if around.enabled().next().is_some() {
        return in_region(tracer, step, (&op, around), (wanted, left));
    }
    exchanged(tracer, step, (&op, Regions::default()), (wanted, left))
}

/// What becomes of a call in autocast regions: its operands are cast.
fn in_region(
    tracer: &mut Tracer<'_>,
    step: &OldCall<'_>,
    (op, around): (&str, Regions),
    (wanted, left): (Wanted<'_>, &mut Vec<String>),
) -> Result<Edit, TraceError> {
    let mut step = step.clone();
    let mut arguments: Vec<&mut Argument> = step.inputs.iter_mut().map(|input| &mut input.arg).collect();
    let treated = match regions::treat(tracer, &around, op, &mut arguments) {
        Ok(treated) => treated,
        Err(error) => {
            left.push(format!("`{}`: `{op}`: {error}", step.node.name));
            return Ok(Edit::Repeat);
        }
    };
    if treated.dtype {
        let given = step.inputs.iter_mut().find(|input| &*input.name == "dtype");
        match given {
            Some(input) if matches!(input.arg, Argument::None) => input.arg = Argument::Dtype(Dtype::Float32),
            Some(_) => {}
            None => step.inputs.push(Input {
                name: "dtype".into(),
                arg: Argument::Dtype(Dtype::Float32),
                passed_as: PassedAs::Keyword,
            }),
        }
    }
    let parts = if treated.parts { around } else { Regions::default() };
    match exchanged(tracer, &step, (op, parts), (wanted, left))? {
        Edit::Repeat => tracer.repeat(&step).map(Edit::Replace),
        edit => Ok(edit),
    }
}

/// What becomes of a call whose parts stand in these regions.
fn exchanged(
    tracer: &mut Tracer<'_>,
    step: &OldCall<'_>,
    (op, around): (&str, Regions),
    (wanted, left): (Wanted<'_>, &mut Vec<String>),
) -> Result<Edit, TraceError> {
    let is_wanted = match wanted {
        Wanted::All => true,
        Wanted::These(these) => these.iter().any(|known| known == op),
    };
    if !is_wanted {
        return Ok(Edit::Repeat);
    }
    if table::find(op).is_none() {
        if !is_core_or_excepted(op) && matches!(wanted, Wanted::All) {
            left.push(format!(
                "`{}`: `{op}` is not of the core set, and there is no decomposition",
                step.node.name
            ));
        }
        return Ok(Edit::Repeat);
    }
    let replaced = Builder::new(tracer, table::find, around).replaced(step, op);
    Ok(match replaced {
        Ok(results) => Edit::Replace(results),
        Err(_) if matches!(wanted, Wanted::These(_)) => Edit::Repeat,
        Err(error) => {
            left.push(format!("`{}`: `{op}`: {error}", step.node.name));
            Edit::Repeat
        }
    })
}

/// Repeats the reading of a size, which decompositions use too.
fn size_read(tracer: &mut Tracer<'_>, step: &OldCall<'_>) -> Result<Edit, TraceError> {
    let made = tracer.repeat(step)?;
    let at = |index: usize| step.inputs.get(index).map(|input| &input.arg);
    if let (Some(Argument::Tensor(id)), Some(Argument::Int(dim)), Some(size)) = (at(0), at(1), made.first())
        && let Ok(dim) = usize::try_from(*dim)
    {
        tracer.note_size_read(Proxy::tensor(*id), dim, *size);
    }
    Ok(Edit::Replace(made))
}
