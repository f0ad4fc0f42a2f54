//! What is viewed, after a view of it was written: each view operator has one that puts the view back.
use super::emitter::{Emitter, Made, Results};
use super::step::ViewStep;
use super::{NAME, functional};
use crate::error::PassError;
use sizewise_expr::Expr;
use sizewise_ir::schema::SchemaTable;
use sizewise_ir::{Argument, Input, MemoryFormat, Meta, Operand, PassedAs, Sym, TensorMeta, ValueId};

/// Views of all elements in their order, under other sizes.
const RESHAPING: &[&str] = &[
    "view",
    "_unsafe_view",
    "reshape",
    "reshape_as",
    "view_as",
    "_reshape_alias",
    "flatten",
    "unflatten",
    "ravel",
    "squeeze",
    "unsqueeze",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
];

/// Views that put dimensions into another order.
const PERMUTING: &[&str] = &[
    "permute",
    "transpose",
    "t",
    "numpy_T",
    "mT",
    "mH",
    "matrix_H",
    "adjoint",
    "movedim",
    "moveaxis",
    "swapaxes",
    "swapdims",
];

/// Sizes to try an operator with: all different.
const PROBES: [i64; 10] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29];

type Written = Result<ValueId, PassError>;

/// The value of what is viewed, `whole` before, after its view was given the value `new`.
pub fn written(
    step: &ViewStep,
    item: usize,
    whole: ValueId,
    new: ValueId,
    emitter: &mut Emitter<'_, '_>,
) -> Written {
    if step.identity {
        return Ok(new);
    }
    let name = step.op.split('.').nth(1).unwrap_or_default();
    let schema = SchemaTable::global().get(&step.op);
    if step.list {
        return part(step, item, whole, new, emitter);
    }
    if let Some(scatter) = schema.and_then(functional::scatter_of) {
        return scattered(step, &scatter.qualified().to_string(), whole, new, emitter);
    }
    match (&*step.op, name) {
        ("aten.view.dtype", _) => {
            let Meta::Tensor(before) = &step.before else { return unknown(step) };
            let dtype = input("dtype", Argument::Dtype(before.dtype));
            call(step, "aten.view.dtype", vec![tensor("self", new), dtype], emitter)
        }
        (_, "view_as_real") => call(step, "aten.view_as_complex.default", vec![tensor("self", new)], emitter),
        (_, "view_as_complex") => call(step, "aten.view_as_real.default", vec![tensor("self", new)], emitter),
        (_, "_conj" | "conj" | "_neg_view") => call(step, &step.op, vec![tensor("self", new)], emitter),
        (_, "narrow") => narrowed(step, whole, new, emitter),
        (_, name) if RESHAPING.contains(&name) => reshaped(step, whole, new, emitter),
        (_, name) if PERMUTING.contains(&name) => permuted(step, new, emitter),
        _ => unknown(step),
    }
}

fn unknown(step: &ViewStep) -> Written {
    Err(PassError::left(NAME, [format!("{} (a view that is written)", step.op)]))
}

fn input(name: &str, arg: Argument) -> Input {
    Input { name: name.into(), arg, passed_as: PassedAs::Positional }
}

fn tensor(name: &str, value: ValueId) -> Input {
    input(name, Argument::Tensor(value))
}

/// A call that gives a tensor as what is viewed was before.
fn call(step: &ViewStep, op: &str, inputs: Vec<Input>, emitter: &mut Emitter<'_, '_>) -> Written {
    let base = op.split('.').nth(1).unwrap_or("view");
    let made = Made { base: base.into(), expected: step.before.clone() };
    let ids = emitter.call(op, inputs, Results::Values(vec![made]), &step.provenance)?;
    ids.first().copied().ok_or_else(|| PassError::failed(NAME, format!("`{op}` gives nothing")))
}

/// The view's own arguments, with what is viewed and the new value before them.
fn scattered(
    step: &ViewStep,
    op: &str,
    whole: ValueId,
    new: ValueId,
    emitter: &mut Emitter<'_, '_>,
) -> Written {
    let mut inputs = vec![tensor("self", whole), tensor("src", new)];
    let rest = step.inputs.iter().enumerate().filter(|(at, _)| *at != step.viewed);
    inputs.extend(rest.map(|(_, input)| input.clone()));
    call(step, op, inputs, emitter)
}

/// One of the parts that a tensor was split into.
fn part(
    step: &ViewStep,
    item: usize,
    whole: ValueId,
    new: ValueId,
    emitter: &mut Emitter<'_, '_>,
) -> Written {
    let (Meta::Tensor(before), Some(Meta::Tensor(after))) =
        (&step.before, step.results.get(item).map(|made| &made.expected))
    else {
        return unknown(step);
    };
    let dim = match step.inputs.iter().find(|input| &*input.name == "dim").map(|input| &input.arg) {
        Some(Argument::Int(dim)) => *dim,
        None => default_dim(step, before),
        Some(_) => return unknown(step),
    };
    let Ok(rank) = i64::try_from(before.sizes.len()) else { return unknown(step) };
    let dim = if dim < 0 { dim + rank } else { dim };
    let Ok(at) = usize::try_from(dim) else { return unknown(step) };
    let both = vec![tensor("self", whole), tensor("src", new), input("dim", Argument::Int(dim))];
    if after.sizes.len() + 1 == before.sizes.len() {
        let index = i64::try_from(item).unwrap_or(i64::MAX);
        let inputs = [both, vec![input("index", Argument::Int(index))]].concat();
        return call(step, "aten.select_scatter.default", inputs, emitter);
    }
    let mut start = 0_i64;
    let mut end = 0_i64;
    for made in &step.results[..=item] {
        // Where sizes are symbols, where a part begins is arithmetic that the program does not hold.
        let Meta::Tensor(part) = &made.expected else { return unknown(step) };
        let Some(Sym::Literal(size)) = part.sizes.get(at) else { return unknown(step) };
        start = end;
        end = end.saturating_add(*size);
    }
    let range = vec![input("start", Argument::Int(start)), input("end", Argument::Int(end))];
    call(step, "aten.slice_scatter.default", [both, range].concat(), emitter)
}

