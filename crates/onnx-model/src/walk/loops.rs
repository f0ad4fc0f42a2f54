//! `Loop`: round by round where the number of rounds is known, else with sizes that hold after any number.
use super::clauses::Loop;
use super::control::Results;
use super::load::has_known_rank;
use super::stated::stated_row;
use super::untracked::{are_sizes, mark, marked, without_elements};
use super::{Ended, Frame, Walk, WalkScope};
use crate::read::message::{GraphProto, NodeProto};
use crate::shape::{AtLoad, Dtype, Element, Origin, Tensor, Value, stacked as stacked_elements};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, Reach, Span};

/// Loops of up to this many rounds are walked round by round: over symbols, and with sizes that are given.
const MAX_ROUNDS: (i64, i64) = (64, 4_096);
/// How often the shapes of carried values are tried before their sizes are left open.
const MAX_TRIES: usize = 4;

/// How many rounds a loop has.
struct Rounds {
    /// At most so many.
    trips: Option<Expr>,
    /// Whether the first round runs, if there may be one.
    goes: bool,
    /// The condition under which there is a round, if it is known.
    first: Option<Expr>,
    /// Whether sizes decide how many there are, unless a round ends the loop.
    of_sizes: bool,
}

/// What is followed of the rounds of a loop.
struct Followed {
    /// Whether sizes decide which rounds there are.
    number: bool,
    /// Whether a round may end the loop.
    ends_early: bool,
    /// Of which carried values sizes decide the elements.
    carried: Vec<bool>,
}

impl Followed {
    /// Takes back what a round does not bear out, and says whether there was something. `goes` is the condition that
    /// the round makes, `after` what it makes of the carried values.
    fn less(&mut self, goes: Option<&Value>, after: &[Value]) -> bool {
        let always = match goes.and_then(Value::tensor).and_then(Tensor::single) {
            Some(Element::Bool(condition)) => condition.as_literal_bool() == Some(true),
            _ => false,
        };
        let number = self.number && (always || goes.is_some_and(are_sizes));
        let ends_early = self.ends_early || !always;
        let pairs = self.carried.iter().zip(after);
        let carried: Vec<bool> = pairs.map(|(&of, after)| of && number && are_sizes(after)).collect();
        let now = Followed { number, ends_early, carried };
        let is_less =
            (now.number, now.ends_early, &now.carried) != (self.number, self.ends_early, &self.carried);
        *self = now;
        is_less
    }
}

/// What a walk was before an attempt.
pub(super) type Before = (ShapeEnv, [usize; 3], Option<(usize, String)>);

/// The number of a round of which nothing is known.
pub(super) fn any_number() -> Tensor {
    Tensor::new(Dtype::I64, Vec::new())
}

