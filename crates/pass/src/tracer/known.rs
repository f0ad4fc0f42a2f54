//! What is known of values while a program is traced.
use super::{Proxy, TraceError, Tracer};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_expr::text::print;
use sizewise_ir::{Argument, Node, Target, ValueId};
use sizewise_kernels::{Operators, Tensor, Value};
use sizewise_solve::{Budget, Facts, decide};
use std::sync::Arc;

/// The work for one condition: a program has many, and one that stays open only leaves an operator as it is.
const BUDGET: Budget =
    Budget { points: 4_000, branches: 40, work: 100_000, terms: 100_000, rlimit: 40_000, ..Budget::DEFAULT };

impl Proxy {
    /// Stands for a tensor of the program that is being made.
    pub(crate) fn tensor(value: ValueId) -> Proxy {
        Proxy { value, kind: super::Kind::Tensor }
    }

    /// The value that it stands for.
    pub(crate) fn id(self) -> ValueId {
        self.value
    }
}

impl<'o> Tracer<'o> {
    pub(crate) fn operators(&self) -> &'o Operators {
        self.operators
    }

    pub(crate) fn env_mut(&mut self) -> &mut ShapeEnv {
        &mut self.env
    }

    /// A tensor as kernels see it.
    pub(crate) fn tensor_of(&self, proxy: Proxy) -> Option<Arc<Tensor>> {
        match self.values.get(proxy.value.index()) {
            Some(Value::Tensor(tensor)) => Some(tensor.clone()),
            _ => None,
        }
    }

    /// The tensors that were recorded of a call's results.
    pub(crate) fn recorded_tensors(&self, node: &Node) -> Vec<Option<Arc<Tensor>>> {
        let Some(over) = &self.over else { return Vec::new() };
        let tensor = |id: ValueId| match over.old.get(id.index()) {
            Some(Value::Tensor(tensor)) => Some(tensor.clone()),
            _ => None,
        };
        node.output_values().map(tensor).collect()
    }

    /// The number that an expression is.
    pub(crate) fn number(&self, e: Expr) -> Option<i64> {
        self.env.pool.as_int(e).and_then(|value| value.to_i64())
    }

    /// The number that a value is.
    pub(crate) fn number_of(&self, proxy: Proxy) -> Option<i64> {
        match self.values.get(proxy.value.index()) {
            Some(Value::Int(e)) => self.number(*e),
            _ => None,
        }
    }

    /// What a call would give.
    ///
    /// # Errors
    /// When the operator's kernel refuses it.
    pub(crate) fn foreseen(
        &mut self,
        op: &str,
        given: &[(&str, Argument)],
    ) -> Result<Vec<Value>, TraceError> {
        self.infer(&Target::parse(&format!("torch.ops.{op}")), given)
    }

    /// How many guards there are.
    pub(crate) fn guard_count(&self) -> usize {
        self.env.guards().len()
    }

    /// What is known of the program by now.
    pub(crate) fn facts(&self) -> Facts {
        self.env.known_facts().clone()
    }

    /// The first guard behind so many that does not follow from facts and the guards before it.
    pub(crate) fn first_open_guard(&mut self, known: usize, facts: &mut Facts) -> Option<String> {
        for at in known..self.env.guards().len() {
            let condition = self.env.guards()[at].condition;
            let answer = decide(&mut self.env.pool, facts, condition, &BUDGET);
            if !answer.verdict.is_implied() {
                return Some(print::expression(&self.env.pool, condition));
            }
            facts.assume(&mut self.env.pool, condition);
        }
        None
    }

    /// The number of a tensor's dimension that a call of the graph reads, if one does.
    pub(crate) fn size_read(&self, tensor: Proxy, dim: usize) -> Option<Proxy> {
        self.over.as_ref()?.sizes_read.get(&(tensor.value, dim)).copied()
    }

    /// Whether sizes are proved to be equal, one by one.
    pub(crate) fn same_sizes(&mut self, a: &[Expr], b: &[Expr]) -> bool {
        let mut same = |a: Expr, b: Expr| {
            let equal = self.env.pool.eq(a, b);
            let (pool, facts) = self.env.facts();
            decide(pool, facts, equal, &BUDGET).verdict.is_implied()
        };
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a == b || same(a, b))
    }

    /// Notes that a call reads the size of a dimension.
    pub(crate) fn note_size_read(&mut self, tensor: Proxy, dim: usize, size: Proxy) {
        if let Some(over) = &mut self.over {
            over.sizes_read.insert((tensor.value, dim), size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tracer;
    use sizewise_ir::{Argument, Dtype};
    use sizewise_kernels::Operators;

    #[test]
    fn a_guard_that_the_facts_before_it_do_not_imply_is_open() {
        let operators = Operators::new();
        for (size, open) in [("s0", Some("Eq(Mod(s0, 4), 0)")), ("4*s0", None)] {
            let mut tracer = Tracer::new(&operators);
            tracer.size("s0", 2, None, 8).expect("a size");
            let x = tracer.tensor("x", Dtype::Float32, &[size]).expect("an input");
            let (known, mut facts) = (tracer.guard_count(), tracer.facts());
            let sizes = Argument::Ints(vec![-1, 4]);
            tracer.call("aten.view.default", [("self", x.into()), ("size", sizes)]).expect("a view");
            assert_eq!(tracer.first_open_guard(known, &mut facts).as_deref(), open, "{size}");
        }
    }
}
