//! Comparing what is derived with what the program records.
use super::interpreter::{Interpreter, Mode};
use super::recorded;
use super::results::distribute;
use super::step::{Comparison, Derived, Mismatch, RecordedSymbol};
use crate::records::Records;
use rustc_hash::FxHashMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Symbol};
use sizewise_ir::{Graph, Meta, Node, ValueId};
use sizewise_kernels::{Sizes, Span, Tensor, Value};
use std::sync::Arc;

/// How far results are compared with the recorded values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparing {
    /// Not at all.
    Nothing,
    /// Unless they are literally as recorded.
    Differences,
    /// Always.
    Everything,
}

/// Whether the results of a step need no comparison: because none is wanted, or because they are literally what
/// the program records. If not, they may still be found equal.
pub(super) fn is_as_recorded(
    comparing: Comparing,
    (records, env): (&mut Records, &mut ShapeEnv),
    graph: &Graph,
    node: &Node,
    results: &[Value],
) -> bool {
    match comparing {
        Comparing::Nothing => return true,
        Comparing::Everything => return false,
        Comparing::Differences => {}
    }
    distribute(node, results).all(|(id, value)| match (value, graph.meta(id)) {
        (Value::Tensor(made), Meta::Tensor(recorded)) => {
            made.dtype == recorded.dtype
                && made.rank() == recorded.sizes.len()
                && made.sizes.iter().zip(&recorded.sizes).all(|(&e, &size)| records.is(env, size, e))
                && recorded.strides.iter().all(|&stride| records.reads(env, stride))
                && records.reads(env, recorded.storage_offset)
        }
        (Value::Int(made), Meta::SymInt(recorded)) => records.is(env, *recorded, *made),
        _ => false,
    })
}