impl<'m> Walk<'m> {
    /// `Loop`: the carried values, and what each round adds, one behind the other.
    pub(super) fn repeated(
        &mut self,
        (node, graph): (&'m NodeProto, &'m GraphProto),
        inputs: &[Option<&Value>],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        if node.input.len() < 2 {
            return self.missing(node, "two first inputs, which may be empty");
        }
        let is_old = self.version("", frame).is_some_and(|version| version < 11);
        if is_old && node.input.len() < 3 {
            return self
                .missing(node, "carried values, of which there are none: before version 11 it has some");
        }
        self.expect_outputs(node, graph, 1)?;
        for (at, what) in [(0, "the number of rounds"), (1, "the condition")] {
            self.expect_single(inputs.get(at).copied().flatten(), Loop::C2, what)?;
        }
        self.expect_rank(graph.input.get(1), inputs.get(1).copied().flatten(), Loop::C2)?;
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
        if self.finding.is_some() {
            return self.loaded(graph, &carried, scope, frame);
        }
        self.expect_same_numbers(self.steps.len() - 1, graph, &carried)?;
        let of_rank = |value: &Value| value.tensor().and_then(|tensor| tensor.shape.as_ref()).map(Vec::len);
        let mut pairs = graph.input.iter().skip(2).zip(&carried);
        if pairs.any(|(input, value)| stated_row(input).is_some_and(|row| of_rank(value) != Some(row.len())))
        {
            self.expect_loaded(graph)?;
        }
        let first = self.first_round(trips, single(1));
        match literal {
            _ if first.and_then(|first| self.env.statically(first)) == Some(false) => {
                return self.no_round(node, graph, carried, scope, frame);
            }
            Some(trips) if goes == Some(true) && trips <= self.max_rounds() => {
                let before = self.before();
                if let Some(results) = self.unrolled(graph, Some(trips), carried.clone(), scope, frame)? {
                    return Ok(results);
                }
                self.taken_back(before);
            }
            None if trips.is_none() && goes == Some(true) => {
                let before = self.before();
                if let Some(results) = self.unrolled(graph, None, carried.clone(), scope, frame)? {
                    return Ok(results);
                }
                self.taken_back(before);
            }
            _ => {}
        }
        let of_sizes = |at: usize| inputs.get(at).copied().flatten().is_none_or(are_sizes);
        let of_sizes = of_sizes(0) && of_sizes(1);
        let counts = Rounds { trips: trips.flatten(), goes: goes == Some(true), first, of_sizes };
        self.any_rounds(graph, &counts, carried, (scope, frame))
    }

    /// The condition under which a loop has a round, by the number of rounds and the condition that it is given.
    fn first_round(&mut self, trips: Option<Option<Expr>>, goes: Option<Option<Element>>) -> Option<Expr> {
        let goes = match goes {
            None => self.env.pool.bool(true),
            Some(Some(Element::Bool(condition))) => condition,
            Some(_) => return None,
        };
        let Some(trips) = trips else { return Some(goes) };
        let some = self.env.pool.ge(trips?, Expr::ONE);
        Some(self.env.pool.and(&[goes, some]))
    }

    fn max_rounds(&self) -> i64 {
        if self.stops { MAX_ROUNDS.1 } else { MAX_ROUNDS.0 }
    }

    pub(super) fn before(&self) -> Before {
        let counts = [self.steps.len(), self.failures.len(), self.unknown.len()];
        (self.env.clone(), counts, self.unsupported.clone())
    }

    pub(super) fn taken_back(&mut self, (env, [steps, failures, unknown], unsupported): Before) {
        self.env = env;
        self.steps.truncate(steps);
        self.run_time.retain(|(step, _)| *step < steps);
        self.integers.retain(|(step, ..)| *step < steps);
        self.failures.truncate(failures);
        self.unknown.truncate(unknown);
        self.unsupported = unsupported;
    }

    /// A round's inputs: its number, the condition, and the carried values.
    pub(super) fn round(&mut self, trip: Tensor, carried: &[Value]) -> Vec<Value> {
        let yes = self.env.pool.bool(true);
        let condition = Tensor::new(Dtype::Bool, Vec::new()).with(vec![Element::Bool(yes)]);
        // Rounds may change the ranks of carried values, so that none is inferred from the first.
        let carried = carried.iter().cloned().map(without_rank_at_load);
        [trip.into(), condition.into()].into_iter().chain(carried).collect()
    }

