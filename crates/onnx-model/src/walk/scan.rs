//! `Scan` and `SequenceMap`: a graph for each slice of tensors, and for each item of sequences.
use super::clauses::Scan;
use super::control::{Results, attribute};
use super::load::has_ranked_outputs;
use super::untracked::{are_sizes, marked, without_elements};
use super::{Ended, Frame, Walk, WalkScope};
use crate::read::message::{GraphProto, NodeProto};
use crate::shape::{Origin, Sequence, Tensor, Value};
use rustc_hash::FxHashMap;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

impl<'m> Walk<'m> {
    /// `Scan`: the body for each slice; states stay in shape, and what each round makes is put one behind the other.
    pub(super) fn scan(
        &mut self,
        (node, graph): (&'m NodeProto, &'m GraphProto),
        inputs: &[Option<&Value>],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        if self.version("", frame).is_some_and(|version| version < 9) {
            // Inputs had batches, and lengths in front of the states.
            let message = "Scan of version 8 has no shape function".to_owned();
            self.failed(self.steps.len() - 1, KernelError::Unsupported(message))?;
            return Ok(vec![Value::Unknown; node.output.len()]);
        }
        let scans = attribute(node, "num_scan_inputs").map_or(0, |a| usize::try_from(a.i).unwrap_or(0));
        let Some(states) = inputs.len().checked_sub(scans).filter(|_| scans > 0) else {
            return self.missing(node, "scan inputs");
        };
        self.expect_outputs(node, graph, 0)?;
        self.expect_lists(node, scans, node.output.len().saturating_sub(states))?;
        let step = self.steps.len() - 1;
        let mut values: Vec<Value> =
            inputs[..states].iter().map(|value| value.map_or(Value::Unknown, Value::clone)).collect();
        let Some(length) = self.slices(node, &inputs[states..], &mut values)? else {
            return Ok(vec![Value::Unknown; node.output.len()]);
        };
        if let Err(error) = self.some_slices(length) {
            self.failed(step, error)?;
        }
        let known = self.env.unbacked().len();
        self.expect_declared_sizes(step, &graph.input, &values[..states])?;
        self.expect_made_rows(graph, states)?;
        self.expect_slices(node, graph, &values[states..], states)?;
        let results = self.any_slice(graph, values, states, (scope, frame))?;
        let is_misstated = self.finding.is_none() && self.at_load().is_misstated;
        if !has_ranked_outputs(graph, &results) || is_misstated {
            let message = "onnxruntime runs a scan only if it infers the ranks of what the body makes";
            self.failed(step, KernelError::Unsupported(message.to_owned()))?;
        }
        self.note_results(graph, &results);
        let of_states = &results[..states.min(results.len())];
        self.expect_declared_sizes(step, &graph.output, of_states)?;
        self.expect_stated(step, Scan::C5, graph, (states, &results))?;
        self.expect_equal_rows(step, results.get(states..).unwrap_or_default(), known);
        let out_axes = attribute(node, "scan_output_axes").map(|a| a.ints.clone()).unwrap_or_default();
        let mut outputs: Vec<Value> = Vec::with_capacity(results.len());
        for (at, value) in results.iter().enumerate() {
            if at < states {
                let initial =
                    inputs[at].map_or(Value::Unknown, |value| marked(value, are_sizes(&results[at])));
                let is_once = length == Expr::ONE;
                outputs.push(if is_once { value.clone() } else { self.state(step, initial, value)? });
                continue;
            }
            let axis = out_axes.get(at - states).copied().unwrap_or(0);
            outputs.push(match value {
                Value::Tensor(Tensor { dtype, shape: Some(shape), .. }) => {
                    let rank = shape.len() as i64 + 1;
                    let place = (if axis < 0 { axis + rank } else { axis }).clamp(0, rank - 1) as usize;
                    let mut shape = shape.clone();
                    shape.insert(place, length);
                    Tensor { origin: Origin::of_sizes(are_sizes(value)), ..Tensor::new(*dtype, shape) }.into()
                }
                other => without_elements(other),
            });
        }
        Ok(outputs)
    }