impl Interpreter<'_> {
    /// How far results are compared with the recorded values.
    pub(super) fn comparing(&self) -> Comparing {
        match self.mode {
            _ if self.derived.is_some() => Comparing::Everything,
            Mode::Evaluate => Comparing::Nothing,
            Mode::Verify => Comparing::Differences,
        }
    }

    /// Compares the results of a step with the recorded values, and returns the values to go on with.
    ///
    /// Unbacked symbols that the step made are renamed to what the program calls them. Sizes that agree go on as
    /// recorded, so that the program's own guards speak of them; those of other values go on as recorded too, after the
    /// difference was noted.
    pub(super) fn reconcile(
        &mut self,
        graph: &Graph,
        fresh: &[Symbol],
        made: Vec<(ValueId, Value)>,
    ) -> Vec<(ValueId, Value)> {
        let mut renamed: FxHashMap<Expr, Expr> = FxHashMap::default();
        let bindings = self.records.bindings();
        let mut pairs: Vec<(ValueId, Value, Value)> = Vec::with_capacity(made.len());
        for (id, derived) in made {
            let record = match recorded::value(&mut self.records, &mut self.run.env, graph.meta(id)) {
                Ok(value) => value,
                Err(error) => {
                    self.run.unreadable.push(error.to_string());
                    derived.clone()
                }
            };
            pairs.push((id, derived, record));
        }
        for (_, derived, recorded) in &pairs {
            for (d, r) in paired(derived, recorded) {
                self.name_unbacked(fresh, &mut renamed, d, r);
            }
        }
        let mut values = Vec::with_capacity(pairs.len());
        for (id, derived, record) in pairs {
            // New names may have changed the meaning of the record.
            let (derived, record) = if renamed.is_empty() && self.records.bindings() == bindings {
                (derived, record)
            } else {
                let derived = rename(&mut self.run.env, derived, &renamed);
                let record = recorded::value(&mut self.records, &mut self.run.env, graph.meta(id))
                    .unwrap_or_else(|_| derived.clone());
                (derived, record)
            };
            self.note_derived(id, &derived, &record);
            let before = (self.run.mismatches.len(), self.run.comparisons.len());
            let value = self.reconcile_value(graph.name(id), graph.meta(id), derived, record);
            if before != (self.run.mismatches.len(), self.run.comparisons.len()) {
                self.set_aside(graph, id, before);
            }
            values.push((id, value));
        }
        values
    }

    /// Sets aside the differences found since the given counts if they are no errors: the value is unused, or it
    /// depends on the result of an unsupported operator.
    fn set_aside(&mut self, graph: &Graph, id: ValueId, (mismatches, comparisons): (usize, usize)) {
        if !self.uses.is_used(graph, id) {
            self.run.unused_mismatches.extend(self.run.mismatches.drain(mismatches..));
            for comparison in self.run.comparisons.drain(comparisons..) {
                self.compared.remove(&comparison.condition);
            }
        } else if self.untrusted {
            for mismatch in self.run.mismatches.drain(mismatches..) {
                let reason = format!(
                    "an operand comes from a node that is not checked: `{}` is recorded as {} but computed as {}",
                    mismatch.value, mismatch.recorded, mismatch.derived
                );
                self.run.unsupported.push((mismatch.origin, reason));
            }
        }
    }

    /// Notes what was derived beside what is recorded, if that is wanted, without comparing them.
    pub(super) fn note_beside_record(&mut self, graph: &Graph, made: &[(ValueId, Value)]) {
        if self.derived.is_none() {
            return;
        }
        for (id, value) in made {
            let record = recorded::value(&mut self.records, &mut self.run.env, graph.meta(*id));
            self.note_derived(*id, value, &record.unwrap_or(Value::Opaque));
        }
    }

    fn note_derived(&mut self, value: ValueId, derived: &Value, recorded: &Value) {
        if let Some(list) = &mut self.derived {
            let (found, recorded) = (derived.clone(), recorded.clone());
            let scope = self.scope.name().to_string();
            list.push(Derived { scope, origin: self.origin, value, found, recorded });
        }
    }

    /// Identifies a symbol made by this step, or one that only the record names, with the other side.
    fn name_unbacked(&mut self, fresh: &[Symbol], renamed: &mut FxHashMap<Expr, Expr>, d: Expr, r: Expr) {
        let r = self.records.translate(&mut self.run.env, r);
        let new = self.records.undeclared(&self.run.env, r);
        let made: Vec<Symbol> = if fresh.is_empty() {
            Vec::new()
        } else {
            let free = self.run.env.pool.free_symbols(&[d]);
            free.into_iter().filter(|s| fresh.contains(s)).collect()
        };
        let made: Vec<Expr> = made.into_iter().map(|s| self.run.env.pool.symbol_expr(s)).collect();
        let unnamed = |e: &Expr| !renamed.contains_key(e);
        if made.as_slice() == [d] && unnamed(&d) {
            for &symbol in &new {
                self.records.declare_made(&mut self.run.env, symbol);
            }
            if new.is_empty() {
                self.run.env.equate(d, r);
            } else {
                let range = self.run.env.carry_facts(d, r);
                let symbol = self.run.env.pool.as_symbol(r);
                self.run.named.extend(symbol.map(|symbol| RecordedSymbol { symbol, derived: r, range }));
            }
            renamed.insert(d, r);
        } else if let (&[bit], true) = (made.as_slice(), new.is_empty() && self.run.env.pool.is_constant(r))
            && unnamed(&bit)
            && d == self.run.env.pool.eq(bit, Expr::ONE)
        {
            // A data-dependent bool, for which the records have the value that an assertion implies.
            let number = self.run.env.pool.as_integer(r);
            self.run.env.equate(bit, number);
            renamed.insert(bit, number);
        } else if let ([symbol], true) = (new.as_slice(), self.run.env.pool.as_symbol(r).is_some()) {
            let d = self.run.env.pool.substitute(d, |e| renamed.get(&e).copied());
            self.records.bind(*symbol, d);
            self.run.named.push(RecordedSymbol { symbol: *symbol, derived: d, range: None });
        } else if let ([m], &[symbol]) = (made.as_slice(), new.as_slice())
            && unnamed(m)
        {
            self.records.declare_made(&mut self.run.env, symbol);
            let n = self.run.env.pool.symbol_expr(symbol);
            let range = self.run.env.carry_facts(*m, n);
            self.run.named.push(RecordedSymbol { symbol, derived: n, range });
            renamed.insert(*m, n);
        } else {
            for &symbol in &new {
                self.records.declare_unbacked(&mut self.run.env, symbol);
            }
        }
    }

    fn reconcile_value(&mut self, name: &Arc<str>, meta: &Meta, derived: Value, recorded: Value) -> Value {
        match (derived, recorded) {
            (Value::Tensor(d), Value::Tensor(r)) => {
                let kept = self.reconcile_tensor(name, &d, &r);
                Value::Tensor(if kept == *d { d } else { Arc::new(kept) })
            }
            (Value::Int(d), Value::Int(r)) => Value::Int(self.reconcile_number(name, d, r)),
            // Where an assertion says it, torch records what is asserted as true. The program still computes it, so what
            // was derived goes on, and the assertion states it.
            (Value::Bool(d), Value::Bool(r)) if self.run.env.pool.as_bool(r) == Some(true) => Value::Bool(d),
            (Value::Bool(d), Value::Bool(_)) if self.as_computed => Value::Bool(d),
            (Value::Bool(d), Value::Bool(r)) => {
                if d != r {
                    let same = self.run.env.pool.eq(d, r);
                    self.compare(name, same, d, r);
                }
                Value::Bool(r)
            }
            (Value::Int(d), Value::Bool(_)) => Value::Bool(self.run.env.pool.truth(d)),
            (Value::Bool(d), Value::Int(r)) => {
                let d = self.run.env.pool.as_integer(d);
                Value::Int(self.reconcile_number(name, d, r))
            }
            // Doubles are not compared: their expressions are not canonical.
            (Value::Float(d), Value::Float(_)) => Value::Float(d),
            (derived, Value::Opaque) => derived,
            (Value::Opaque, recorded) => recorded,
            (derived, recorded) => {
                let message = derived.kind().to_string();
                self.mismatch(name, meta.kind_name().to_string(), message);
                recorded
            }
        }
    }

    fn reconcile_tensor(&mut self, name: &Arc<str>, derived: &Tensor, recorded: &Tensor) -> Tensor {
        if derived.rank() != recorded.rank() || derived.dtype != recorded.dtype {
            let (r, d) = (self.describe(recorded), self.describe(derived));
            self.mismatch(name, r, d);
            return recorded.clone();
        }
        let mut sizes = Sizes::new();
        let mut agreed = true;
        for (&d, &r) in derived.sizes.iter().zip(&recorded.sizes) {
            let size = self.reconcile_size(name, d, r);
            agreed &= size.is_some();
            sizes.push(size.unwrap_or(r));
        }
        if !agreed {
            let (r, d) = (self.describe(recorded), self.describe(derived));
            self.mismatch(name, r, d);
            return recorded.clone();
        }
        Tensor { sizes, dtype: recorded.dtype, ..derived.clone() }
    }

    /// The size to go on with, or `None` if both differ at the hints or always.
    fn reconcile_size(&mut self, name: &Arc<str>, derived: Expr, recorded: Expr) -> Option<Expr> {
        if derived == recorded || self.as_computed {
            return Some(derived);
        }
        let same = self.run.env.pool.eq(derived, recorded);
        match self.run.env.statically(same) {
            Some(true) => return Some(recorded),
            Some(false) => return None,
            None => {}
        }
        if self.run.env.follows_example() && self.run.env.hint(same).is_some_and(|v| !v.as_bool()) {
            return None;
        }
        self.compare(name, same, derived, recorded);
        Some(recorded)
    }

    /// The number to go on with; a recorded one that always differs is a mismatch.
    fn reconcile_number(&mut self, name: &Arc<str>, derived: Expr, recorded: Expr) -> Expr {
        if let Some(agreed) = self.reconcile_size(name, derived, recorded) {
            return agreed;
        }
        let text = |e: Expr| sizewise_expr::text::print::expression(&self.run.env.pool, e);
        self.mismatch(name, text(recorded), text(derived));
        recorded
    }

    /// Compares the values of the graph's outputs with the recorded ones, where all sizes went on as computed.
    pub(super) fn compare_outputs(&mut self, results: &[Value]) {
        self.as_computed = false;
        let graph = &self.program.graph;
        for (argument, derived) in graph.outputs().iter().zip(results) {
            let Some(id) = argument.value() else { continue };
            match recorded::value(&mut self.records, &mut self.run.env, graph.meta(id)) {
                Ok(recorded) => {
                    self.reconcile_value(graph.name(id), graph.meta(id), derived.clone(), recorded);
                }
                Err(error) => self.run.unreadable.push(error.to_string()),
            }
        }
    }

    fn compare(&mut self, name: &Arc<str>, condition: Expr, derived: Expr, recorded: Expr) {
        let condition = self.run.env.on_path(condition);
        if self.run.env.pool.as_bool(condition) == Some(true) || !self.compared.insert(condition) {
            return;
        }
        let origin = self.origin;
        self.run.comparisons.push(Comparison { origin, value: name.clone(), condition, derived, recorded });
    }

    fn mismatch(&mut self, name: &Arc<str>, recorded: String, derived: String) {
        self.run.mismatches.push(Mismatch { origin: self.origin, value: name.clone(), recorded, derived });
    }

    /// A tensor as reports write it: `float32[s0, 3]`.
    pub(super) fn describe(&self, tensor: &Tensor) -> String {
        let sizes: Vec<String> = tensor
            .sizes
            .iter()
            .map(|&e| sizewise_expr::text::print::expression(&self.run.env.pool, e))
            .collect();
        format!("{}[{}]", tensor.dtype.short_name(), sizes.join(", "))
    }
}

