//! Branches: graphs of which one is taken, and the join of their results.
use super::super::interpreter::{CallError, Interpreter, Mode, Stop};
use rustc_hash::FxHashMap;
use sizewise_env::OpClause;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int};
use sizewise_ir::Subgraph;
use sizewise_kernels::{Cx, Sizes, Tensor, Value};

/// The result of a branch.
pub(super) struct Branch {
    results: Result<Vec<Value>, Stop>,
    /// The bounds that its sizes and integers have where it is taken.
    bounds: FxHashMap<Expr, (Option<Int>, Option<Int>)>,
}

impl<'p> Interpreter<'p> {
    /// Runs a graph where `condition` holds; `None` if data decides whether it is run.
    pub(super) fn run_branch(
        &mut self,
        condition: Option<Expr>,
        subgraph: &'p Subgraph,
        inputs: Vec<Value>,
    ) -> Branch {
        let outside = self.run.env.enter(condition);
        let results = self.run_subgraph_where(condition, subgraph, inputs);
        let mut bounds = FxHashMap::default();
        for value in results.iter().flatten() {
            let sizes: &[Expr] = match value {
                Value::Tensor(t) => &t.sizes,
                Value::Int(e) => std::slice::from_ref(e),
                _ => &[],
            };
            for &size in sizes {
                bounds.insert(size, self.run.env.bounds(size));
            }
        }
        self.run.env.leave(outside);
        Branch { results, bounds }
    }

    /// The join of the results of several branches, one of which is taken.
    pub(super) fn join(
        &mut self,
        branches: Vec<Branch>,
        clause: &'static OpClause,
    ) -> Result<Vec<Value>, CallError> {
        let (mut known, mut lists) = (FxHashMap::default(), Vec::with_capacity(branches.len()));
        let mut stopped = None;
        for branch in branches {
            known.extend(branch.bounds);
            match branch.results {
                Ok(values) => lists.push(values),
                // Data decides whether the failing branch runs; the results come from the others.
                Err(stop @ Stop::Failed(_)) if self.mode == Mode::Evaluate => stopped = Some(stop),
                Err(stop) => return Err(stop.into()),
            }
        }
        let Some((first, rest)) = lists.split_first() else {
            return Err(stopped.map_or_else(|| self.malformed("there is no branch"), CallError::Stop));
        };
        if let Some(other) = rest.iter().find(|values| values.len() != first.len()) {
            let message = format!("one branch returns {} values, another one {}", first.len(), other.len());
            return Err(self.invalid(clause, message));
        }
        let mut joined = Vec::with_capacity(first.len());
        for (i, value) in first.iter().enumerate() {
            let others: Vec<&Value> = rest.iter().map(|values| &values[i]).collect();
            joined.push(self.join_values(i, value, &others, &known, clause)?);
        }
        Ok(joined)
    }

    /// The join of several values: equal sizes stay, differing ones become an unbacked size that is one of them.
    fn join_values(
        &mut self,
        index: usize,
        first: &Value,
        others: &[&Value],
        known: &FxHashMap<Expr, (Option<Int>, Option<Int>)>,
        clause: &'static OpClause,
    ) -> Result<Value, CallError> {
        match first {
            Value::Tensor(x) => {
                let mut columns: Vec<Vec<Expr>> = x.sizes.iter().map(|&size| vec![size]).collect();
                for other in others {
                    let Value::Tensor(y) = other else {
                        return Err(self.unlike(index, first, other, clause));
                    };
                    if x.rank() != y.rank() || x.dtype != y.dtype || x.layout != y.layout {
                        return Err(self.unlike(index, first, other, clause));
                    }
                    columns.iter_mut().zip(&y.sizes).for_each(|(column, &size)| column.push(size));
                }
                let sizes: Sizes = columns.iter().map(|column| self.join_sizes(column, known)).collect();
                if sizes == x.sizes {
                    return Ok(first.clone());
                }
                let strides = Cx::new(&mut self.run.env).contiguous_strides(&sizes);
                Ok(Tensor { sizes, strides, ..(**x).clone() }.into())
            }
            Value::Int(p) => {
                let mut column = vec![*p];
                for other in others {
                    let Value::Int(q) = other else { return Err(self.unlike(index, first, other, clause)) };
                    column.push(*q);
                }
                Ok(Value::Int(self.join_sizes(&column, known)))
            }
            Value::Bool(p) => {
                if others.iter().all(|other| matches!(other, Value::Bool(q) if q == p)) {
                    return Ok(first.clone());
                }
                let bit = self.run.env.fresh_unbacked(ValueRange::between(0.into(), 1.into()));
                Ok(Value::Bool(self.run.env.pool.truth(bit)))
            }
            Value::None => match others.iter().find(|other| !matches!(other, Value::None)) {
                Some(other) => Err(self.unlike(index, first, other, clause)),
                None => Ok(Value::None),
            },
            other => Ok(other.clone()),
        }
    }

    /// The join of several sizes.
    fn join_sizes(&mut self, sizes: &[Expr], known: &FxHashMap<Expr, (Option<Int>, Option<Int>)>) -> Expr {
        let first = sizes[0];
        let equal = sizes.iter().all(|&size| {
            let same = self.run.env.pool.eq(first, size);
            self.run.env.statically(same) == Some(true)
        });
        if equal {
            return first;
        }
        let mut range: Option<(Option<Int>, Option<Int>)> = None;
        for size in sizes {
            let (low, high) = match known.get(size) {
                Some(bounds) => bounds.clone(),
                None => self.run.env.bounds(*size),
            };
            range = Some(match range {
                None => (low, high),
                Some((least, most)) => {
                    (least.zip(low).map(|(a, b)| a.min(b)), most.zip(high).map(|(a, b)| a.max(b)))
                }
            });
        }
        let range = range.and_then(|(low, high)| ValueRange::between_options(low, high));
        let joined = self.run.env.fresh_unbacked(range.unwrap_or_else(ValueRange::all));
        let one_of: Vec<Expr> = sizes.iter().map(|&size| self.run.env.pool.eq(joined, size)).collect();
        let one_of = self.run.env.pool.or(&one_of);
        self.run.env.assume(one_of);
        joined
    }

    fn unlike(&self, index: usize, a: &Value, b: &Value, clause: &'static OpClause) -> CallError {
        let message = format!(
            "the branches return different things: value {index} is {} in one, {} in another",
            self.form(a),
            self.form(b)
        );
        self.invalid(clause, message)
    }

    /// A value's form, as messages show it.
    pub(super) fn form(&self, value: &Value) -> String {
        match value {
            Value::Tensor(t) => self.describe(t),
            other => other.kind().to_string(),
        }
    }
}
