//! Control flow: graphs within are traced by closures.
use super::{Kind, Proxy, TraceError, Tracer};
use sizewise_check::propagate::clauses::{map, scan};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_ir::{Argument, Graph, Input, Node, Operand, Output, PassedAs, Subgraph, Target, ValueId};
use sizewise_kernels::{Cx, Tensor, Value};
use std::sync::Arc;

/// What traces a graph within: it is given the graph's inputs and says what the graph returns.
type Inner<'f, 'o> = dyn FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError> + 'f;

impl<'o> Tracer<'o> {
    /// `cond`: one of two graphs on the same operands. Their results have to be alike.
    ///
    /// ```
    /// use sizewise_kernels::Operators;
    /// use sizewise_ir::Dtype;
    /// use sizewise_pass::Tracer;
    ///
    /// let operators = Operators::new();
    /// let mut tracer = Tracer::new(&operators);
    /// tracer.size("s0", 2, None, 8)?;
    /// let p = tracer.tensor("p", Dtype::Bool, &[])?;
    /// let x = tracer.tensor("x", Dtype::Float32, &["s0", "3"])?;
    /// let y = tracer.cond(
    ///     p,
    ///     &[x],
    ///     |inner, given| inner.call("aten.sin.default", [("self", given[0].into())]),
    ///     |inner, given| inner.call("aten.cos.default", [("self", given[0].into())]),
    /// )?;
    /// assert_eq!(tracer.shape(y[0]), "f32[s0, 3]");
    /// let traced = tracer.finish(&y);
    /// assert_eq!(traced.program.graph.subgraphs().count(), 2);
    /// # Ok::<(), sizewise_pass::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// When a closure fails, or the results differ in number, dtype or shape.
    pub fn cond(
        &mut self,
        predicate: Proxy,
        operands: &[Proxy],
        mut then: impl FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError>,
        mut otherwise: impl FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let given = self.values_of(operands);
        let (first, results) = self.inner("true_graph", &given, &mut then)?;
        let (second, others) = self.inner("false_graph", &given, &mut otherwise)?;
        alike(&results, &others, "the two graphs of `cond` give")?;
        let inputs = vec![predicate.into(), graph(first), graph(second), tensors(operands)];
        self.higher_order("cond", inputs, results)
    }

    /// `while_loop`: a graph run on what it gives for as long as another says so. It has to give what it is given.
    ///
    /// # Errors
    /// When a closure fails, or the body's results differ from what is carried.
    pub fn while_loop(
        &mut self,
        carried: &[Proxy],
        mut condition: impl FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError>,
        mut body: impl FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let given = self.values_of(carried);
        let (test, truth) = self.inner("cond_graph", &given, &mut condition)?;
        if truth.len() != 1 {
            let message =
                format!("the condition of `while_loop` gives {} results; expected one", truth.len());
            return Err(TraceError::Malformed(message));
        }
        let (body, results) = self.inner("body_graph", &given, &mut body)?;
        alike(&given, &results, "`while_loop` carries and its body gives")?;
        let inputs = vec![graph(test), graph(body), tensors(carried), Argument::Tensors(Vec::new())];
        self.higher_order("while_loop", inputs, results)
    }

    /// `map`: a graph run on each slice of the first dimension of some tensors, with others as they are.
    ///
    /// # Errors
    /// When the closure fails, or something is mapped over that has no dimension.
    pub fn map(
        &mut self,
        mapped: &[Proxy],
        others: &[Proxy],
        mut body: impl FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let (mut given, length) = self.sliced(mapped, "map", map::C1)?;
        given.extend(self.values_of(others));
        let (body, slices) = self.inner("body_graph", &given, &mut body)?;
        let results = self.stacked(slices, length, "map")?;
        let inputs = vec![graph(body), tensors(mapped), tensors(others)];
        self.higher_order("map_impl", inputs, results)
    }

