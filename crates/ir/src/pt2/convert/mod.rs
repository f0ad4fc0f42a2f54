//! From the schema's JSON to the program: names become values, texts are shared, the whole is checked.

mod graph;
mod passing;
mod signature;

pub(super) use passing::read;

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::json::{self, Int, Limit};
use crate::asked::{Asked, AskedBy};
use crate::constant::Constant;
use crate::error::{ReadError, ReadErrorKind, ReadResult};
use crate::graph::Graph;
use crate::meta::ExprTable;
use crate::outline::ValueKind;
use crate::program::{Bounds, CallValue, Dialect, ModuleCall, ModuleSignature, Program};
use crate::provenance::Provenance;
use crate::pytree::{NamedTupleFields, TreeSpec};
use crate::target::Target;

/// What all graphs of a program share.
#[derive(Default)]
struct Shared<'t> {
    exprs: ExprTable,
    texts: FxHashSet<Arc<str>>,
    targets: FxHashMap<Box<str>, Target>,
    written: FxHashMap<&'t str, Arc<str>>,
}

/// A text of the last node: nodes that follow each other are often from the same line and module.
type Last<'t> = Option<(&'t str, Arc<str>)>;

impl<'t> Shared<'t> {
    /// A text of which the document's own writing is looked up, so that its escapes are read once.
    fn written(&mut self, text: &json::Escaped<'t>, last: &mut Last<'t>) -> Arc<str> {
        let written = text.written();
        if let Some((known, shared)) = last
            && *known == written
        {
            return Arc::clone(shared);
        }
        let shared = self.written.entry(written).or_insert_with(|| text.read().into());
        *last = Some((written, Arc::clone(shared)));
        Arc::clone(shared)
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared
    }

    fn target(&mut self, text: &str) -> Target {
        if let Some(known) = self.targets.get(text) {
            return known.clone();
        }
        let target = Target::parse(text);
        self.targets.insert(text.into(), target.clone());
        target
    }
}

/// Builds the program.
pub(super) fn program(document: &json::ExportedProgram<'_>, dialect: Dialect) -> ReadResult<Program> {
    let module = &document.graph_module;
    let mut shared = Shared::default();
    let tokens = signature::token_names(&module.signature);
    let graph = graph::convert(&module.graph, &mut shared, &tokens)
        .map_err(|error| error.under(|| "graph_module.graph".to_owned()))?;
    assemble(document, graph, shared.exprs, dialect)
}

/// Builds the program around its graph.
fn assemble(
    document: &json::ExportedProgram<'_>,
    graph: Graph,
    exprs: ExprTable,
    dialect: Dialect,
) -> ReadResult<Program> {
    let module = &document.graph_module;
    let signature = signature::convert(&module.signature, &graph)
        .map_err(|error| error.under(|| "graph_module.signature".to_owned()))?;

    let fields = module.treespec_namedtuple_fields.0.iter();
    let fields = fields.map(|(name, tuple)| ((&**name).into(), texts(&tuple.field_names)));
    let module_calls = module_calls(&module.module_call_graph, &fields.collect())?;
    let ranges = document.range_constraints.0.iter().map(|(name, range)| (name, *range));
    let range_constraints = unique(ranges, "range_constraints")?;
    let range_constraints = range_constraints
        .into_iter()
        .map(|(name, range)| bounds(&name, range).map(|bounds| (name, bounds)))
        .collect::<ReadResult<_>>()?;
    let warnings = warnings(&range_constraints);
    let mut program = Program {
        graph,
        signature,
        exprs,
        range_constraints,
        guards_code: texts(&document.guards_code),
        asked: document.asked.iter().filter_map(asked).collect(),
        dialect,
        torch_version: document.torch_version.as_deref().unwrap_or("<=2.4").into(),
        schema_version: (document.schema_version.major.0, document.schema_version.minor.0),
        opset_version: unique(
            document.opset_version.0.iter().map(|(name, Int(n))| (name, *n)),
            "opset_version",
        )?,
        module_calls,
        scalars: IndexMap::new(),
        metadata: unique(
            module.metadata.0.iter().map(|(key, text)| (key, Arc::from(&**text))),
            "graph_module.metadata",
        )?,
        warnings,
    };
    let equal = equalities(&program, &document.equality_constraints)?;
    program.guards_code.extend(equal);
    Ok(program)
}

/// Where torch asked for a condition; `None` where what asked has a name that is not known.
fn asked(document: &json::Asked<'_>) -> Option<Asked> {
    Some(Asked {
        condition: Arc::from(&*document.condition),
        provenance: Provenance {
            stack_trace: Some(Arc::from(&*document.stack_trace)),
            ..Provenance::default()
        },
        by: AskedBy::from_name(&document.cause)?,
    })
}

