//! The functional form of an operator that writes, as its schema tells it: the operator with the same arguments that
//! returns what the other writes.
//!
//! Source: torch 2.15, `torchgen/native_function_generation.py`, which makes these forms by the same rules.
use sizewise_ir::schema::{ArgSpec, DefaultValue, Schema, SchemaTable};
use sizewise_ir::{Argument, Node};
use sizewise_kernels::Operators;

/// What a result of the functional form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// The result at this place of the operator that writes.
    Result(usize),
    /// The new value of this argument.
    Written(usize),
}

/// A functional form.
#[derive(Debug)]
pub struct Functional {
    /// The operator: `aten.add.Tensor`.
    pub op: String,
    /// For each of its arguments, the argument of the operator that writes.
    pub arguments: Vec<usize>,
    /// What its results are.
    pub returned: Vec<Returned>,
    /// Its schema.
    pub schema: &'static Schema,
}

/// What the functional form has to return: the results, those that are written arguments among them, then the written
/// arguments that are no result.
fn returned(schema: &Schema) -> Vec<Returned> {
    let mut list = Vec::with_capacity(schema.returns.len());
    for index in 0..schema.returns.len() {
        list.push(match schema.aliased_arg(index) {
            Some((argument, true)) => Returned::Written(argument),
            _ => Returned::Result(index),
        });
    }
    for (index, argument) in schema.args.iter().enumerate() {
        if argument.is_written() && !list.contains(&Returned::Written(index)) {
            list.push(Returned::Written(index));
        }
    }
    list
}

/// Which argument of `mutable` each one of `candidate` is; `None` where they do not correspond.
fn arguments(mutable: &Schema, candidate: &Schema) -> Option<Vec<usize>> {
    if candidate.args.iter().any(ArgSpec::is_written)
        || candidate.returns.iter().any(|result| result.alias.is_some())
    {
        return None;
    }
    let with_written: Vec<usize> = (0..mutable.args.len()).collect();
    let without: Vec<usize> =
        with_written.iter().copied().filter(|&at| !mutable.args[at].is_written()).collect();
    [with_written, without].into_iter().find(|kept| {
        kept.len() == candidate.args.len()
            && kept.iter().zip(&candidate.args).all(|(&at, argument)| {
                let other = &mutable.args[at];
                // Only what is written may be called otherwise: `self` where the functional form says `input`.
                other.ty == argument.ty && (other.name == argument.name || other.is_written())
            })
    })
}

/// Operators that change the memory that other views go on seeing: nothing that returns a new value does the same,
/// although some have a form that returns one.
const REALLOCATING: &[&str] = &["resize_", "resize_as_", "set_"];

/// The functional form of an operator that writes its arguments; `None` where torch has none that does the same.
pub fn of(schema: &Schema) -> Option<Functional> {
    if REALLOCATING.contains(&&*schema.name) {
        return None;
    }
    let returned = returned(schema);
    let base = schema.name.strip_suffix('_').unwrap_or(&schema.name);
    let functional = format!("{}_functional", schema.name.trim_end_matches('_'));
    let mut found = None;
    for name in [base, &functional] {
        for overload in SchemaTable::global().overloads_of(&schema.namespace, name) {
            let Ok(candidate) = overload.schema() else { continue };
            let Some(arguments) = arguments(schema, candidate) else { continue };
            if candidate.returns.len() != returned.len() {
                continue;
            }
            let same = candidate.overload == schema.overload;
            if same || found.is_none() {
                let op = candidate.qualified().to_string();
                found = Some(Functional { op, arguments, returned: returned.clone(), schema: candidate });
            }
            if same {
                return found;
            }
        }
    }
    found
}

/// The functional form of an overload that writes its result into given tensors (`add.out`), which the table of schemas
/// does not have: the arguments are those of another overload, and so many more as that one has results.
pub fn of_out(node: &Node) -> Option<&'static Schema> {
    let (namespace, op, overload) = node.target.op()?;
    if overload != "out" && !overload.ends_with("_out") {
        return None;
    }
    let overloads = SchemaTable::global().overloads_of(namespace, op);
    overloads.iter().filter_map(|overload| overload.schema().ok()).find(|candidate| {
        let given = |argument: &ArgSpec| node.argument(&argument.name);
        let fits = |argument: &ArgSpec| match given(argument) {
            Some(value) => {
                argument.ty.holds_tensors() == holds_tensors(value) || matches!(value, Argument::None)
            }
            None => !argument.is_required(),
        };
        let more = node.inputs.iter().filter(|input| candidate.arg_index(&input.name).is_none());
        !candidate.mutable
            && candidate.returns.iter().all(|result| result.alias.is_none())
            && candidate.args.iter().all(fits)
            && more.count() == candidate.returns.len()
    })
}