    /// The slices of inputs that are scanned, put behind the states, and their number. `None` if an input has none.
    fn slices(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<&Value>],
        values: &mut Vec<Value>,
    ) -> Result<Option<Expr>, Ended> {
        let step = self.steps.len() - 1;
        let axes = attribute(node, "scan_input_axes").map(|a| a.ints.clone()).unwrap_or_default();
        let mut length: Option<Expr> = None;
        for (at, value) in inputs.iter().enumerate() {
            let Some(Value::Tensor(tensor)) = value else {
                self.missing(node, "tensors to scan")?;
                return Ok(None);
            };
            let Some(mut shape) = tensor.shape.clone() else {
                values.push(Value::Unknown);
                continue;
            };
            let axis = axes.get(at).copied().unwrap_or(0);
            let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
            let Some(place) = usize::try_from(axis).ok().filter(|&place| place < shape.len()) else {
                self.missing(node, "axis within the rank")?;
                return Ok(None);
            };
            let size = shape.remove(place);
            let mut cx = Cx::on(&mut self.env, self.model.backend);
            if let Some(known) = length
                && let Err(error) = cx.require_eq(known, size, Scan::C1, "lengths of scans")
            {
                self.failed(step, error)?;
            }
            length.get_or_insert(size);
            // What lies between two numbers does so in every slice.
            let spans = tensor.span().cloned().map(|span| [Some(span)].into());
            let origin = Origin::of_sizes(value.is_some_and(are_sizes));
            let slice = Tensor::new(tensor.dtype, shape);
            let at_load = tensor.at_load.without_sizes();
            values.push(Tensor { at_load, spans, origin, ..slice }.into());
        }
        Ok(Some(length.unwrap_or_else(|| self.open_size())))
    }

    fn expect_lists(&mut self, node: &NodeProto, scans: usize, rows: usize) -> Result<(), Ended> {
        for (side, count) in [("input", scans), ("output", rows)] {
            let list = |of: &str| attribute(node, &format!("scan_{side}_{of}")).map(|a| a.ints.as_slice());
            let (axes, directions) = (list("axes"), list("directions"));
            let fits = [axes, directions].iter().flatten().all(|list| list.len() == count);
            let is_known = directions.unwrap_or_default().iter().all(|direction| (0..=1).contains(direction));
            if !fits || !is_known {
                let message = format!("axes or directions of its {count} scan {side}s are wrong");
                self.failed(self.steps.len() - 1, KernelError::invalid(Scan::C7, message))?;
            }
        }
        Ok(())
    }

    fn expect_made_rows(&mut self, graph: &GraphProto, states: usize) -> Result<(), Ended> {
        if !Cx::on(&mut self.env, self.model.backend).on_cpu() {
            return Ok(());
        }
        let outputs = || graph.output.iter().map(|output| output.name.as_str());
        let mut taken: FxHashMap<&str, usize> = FxHashMap::default();
        outputs().for_each(|name| *taken.entry(name).or_default() += 1);
        graph.input.iter().for_each(|input| *taken.entry(&input.name).or_default() += 1);
        let Some(name) = outputs().skip(states).find(|name| taken[name] > 1) else { return Ok(()) };
        let message =
            format!("Scan: the scan output `{name}` is an input or another output of the body, too");
        self.failed(self.steps.len() - 1, KernelError::invalid(Scan::C4, message))
    }

    /// What the body makes of any of the slices. Of the elements of states no more is known than whether sizes decide
    /// them in every round.
    fn any_slice(
        &mut self,
        graph: &'m GraphProto,
        values: Vec<Value>,
        states: usize,
        (scope, frame): (&WalkScope<'_>, &Frame<'m>),
    ) -> Results {
        let mut from_sizes: Vec<bool> = values[..states].iter().map(are_sizes).collect();
        loop {
            let before = self.before();
            let given = values.iter().enumerate().map(|(at, value)| match from_sizes.get(at) {
                Some(&of) => marked(value, of),
                None => value.clone(),
            });
            let results = self.graph(graph, given.collect(), scope, frame)?;
            let pairs = from_sizes.iter().zip(&results);
            let still: Vec<bool> = pairs.map(|(&of, after)| of && are_sizes(after)).collect();
            if still == from_sizes {
                return Ok(results);
            }
            self.taken_back(before);
            from_sizes = still;
        }
    }

    fn some_slices(&mut self, length: Expr) -> Result<(), KernelError> {
        let mut cx = Cx::on(&mut self.env, self.model.backend);
        if !cx.on_cpu() {
            return Ok(());
        }
        let some = cx.ge(length, 1);
        cx.require(some, Scan::C3, |_| "there is nothing to scan".to_owned())
    }

    /// A state of a scan, which keeps its shape.
    fn state(&mut self, step: usize, initial: Value, after: &Value) -> Result<Value, Ended> {
        self.expect_same_type(step, &initial, after)?;
        let shapes = match (&initial, after) {
            (Value::Tensor(a), Value::Tensor(b)) => a.shape.clone().zip(b.shape.clone()),
            _ => None,
        };
        let Some((before, made)) = shapes else { return Ok(self.widened(&initial, after)) };
        if let Err(error) =
            Cx::on(&mut self.env, self.model.backend).require_same_shape(&before, &made, Scan::C2)
        {
            self.failed(step, error)?;
        }
        Ok(initial)
    }

    /// `SequenceMap`: the body for each item.
    pub(super) fn mapped(
        &mut self,
        (node, graph): (&'m NodeProto, &'m GraphProto),
        inputs: &[Option<&Value>],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let Some(Some(Value::Sequence(first))) = inputs.first() else {
            return self.missing(node, "sequence");
        };
        let Some(count) = first.items.as_ref().map(Vec::len) else {
            return Ok(vec![Value::Unknown; node.output.len()]);
        };
        if count == 0 {
            self.expect_loaded(graph)?;
        }
        let mut outputs: Vec<Option<Vec<Tensor>>> = vec![Some(Vec::new()); node.output.len()];
        for at in 0..count {
            let item = |value: &Option<&Value>| match *value {
                Some(Value::Sequence(sequence)) => sequence
                    .items
                    .as_ref()
                    .and_then(|items| items.get(at).cloned())
                    .map_or(Value::Unknown, Value::from),
                Some(value) => value.clone(),
                None => Value::Unknown,
            };
            let results = self.graph(graph, inputs.iter().map(item).collect(), scope, frame)?;
            for (output, result) in outputs.iter_mut().zip(results) {
                match (output.as_mut(), result) {
                    (Some(items), Value::Tensor(tensor)) => items.push(tensor),
                    _ => *output = None,
                }
            }
        }
        let sequence = |items: Option<Vec<Tensor>>| match items {
            Some(items) => {
                let dtype = items.first().map_or(first.dtype, |item| item.dtype);
                Value::Sequence(Sequence::of(dtype, items))
            }
            None => Value::Unknown,
        };
        Ok(outputs.into_iter().map(sequence).collect())
    }
}