/// The guards that say what the equality constraints of older programs do.
fn equalities(
    program: &Program,
    constraints: &[(json::InputDim<'_>, json::InputDim<'_>)],
) -> ReadResult<Vec<Arc<str>>> {
    if constraints.is_empty() {
        return Ok(Vec::new());
    }
    let inputs = program.user_inputs()?;
    let source = |(name, Int(dim)): &json::InputDim<'_>| {
        let input = inputs.iter().find(|input| *input.placeholder == **name);
        match input.and_then(|input| input.sources().next()) {
            Some(source) => Ok(format!("{source}.size()[{dim}]")),
            None => {
                let message = format!("equality_constraints: the program has no input `{}`", &**name);
                Err(ReadError::new(ReadErrorKind::Signature, message))
            }
        }
    };
    let guard = |(a, b): &(json::InputDim<'_>, json::InputDim<'_>)| {
        Ok(format!("{} == {}", source(a)?, source(b)?).into())
    };
    constraints.iter().map(guard).collect()
}

fn warnings(ranges: &IndexMap<Arc<str>, Bounds>) -> Vec<String> {
    let inverted = ranges.iter().filter(|(_, bounds)| bounds.is_empty());
    inverted
        .map(|(name, _)| {
            format!("no value is in the recorded range of `{name}`: its minimum is above its maximum")
        })
        .collect()
}

fn texts(list: &[json::Text<'_>]) -> Vec<Arc<str>> {
    list.iter().map(|text| Arc::from(&**text)).collect()
}

/// A table in the document's order; a key that is given twice is an error.
fn unique<'a, V>(
    entries: impl Iterator<Item = (&'a json::Text<'a>, V)>,
    path: &str,
) -> ReadResult<IndexMap<Arc<str>, V>> {
    let mut table = IndexMap::new();
    for (key, value) in entries {
        if table.insert(Arc::from(&**key), value).is_some() {
            let message = format!("the key `{}` is given twice", &**key);
            return Err(ReadError::new(ReadErrorKind::Schema, message).under(|| path.to_owned()));
        }
    }
    Ok(table)
}

/// The bounds that a range gives to sizes, which have 64 bits: a bound that all of them satisfy is none.
fn bounds(name: &str, range: json::RangeConstraint) -> ReadResult<Bounds> {
    let beyond = |key: &str| {
        let message = "the bound is beyond all signed 64-bit integers: no size is in this range";
        Err(ReadError::new(ReadErrorKind::Schema, message)
            .under(|| format!("range_constraints.{name}.{key}")))
    };
    let min = match range.min_val {
        Some(Limit::Above) => return beyond("min_val"),
        Some(Limit::At(min)) => Some(min),
        Some(Limit::Below) | None => None,
    };
    let max = match range.max_val {
        Some(Limit::Below) => return beyond("max_val"),
        Some(Limit::At(max)) => Some(max),
        Some(Limit::Above) | None => None,
    };
    Ok(Bounds { min, max })
}

fn module_calls(
    entries: &[json::ModuleCallEntry<'_>],
    fields: &NamedTupleFields,
) -> ReadResult<Vec<ModuleCall>> {
    let mut calls = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let path = |name: &str| format!("graph_module.module_call_graph[{index}].signature.{name}");
        let signature = match &entry.signature {
            None => None,
            Some(signature) => Some(ModuleSignature {
                inputs: signature.inputs.iter().map(call_value).collect(),
                outputs: signature.outputs.iter().map(call_value).collect(),
                in_spec: TreeSpec::parse(&signature.in_spec, fields)
                    .map_err(|error| error.under(|| path("in_spec")))?,
                out_spec: TreeSpec::parse(&signature.out_spec, fields)
                    .map_err(|error| error.under(|| path("out_spec")))?,
                forward_arg_names: signature.forward_arg_names.as_deref().map(texts),
            }),
        };
        calls.push(ModuleCall { fqn: Arc::from(&*entry.fqn), signature });
    }
    Ok(calls)
}

fn call_value(argument: &json::Argument<'_>) -> CallValue {
    use json::Argument as Json;
    let named = |name: &str, kind| CallValue::Named { name: name.into(), kind };
    match argument {
        Json::Tensor(tensor) => named(&tensor.name, ValueKind::Tensor),
        Json::SymInt(json::SymIntArgument::Name(name)) => named(name, ValueKind::SymInt),
        Json::SymFloat(json::SymFloatArgument::Name(name)) => named(name, ValueKind::SymFloat),
        Json::SymBool(json::SymBoolArgument::Name(name)) => named(name, ValueKind::SymBool),
        Json::CustomObj(object) => {
            CallValue::Object { name: (&*object.name).into(), class: (&*object.class_fqn).into() }
        }
        Json::None(_) => CallValue::Constant(Constant::None),
        Json::Int(Int(value)) => CallValue::Constant(Constant::Int(*value)),
        Json::Float(json::Double(value)) => CallValue::Constant(Constant::Float(*value)),
        Json::Bool(value) => CallValue::Constant(Constant::Bool(*value)),
        Json::Str(text) => CallValue::Constant(Constant::Str((&**text).into())),
        _ => CallValue::Other,
    }
}

#[cfg(test)]
mod tests;