    /// `scan`: a graph run on each slice of the first dimension of some tensors, with what it carries from slice to
    /// slice and others as they are. It gives what is carried, of the form that it was given, and results that are
    /// stacked.
    ///
    /// # Errors
    /// When the closure fails, what is carried changes its form, or something is scanned that has no dimension.
    pub fn scan(
        &mut self,
        carried: &[Proxy],
        scanned: &[Proxy],
        others: &[Proxy],
        mut body: impl FnMut(&mut Tracer<'o>, &[Proxy]) -> Result<Vec<Proxy>, TraceError>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let carry = self.values_of(carried);
        let (slices, length) = self.sliced(scanned, "scan", scan::C1)?;
        let given: Vec<Value> = carry.iter().cloned().chain(slices).chain(self.values_of(others)).collect();
        let (body, mut results) = self.inner("scan_combine_graph", &given, &mut body)?;
        let kept = results.len().min(carry.len());
        alike(&carry, &results[..kept], "`scan` carries and its graph gives")?;
        let stacked = results.split_off(kept);
        results.extend(self.stacked(stacked, length, "scan")?);
        let inputs = vec![graph(body), tensors(carried), tensors(scanned), tensors(others)];
        self.higher_order("scan", inputs, results)
    }

    /// A slice of each tensor along its first dimension, and the size of that dimension.
    fn sliced(
        &mut self,
        tensors: &[Proxy],
        what: &str,
        clause: &'static OpClause,
    ) -> Result<(Vec<Value>, Expr), TraceError> {
        let (mut slices, mut length) = (Vec::new(), None);
        for value in self.values_of(tensors) {
            let (Value::Tensor(t), Some(size)) = (&value, first_size(&value)) else {
                return Err(TraceError::Malformed(format!(
                    "`{what}` is given something without a dimension"
                )));
            };
            let common = *length.get_or_insert(size);
            Cx::new(&mut self.env).require_eq(size, common, clause, "the first dimensions differ")?;
            let (sizes, strides) = (t.sizes[1..].into(), t.strides[1..].into());
            slices.push(Tensor { sizes, strides, ..Tensor::clone(t) }.into());
        }
        let none = || TraceError::Malformed(format!("`{what}` needs a tensor to take slices of"));
        Ok((slices, length.ok_or_else(none)?))
    }

    /// Results for each slice as one tensor each.
    fn stacked(&mut self, results: Vec<Value>, length: Expr, what: &str) -> Result<Vec<Value>, TraceError> {
        let mut all = Vec::with_capacity(results.len());
        for slice in results {
            let Value::Tensor(slice) = slice else {
                return Err(TraceError::Malformed(format!("the graph of `{what}` gives what is no tensor")));
            };
            let mut sizes = slice.sizes.clone();
            sizes.insert(0, length);
            let strides = Cx::new(&mut self.env).contiguous_strides(&sizes);
            all.push(Tensor { sizes, strides, ..Tensor::clone(&slice) }.into());
        }
        Ok(all)
    }

    fn values_of(&self, proxies: &[Proxy]) -> Vec<Value> {
        let value = |proxy: &Proxy| self.values.get(proxy.value.index()).cloned().unwrap_or(Value::Opaque);
        proxies.iter().map(value).collect()
    }

    /// Traces a graph within; it sees nothing of the graph around.
    fn inner(
        &mut self,
        name: &str,
        given: &[Value],
        trace: &mut Inner<'_, 'o>,
    ) -> Result<(Subgraph, Vec<Value>), TraceError> {
        let number = self.names.beginning_with(name);
        let name = self.fresh(&format!("{name}_{number}"));
        let builder = std::mem::take(&mut self.builder);
        let values = std::mem::take(&mut self.values);
        let names = std::mem::take(&mut self.names);
        let over = self.over.take();
        let traced = self.traced_inner(given, trace);
        (self.values, self.names, self.over) = (values, names, over);
        self.builder = builder;
        let (graph, results) = traced?;
        Ok((Subgraph { name, graph }, results))
    }

    fn traced_inner(
        &mut self,
        given: &[Value],
        trace: &mut Inner<'_, 'o>,
    ) -> Result<(Graph, Vec<Value>), TraceError> {
        let mut proxies = Vec::with_capacity(given.len());
        for (index, value) in given.iter().enumerate() {
            let Some((meta, kind)) = self.meta(value) else {
                return Err(TraceError::Malformed("an operand is neither a tensor nor a number".to_owned()));
            };
            let name = self.fresh(&format!("arg{index}_1"));
            let id = self.builder.input(name, meta)?;
            self.values.push(value.clone());
            proxies.push(Proxy { value: id, kind });
        }
        let results = trace(self, &proxies)?;
        let values = self.values_of(&results);
        if values.iter().any(|value| matches!(value, Value::Opaque)) {
            return Err(TraceError::Malformed("a graph returns what is not its own".to_owned()));
        }
        let outputs = results.iter().map(|&proxy| proxy.into()).collect();
        Ok((std::mem::take(&mut self.builder).finish(outputs, false), values))
    }

    fn higher_order(
        &mut self,
        op: &str,
        inputs: Vec<Argument>,
        results: Vec<Value>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let name = self.fresh(op);
        let (mut proxies, mut outputs): (Vec<Proxy>, Vec<Output>) = (Vec::new(), Vec::new());
        for value in results {
            let result = self.fresh("getitem");
            let proxy = self.define(&result, value)?;
            outputs.extend(proxy.map(|proxy| Output::Value(proxy.value)));
            proxies.extend(proxy);
        }
        let passed = |arg| Input { name: "".into(), arg, passed_as: PassedAs::Positional };
        let inputs = inputs.into_iter().map(passed).collect();
        let target = Target::parse(&format!("torch.ops.higher_order.{op}"));
        let mut node = Node::new(name, target, inputs, outputs);
        node.hop_single_tensor = Some(false);
        node.provenance = self.origin.clone();
        self.builder.node(node)?;
        Ok(proxies)
    }
}

/// The first size of a tensor that has one.
fn first_size(value: &Value) -> Option<Expr> {
    match value {
        Value::Tensor(t) => t.sizes.first().copied(),
        _ => None,
    }
}

fn graph(subgraph: Subgraph) -> Argument {
    Argument::Graph(Arc::new(subgraph))
}

/// Operands as the argument they are: tensors, integers, or both.
fn tensors(proxies: &[Proxy]) -> Argument {
    let all = |kind: Kind| proxies.iter().all(|proxy| proxy.kind == kind);
    let ids = || proxies.iter().map(|proxy| proxy.value);
    if all(Kind::Tensor) {
        return Argument::Tensors(ids().collect::<Vec<ValueId>>());
    }
    if all(Kind::Int) {
        return Argument::SymInts(ids().map(Operand::Value).collect());
    }
    Argument::List(proxies.iter().map(|&proxy| proxy.into()).collect())
}

/// Whether results are of one number, kind, dtype and shape.
fn alike(a: &[Value], b: &[Value], what: &str) -> Result<(), TraceError> {
    if a.len() != b.len() {
        return Err(TraceError::Malformed(format!("{what} {} and {} results", a.len(), b.len())));
    }
    for (index, (a, b)) in a.iter().zip(b).enumerate() {
        let same = match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => a.dtype == b.dtype && a.sizes == b.sizes,
            (a, b) => a == b,
        };
        if !same {
            return Err(TraceError::Malformed(format!("{what} different results at place {index}")));
        }
    }
    Ok(())
}