    /// Walks each round; `None` where the number of rounds turns out not to be known.
    fn unrolled(
        &mut self,
        graph: &'m GraphProto,
        trips: Option<i64>,
        mut carried: Vec<Value>,
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Result<Option<Vec<Value>>, Ended> {
        // The loop's own step is the last one before its rounds.
        let step = self.steps.len() - 1;
        let mut added: Vec<Vec<Value>> = Vec::new();
        for number in 0..trips.unwrap_or(self.max_rounds()) {
            let number = Element::Int(self.env.pool.int(number));
            let inputs = self.round(any_number().with(vec![number]), &carried);
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
            let mut rows = stacked(count, &row);
            let made: Option<Vec<&Tensor>> = added.iter().map(|round| round[at].tensor()).collect();
            let made = made.filter(|made| made.iter().all(|tensor| tensor.shape == made[0].shape));
            if let (Value::Tensor(rows), Some(made)) = (&mut rows, made) {
                rows.elements = stacked_elements(&made, 0, rows);
            }
            if added.iter().all(|round| are_sizes(&round[at])) {
                mark(&mut rows);
            }
            carried.push(rows);
        }
        Ok(carried)
    }

    /// The row of two rounds of a loop.
    fn same_row(&mut self, step: usize, a: &Value, b: &Value) -> Result<Value, Ended> {
        let shapes = match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => a.shape.as_ref().zip(b.shape.as_ref()),
            _ => None,
        };
        let Some((x, y)) = shapes else {
            self.unknown.push((step, "the rows that rounds add may differ in shape".to_owned()));
            return Ok(self.widened(a, b));
        };
        let mut cx = Cx::on(&mut self.env, self.model.backend);
        let required = if cx.on_cpu() && x != y {
            let (first, other) = (cx.product(x.clone()), cx.product(y.clone()));
            cx.require_eq(first, other, Loop::C1, "the numbers of elements of two rows")
        } else {
            cx.require_same_shape(y, x, Loop::C1)
        };
        if let Err(error) = required {
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
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        self.expect_loaded(graph)?;
        let rest = node.output.len().saturating_sub(carried.len());
        let inputs = self.round(any_number(), &carried);
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
            let before = graph.output.len().saturating_sub(rows.len());
            for (at, row) in rows.iter().enumerate() {
                if !graph.output.get(before + at).is_some_and(|output| has_known_rank(output, row)) {
                    let message =
                        "the rank of a row that no round makes may not be known when the model loads";
                    self.failed(self.steps.len() - 1, KernelError::Unsupported(message.to_owned()))?;
                    results.push(Value::Unknown);
                    continue;
                }
                let row = self.unmade_row(graph, before + at, row);
                results.push(stacked(Expr::ZERO, &row));
            }
        }
        Ok(results)
    }

    /// A loop of any number of rounds: sizes that a round changes are open.
    fn any_rounds(
        &mut self,
        graph: &'m GraphProto,
        counts: &Rounds,
        mut carried: Vec<Value>,
        (scope, frame): (&WalkScope<'_>, &Frame<'m>),
    ) -> Results {
        // What a round makes of elements is not followed, but perhaps that sizes decide them.
        let mut known_of = Followed { number: counts.of_sizes, ends_early: false, carried: Vec::new() };
        known_of.carried = carried.iter().map(|value| counts.of_sizes && are_sizes(value)).collect();
        carried = carried.iter().map(without_elements).collect();
        let (step, known) = (self.steps.len() - 1, self.env.unbacked().len());
        let mut attempt = 0;
        loop {
            let before = self.before();
            let number = self.number_of_round(counts, &known_of);
            let given = carried.iter().zip(&known_of.carried).map(|(value, &of)| marked(value, of));
            let inputs = self.round(number, &given.collect::<Vec<_>>());
            let results = self.any_round(graph, counts, inputs, (scope, frame))?;
            let after: Vec<Value> =
                results[1.min(results.len())..].iter().take(carried.len()).cloned().collect();
            if known_of.less(results.first(), &after) {
                self.taken_back(before);
                continue;
            }
            let stays = carried.iter().zip(&after).all(|(a, b)| same_shape(a, b));
            if stays || attempt == MAX_TRIES {
                let rows = results.get(1 + carried.len()..).unwrap_or_default();
                self.expect_equal_rows(step, rows, known);
                let count = match counts.trips {
                    Some(trips) if !known_of.ends_early && counts.goes => {
                        Cx::on(&mut self.env, self.model.backend).max(trips, 0)
                    }
                    _ => self.open_size(),
                };
                let some = Cx::on(&mut self.env, self.model.backend).ge(count, 1);
                let never_empty = self.env.statically(some) == Some(true);
                let mut rows: Vec<Value> = Vec::new();
                for (at, row) in results.iter().enumerate().skip(1 + carried.len()) {
                    let has_rank = graph.output.get(at).is_some_and(|output| has_known_rank(output, row));
                    let row = match (never_empty, has_rank) {
                        (true, _) => row.clone(),
                        (false, true) => self.perhaps_unmade(graph, at, row),
                        (false, false) => {
                            self.unknown
                                .push((step, "without a round, rows may have another rank".to_owned()));
                            Value::Unknown
                        }
                    };
                    let of = known_of.number && are_sizes(&results[at]);
                    rows.push(marked(&stacked(count, &row), of));
                }
                if !stays && self.stops && counts.trips.is_some_and(|trips| trips.as_inline().is_some()) {
                    let reason = "rounds make other sizes, and there are more than are followed";
                    self.unsupported.get_or_insert((step, reason.to_owned()));
                }
                let kept = carried.iter().zip(&known_of.carried).map(|(value, &of)| marked(value, of));
                let kept: Vec<Value> =
                    if stays { kept.collect() } else { vec![Value::Unknown; carried.len()] };
                return Ok(kept.into_iter().chain(rows).collect());
            }
            self.taken_back(before);
            attempt += 1;
            carried = carried
                .iter()
                .zip(&after)
                .map(|(a, b)| if same_shape(a, b) { without_elements(a) } else { self.widened(a, b) })
                .collect();
        }
    }

