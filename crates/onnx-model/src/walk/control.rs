//! Control flow: `If`, and what it shares with loops.
use super::clauses::If;
use super::untracked::{are_sizes, mark};
use super::{Ended, Frame, Walk, WalkScope};
use crate::read::message::{AttributeProto, GraphProto, NodeProto};
use crate::read::names_before;
use crate::shape::schema::signature;
use crate::shape::{Element, Elements, Sequence, Tensor, Value, untaken};
use rustc_hash::FxHashSet;
use sizewise_env::{OpClause, ShapeEnv, SymbolInfo};
use sizewise_expr::Expr;
use sizewise_expr::range::ValueRange;
use sizewise_kernels::{Backend, Cx, KernelError};

pub(super) fn body<'m>(node: &'m NodeProto, name: &str) -> Option<&'m GraphProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)?.g.as_deref()
}

pub(super) fn attribute<'m>(node: &'m NodeProto, name: &str) -> Option<&'m AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

/// Whether an operator is one of control flow: those of `ai.onnx` that run graphs within.
pub(super) fn is_control(domain: &str, op: &str) -> bool {
    domain.is_empty() && matches!(op, "If" | "Loop" | "Scan" | "SequenceMap")
}

/// A node's place in the memory of the model.
pub(super) fn place(node: &NodeProto) -> usize {
    std::ptr::from_ref(node) as usize
}

/// The clause of conditions on sizes that decide which branch runs, and require nothing.
pub(super) const WAY: &OpClause = If::C4;

/// Whether some results of two branches are of other ranks.
fn differ_in_rank(first: &[Value], second: &[Value]) -> bool {
    let rank = |value: &Value| Some(value.tensor()?.shape.as_ref()?.len());
    first.iter().zip(second).any(|(a, b)| rank(a).zip(rank(b)).is_some_and(|(a, b)| a != b))
}

pub(super) type Results = Result<Vec<Value>, Ended>;

impl<'m> Walk<'m> {
    pub(super) fn missing(&mut self, node: &NodeProto, what: &str) -> Results {
        let step = self.steps.len() - 1;
        self.failed(step, KernelError::invalid(signature::S1, format!("{} needs its {what}", node.op_type)))?;
        Ok(vec![Value::Unknown; node.output.len()])
    }

    /// The results of a node of control flow, which [`is_control`] says it is.
    pub(super) fn control(
        &mut self,
        node: &'m NodeProto,
        inputs: &[Option<&Value>],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let step = self.steps.len() - 1;
        let results = self.controlled(node, inputs, scope, frame)?;
        let version = self.version("", frame).unwrap_or_default();
        if let Some(error) = untaken((&node.op_type, version), inputs, &results, self.model.backend) {
            self.failed(step, error)?;
        }
        Ok(results)
    }

    fn controlled(
        &mut self,
        node: &'m NodeProto,
        inputs: &[Option<&Value>],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        if self.model.backend == Backend::Cpu && node.output.iter().any(String::is_empty) {
            let message =
                format!("{}: onnxruntime plans memory for every output, and one is left out", node.op_type);
            self.failed(self.steps.len() - 1, KernelError::invalid(signature::S1, message))?;
        }
        let is_old_scan =
            node.op_type == "Scan" && self.version("", frame).is_some_and(|version| version < 9);
        if !self.has_types(node, inputs, is_old_scan)? {
            return Ok(vec![Value::Unknown; node.output.len()]);
        }
        let walked = match node.op_type.as_str() {
            "If" => return self.branches(node, inputs, scope, frame),
            "Loop" => Walk::repeated,
            "Scan" => Walk::scan,
            _ => Walk::mapped,
        };
        match body(node, "body") {
            Some(graph) => walked(self, (node, graph), inputs, scope, frame),
            None => self.missing(node, "body"),
        }
    }

