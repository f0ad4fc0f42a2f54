//! Reads a document in passing: nodes and records become the program's own as they come by, so that the document is
//! never in memory as a whole beside its text.
//!
//! This way is for documents that are as they should be and in torch's order. Where anything is odd it gives up, and
//! the document is read again as a whole, which tells what is wrong.

use std::fmt;

use rustc_hash::FxHashSet;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::graph::{ConvertedGraph, Recorded, node_name};
use super::json::{self, ExportedProgram, GraphModule, Text};
use super::{Shared, assemble, signature};
use crate::builder::GraphBuilder;
use crate::graph::Argument;
use crate::graph::{Origin, ValueId};
use crate::meta::{ExprRef, Meta};
use crate::program::{Dialect, Program};

/// Reads a program; `dialect` tells its dialect by the rest of the document, if it may be read at all.
pub(in crate::pt2) fn read(
    text: &str,
    dialect: impl FnOnce(&ExportedProgram<'_>) -> Option<Dialect>,
) -> Option<Program> {
    let mut shared = Shared::default();
    let (document, made) = json::read(text, Part(Whole { shared: &mut shared })).ok()?;
    let dialect = dialect(&document)?;
    let Made { mut builder, outputs, single_tensor_return, unrecorded } = made;
    let tokens = signature::token_names(&document.graph_module.signature);
    for value in unrecorded {
        let token = builder.values().nth(value.index()).is_some_and(|(_, name, _)| tokens.contains(&**name));
        if !token {
            return None;
        }
        builder.record(value, Meta::Token);
    }
    let mut graph = builder.finish(outputs, single_tensor_return);
    // Expressions are numbered as the values come, not as they are recorded.
    let mut order = Vec::with_capacity(shared.exprs.len());
    let mut numbers: Vec<Option<ExprRef>> = vec![None; shared.exprs.len()];
    graph.for_each_expr_mut(&mut |expr| {
        let Some(number) = numbers.get_mut(expr.index()) else { return };
        *expr = *number.get_or_insert_with(|| {
            order.push(*expr);
            ExprRef::nth(order.len() - 1)
        });
    });
    assemble(&document, graph, shared.exprs.reordered(&order), dialect).ok()
}

/// A graph, of which inputs may turn out to be tokens.
struct Made {
    builder: GraphBuilder,
    outputs: Vec<Argument>,
    single_tensor_return: bool,
    /// The inputs of which nothing is recorded.
    unrecorded: Vec<ValueId>,
}

/// A part of the document that is an object or a list.
trait Passing<'t>: Sized {
    type Value;
    fn object<A: MapAccess<'t>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(odd())
    }
    fn list<A: SeqAccess<'t>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(odd())
    }
}

/// Has serde read a part.
struct Part<P>(P);

impl<'t, P: Passing<'t>> DeserializeSeed<'t> for Part<P> {
    type Value = P::Value;
    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<P::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t, P: Passing<'t>> Visitor<'t> for Part<P> {
    type Value = P::Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }
    fn visit_map<A: MapAccess<'t>>(self, map: A) -> Result<P::Value, A::Error> {
        self.0.object(map)
    }
    fn visit_seq<A: SeqAccess<'t>>(self, list: A) -> Result<P::Value, A::Error> {
        self.0.list(list)
    }
}

/// Something is odd; what, is found out by reading the document as a whole.
fn odd<E: Error>() -> E {
    E::custom("odd")
}

/// Sets a field, which must not be set already.
fn once<T, E: Error>(field: &mut Option<T>, value: T) -> Result<(), E> {
    if field.replace(value).is_some() { Err(odd()) } else { Ok(()) }
}

struct Whole<'s, 't> {
    shared: &'s mut Shared<'t>,
}

impl<'t> Passing<'t> for Whole<'_, 't> {
    type Value = (ExportedProgram<'t>, Made);

    fn object<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut module, mut opset_version, mut range_constraints, mut schema_version) =
            (None, None, None, None);
        let (mut verifiers, mut torch_version, mut guards_code, mut equality_constraints) =
            (None, None, None, None);
        let mut asked = None;
        while let Some(key) = map.next_key::<Text<'t>>()? {
            match &*key {
                "graph_module" => {
                    once(&mut module, map.next_value_seed(Part(Module { shared: &mut *self.shared }))?)?;
                }
                "opset_version" => once(&mut opset_version, map.next_value()?)?,
                "range_constraints" => once(&mut range_constraints, map.next_value()?)?,
                "schema_version" => once(&mut schema_version, map.next_value()?)?,
                "verifiers" => once(&mut verifiers, map.next_value()?)?,
                "torch_version" => once(&mut torch_version, map.next_value()?)?,
                "guards_code" => once(&mut guards_code, map.next_value()?)?,
                "asked" => once(&mut asked, map.next_value()?)?,
                "equality_constraints" => once(&mut equality_constraints, map.next_value()?)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let (graph_module, made) = module.ok_or_else(odd)?;
        let document = ExportedProgram {
            graph_module,
            opset_version: opset_version.ok_or_else(odd)?,
            range_constraints: range_constraints.ok_or_else(odd)?,
            schema_version: schema_version.ok_or_else(odd)?,
            verifiers: verifiers.unwrap_or_default(),
            torch_version: torch_version.unwrap_or_default(),
            guards_code: guards_code.unwrap_or_default(),
            asked: asked.unwrap_or_default(),
            equality_constraints: equality_constraints.unwrap_or_default(),
        };
        Ok((document, made))
    }
}

