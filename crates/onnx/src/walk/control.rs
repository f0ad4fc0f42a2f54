//! Control flow: `If`, `Loop`, `Scan`, and functions on the items of sequences.
use super::{Ended, Frame, Given, Scope, Walk, declared};
use crate::read::message::{AttributeProto, GraphProto, NodeProto};
use crate::shape::{Dtype, Element, Sequence, Tensor, Value};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::Expr;
use sizewise_expr::range::ValueRange;
use sizewise_kernels::{Cx, KernelError};

/// Loops of up to this many rounds are walked round by round: over symbols, and with sizes that are given.
const MAX_ROUNDS: (i64, i64) = (64, 4_096);
/// How often the shapes of carried values are tried before their sizes are left open.
const MAX_TRIES: usize = 4;

pub(super) fn body<'m>(node: &'m NodeProto, name: &str) -> Option<&'m GraphProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)?.g.as_ref()
}

pub(super) fn attribute<'m>(node: &'m NodeProto, name: &str) -> Option<&'m AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

/// A node's place in the memory of the model.
fn place(node: &NodeProto) -> usize {
    std::ptr::from_ref(node) as usize
}

pub(super) type Results = Result<Vec<Value>, Ended>;

impl<'m> Walk<'m> {
    pub(super) fn missing(&mut self, node: &NodeProto, what: &str) -> Results {
        let step = self.steps.len() - 1;
        self.failed(step, KernelError::invalid("schema.S1", format!("{} needs its {what}", node.op_type)))?;
        Ok(vec![Value::Unknown; node.output.len()])
    }

    /// The branch that the condition takes, or what both have in common.
    pub(super) fn branches(
        &mut self,
        node: &'m NodeProto,
        inputs: &[Option<&Value>],
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let (Some(then), Some(other)) = (body(node, "then_branch"), body(node, "else_branch")) else {
            return self.missing(node, "branches");
        };
        for graph in [then, other] {
            self.expect_outputs(node, graph, 0)?;
        }
        let condition = match inputs.first() {
            Some(Some(Value::Tensor(tensor))) => tensor.single(),
            _ => None,
        };
        let condition = match condition {
            Some(Element::Bool(condition)) => Some(condition),
            _ => None,
        };
        let known = condition.and_then(|condition| self.env.statically(condition));
        if let Some(value) = known.or_else(|| self.follows.get(&place(node)).copied().flatten()) {
            let taken = self.taken.entry(place(node)).or_insert(Some(value));
            *taken = taken.filter(|&taken| taken == value);
            let graph = if value { then } else { other };
            let step = self.steps.len() - 1;
            let results = self.graph(graph, Vec::new(), scope, frame)?;
            self.expect_declared(step, graph, &results)?;
            return Ok(results);
        }
        let first = self.supposing(condition, then, scope, frame)?;
        let negated = condition.map(|condition| self.env.pool.not(condition));
        let second = self.supposing(negated, other, scope, frame)?;
        let pairs = first.into_iter().zip(second);
        Ok(pairs.map(|(a, b)| self.either(condition, a, b)).collect())
    }

    /// Requires that a node has an output for each of a graph within, but for some that the graph has before.
    pub(super) fn expect_outputs(
        &mut self,
        node: &NodeProto,
        graph: &GraphProto,
        before: usize,
    ) -> Result<(), Ended> {
        let (outputs, made) = (node.output.len(), graph.output.len().saturating_sub(before));
        if outputs == made {
            return Ok(());
        }
        let message = format!("{} has {outputs} outputs, where its graph makes {made}", node.op_type);
        self.failed(self.steps.len() - 1, KernelError::invalid("schema.S1", message))
    }

