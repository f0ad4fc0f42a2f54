//! Whether two programs take the same steps: what one of them does with a call, the other one does, too, if it passes
//! what is checked before anything is run.
use super::side::{Followed, Side};
use sizewise_check::spec::InputKind;
use sizewise_ir::{Dtype, Graph, GraphInput, InputSpec, Meta, Sym, TensorMeta};
use std::fmt::Debug;

/// Whether both are the same in all that decides what they accept.
pub(super) fn is_same(old: &Side, new: &Side) -> bool {
    let whole = old.source.whole();
    whole.is_some() && whole == new.source.whole()
}

/// Whether both programs call the same operators on the same values, and their inputs are alike but for sizes. `false`
/// where that is not seen.
pub(super) fn same_steps(old: &Side, new: &Side) -> bool {
    let (Some(one), Some(other)) = (old.source.program(), new.source.program()) else {
        let steps = old.source.steps();
        return steps.is_some() && steps == new.source.steps() && same_data(old, new);
    };
    let (before, after) = (one.program(), other.program());
    let (ours, theirs) = (&one.0.contract().inputs, &other.0.contract().inputs);
    let (first, second) = (&before.graph, &after.graph);
    let is_followed = [old, new]
        .iter()
        .all(|side| side.acceptance.as_ref().is_ok_and(|acceptance| acceptance.set.not_followed == 0));
    is_followed
        && same_data(old, new)
        && ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| {
            a.input.index == b.input.index
                && a.path() == b.path()
                && plain(one, &a.kind) == plain(other, &b.kind)
        })
        && ours.iter().all(|input| plain(one, &input.kind).is_some())
        && same(first.inputs(), second.inputs())
        && constants(first, &before.signature.inputs) == constants(second, &after.signature.inputs)
        && constants(first, &before.signature.inputs).is_some()
        && first.nodes().len() == second.nodes().len()
        && first.nodes().iter().zip(second.nodes()).all(|(a, b)| {
            same(&a.target, &b.target)
                && same(&a.inputs, &b.inputs)
                && same(&a.outputs, &b.outputs)
                && a.hop_single_tensor == b.hop_single_tensor
        })
        && same(first.outputs(), second.outputs())
}

/// Arguments have no equality: nested graphs are compared with all that is recorded of them.
fn same<T: Debug + ?Sized>(a: &T, b: &T) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// Whether the same is left to data.
fn same_data(old: &Side, new: &Side) -> bool {
    let left = |side: &Side| side.acceptance.as_ref().ok().map(|a| a.set.left_open.clone());
    left(old) == left(new)
}

/// What else than sizes a program sees of an input; `None` where strides may matter.
fn plain(program: &Followed, kind: &InputKind) -> Option<Option<Dtype>> {
    match kind {
        InputKind::Tensor { sizes, strides, dtype, .. } => {
            program.0.contract().contiguous_example(sizes, strides).then_some(Some(*dtype))
        }
        InputKind::Scalar(_) | InputKind::Constant(_) | InputKind::Other => Some(None),
    }
}

/// What is recorded of parameters, buffers and constants; `None` if a size of them is no number.
fn constants(graph: &Graph, specs: &[InputSpec]) -> Option<Vec<String>> {
    let inputs = graph.inputs().iter().zip(specs).filter(|(_, spec)| !spec.is_user_input());
    let text = |input: &GraphInput| match input {
        GraphInput::Value(id) => match graph.meta(*id) {
            Meta::Tensor(meta) if !is_static(meta) => None,
            meta => Some(format!("{meta:?}")),
        },
        GraphInput::Constant(value) => Some(format!("{value:?}")),
    };
    inputs.map(|(input, _)| text(input)).collect()
}

fn is_static(meta: &TensorMeta) -> bool {
    let sizes = meta.sizes.iter().chain(&meta.strides).chain([&meta.storage_offset]);
    sizes.into_iter().all(|size| !matches!(size, Sym::Expr(_)))
}