struct Module<'s, 't> {
    shared: &'s mut Shared<'t>,
}

impl<'t> Passing<'t> for Module<'_, 't> {
    type Value = (GraphModule<'t>, Made);

    fn object<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut graph, mut signature, mut calls, mut metadata, mut fields) = (None, None, None, None, None);
        while let Some(key) = map.next_key::<Text<'t>>()? {
            match &*key {
                "graph" => {
                    let scope = ConvertedGraph::awaiting(&mut *self.shared);
                    once(&mut graph, map.next_value_seed(Part(GraphSeed { scope }))?)?;
                }
                "signature" => once(&mut signature, map.next_value()?)?,
                "module_call_graph" => once(&mut calls, map.next_value()?)?,
                "metadata" => once(&mut metadata, map.next_value()?)?,
                "treespec_namedtuple_fields" => once(&mut fields, map.next_value()?)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let module = GraphModule {
            graph: json::Graph::default(),
            signature: signature.ok_or_else(odd)?,
            module_call_graph: calls.ok_or_else(odd)?,
            metadata: metadata.unwrap_or_default(),
            treespec_namedtuple_fields: fields.unwrap_or_default(),
        };
        Ok((module, graph.ok_or_else(odd)?))
    }
}

struct GraphSeed<'s, 'd, 't> {
    scope: ConvertedGraph<'s, 'd, 't>,
}

impl<'t> Passing<'t> for GraphSeed<'_, '_, 't> {
    type Value = Made;

    fn object<A: MapAccess<'t>>(self, mut map: A) -> Result<Made, A::Error> {
        let mut scope = self.scope;
        let mut seen = FxHashSet::default();
        let mut outputs: Vec<json::Argument<'t>> = Vec::new();
        let mut single_tensor_return = false;
        while let Some(key) = map.next_key::<Text<'t>>()? {
            let scope = &mut scope;
            match &*key {
                "inputs" => {
                    let inputs: Vec<json::Argument<'t>> = map.next_value()?;
                    let none = FxHashSet::default();
                    inputs.iter().try_for_each(|input| scope.input(input, &none)).map_err(|_| odd())?;
                }
                // What is made is numbered inputs first.
                "nodes" if !seen.contains("inputs") => return Err(odd()),
                "nodes" => map.next_value_seed(Part(Nodes { scope }))?,
                "outputs" => outputs = map.next_value()?,
                "is_single_tensor_return" => single_tensor_return = map.next_value()?,
                "tensor_values" => {
                    map.next_value_seed(Part(Records { scope, of: |m| Recorded::Tensor(m) }))?
                }
                "sym_int_values" => {
                    map.next_value_seed(Part(Records { scope, of: |m| Recorded::SymInt(m) }))?
                }
                "sym_float_values" => {
                    map.next_value_seed(Part(Records { scope, of: |m| Recorded::SymFloat(m) }))?
                }
                "sym_bool_values" => {
                    map.next_value_seed(Part(Records { scope, of: |m| Recorded::SymBool(m) }))?
                }
                "custom_obj_values" => {
                    map.next_value_seed(Part(Records { scope, of: |m| Recorded::CustomObj(m) }))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if !seen.insert(key.to_string()) {
                return Err(odd());
            }
        }
        let required = ["inputs", "outputs", "nodes", "tensor_values", "sym_int_values", "sym_bool_values"];
        if !required.iter().all(|field| seen.contains(*field)) {
            return Err(odd());
        }
        let outputs = outputs.iter().map(|output| scope.argument(output));
        let outputs = outputs.collect::<Result<_, _>>().map_err(|_| odd())?;
        let builder = scope.into_builder();
        let mut unrecorded = Vec::new();
        for (id, _, value) in builder.values() {
            match (&value.meta, value.origin) {
                (Meta::Unknown, Origin::Input(_)) => unrecorded.push(id),
                (Meta::Unknown, Origin::Node(_)) => return Err(odd()),
                _ => {}
            }
        }
        Ok(Made { builder, outputs, single_tensor_return, unrecorded })
    }
}

struct Nodes<'p, 's, 'd, 't> {
    scope: &'p mut ConvertedGraph<'s, 'd, 't>,
}

impl<'t> Passing<'t> for Nodes<'_, '_, '_, 't> {
    type Value = ();

    fn list<A: SeqAccess<'t>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(node) = list.next_element::<json::Node<'t>>()? {
            let name = node_name(&node, index);
            self.scope.node(&node, name).map_err(|_| odd())?;
            index += 1;
        }
        Ok(())
    }
}

/// What is recorded of values of one kind.
struct Records<'p, 's, 'd, 't, V> {
    scope: &'p mut ConvertedGraph<'s, 'd, 't>,
    of: fn(&V) -> Recorded<'_>,
}

impl<'t, V: serde::Deserialize<'t>> Passing<'t> for Records<'_, '_, '_, 't, V> {
    type Value = ();

    fn object<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Text<'t>>()? {
            let value: V = map.next_value()?;
            self.scope.fill(&name, &(self.of)(&value)).ok_or_else(odd)?;
        }
        Ok(())
    }
}
