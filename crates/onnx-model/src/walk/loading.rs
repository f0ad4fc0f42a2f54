//! What onnxruntime finds when it loads a model: it infers shapes in all graphs, also in those that never run.
use super::control::{Results, place};
use super::load::has_known_rank;
use super::{Ended, Failure, Frame, Given, Walk, WalkScope, declared, inputs, value};
use crate::read::message::{GraphProto, NodeProto, ValueInfoProto};
use crate::read::{Loaded, Model};
use crate::shape::schema::signature;
use crate::shape::{Dtype, Known, Tensor, Value};
use rustc_hash::FxHashMap;
use sizewise_env::{OpClause, ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Value as Number};
use sizewise_kernels::{Cx, KernelError};

/// The example of a size that is not a number when a model loads.
const EXAMPLE: i64 = 4;

/// What is found when a model loads. Which numbers onnxruntime follows there, and folds, differs by operator and by how
/// much it optimizes: what depends on that is left open.
fn loaded(model: &Model) -> Loaded {
    let mut found = walked(model, true);
    if !found.results.is_empty() || !found.rows.is_empty() {
        found.agree_with(&walked(model, false));
    }
    found
}

/// Walks a model over symbols for sizes: every graph is walked. Elements are followed if they are constants, or if they are
/// numbers and that is asked for.
fn walked(model: &Model, follows: bool) -> Loaded {
    let mut walk = Walk::new(model, ShapeEnv::new(), false);
    walk.finding = Some(Loaded { follows, ..Loaded::default() });
    let mut named: FxHashMap<String, Expr> = FxHashMap::default();
    let (mut values, mut count) = (Vec::new(), 0);
    for input in inputs(model) {
        let Some(shape) = &input.shape else {
            let unranked = || Tensor::unranked(input.dtype.unwrap_or(Dtype::F32)).into();
            let value = if input.is_tensor { unranked() } else { value(&input, Vec::new()) };
            values.push((input.name, value));
            continue;
        };
        let sizes = shape.iter().map(|given| match given {
            Given::Size(size) => walk.env.pool.int(*size),
            Given::Open => symbol(&mut walk.env, &mut count),
            Given::Name(name) => match named.get(name) {
                Some(&size) => size,
                None => *named.entry(name.clone()).or_insert(symbol(&mut walk.env, &mut count)),
            },
        });
        let value = value(&input, sizes.collect());
        values.push((input.name, value));
    }
    walk.run(values);
    let mut found = walk.finding.take().unwrap_or_default();
    let is_refused = !walk.failures.is_empty();
    let stated = model.graph.value_info.iter().chain(&model.graph.output);
    let numbers = |value: &Option<Value>| {
        let shape = value.as_ref()?.tensor()?.shape.as_ref()?;
        Some(shape.iter().map(|size| size.as_inline()).collect())
    };
    found.values = walk.values.iter().map(numbers).collect();
    found.is_misstated =
        stated.filter_map(|stated| Some((stated, model.number(&stated.name)?))).any(|(stated, number)| {
            let made = walk.values.get(number).and_then(|made| made.as_ref()?.tensor()?.shape.as_ref());
            let stated = declared("", stated.r#type.as_ref()).shape;
            // Of what is refused at the example, nothing is known.
            let is_other = |stated: usize| made.map_or(is_refused, |made| made.len() != stated);
            stated.is_some_and(|stated| is_other(stated.len()))
        });
    found
}

/// A size that is not known when a model loads; so many have been made before.
fn symbol(env: &mut ShapeEnv, count: &mut usize) -> Expr {
    let name = format!("s{count}");
    *count += 1;
    let info = SymbolInfo { hint: Some(Number::Int(Int::from(EXAMPLE))), source: None };
    env.declare(&name, ValueRange::at_least(Int::from(1)), info)
}

/// The refusal among failures that does not depend on the sizes of inputs: its condition holds for none of them.
fn lasting(env: &mut ShapeEnv, failures: &[Failure]) -> Option<KernelError> {
    let mut found = None;
    for Failure { error, .. } in failures {
        match error {
            KernelError::Invalid { condition, clause, .. }
                if condition.is_none_or(|condition| env.statically_known(condition) == Some(false)) =>
            {
                // Types are looked at in all graphs; some other conditions only when a node runs.
                if clause.name().starts_with("schema.") {
                    return Some(error.clone());
                }
                found.get_or_insert_with(|| error.clone());
            }
            _ => {}
        }
    }
    found
}

/// The rank of a graph's output that is known, as inferred or as declared.
fn rank(output: &ValueInfoProto, value: &Value) -> Option<usize> {
    let stated = || declared(&output.name, output.r#type.as_ref()).shape.map(|shape| shape.len());
    let made = value.tensor().and_then(|tensor| tensor.shape.as_ref()).map(Vec::len);
    if has_known_rank(output, value) { stated().or(made) } else { None }
}

/// What is found when a model loads.
pub(super) fn at_load(model: &Model) -> &Loaded {
    model.loading.get_or_find(|| loaded(model))
}

/// What is found of a size of an input of a node of the main graph, in a walk that has numbers for all sizes: whatever
/// onnxruntime infers, a walk over symbols for the sizes of inputs finds as well, unless the file states it.
pub(super) fn found_at_load(model: &Model, node: &NodeProto, at: usize, dim: usize) -> Known {
    let row = || {
        let name = node.input.get(at)?;
        let mut stated = model.graph.value_info.iter().chain(&model.graph.output);
        let is_stated = stated.any(|stated| stated.name == *name);
        let row = at_load(model).values.get(model.number(name)?)?.as_ref()?;
        (!is_stated && row.get(dim)?.is_none()).then_some(Known::No)
    };
    row().unwrap_or_default()
}

pub(super) fn address(graph: &GraphProto) -> usize {
    std::ptr::from_ref(graph) as usize
}

impl<'m> Walk<'m> {
    /// What is found when the model loads.
    pub(super) fn at_load(&self) -> &'m Loaded {
        at_load(self.model)
    }

    /// Walks a graph within a node as it is inferred when the model loads, and notes whether it is refused.
    pub(super) fn inferred(
        &mut self,
        graph: &'m GraphProto,
        inputs: Vec<Value>,
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let (outside, failures) = (self.env.clone(), self.failures.len());
        let unsupported = self.unsupported.take();
        let results = self.graph(graph, inputs, scope, frame)?;
        // They are refusals of the graphs around as well.
        let refused = lasting(&mut self.env, &self.failures[failures..]);
        let inside = std::mem::replace(&mut self.env, outside);
        self.declare_sizes_of(&inside);
        let open = self.unsupported.as_ref().map(|(_, message)| KernelError::Unsupported(message.clone()));
        let refused = refused.or(open);
        self.unsupported = unsupported.or(self.unsupported.take());
        if let Some(found) = &mut self.finding {
            let known = found.graphs.entry(address(graph)).or_default();
            if known.is_none() {
                *known = refused;
            }
        }
        Ok(results)
    }

    /// `If` as it is inferred when the model loads: both branches, and what their results have in common.
    pub(super) fn inferred_branches(
        &mut self,
        node: &'m NodeProto,
        [then, other]: [&'m GraphProto; 2],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let first = self.inferred(then, Vec::new(), scope, frame)?;
        let second = self.inferred(other, Vec::new(), scope, frame)?;
        self.note_results(then, &first);
        self.note_results(other, &second);
        if self.version("", frame).is_some_and(|version| version < 11) {
            self.note_merge(node, [(then, &first), (other, &second)]);
        }
        let (mut joined, mut ranks) = (Vec::new(), Vec::new());
        for (at, (a, b)) in first.into_iter().zip(second).enumerate() {
            let types = [&a, &b].map(|value| value.tensor().map(|tensor| tensor.dtype));
            if let [Some(a), Some(b)] = types
                && a != b
                && let Some(found) = &mut self.finding
            {
                let message = format!("If: one of its branches makes {}, the other {}", a.name(), b.name());
                found
                    .graphs
                    .insert(address(then), Some(KernelError::invalid(signature::S2, message.clone())));
                found.graphs.insert(address(other), Some(KernelError::invalid(signature::S2, message)));
            }
            let rank = rank(&then.output[at], &a).filter(|&known| rank(&other.output[at], &b) == Some(known));
            let mut value = self.either(None, a, b);
            if let Value::Tensor(tensor) = &mut value {
                let is_known = rank.is_some() && tensor.shape.is_some();
                tensor.at_load.rank = if is_known { Known::Yes } else { Known::Maybe };
            }
            ranks.push(rank.is_some());
            joined.push(value);
        }
        if let Some(found) = &mut self.finding {
            let known = found.ranks.entry(place(node)).or_insert_with(|| ranks.clone());
            known.iter_mut().zip(ranks).for_each(|(known, rank)| *known &= rank);
        }
        Ok(joined)
    }

    /// Marks the results of the branch that runs: a rank is inferred if it is for both branches.
    pub(super) fn mark_inferred(&self, node: &NodeProto, values: &mut [Value]) {
        if !values.iter().any(Value::is_ranked_at_load) {
            return;
        }
        let known = self.at_load().ranks.get(&place(node));
        for (at, value) in values.iter_mut().enumerate() {
            if let Value::Tensor(tensor) = value {
                let is_known = known.is_some_and(|known| known.get(at) == Some(&true));
                if tensor.at_load.rank == Known::Yes && !is_known {
                    tensor.at_load.rank = Known::Maybe;
                }
            }
        }
    }

    /// Marks results of a node of the main graph of which the model states the rank: what is not inferred is as stated.
    pub(super) fn mark_stated(&mut self, node: &NodeProto, values: &mut [Value]) {
        let model = self.model;
        for (name, value) in node.output.iter().zip(values) {
            let Value::Tensor(Tensor { shape: Some(shape), at_load, .. }) = value else { continue };
            if at_load.rank == Known::Yes {
                continue;
            }
            let stated = self.stated.get_or_insert_with(|| {
                let stated = model.graph.value_info.iter().chain(&model.graph.output);
                let rank = |stated: &ValueInfoProto| {
                    declared("", stated.r#type.as_ref()).shape.map(|shape| shape.len())
                };
                stated.filter_map(|stated| Some((stated.name.as_str(), rank(stated)?))).collect()
            });
            if stated.get(name.as_str()) == Some(&shape.len()) {
                at_load.rank = Known::Yes;
            }
        }
    }

    /// Requires, for onnxruntime, that a value has the rank which a graph within declares for it, if this is inferred.
    pub(super) fn expect_rank(
        &mut self,
        input: Option<&ValueInfoProto>,
        value: Option<&Value>,
        clause: &'static OpClause,
    ) -> Result<(), Ended> {
        let stated = input.and_then(|input| declared(&input.name, input.r#type.as_ref()).shape);
        let known = value
            .filter(|value| value.is_ranked_at_load())
            .and_then(Value::tensor)
            .and_then(|tensor| tensor.shape.as_ref());
        let (Some(stated), Some(known)) = (stated, known) else { return Ok(()) };
        if stated.len() == known.len() || !Cx::on(&mut self.env, self.model.backend).on_cpu() {
            return Ok(());
        }
        let message =
            format!("a value is of rank {}, where the graph declares {}", known.len(), stated.len());
        self.failed(self.steps.len() - 1, KernelError::invalid(clause, message))
    }

    /// Requires, for onnxruntime, that a graph loads which does not run.
    pub(super) fn expect_loaded(&mut self, graph: &'m GraphProto) -> Result<(), Ended> {
        if self.finding.is_some() || !Cx::on(&mut self.env, self.model.backend).on_cpu() {
            return Ok(());
        }
        let step = self.steps.len() - 1;
        match self.at_load().graphs.get(&address(graph)) {
            Some(None) => Ok(()),
            Some(Some(error)) => match error {
                KernelError::Invalid { clause, .. } if !clause.name().starts_with("schema.") => {
                    let message = "a graph within it refuses what it is declared or inferred to be given, so that onnxruntime may not load it";
                    self.failed(step, KernelError::Unsupported(message.to_owned()))
                }
                _ => self.failed(step, error.clone()),
            },
            None => {
                let message = "whether onnxruntime loads a graph within it is not known";
                self.failed(step, KernelError::Unsupported(message.to_owned()))
            }
        }
    }
}