/// The sizes and numbers that two values of one form have in the same places.
fn paired(a: &Value, b: &Value) -> Vec<(Expr, Expr)> {
    match (a, b) {
        (Value::Tensor(x), Value::Tensor(y)) if x.rank() == y.rank() => {
            x.sizes.iter().copied().zip(y.sizes.iter().copied()).collect()
        }
        (Value::Int(x) | Value::Bool(x), Value::Int(y) | Value::Bool(y))
        | (Value::Float(x), Value::Float(y)) => {
            vec![(*x, *y)]
        }
        _ => Vec::new(),
    }
}

/// The value with expressions replaced.
fn rename(env: &mut ShapeEnv, value: Value, renamed: &FxHashMap<Expr, Expr>) -> Value {
    if renamed.is_empty() {
        return value;
    }
    let mut replace = |e: Expr| env.pool.substitute(e, |part| renamed.get(&part).copied());
    match value {
        Value::Tensor(t) => {
            let sizes = t.sizes.iter().map(|&e| replace(e)).collect();
            let strides = t.strides.iter().map(|&e| replace(e)).collect();
            let offset = replace(t.offset);
            let span = t.span.as_ref().map(|span| {
                let (least, most) = (replace(span.least), replace(span.most));
                Span { least, most, ..span.clone() }
            });
            Tensor { sizes, strides, offset, span, ..(*t).clone() }.into()
        }
        Value::Int(e) => Value::Int(replace(e)),
        Value::Float(e) => Value::Float(replace(e)),
        Value::Bool(e) => Value::Bool(replace(e)),
        other => other,
    }
}