fn holds_tensors(argument: &Argument) -> bool {
    matches!(
        argument,
        Argument::Tensor(_)
            | Argument::Tensors(_)
            | Argument::OptionalTensor(_)
            | Argument::OptionalTensors(_)
    )
}

/// The functional view that a write of sizes and strides amounts to: `transpose` of `transpose_`.
pub fn view_of(schema: &Schema) -> Option<&'static Schema> {
    let base = schema.name.strip_suffix('_')?;
    let overloads = SchemaTable::global().overloads_of(&schema.namespace, base);
    overloads.iter().filter_map(|overload| overload.schema().ok()).find(|candidate| {
        candidate.args.len() == schema.args.len()
            && candidate.args.iter().zip(&schema.args).all(|(a, b)| a.name == b.name && a.ty == b.ty)
            && candidate.aliased_arg(0) == Some((0, false))
    })
}

/// The operator that writes a view into the tensor that was viewed: `select_scatter` of `select`.
pub fn scatter_of(schema: &Schema) -> Option<&'static Schema> {
    let overloads =
        SchemaTable::global().overloads_of(&schema.namespace, &format!("{}_scatter", schema.name));
    overloads.iter().filter_map(|overload| overload.schema().ok()).find(|candidate| {
        candidate.args.len() == schema.args.len() + 1
            && candidate.args[2..]
                .iter()
                .zip(&schema.args[1..])
                .all(|(a, b)| a.name == b.name && a.ty == b.ty)
    })
}

/// The schema of an operator, custom ones among them.
pub fn schema<'o>(op: &str, operators: &'o Operators) -> Option<&'o Schema> {
    match SchemaTable::global().get(op) {
        Some(schema) => Some(schema),
        None => operators.find(op).map(|(schema, _)| schema),
    }
}

/// A default as an argument; `None` where it has no such form.
pub fn default(value: &DefaultValue) -> Option<Argument> {
    Some(match value {
        DefaultValue::None => Argument::None,
        DefaultValue::Bool(value) => Argument::Bool(*value),
        DefaultValue::Int(value) => Argument::Int(*value),
        DefaultValue::Float(value) => Argument::Float(*value),
        DefaultValue::Str(text) => Argument::Str(text.as_str().into()),
        DefaultValue::List(items) => {
            let int = |item: &DefaultValue| match item {
                DefaultValue::Int(value) => Some(*value),
                _ => None,
            };
            Argument::Ints(items.iter().map(int).collect::<Option<_>>()?)
        }
        DefaultValue::Name(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functional_forms_are_found_by_schema() {
        use Returned::{Result, Written};
        let table = SchemaTable::global();
        let cases: &[(&str, &str, &[Returned])] = &[
            ("aten.add_.Tensor", "aten.add.Tensor", &[Written(0)]),
            ("aten.copy_.default", "aten.copy.default", &[Written(0)]),
            ("aten.zero_.default", "aten.zero.default", &[Written(0)]),
            ("aten.normal_.default", "aten.normal_functional.default", &[Written(0)]),
            ("aten.bernoulli_.float", "aten.bernoulli.p", &[Written(0)]),
            ("aten._foreach_add_.Scalar", "aten._foreach_add.Scalar", &[Written(0)]),
            ("aten.dropout_.default", "aten.dropout.default", &[Written(0)]),
            (
                "aten._native_batch_norm_legit.default",
                "aten._native_batch_norm_legit_functional.default",
                &[Result(0), Result(1), Result(2), Written(3), Written(4)],
            ),
        ];
        for (mutable, expected, returned) in cases {
            let form = of(table.get(mutable).expect(mutable)).expect(mutable);
            assert_eq!((form.op.as_str(), form.returned.as_slice()), (*expected, *returned));
        }
        for mutable in ["aten.resize_.default", "aten.set_.source_Tensor", "aten.requires_grad_.default"] {
            assert!(of(table.get(mutable).expect(mutable)).is_none(), "{mutable}");
        }
    }

    #[test]
    fn views_are_written_back_by_the_operator_that_the_schema_tells() {
        let table = SchemaTable::global();
        let name = |schema: Option<&Schema>| schema.map(|schema| schema.qualified().to_string());
        for (view, scatter) in [
            ("aten.select.int", Some("aten.select_scatter.default")),
            ("aten.slice.Tensor", Some("aten.slice_scatter.default")),
            ("aten.diagonal.default", Some("aten.diagonal_scatter.default")),
            ("aten.as_strided.default", Some("aten.as_strided_scatter.default")),
            ("aten.permute.default", None),
        ] {
            let schema = table.get(view).expect(view);
            assert_eq!(name(scatter_of(schema)).as_deref(), scatter, "{view}");
        }
        for (inplace, view) in
            [("aten.transpose_.default", Some("aten.transpose.int")), ("aten.resize_.default", None)]
        {
            assert_eq!(name(view_of(table.get(inplace).expect(inplace))).as_deref(), view);
        }
    }
}