    /// (If.C1) onnxruntime requires the sizes that a branch declares as numbers.
    fn expect_declared(&mut self, step: usize, graph: &GraphProto, results: &[Value]) -> Result<(), Ended> {
        for (output, value) in graph.output.iter().zip(results) {
            let shape = value.tensor().and_then(|tensor| tensor.shape.as_ref());
            let Some((stated, shape)) = declared(&output.name, output.r#type.as_ref()).shape.zip(shape)
            else {
                continue;
            };
            if stated.len() != shape.len() {
                // What is inferred counts, if something is.
                if !value.tensor().is_some_and(|tensor| tensor.is_ranked_at_load) {
                    let message = "a branch declares another rank than it makes".to_owned();
                    self.failed(step, KernelError::Unsupported(message))?;
                }
                continue;
            }
            for (stated, &size) in stated.iter().zip(shape) {
                let Given::Size(number) = stated else { continue };
                let mut cx = Cx::on(&mut self.env, self.model.backend);
                let number = cx.int(*number);
                if cx.on_cpu()
                    && let Err(error) = cx.require_eq(number, size, "If.C1", "the declared size of a branch")
                {
                    self.failed(step, error)?;
                }
            }
        }
        Ok(())
    }

    /// Walks a graph that runs only where a condition holds: what it needs is needed there.
    fn supposing(
        &mut self,
        condition: Option<Expr>,
        graph: &'m GraphProto,
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let outside = self.env.clone();
        if let Some(condition) = condition {
            self.env.assume(condition);
        }
        let (failures, recorded) = (self.failures.len(), self.env.guards().len());
        let asserted = self.env.runtime_asserts().len();
        let stops = std::mem::replace(&mut self.stops, false);
        let step = self.steps.len() - 1;
        let results = self.graph(graph, Vec::new(), scope, frame).and_then(|results| {
            self.expect_declared(step, graph, &results)?;
            Ok(results)
        });
        self.stops = stops;
        let inside = std::mem::replace(&mut self.env, outside);
        // A branch that fails is one that is not taken, or data decide.
        if self.failures.len() > failures {
            let failed: Vec<_> = self.failures.drain(failures..).collect();
            self.unknown
                .extend(failed.into_iter().map(|failure| (failure.step, "a branch fails".to_owned())));
        }
        let taken = inside.guards()[recorded..].to_vec();
        for guard in taken {
            self.env.set_origin(guard.origin);
            match condition {
                Some(condition) => {
                    let not = self.env.pool.not(condition);
                    let implied = self.env.pool.or(&[not, guard.condition]);
                    self.env.require(implied, guard.clause);
                }
                None => {
                    self.env.require(guard.condition, guard.clause);
                }
            }
        }
        if let Some(open) = inside.runtime_asserts().get(asserted) {
            self.unknown.push((open.origin.0 as usize, "data decide what a branch needs".to_owned()));
        }
        // Sizes that only data decide are known outside, too.
        for &symbol in inside.unbacked().iter().skip(self.env.unbacked().len()) {
            let range = inside.known_facts().range(symbol).cloned().unwrap_or_else(ValueRange::all);
            let name = inside.pool.symbol_name(symbol).to_owned();
            self.env.declare(&name, range, SymbolInfo::default());
        }
        results
    }

    /// A value that is one of two: sizes that differ depend on the condition.
    fn either(&mut self, condition: Option<Expr>, a: Value, b: Value) -> Value {
        match (a, b) {
            (a, b) if a == b => a,
            (Value::Tensor(a), Value::Tensor(b)) if a.dtype == b.dtype => match (&a.shape, &b.shape) {
                (Some(x), Some(y)) if x.len() == y.len() => {
                    let shape = x.iter().zip(y).map(|(&x, &y)| self.either_size(condition, x, y)).collect();
                    Tensor::new(a.dtype, shape).into()
                }
                _ => Tensor::unranked(a.dtype).into(),
            },
            (Value::Sequence(a), Value::Sequence(b)) if a.dtype == b.dtype => {
                Value::Sequence(Sequence { dtype: a.dtype, items: None })
            }
            _ => Value::Unknown,
        }
    }

    fn either_size(&mut self, condition: Option<Expr>, a: Expr, b: Expr) -> Expr {
        match condition {
            _ if a == b => a,
            Some(condition) => self.env.pool.ite(condition, a, b),
            None => self.open_size(),
        }
    }

    pub(super) fn open_size(&mut self) -> Expr {
        Cx::on(&mut self.env, self.model.backend).unbacked_size(0, None)
    }

    /// A value of the same type whose sizes are those on which both agree.
    pub(super) fn widened(&mut self, a: &Value, b: &Value) -> Value {
        let joined = self.either(None, a.clone(), b.clone());
        match joined {
            Value::Tensor(tensor) if a != b => Value::Tensor(Tensor { elements: None, ..tensor }),
            other => other,
        }
    }

    /// `Loop`: the carried values, and what each round adds, one behind the other.
    pub(super) fn repeated(
        &mut self,
        node: &'m NodeProto,
        inputs: &[Option<&Value>],
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let Some(graph) = body(node, "body") else { return self.missing(node, "body") };
        self.expect_outputs(node, graph, 1)?;
        let single = |at: usize| match inputs.get(at) {
            Some(Some(Value::Tensor(tensor))) => Some(tensor.single()),
            Some(Some(_)) => Some(None),
            _ => None,
        };
        let trips = single(0).map(|trips| trips.and_then(|trips| trips.int()));
        let goes = match single(1) {
            None => Some(true),
            Some(Some(Element::Bool(condition))) => self.env.statically(condition),
            Some(_) => None,
        };
        let carried: Vec<Value> =
            inputs.iter().skip(2).map(|value| value.cloned().unwrap_or(Value::Unknown)).collect();
        let literal = match trips {
            Some(Some(trips)) => trips.as_inline(),
            _ => None,
        };
        if goes == Some(false) {
            return self.no_round(node, graph, carried, scope, frame);
        }
        match literal {
            Some(0) => return self.no_round(node, graph, carried, scope, frame),
            Some(trips) if goes == Some(true) && trips <= self.max_rounds() => {
                let before = (self.env.clone(), self.steps.len(), self.failures.len(), self.unknown.len());
                if let Some(results) = self.unrolled(graph, Some(trips), carried.clone(), scope, frame)? {
                    return Ok(results);
                }
                self.taken_back(before);
            }
            None if trips.is_none() && goes == Some(true) => {
                let before = (self.env.clone(), self.steps.len(), self.failures.len(), self.unknown.len());
                if let Some(results) = self.unrolled(graph, None, carried.clone(), scope, frame)? {
                    return Ok(results);
                }
                self.taken_back(before);
            }
            _ => {}
        }
        self.any_rounds(graph, trips.flatten(), goes == Some(true), carried, (scope, frame))
    }

    fn max_rounds(&self) -> i64 {
        if self.stops { MAX_ROUNDS.1 } else { MAX_ROUNDS.0 }
    }

    fn taken_back(&mut self, before: (ShapeEnv, usize, usize, usize)) {
        self.env = before.0;
        self.steps.truncate(before.1);
        self.failures.truncate(before.2);
        self.unknown.truncate(before.3);
    }

    /// A round's inputs: its number, the condition, and the carried values.
    fn round(&mut self, number: Option<i64>, carried: &[Value]) -> Vec<Value> {
        let trip = Tensor::new(Dtype::I64, Vec::new());
        let trip = match number {
            Some(number) => trip.with(vec![Element::Int(self.env.pool.int(number))]),
            None => trip,
        };
        let yes = self.env.pool.bool(true);
        let condition = Tensor::new(Dtype::Bool, Vec::new()).with(vec![Element::Bool(yes)]);
        [trip.into(), condition.into()].into_iter().chain(carried.iter().cloned()).collect()
    }

    /// Walks each round; `None` where the number of rounds turns out not to be known.
    fn unrolled(
        &mut self,
        graph: &'m GraphProto,
        trips: Option<i64>,
        mut carried: Vec<Value>,
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Result<Option<Vec<Value>>, Ended> {
        // The loop's own step is the last one before its rounds.
        let step = self.steps.len() - 1;
        let mut added: Vec<Vec<Value>> = Vec::new();
        for number in 0..trips.unwrap_or(self.max_rounds()) {
            let inputs = self.round(Some(number), &carried);
            let results = self.graph(graph, inputs, scope, frame)?;
            let mut results = results.into_iter();
            let condition = results.next();
            carried = results.by_ref().take(carried.len()).collect();
            added.push(results.collect());
            match condition {
                Some(Value::Tensor(tensor)) => match tensor.single() {
                    Some(Element::Bool(condition)) => match self.env.statically(condition) {
                        Some(true) => {}
                        Some(false) => return self.with_rows(step, carried, &added).map(Some),
                        None => return Ok(None),
                    },
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        if trips.is_none() {
            return Ok(None);
        }
        self.with_rows(step, carried, &added).map(Some)
    }

    /// The carried values, and what rounds have added.
    fn with_rows(
        &mut self,
        step: usize,
        mut carried: Vec<Value>,
        added: &[Vec<Value>],
    ) -> Result<Vec<Value>, Ended> {
        let Some(first) = added.first() else { return Ok(carried) };
        let count = self.env.pool.int(added.len() as i64);
        for (at, value) in first.iter().enumerate() {
            let mut row = value.clone();
            for round in added.iter().skip(1) {
                row = self.same_row(step, &row, &round[at])?;
            }
            carried.push(stacked(count, &row));
        }
        Ok(carried)
    }

    /// The row of two rounds of a loop. (Loop.C1) Their shapes are equal.
    fn same_row(&mut self, step: usize, a: &Value, b: &Value) -> Result<Value, Ended> {
        let shapes = match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => a.shape.as_ref().zip(b.shape.as_ref()),
            _ => None,
        };
        let Some((x, y)) = shapes else {
            self.unknown.push((step, "the rows that rounds add may differ in shape".to_owned()));
            return Ok(self.widened(a, b));
        };
        if let Err(error) = Cx::on(&mut self.env, self.model.backend).require_same_shape(y, x, "Loop.C1") {
            self.failed(step, error)?;
        }
        Ok(without_elements(a))
    }

    /// Notes that nothing is known if the shape of a row has sizes that were not there before the loop: each round may
    /// have other ones.
    pub(super) fn expect_equal_rows(&mut self, step: usize, rows: &[Value], known: usize) {
        let fresh: Vec<_> = self.env.unbacked().iter().skip(known).copied().collect();
        let varies = |row: &Value| match row {
            Value::Tensor(Tensor { shape: Some(shape), .. }) => {
                self.env.pool.free_symbols(shape).iter().any(|symbol| fresh.contains(symbol))
            }
            _ => true,
        };
        if rows.iter().any(varies) {
            self.unknown.push((step, "the rows that rounds add may differ in shape".to_owned()));
        }
    }

    /// A loop without a round: values stay, and nothing is added.
    fn no_round(
        &mut self,
        node: &'m NodeProto,
        graph: &'m GraphProto,
        carried: Vec<Value>,
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let rest = node.output.len().saturating_sub(carried.len());
        let inputs = self.round(None, &carried);
        let mut results = carried;
        if rest > 0 {
            // The body says of what rank rows would be.
            let outside = self.env.clone();
            let stops = std::mem::replace(&mut self.stops, false);
            let (failures, unknown) = (self.failures.len(), self.unknown.len());
            let made = self.graph(graph, inputs, scope, frame);
            self.stops = stops;
            self.env = outside;
            self.failures.truncate(failures);
            self.unknown.truncate(unknown);
            let rows = made?.into_iter().skip(1 + results.len()).collect::<Vec<_>>();
            let stated = graph.output.iter().skip(1 + results.len());
            let empty = rows.iter().zip(stated).map(|(row, stated)| {
                // Of a row that is never made, onnxruntime knows only the sizes that the body states as numbers.
                let stated = declared(&stated.name, stated.r#type.as_ref()).shape;
                let mut row = row.clone();
                if let Value::Tensor(Tensor { shape: Some(shape), .. }) = &mut row {
                    for (at, size) in shape.iter_mut().enumerate() {
                        let is_stated =
                            stated.as_ref().is_some_and(|s| matches!(s.get(at), Some(Given::Size(_))));
                        *size = if is_stated { *size } else { Expr::ZERO };
                    }
                }
                stacked(Expr::ZERO, &row)
            });
            results.extend(empty.collect::<Vec<_>>());
        }
        Ok(results)
    }

    /// A loop of any number of rounds: sizes that a round changes are open.
    fn any_rounds(
        &mut self,
        graph: &'m GraphProto,
        trips: Option<Expr>,
        goes: bool,
        mut carried: Vec<Value>,
        (scope, frame): (&Scope<'_>, &Frame<'m>),
    ) -> Results {
        // What a round makes of elements is not followed.
        carried = carried.iter().map(without_elements).collect();
        let initial = carried.clone();
        let (step, known) = (self.steps.len() - 1, self.env.unbacked().len());
        for attempt in 0..=MAX_TRIES {
            let inputs = self.round(None, &carried);
            let before = (self.env.clone(), self.steps.len(), self.failures.len(), self.unknown.len());
            let results = self.graph(graph, inputs, scope, frame)?;
            let after: Vec<Value> =
                results[1.min(results.len())..].iter().take(carried.len()).cloned().collect();
            let stays = carried.iter().zip(&after).all(|(a, b)| same_shape(a, b));
            if stays || attempt == MAX_TRIES {
                let rows = results.get(1 + carried.len()..).unwrap_or_default();
                self.expect_equal_rows(step, rows, known);
                let always = matches!(results.first(), Some(Value::Tensor(tensor))
                    if matches!(tensor.single(), Some(Element::Bool(c)) if c.as_literal_bool() == Some(true)));
                let count = match trips {
                    Some(trips) if always && goes => Cx::on(&mut self.env, self.model.backend).max(trips, 0),
                    _ => self.open_size(),
                };
                let some = Cx::on(&mut self.env, self.model.backend).ge(count, 1);
                let never_empty = self.env.statically(some) == Some(true);
                let mut rows: Vec<Value> = Vec::new();
                for (at, row) in results.iter().enumerate().skip(1 + carried.len()) {
                    let row = if never_empty { row.clone() } else { self.perhaps_unmade(graph, at, row) };
                    rows.push(stacked(count, &row));
                }
                let kept = carried
                    .iter()
                    .zip(&initial)
                    .map(|(a, b)| if a == b { without_elements(a) } else { a.clone() });
                let kept: Vec<Value> =
                    if stays { kept.collect() } else { vec![Value::Unknown; carried.len()] };
                return Ok(kept.into_iter().chain(rows).collect());
            }
            self.taken_back(before);
            carried = carried
                .iter()
                .zip(&after)
                .map(|(a, b)| if same_shape(a, b) { without_elements(a) } else { self.widened(a, b) })
                .collect();
        }
        Ok(Vec::new())
    }

    /// A row of a loop that may have no round: without one, its sizes are those of [`unmade`].
    fn perhaps_unmade(&mut self, graph: &GraphProto, at: usize, row: &Value) -> Value {
        let without = unmade(&mut self.env, graph, at, row);
        self.either(None, row.clone(), without)
    }
}

/// Values of a shape, as many as `count`, one behind the other.
fn stacked(count: Expr, row: &Value) -> Value {
    match row {
        Value::Tensor(Tensor { dtype, shape: Some(shape), .. }) => {
            Tensor::new(*dtype, [&[count], shape.as_slice()].concat()).into()
        }
        other => without_elements(other),
    }
}

/// A row that no round makes, as onnxruntime has it: the numbers that the body declares stay, other sizes are 0.
fn unmade(env: &mut ShapeEnv, graph: &GraphProto, at: usize, row: &Value) -> Value {
    let declared = graph.output.get(at).map(|output| declared(&output.name, output.r#type.as_ref()));
    match (row, declared.and_then(|declared| declared.shape)) {
        (Value::Tensor(tensor), Some(shape)) => {
            let size = |given: &Given| match given {
                Given::Size(size) => env.pool.int(*size),
                _ => Expr::ZERO,
            };
            Tensor::new(tensor.dtype, shape.iter().map(size).collect()).into()
        }
        _ => row.clone(),
    }
}

fn same_shape(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => a.dtype == b.dtype && a.shape == b.shape,
        (Value::Sequence(a), Value::Sequence(b)) => a == b,
        _ => a == b,
    }
}

pub(super) fn without_elements(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => Value::Tensor(Tensor { elements: None, constant: false, ..tensor.clone() }),
        other => other.clone(),
    }
}
