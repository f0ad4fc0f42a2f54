//! `cond(pred, true_graph, false_graph, operands)`: one of two graphs on the same operands.
use super::super::interpreter::{CallError, Frame, Interpreter, Mode, Stop};
use crate::expr::Expr;
use crate::fake::{Cx, Sizes, Tensor, Value};
use crate::ir::Node;
use crate::range::ValueRange;

impl Interpreter<'_> {
    /// A predicate that sizes decide runs its graph alone; one that data decides runs both, and their results are joined.
    pub(super) fn call_cond(&mut self, frame: &Frame, node: &Node) -> Result<Vec<Value>, CallError> {
        let graphs = Self::graphs(node);
        let [then, otherwise] = graphs.as_slice() else {
            return Err(self.malformed("cond needs two graphs"));
        };
        let predicate = node.inputs.first().map_or(Value::Opaque, |i| self.argument(frame, &i.arg));
        let operands = self.operands(frame, node, 3);
        let known = match predicate {
            Value::Bool(e) | Value::Int(e) => {
                let truth = self.env.pool.truth(e);
                self.env.statically(truth)
            }
            _ => None,
        };
        if let Some(taken) = known {
            let graph = if taken { then } else { otherwise };
            return Ok(self.run_subgraph(&graph.name, &graph.graph, operands)?);
        }
        let first = self.run_subgraph(&then.name, &then.graph, operands.clone());
        let second = self.run_subgraph(&otherwise.name, &otherwise.graph, operands);
        match (first, second) {
            (Ok(a), Ok(b)) => {
                if a.len() != b.len() {
                    return Err(self.malformed("the branches of cond return different numbers of values"));
                }
                Ok(a.into_iter().zip(b).map(|(a, b)| self.join(a, b)).collect())
            }
            // Whether the failing branch runs is for the data to say: the other one shows what may come out.
            (Ok(a), Err(Stop::Failed(_))) | (Err(Stop::Failed(_)), Ok(a)) if self.mode == Mode::Evaluate => {
                Ok(a)
            }
            (Err(stop), _) | (_, Err(stop)) => Err(stop.into()),
        }
    }

    /// The value that is one of two: equal sizes stay, differing ones become an unbacked size in the range of both.
    pub(super) fn join(&mut self, a: Value, b: Value) -> Value {
        match (a, b) {
            (Value::Tensor(x), Value::Tensor(y)) if x.rank() == y.rank() => {
                let sizes: Sizes =
                    x.sizes.iter().zip(&y.sizes).map(|(&p, &q)| self.join_size(p, q)).collect();
                if sizes == x.sizes {
                    return Value::Tensor(x);
                }
                let mut cx = Cx::new(&mut self.env);
                let strides = cx.contiguous_strides(&sizes);
                Tensor { sizes, strides, ..(*x).clone() }.into()
            }
            (Value::Int(p), Value::Int(q)) => Value::Int(self.join_size(p, q)),
            (Value::Bool(p), Value::Bool(q)) if p != q => {
                let bit = self.env.fresh_unbacked(ValueRange::between(0.into(), 1.into()));
                Value::Bool(self.env.pool.truth(bit))
            }
            (a, _) => a,
        }
    }

    fn join_size(&mut self, p: Expr, q: Expr) -> Expr {
        if p == q {
            return p;
        }
        let same = self.env.pool.eq(p, q);
        if self.env.statically(same) == Some(true) {
            return p;
        }
        let ((a, b), (c, d)) = (self.env.bounds(p), self.env.bounds(q));
        let lower = a.zip(c).map(|(a, c)| a.min(c));
        let upper = b.zip(d).map(|(b, d)| b.max(d));
        let range = ValueRange::between_options(lower, upper).unwrap_or_else(ValueRange::all);
        self.env.fresh_unbacked(range)
    }
}
