//! `map_impl(graph, xs, args)`, `scan(graph, init, xs, args)` and `associative_scan(graph, xs, args)`: a
//! graph for each slice along the first dimension.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::Node;
use sizewise_kernels::{Cx, Sizes, Tensor, Value};

/// The conditions of these operators.
pub(in crate::propagate) const CLAUSES: Clauses = &[map::ALL, scan::ALL, associative_scan::ALL];

clauses! { map {
    C1 "The tensors that are mapped over have the same first dimension."
    C2 "The first dimension is not empty. torch stacks the results of the graph and cannot stack an empty \
        list."
} }

clauses! { scan {
    C1 "The tensors that are scanned have the same first dimension."
    C2 "The graph returns a carry with the shapes and dtypes of the given one."
} }

clauses! { associative_scan {
    C1 "The tensors that are scanned have the same first dimension."
    C2 "The results of the graph have the shapes and dtypes of a slice."
} }

impl<'p> Interpreter<'p> {
    /// `map_impl`: results are stacked along a new first dimension.
    pub(super) fn call_map(&mut self, frame: &Frame, node: &'p Node) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        let [graph] = graphs.as_slice() else { return Err(self.malformed("map needs one graph")) };
        let lists = self.operand_lists(frame, node);
        let Some((xs, rest)) = lists.split_first() else {
            return Err(self.malformed("map needs something to map over"));
        };
        let (slices, length) = self.slices(xs, map::C1)?;
        let some = self.run.env.pool.ge(length, Expr::ONE);
        let result = Cx::new(&mut self.run.env)
            .require(some, map::C2, |_| "there is nothing to map over: a first dimension of 0".into());
        self.returned(result)?;
        let inputs = slices.into_iter().chain(rest.iter().flatten().cloned()).collect();
        let results = self.run_subgraph(graph, inputs)?;
        Ok(results.into_iter().map(|value| self.stacked(value, length)).collect())
    }

    /// `scan`: the first results are the next carry and must keep their form; the others are stacked.
    pub(super) fn call_scan(&mut self, frame: &Frame, node: &'p Node) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        let [graph] = graphs.as_slice() else { return Err(self.malformed("scan needs one graph")) };
        let lists = self.operand_lists(frame, node);
        let [init, xs, rest @ ..] = lists.as_slice() else {
            return Err(self.malformed("scan needs initial values and something to scan"));
        };
        let (slices, length) = self.slices(xs, scan::C1)?;
        let inputs = init.iter().cloned().chain(slices).chain(rest.iter().flatten().cloned()).collect();
        let some = self.run.env.pool.ge(length, Expr::ONE);
        let results = self.run_subgraph_where(Some(some), graph, inputs)?;
        if results.len() < init.len() {
            let message = format!("scan carries {} values, its graph returns {}", init.len(), results.len());
            return Err(self.malformed(message));
        }
        self.keep_form(init, &results[..init.len()], scan::C2)?;
        let mut returned = Vec::with_capacity(results.len());
        for (i, value) in results.into_iter().enumerate() {
            returned.push(if i < init.len() { value } else { self.stacked(value, length) });
        }
        Ok(returned)
    }

    /// `associative_scan(graph, xs, args)`: the graph combines two slices into one, so that the results have
    /// the form of `xs`.
    pub(super) fn call_associative_scan(
        &mut self,
        frame: &Frame,
        node: &'p Node,
    ) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        let [graph] = graphs.as_slice() else {
            return Err(self.malformed("associative_scan needs one graph"));
        };
        let lists = self.operand_lists(frame, node);
        let Some((xs, rest)) = lists.split_first() else {
            return Err(self.malformed("associative_scan needs something to scan"));
        };
        let (slices, length) = self.slices(xs, associative_scan::C1)?;
        let pairs = slices.iter().chain(&slices).chain(rest.iter().flatten());
        let inputs = pairs.cloned().collect();
        let several = self.run.env.pool.gt(length, Expr::ONE);
        let results = self.run_subgraph_where(Some(several), graph, inputs)?;
        self.keep_form(&slices, &results, associative_scan::C2)?;
        Ok(slices.into_iter().map(|slice| self.stacked(slice, length)).collect())
    }

    fn operand_lists(&mut self, frame: &Frame, node: &'p Node) -> Vec<Vec<Value>> {
        let unnamed: Vec<_> = node.inputs.iter().filter(|i| i.name.is_empty()).skip(1).collect();
        unnamed.into_iter().map(|i| self.list(frame, &i.arg)).collect()
    }

    /// One slice of each tensor along its first dimension, and that dimension's common size.
    fn slices(&mut self, xs: &[Value], clause: &'static OpClause) -> Result<(Vec<Value>, Expr), CallError> {
        let mut length = None;
        let mut slices = Vec::with_capacity(xs.len());
        for value in xs {
            let Value::Tensor(t) = value else {
                slices.push(value.clone());
                continue;
            };
            let Some(&size) = t.sizes.first() else {
                return Err(self.malformed("a 0-dimensional tensor has no slices"));
            };
            let common = *length.get_or_insert(size);
            let result =
                Cx::new(&mut self.run.env).require_eq(size, common, clause, "the first dimensions differ");
            self.returned(result)?;
            let (sizes, strides) = (Sizes::from(&t.sizes[1..]), Sizes::from(&t.strides[1..]));
            slices.push(t.viewed(sizes, strides).into());
        }
        let Some(length) = length else {
            return Err(self.malformed("there is no tensor to take slices of"));
        };
        Ok((slices, length))
    }

    /// A value with a new first dimension.
    pub(super) fn stacked(&mut self, value: Value, length: Expr) -> Value {
        let Value::Tensor(t) = value else { return value };
        let mut sizes: Sizes = Sizes::from_slice(&[length]);
        sizes.extend(t.sizes.iter().copied());
        let strides = Cx::new(&mut self.run.env).contiguous_strides(&sizes);
        Tensor { sizes, strides, offset: Expr::ZERO, ..(*t).clone() }.into()
    }
}
