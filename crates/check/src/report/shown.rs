//! Values as people read them: sizes in the user's names, and what they take in memory.
use super::graph::{GraphView, ValueView};
use super::model::Report;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_expr::{Evaluator, Expr, Int, Pool, Symbol, Value, print, read};
use sizewise_ir::Dtype;

/// The names and examples of the sizes of a report.
pub(super) struct Shown {
    pool: Pool,
    /// What stands for a symbol.
    names: FxHashMap<Symbol, String>,
    hints: FxHashMap<Symbol, Int>,
    /// Texts that were asked for before.
    known: FxHashMap<String, String>,
}

impl Shown {
    /// The names that a report gives to symbols: of a dimension of the spec, else of the size of an input.
    pub fn new(report: &Report, graph: &GraphView) -> Shown {
        let mut shown = Shown {
            pool: Pool::new(),
            names: FxHashMap::default(),
            hints: FxHashMap::default(),
            known: FxHashMap::default(),
        };
        shown.as_reported(report, graph);
        for (name, symbol) in &report.symbols {
            let e = shown.pool.symbol(name);
            let Some(known) = shown.pool.as_symbol(e) else { continue };
            let name = symbol.dim.as_ref().or(symbol.source.as_ref());
            if let Some(name) = name {
                shown.names.entry(known).or_insert_with(|| name.clone());
            }
            let hint = symbol.hint.as_ref().and_then(Json::as_i64);
            hint.into_iter().for_each(|hint| drop(shown.hints.insert(known, Int::from(hint))));
        }
        // The names of a model are the user's.
        if report.program.onnx.is_none() {
            shown.solve(graph);
        }
        shown
    }

    /// Names symbols that are sizes of inputs as the report has these sizes: a spec may make one a number, or compute it
    /// from another.
    fn as_reported(&mut self, report: &Report, graph: &GraphView) {
        for input in &graph.inputs {
            let known = report.inputs.iter().find(|known| known.name == input.name);
            let Some(shape) = known.and_then(|known| known.shape.as_ref()) else { continue };
            for (size, reported) in input.sizes.iter().flatten().zip(shape) {
                let Some(e) = size.as_str().and_then(|text| self.read(text)) else { continue };
                let Some(symbol) = self.pool.as_symbol(e) else { continue };
                let name = match reported {
                    Json::String(text) if text.contains(' ') || text.contains('*') => format!("({text})"),
                    Json::String(text) => text.clone(),
                    Json::Number(number) => number.to_string(),
                    _ => continue,
                };
                self.names.entry(symbol).or_insert(name);
            }
        }
    }

    /// Names symbols that no size is by itself by a size that they are computed from: `s0` of `2*s0` is half of it.
    fn solve(&mut self, graph: &GraphView) {
        for input in &graph.inputs {
            for (dim, size) in input.sizes.iter().flatten().enumerate() {
                let Some(e) = size.as_str().and_then(|text| self.read(text)) else { continue };
                let poly = self.pool.poly(e);
                let [(monomial, factor)] = poly.terms.as_slice() else { continue };
                let Some(symbol) = self.pool.as_symbol(*monomial) else { continue };
                if self.names.contains_key(&symbol) {
                    continue;
                }
                let name = format!("{}.shape[{dim}]", input.name);
                let name = match () {
                    () if poly.constant.is_zero() && factor.is_one() => name,
                    () if poly.constant.is_zero() => format!("({name} // {factor})"),
                    () => format!("(({name} - {}) // {factor})", poly.constant),
                };
                self.names.insert(symbol, name);
            }
        }
    }

    fn read(&mut self, text: &str) -> Option<Expr> {
        read::closed(&mut self.pool, text).ok().map(|read| read.expr)
    }

    /// A size: `2*batch`; `?` where it is not known.
    pub fn size(&mut self, size: &Json) -> String {
        let Some(text) = size.as_str() else {
            return if size.is_null() { "?".to_owned() } else { size.to_string() };
        };
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let shown = match self.read(text) {
            Some(e) => self.text(e),
            None => text.to_owned(),
        };
        self.known.insert(text.to_owned(), shown.clone());
        shown
    }

    fn text(&self, e: Expr) -> String {
        print::python(&self.pool, e, &|symbol| match self.names.get(&symbol) {
            Some(name) => name.clone(),
            None => self.pool.symbol_name(symbol).to_owned(),
        })
    }

    /// A value: `f32[batch, 8]`, or `2*batch` for a size.
    pub fn value(&mut self, value: &ValueView) -> String {
        if let Some(number) = &value.value {
            return self.size(number);
        }
        let kind =
            Dtype::from_name(&value.kind).map_or(value.kind.as_str(), |kind| kind.short_name()).to_owned();
        match &value.sizes {
            Some(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(|size| self.size(size)).collect();
                format!("{kind}[{}]", sizes.join(", "))
            }
            None => kind,
        }
    }

    /// The bytes that the elements of tensors take, and what that is at the example. `None` where a size is not known.
    pub fn bytes(&mut self, values: &[ValueView]) -> Option<(String, Option<i64>)> {
        let mut total = Expr::ZERO;
        for value in values {
            let Some(sizes) = &value.sizes else { continue };
            let mut bytes = self.pool.int(i64::from(Dtype::from_name(&value.kind)?.item_size()));
            for size in sizes {
                let size = match (size.as_i64(), size.as_str()) {
                    (Some(number), _) => self.pool.int(number),
                    (None, Some(text)) => self.read(text)?,
                    (None, None) => return None,
                };
                bytes = self.pool.mul(bytes, size);
            }
            total = self.pool.add(total, bytes);
        }
        let at = |symbol: Symbol| self.hints.get(&symbol).cloned().map(Value::Int);
        let number = Evaluator::new(&self.pool, at).int(total).ok().and_then(|number| number.to_i64());
        Some((self.text(total), number))
    }
}