    /// Walks a round. Where it is not known whether there is one, its refusals are none of the loop; data may choose a
    /// round.
    fn any_round(
        &mut self,
        graph: &'m GraphProto,
        counts: &Rounds,
        inputs: Vec<Value>,
        (scope, frame): (&WalkScope<'_>, &Frame<'m>),
    ) -> Results {
        let is_sure = match counts.first {
            Some(first) => self.env.statically(first) == Some(true),
            None => !counts.of_sizes && self.takes_any_data,
        };
        if is_sure {
            return self.graph(graph, inputs, scope, frame);
        }
        let (step, unknown) = (self.steps.len() - 1, self.unknown.len());
        let results = self.perhaps(counts.first, "a round", |walk| walk.graph(graph, inputs, scope, frame));
        if self.stops && self.unknown.len() > unknown {
            let reason = "a round refuses what it is given, and whether there is a round is not known";
            self.unsupported.get_or_insert((step, reason.to_owned()));
        }
        results
    }

    /// The number of a round: one of `0 .. trips - 1`, and each of them unless a round ends the loop.
    fn number_of_round(&mut self, counts: &Rounds, known_of: &Followed) -> Tensor {
        let mut number = any_number();
        number.origin = Origin::of_sizes(known_of.number);
        number.spans = counts.trips.map(|trips| {
            let most = Cx::on(&mut self.env, self.model.backend).sub(trips, Expr::ONE);
            let reach = if counts.goes && !known_of.ends_early { Reach::Every } else { Reach::Within };
            [Some(Span { least: Expr::ZERO, most, reach })].into()
        });
        number
    }

    /// A row of a loop that may have no round: without one, its sizes are those of [`Walk::unmade_row`].
    fn perhaps_unmade(&mut self, graph: &GraphProto, at: usize, row: &Value) -> Value {
        let without = self.unmade_row(graph, at, row);
        self.either(None, row.clone(), without)
    }
}

/// Values of a shape, as many as `count`, one behind the other.
pub(super) fn stacked(count: Expr, row: &Value) -> Value {
    match row {
        Value::Tensor(Tensor { dtype, shape: Some(shape), .. }) => {
            Tensor::new(*dtype, [&[count], shape.as_slice()].concat()).into()
        }
        other => without_elements(other),
    }
}

fn without_rank_at_load(mut value: Value) -> Value {
    if let Value::Tensor(tensor) = &mut value {
        tensor.at_load = AtLoad::default();
    }
    value
}

fn same_shape(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => a.dtype == b.dtype && a.shape == b.shape,
        (Value::Sequence(a), Value::Sequence(b)) => a == b,
        _ => a == b,
    }
}
