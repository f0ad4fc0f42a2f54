//! `cond(pred, true_graph, false_graph, operands)` and `switch(index, graphs, operands)`: one of several
//! graphs on the same operands. A condition on backed sizes selects a branch and becomes
//! a guard; for a data-dependent one the results of all branches are joined.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Int};
use sizewise_ir::{Argument, Node};
use sizewise_kernels::{Cx, Value};

/// The conditions of these operators.
pub(in crate::propagate) const CLAUSES: Clauses = &[cond::ALL, switch::ALL];

clauses! { cond {
    C1 "Both branches return as many results, of the same types, ranks and dtypes."
} }

clauses! { switch {
    C1 "`index` is that of a branch."
    C2 "All branches return as many results, of the same types, ranks and dtypes."
} }

impl<'p> Interpreter<'p> {
    /// `cond`.
    pub(super) fn call_cond(&mut self, frame: &Frame, node: &'p Node) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        let [then, otherwise] = graphs.as_slice() else {
            return Err(self.malformed("cond needs two graphs"));
        };
        let predicate = node.inputs.first().map_or(Value::Opaque, |i| self.argument(frame, &i.arg));
        let operands = self.operands(frame, node, 3);
        let truth = match predicate {
            Value::Bool(e) | Value::Int(e) => Some(self.run.env.pool.truth(e)),
            _ => None,
        };
        if let Some(taken) = truth.and_then(|e| self.run.env.statically(e)) {
            let graph = if taken { then } else { otherwise };
            return Ok(self.run_subgraph(graph, operands)?);
        }
        let falsehood = truth.map(|e| self.run.env.pool.not(e));
        let first = self.run_branch(truth, then, operands.clone());
        let second = self.run_branch(falsehood, otherwise, operands);
        self.join(vec![first, second], cond::C1)
    }

    /// `switch`.
    pub(super) fn call_switch(&mut self, frame: &Frame, node: &'p Node) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        if graphs.is_empty() {
            return Err(self.malformed("switch needs a graph"));
        }
        let chosen = node.inputs.first().map_or(Value::Opaque, |i| self.argument(frame, &i.arg));
        let arguments = node.inputs.iter().skip(1).map(|i| &i.arg);
        let holds_graphs = |argument: &Argument| {
            let mut found = false;
            argument.for_each_graph(&mut |_| found = true);
            found
        };
        let others: Vec<&Argument> = arguments.filter(|argument| !holds_graphs(argument)).collect();
        let operands: Vec<Value> = others.into_iter().flat_map(|a| self.list(frame, a)).collect();
        let Value::Int(index) = chosen else {
            let branches =
                graphs.iter().map(|graph| self.run_branch(None, graph, operands.clone())).collect();
            return self.join(branches, switch::C2);
        };
        let mut cx = Cx::new(&mut self.run.env);
        let (low, high) = (cx.ge(index, Expr::ZERO), cx.lt(index, Expr::from(graphs.len() as i32)));
        let inside = cx.all(&[low, high]);
        let there = cx.require(inside, switch::C1, |cx| {
            format!("there are {} graphs, none has the index {}", graphs.len(), cx.show(index))
        });
        self.returned(there)?;
        let mut branches = Vec::with_capacity(graphs.len());
        for (i, graph) in graphs.iter().enumerate() {
            let number = self.run.env.pool.int(Int::from(i as i64));
            let taken = self.run.env.pool.eq(index, number);
            match self.run.env.statically(taken) {
                Some(true) => return Ok(self.run_subgraph(graph, operands)?),
                Some(false) => {}
                None => branches.push(self.run_branch(Some(taken), graph, operands.clone())),
            }
        }
        self.join(branches, switch::C2)
    }
}