/// Which dimension is split where none is given.
fn default_dim(step: &ViewStep, before: &TensorMeta) -> i64 {
    match step.op.split('.').nth(1) {
        Some("hsplit") if before.sizes.len() > 1 => 1,
        Some("dsplit") => 2,
        _ => 0,
    }
}

/// `narrow(dim, start, length)` is a slice.
fn narrowed(step: &ViewStep, whole: ValueId, new: ValueId, emitter: &mut Emitter<'_, '_>) -> Written {
    let argument = |name: &str| step.inputs.iter().find(|input| &*input.name == name).map(|input| &input.arg);
    let (Some(Argument::Int(dim)), Some(Argument::Int(start)), Some(Argument::Int(length))) =
        (argument("dim"), argument("start"), argument("length"))
    else {
        return unknown(step);
    };
    let end = start.saturating_add(*length);
    // A start from the end reaches the end where its sum is zero.
    let end = if *start < 0 && end >= 0 { i64::MAX } else { end };
    let inputs = vec![
        tensor("self", whole),
        tensor("src", new),
        input("dim", Argument::Int(*dim)),
        input("start", Argument::Int(*start)),
        input("end", Argument::Int(end)),
    ];
    call(step, "aten.slice_scatter.default", inputs, emitter)
}

/// All elements in their order, under the sizes from before.
fn reshaped(step: &ViewStep, whole: ValueId, new: ValueId, emitter: &mut Emitter<'_, '_>) -> Written {
    let Meta::Tensor(before) = step.before.clone() else { return unknown(step) };
    let new = match emitter.tensor(new).cloned() {
        Some(known) if !sizewise_kernels::sharing::in_order(&mut emitter.shapes.env, &known) => {
            let format = Argument::MemoryFormat(MemoryFormat::Contiguous);
            let format = Input { name: "memory_format".into(), arg: format, passed_as: PassedAs::Keyword };
            let made = Made { base: "clone".into(), expected: emitter.meta(new).clone() };
            let inputs = vec![tensor("self", new), format];
            let ids =
                emitter.call("aten.clone.default", inputs, Results::Values(vec![made]), &step.provenance)?;
            ids.first().copied().unwrap_or(new)
        }
        _ => new,
    };
    let size = sizes(&before, whole, step, emitter)?;
    call(step, "aten.view.default", vec![tensor("self", new), input("size", size)], emitter)
}

/// The sizes of a tensor as an argument: symbols are asked of the tensor itself.
fn sizes(
    meta: &TensorMeta,
    value: ValueId,
    step: &ViewStep,
    emitter: &mut Emitter<'_, '_>,
) -> Result<Argument, PassError> {
    let mut sizes = Vec::with_capacity(meta.sizes.len());
    for (dim, size) in (0_i64..).zip(&meta.sizes) {
        sizes.push(match size {
            Sym::Literal(value) => Operand::Literal(*value),
            Sym::Expr(_) => {
                let inputs = vec![tensor("self", value), input("dim", Argument::Int(dim))];
                let made = Made { base: "sym_size_int".into(), expected: Meta::SymInt(*size) };
                let results = Results::Values(vec![made]);
                let ids = emitter.call("aten.sym_size.int", inputs, results, &step.provenance)?;
                ids.first().map_or(Operand::Literal(-1), |&id| Operand::Value(id))
            }
        });
    }
    let literal = |size: &Operand<i64>| match size {
        Operand::Literal(value) => Some(*value),
        Operand::Value(_) => None,
    };
    let literals: Option<Vec<i64>> = sizes.iter().map(literal).collect();
    Ok(literals.map_or(Argument::SymInts(sizes), Argument::Ints))
}

/// Dimensions in the order from before, which trying the view with different sizes tells.
fn permuted(step: &ViewStep, new: ValueId, emitter: &mut Emitter<'_, '_>) -> Written {
    let Some(like) = emitter.tensor(new).cloned() else { return unknown(step) };
    let Some(sizes) = PROBES.get(..like.sizes.len()) else { return unknown(step) };
    let rest: Vec<Input> = step
        .inputs
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != step.viewed)
        .map(|(_, input)| input.clone())
        .collect();
    let probed = emitter.probe(&step.op, sizes, &like, &rest);
    let size = |emitter: &mut Emitter<'_, '_>, e: &Expr| emitter.example(*e);
    let found: Option<Vec<i64>> =
        probed.and_then(|probed| probed.sizes.iter().map(|e| size(emitter, e)).collect());
    let Some(found) = found.filter(|found| found.len() == sizes.len()) else { return unknown(step) };
    let mut dims = Vec::with_capacity(sizes.len());
    for size in sizes {
        let Some(at) = found.iter().position(|found| found == size) else { return unknown(step) };
        dims.push(i64::try_from(at).unwrap_or(0));
    }
    call(
        step,
        "aten.permute.default",
        vec![tensor("self", new), input("dims", Argument::Ints(dims))],
        emitter,
    )
}
