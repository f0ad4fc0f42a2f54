//! Operators that write, or give what they are given, without their schema saying so: they are made of other operators,
//! and what they are made of depends on their arguments.
use super::emitter::{Made, Results};
use super::frame::{Frame, Functionalizer, Slot, left};
use super::functional;
use crate::error::PassError;
use sizewise_ir::schema::{Schema, SchemaTable};
use sizewise_ir::{Argument, Input, Meta, Node, Target};
use sizewise_kernels::sharing;
use std::sync::Arc;

/// Calls such an operator; `None` where the node is another, or calls it so that it does neither.
pub fn call(
    this: &mut Functionalizer<'_, '_>,
    frame: &mut Frame<'_>,
    node: &Node,
    schema: &Schema,
) -> Result<Option<()>, PassError> {
    if schema.namespace != "aten" {
        return Ok(None);
    }
    let given = |name: &str| match node.argument(name) {
        Some(Argument::Tensor(id) | Argument::OptionalTensor(Some(id))) => Some(*id),
        _ => None,
    };
    let truth = |name: &str| matches!(node.argument(name), Some(Argument::Bool(true)));
    match &*schema.name {
        "batch_norm"
            if truth("training") && given("running_mean").is_some() && given("running_var").is_some() =>
        {
            batch_norm(this, frame, node).map(Some)
        }
        "instance_norm" if truth("use_input_stats") && given("running_mean").is_some() => {
            Err(left(node, "it writes its running statistics"))
        }
        // In evaluation they give their input itself.
        _ if sharing::is_input_itself(node, schema) => {
            let input = given("input").and_then(|id| frame.slots.get(id.index()).copied().flatten());
            match (input, node.output_values().next()) {
                (Some(slot @ Slot::Tensor(_)), Some(result)) => {
                    frame.set(result, slot);
                    Ok(Some(()))
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// A call that writes its results into given tensors; `None` where the node is none.
pub fn out(
    this: &mut Functionalizer<'_, '_>,
    frame: &mut Frame<'_>,
    node: &Node,
) -> Result<Option<()>, PassError> {
    let Some(form) = functional::of_out(node) else { return Ok(None) };
    let (given, targets): (Vec<Input>, Vec<Input>) =
        node.inputs.iter().cloned().partition(|input| form.arg_index(&input.name).is_some());
    let tensors = targets.iter().map(|input| input.arg.value().and_then(|id| frame.tensor(id)));
    let Some(tensors) = tensors.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let call = Node { inputs: given, ..node.clone() };
    let inputs = this.arguments(frame, &call)?;
    let base: Arc<str> = form.name.as_str().into();
    let expected = |input: &Input| input.arg.value().map(|id| frame.graph.meta(id).clone());
    let expected: Vec<Meta> = targets.iter().filter_map(expected).collect();
    let made = expected.iter().map(|meta| Made { base: base.clone(), expected: meta.clone() }).collect();
    let op = form.qualified().to_string();
    let ids = this.emitter.call(&op, inputs, Results::Values(made), &node.provenance)?;
    for ((tensor, new), meta) in tensors.iter().zip(ids).zip(&expected) {
        let target = this.emitter.recorded_tensor(meta);
        let Some((target, result)) = target.zip(this.emitter.tensor(new).cloned()) else { continue };
        if !this.emitter.same_sizes(&target.sizes, &result.sizes) {
            return Err(left(node, "it is open whether it changes the sizes of what it writes"));
        }
        this.write(*tensor, new, node)?;
    }
    for (value, tensor) in node.output_values().zip(tensors) {
        frame.set(value, Slot::Tensor(tensor));
    }
    Ok(Some(()))
}

/// Batch norm in training writes its running statistics: it is called in the form whose schema says so.
fn batch_norm(
    this: &mut Functionalizer<'_, '_>,
    frame: &mut Frame<'_>,
    node: &Node,
) -> Result<(), PassError> {
    const WRITING: &str = "aten._native_batch_norm_legit.default";
    const FUNCTIONAL: &str = "aten._native_batch_norm_legit_functional.default";
    let table = SchemaTable::global();
    let (Some(schema), Some(form)) = (table.get(WRITING), table.get(FUNCTIONAL)) else { return Ok(()) };
    let mut call = node.clone();
    call.target = Target::parse(&format!("torch.ops.{WRITING}"));
    call.inputs.retain(|input| schema.arg_index(&input.name).is_some());
    let optional = |input: Input| match input.arg {
        Argument::OptionalTensor(Some(id)) => Input { arg: Argument::Tensor(id), ..input },
        _ => input,
    };
    call.inputs = call.inputs.into_iter().map(optional).collect();
    let given = this.arguments(frame, &call)?;
    let meta = |id| frame.graph.meta(id).clone();
    let (Some(result), Some(mean)) =
        (node.output_values().next(), call.argument("running_mean").and_then(Argument::value))
    else {
        return Err(left(node, "it has no result"));
    };
    let metas = [meta(result), meta(mean), meta(mean), meta(mean), meta(mean)];
    let base: Arc<str> = form.name.as_str().into();
    let made = metas.map(|expected| Made { base: base.clone(), expected }).to_vec();
    let results = Results::Values(made);
    let ids = this.emitter.call(FUNCTIONAL, given, results, &node.provenance)?;
    if let Some(&new) = ids.first() {
        this.define(frame, vec![(result, new)]);
    }
    for (name, new) in [("running_mean", ids.get(3)), ("running_var", ids.get(4))] {
        let id = call.argument(name).and_then(Argument::value);
        let slot = id.and_then(|id| frame.slots.get(id.index()).copied().flatten());
        if let (Some(Slot::Tensor(tensor)), Some(&new)) = (slot, new) {
            this.write(tensor, new, node)?;
        }
    }
    Ok(())
}