    /// The branch that the condition takes, or what both have in common.
    fn branches(
        &mut self,
        node: &'m NodeProto,
        inputs: &[Option<&Value>],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let (Some(then), Some(other)) = (body(node, "then_branch"), body(node, "else_branch")) else {
            return self.missing(node, "branches");
        };
        for graph in [then, other] {
            self.expect_outputs(node, graph, 0)?;
        }
        if self.finding.is_some() {
            return self.inferred_branches(node, [then, other], scope, frame);
        }
        if self.version("", frame).is_some_and(|version| version < 11) {
            self.expect_merged(node)?;
        }
        self.expect_single(inputs.first().copied().flatten(), If::C2, "the condition")?;
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
            return self.branch((node, value), [then, other], scope, frame);
        }
        let before = self.before();
        let (step, unknown) = (self.steps.len() - 1, self.unknown.len());
        let first = self.supposing(condition, then, scope, frame)?;
        let negated = condition.map(|condition| self.env.pool.not(condition));
        let second = self.supposing(negated, other, scope, frame)?;
        if let Some(condition) = condition.filter(|_| !self.stops && differ_in_rank(&first, &second)) {
            let unbacked = self.env.unbacked();
            if !self.env.pool.free_symbols(&[condition]).iter().any(|symbol| unbacked.contains(symbol)) {
                self.taken_back(before);
                if let Some(value) = self.env.branch(condition, WAY) {
                    return self.branch((node, value), [then, other], scope, frame);
                }
                return Ok(first.iter().zip(&second).map(|(a, b)| self.widened(a, b)).collect());
            }
        }
        let of_sizes = inputs.first().copied().flatten().is_some_and(are_sizes);
        if self.stops && (of_sizes || !self.takes_any_data) && self.unknown.len() > unknown {
            let reason = "a branch refuses what it is given, and which branch runs is not known";
            self.unsupported.get_or_insert((step, reason.to_owned()));
        }
        for (a, b) in first.iter().zip(&second) {
            self.expect_same_type(step, a, b)?;
        }
        let pairs = first.into_iter().zip(second);
        let mut joined: Vec<Value> = pairs
            .map(|(a, b)| {
                let of_sizes = of_sizes && are_sizes(&a) && are_sizes(&b);
                let mut joined = self.either(condition, a, b);
                if of_sizes {
                    mark(&mut joined);
                }
                joined
            })
            .collect();
        self.mark_inferred(node, &mut joined);
        Ok(joined)
    }

    /// The branch that runs.
    fn branch(
        &mut self,
        (node, value): (&'m NodeProto, bool),
        [then, other]: [&'m GraphProto; 2],
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let (graph, idle) = if value { (then, other) } else { (other, then) };
        let step = self.steps.len() - 1;
        self.expect_loaded(idle)?;
        let mut results = self.graph(graph, Vec::new(), scope, frame)?;
        self.expect_stated(step, If::C1, graph, (0, &results))?;
        self.mark_inferred(node, &mut results);
        Ok(results)
    }

    /// Requires that a node has an output for each of a graph within, but for some that the graph has before; and, for
    /// onnxruntime, that the graph makes what it returns.
    pub(super) fn expect_outputs(
        &mut self,
        node: &NodeProto,
        graph: &GraphProto,
        before: usize,
    ) -> Result<(), Ended> {
        let (outputs, made) = (node.output.len(), graph.output.len().saturating_sub(before));
        if outputs == made {
            return self.expect_own_results(node, graph);
        }
        let message = format!("{} has {outputs} outputs, where its graph makes {made}", node.op_type);
        self.failed(self.steps.len() - 1, KernelError::invalid(signature::S1, message))
    }

    /// Requires, for onnxruntime, that a subgraph returns no value of an outer scope directly.
    fn expect_own_results(&mut self, node: &NodeProto, graph: &GraphProto) -> Result<(), Ended> {
        if !Cx::on(&mut self.env, self.model.backend).on_cpu() {
            return Ok(());
        }
        let made = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
        let own: FxHashSet<&str> = names_before(graph).chain(made).collect();
        let Some(outer) = graph.output.iter().find(|output| !own.contains(output.name.as_str())) else {
            return Ok(());
        };
        let message = format!(
            "{}: its subgraph returns `{}`, a value of an outer scope, directly; put an Identity between them",
            node.op_type, outer.name
        );
        self.failed(self.steps.len() - 1, KernelError::invalid(signature::S1, message))
    }

    pub(super) fn expect_single(
        &mut self,
        value: Option<&Value>,
        clause: &'static OpClause,
        what: &str,
    ) -> Result<(), Ended> {
        let Some(tensor) = value.and_then(Value::tensor) else { return Ok(()) };
        let Some(shape) = tensor.shape.as_ref() else {
            self.unknown.push((self.steps.len() - 1, format!("the rank of {what} is not known")));
            return Ok(());
        };
        let mut cx = Cx::on(&mut self.env, self.model.backend);
        let count = cx.product(shape.clone());
        let single = cx.eq(count, 1);
        match cx.require(single, clause, |_| format!("{what} is to have exactly one element")) {
            Ok(()) => Ok(()),
            Err(error) => self.failed(self.steps.len() - 1, error),
        }
    }

    /// Walks a branch that runs only where a condition holds.
    fn supposing(
        &mut self,
        condition: Option<Expr>,
        graph: &'m GraphProto,
        scope: &WalkScope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let step = self.steps.len() - 1;
        self.perhaps(condition, "a branch", |walk| {
            let results = walk.graph(graph, Vec::new(), scope, frame)?;
            walk.expect_stated(step, If::C1, graph, (0, &results))?;
            Ok(results)
        })
    }

    /// Walks what runs only where a condition holds: what it needs is needed there.
    pub(super) fn perhaps(
        &mut self,
        condition: Option<Expr>,
        what: &str,
        walk: impl FnOnce(&mut Walk<'m>) -> Results,
    ) -> Results {
        let outside = self.env.clone();
        if let Some(condition) = condition {
            self.env.assume(condition);
        }
        let (failures, recorded) = (self.failures.len(), self.env.guards().len());
        let asserted = self.env.runtime_asserts().len();
        let stops = std::mem::replace(&mut self.stops, false);
        let results = walk(self);
        self.stops = stops;
        let inside = std::mem::replace(&mut self.env, outside);
        // What fails does not run, or data decide.
        if self.failures.len() > failures {
            let failed: Vec<_> = self.failures.drain(failures..).collect();
            self.unknown.extend(failed.into_iter().map(|failure| (failure.step, format!("{what} fails"))));
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
            self.unknown.push((open.origin.0 as usize, format!("data decide what {what} needs")));
        }
        self.declare_sizes_of(&inside);
        results
    }

    /// Makes sizes that only data decide, and that are known inside, known outside, too.
    pub(super) fn declare_sizes_of(&mut self, inside: &ShapeEnv) {
        for &symbol in inside.unbacked().iter().skip(self.env.unbacked().len()) {
            let range = inside.known_facts().range(symbol).cloned().unwrap_or_else(ValueRange::all);
            let name = inside.pool.symbol_name(symbol).to_owned();
            self.env.declare(&name, range, SymbolInfo::default());
        }
    }

    /// A value that is one of two: sizes that differ depend on the condition.
    pub(super) fn either(&mut self, condition: Option<Expr>, a: Value, b: Value) -> Value {
        match (a, b) {
            (a, b) if a == b => a,
            (Value::Tensor(a), Value::Tensor(b)) if a.dtype == b.dtype => match (&a.shape, &b.shape) {
                (Some(x), Some(y)) if x.len() == y.len() => {
                    let shape = x.iter().zip(y).map(|(&x, &y)| self.either_size(condition, x, y)).collect();
                    let elements = (x == y).then(|| self.either_elements(condition, &a, &b)).flatten();
                    Tensor { elements, ..Tensor::new(a.dtype, shape) }.into()
                }
                _ => Tensor::unranked(a.dtype).into(),
            },
            (Value::Sequence(a), Value::Sequence(b)) if a.dtype == b.dtype => {
                let count = a.count.filter(|_| a.count == b.count);
                Value::Sequence(Sequence::open(a.dtype, count))
            }
            _ => Value::Unknown,
        }
    }

    /// The elements of one of two tensors of one shape.
    fn either_elements(&mut self, condition: Option<Expr>, a: &Tensor, b: &Tensor) -> Option<Elements> {
        let (a, b) = (a.list()?, b.list()?);
        let either = |(a, b): (&Element, &Element)| match (a, b, condition) {
            _ if a == b => a.clone(),
            (Element::Int(a), Element::Int(b), Some(condition)) => {
                Element::Int(self.env.pool.ite(condition, *a, *b))
            }
            _ => Element::Open,
        };
        Some(Elements::List(a.iter().zip(&*b).map(either).collect()))
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
}
