//! The premises of questions on expressions: symbols with ranges, assumptions, and their texts.
use super::refusal::only;
use super::{Fields, Refusal};
use crate::report::int_json;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use sizewise_expr::escape::{abridged, excerpt};
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::{Property, SourcePath};
use sizewise_expr::{Expr, Func, Int, Pool, Sort, Symbol, print, read};
use sizewise_solve::{self as decide, Budget, Facts, Premise, Verdict, requirements};

/// The fields of a symbol.
pub(super) const SYMBOL_FIELDS: &[&str] = &["min", "max", "hint"];

/// The facts of a request, with their texts.
#[derive(Clone)]
pub struct Premises {
    /// Ranges, assumptions and divisors.
    pub facts: Facts,
    /// The expressions of the list of assumptions, in order.
    pub given: Vec<Expr>,
    /// Their texts.
    pub texts: Vec<String>,
    /// The symbols as declared.
    symbols: Vec<(Symbol, Option<Int>, Option<Int>)>,
    hints: Vec<(Symbol, Int)>,
    divisors: Vec<Expr>,
    /// Operations that must have a value but were simplified away on reading.
    dropped: Vec<Expr>,
    /// The divisors in each assumption's text, and the operations dropped from it.
    given_required: Vec<(Vec<Expr>, Vec<Expr>)>,
    /// Empty ranges, as text.
    empty: Vec<String>,
}

/// A source as people write it: `x.shape[0]`.
fn source_name(path: &SourcePath) -> String {
    let leaf = SourcePath { property: None, ..path.clone() }.to_string();
    let steps = leaf.strip_prefix(&format!("L[{:?}]", path.root)).unwrap_or_default();
    let property = match path.property {
        Some(Property::Size(d)) => format!(".shape[{d}]"),
        Some(Property::Stride(d)) => format!(".stride()[{d}]"),
        Some(Property::StorageOffset) => ".storage_offset()".to_owned(),
        None => String::new(),
    };
    format!("{}{steps}{property}", path.root)
}

impl Premises {
    /// No premises.
    pub fn none() -> Premises {
        Premises {
            facts: Facts::new(),
            given: Vec::new(),
            texts: Vec::new(),
            symbols: Vec::new(),
            hints: Vec::new(),
            divisors: Vec::new(),
            dropped: Vec::new(),
            given_required: Vec::new(),
            empty: Vec::new(),
        }
    }

    /// Reads `symbols` and the list of conditions under `key`, which may be missing.
    pub fn read(pool: &mut Pool, request: &Fields, key: &str) -> Result<Premises, Refusal> {
        let mut premises = Premises::none();
        match request.get("symbols") {
            None | Some(Value::Null) => {}
            Some(Value::Object(symbols)) => {
                for (name, range) in symbols {
                    premises.declare(pool, name, range).map_err(|e| e.at(|| format!("symbols.{name}")))?;
                }
            }
            Some(_) => return Err(Refusal::invalid("expected an object of `symbols`")),
        }
        match request.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (i, item) in items.iter().enumerate() {
                    let place = || format!("{key}[{i}]");
                    let Value::String(text) = item else {
                        return Err(
                            Refusal::invalid(format!("expected a list of texts as `{key}`")).at(place)
                        );
                    };
                    let (divisors, dropped) = (premises.divisors.len(), premises.dropped.len());
                    let e = premises.parse(pool, text, key).map_err(|e| e.at(place))?;
                    premises.given.push(e);
                    let required =
                        (premises.divisors[divisors..].to_vec(), premises.dropped[dropped..].to_vec());
                    premises.given_required.push(required);
                    premises.texts.push(text.clone());
                }
            }
            Some(_) => return Err(Refusal::invalid(format!("expected a list of texts as `{key}`"))),
        }
        Ok(premises)
    }

    /// Reads the expression under `key`.
    pub fn expression(&mut self, pool: &mut Pool, request: &Fields, key: &str) -> Result<Expr, Refusal> {
        match request.get(key) {
            Some(Value::String(text)) => self.parse(pool, text, key),
            _ => Err(Refusal::invalid(format!("expected an expression as `{key}`"))),
        }
        .map_err(|e| e.at(|| key.to_string()))
    }

    /// Turns what was read into facts; `assume` says whether the conditions are assumptions.
    pub fn finish(&mut self, pool: &mut Pool, assume: bool) {
        for (symbol, low, high) in self.symbols.clone() {
            if let Some(range) = ValueRange::between_options(low, high) {
                self.facts.declare(pool, symbol, range);
            }
        }
        for (symbol, value) in std::mem::take(&mut self.hints) {
            self.facts.hint(symbol, value);
        }
        for divisor in std::mem::take(&mut self.divisors) {
            self.facts.exclude_zero(pool, divisor);
        }
        for e in std::mem::take(&mut self.dropped) {
            self.facts.require_value(pool, e);
        }
        if assume {
            for condition in self.given.clone() {
                self.facts.assume(pool, condition);
            }
        }
        if !self.empty.is_empty() {
            let never = pool.bool(false);
            self.facts.assume(pool, never);
        }
    }

    /// The declared ranges; `None` if one is empty.
    pub fn ranges(&self) -> Option<Vec<(Symbol, ValueRange)>> {
        let range = |(s, l, h): &(Symbol, Option<Int>, Option<Int>)| {
            Some((*s, ValueRange::between_options(l.clone(), h.clone())?))
        };
        self.symbols.iter().map(range).collect()
    }

    /// The conditions, each with the requirement that the operations in its text that construction has
    /// cancelled have a value.
    pub fn defined(&self, pool: &mut Pool) -> Vec<Expr> {
        let mut out = Vec::with_capacity(self.given.len());
        for (&condition, (divisors, dropped)) in self.given.iter().zip(&self.given_required) {
            let parts = pool.reachable(&[condition]);
            let present = |pool: &Pool, d: Expr| {
                parts.iter().any(
                    |&p| matches!(pool.as_call(p), Some((Func::FloorDiv | Func::Mod, args)) if args[1] == d),
                )
            };
            let mut all = vec![condition];
            for &d in divisors {
                if !present(pool, d) {
                    all.push(pool.ne(d, Expr::ZERO));
                }
            }
            all.extend(requirements(pool, dropped));
            out.push(pool.and(&all));
        }
        out
    }

    /// Adds premises that were read and not yet turned into facts, as facts.
    pub(super) fn append(&mut self, pool: &mut Pool, more: Premises) {
        for (symbol, low, high) in more.symbols {
            if let Some(range) = ValueRange::between_options(low.clone(), high.clone()) {
                self.facts.declare(pool, symbol, range);
            }
            match self.symbols.iter_mut().find(|(known, ..)| *known == symbol) {
                Some((_, known_low, known_high)) => {
                    *known_low = known_low.take().max(low);
                    *known_high = [known_high.take(), high].into_iter().flatten().min();
                }
                None => self.symbols.push((symbol, low, high)),
            }
        }
        for (symbol, value) in more.hints {
            self.facts.hint(symbol, value);
        }
        for divisor in more.divisors {
            self.facts.exclude_zero(pool, divisor);
        }
        for e in more.dropped {
            self.facts.require_value(pool, e);
        }
        for (condition, text) in more.given.into_iter().zip(more.texts) {
            self.facts.assume(pool, condition);
            self.given.push(condition);
            self.texts.push(text);
        }
        for text in more.empty {
            let never = pool.bool(false);
            self.facts.assume(pool, never);
            self.given.push(never);
            self.texts.push(text);
        }
    }

    /// Whether there is nothing: no symbol, no assumption, no divisor.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && self.divisors.is_empty() && self.dropped.is_empty() && self.empty.is_empty()
    }

    /// The number of symbols and assumptions.
    pub(super) fn len(&self) -> usize {
        self.symbols.len() + self.given.len()
    }

    /// The number of symbols, and that of assumptions.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.symbols.len(), self.given.len())
    }

    /// Whether a symbol was declared.
    pub(super) fn declares(&self, symbol: Symbol) -> bool {
        self.facts.ranges().any(|(known, ..)| known == symbol)
    }

    /// The declared symbols with their ranges, as they are written in requests.
    pub(super) fn symbols_json(&self, pool: &Pool) -> Value {
        let number = |v: &Option<Int>| v.as_ref().map_or(Value::Null, int_json);
        let entry = |(s, low, high): &(Symbol, Option<Int>, Option<Int>)| {
            (pool.symbol_name(*s).to_string(), serde_json::json!({"min": number(low), "max": number(high)}))
        };
        self.symbols.iter().map(entry).collect::<Map<_, _>>().into()
    }

    fn parse(&mut self, pool: &mut Pool, text: &str, key: &str) -> Result<Expr, Refusal> {
        let read = match read::closed(pool, text) {
            Ok(read) => Ok(read),
            Err(error) => self.with_sources(pool, text).unwrap_or(Err(error)),
        };
        let read = read.map_err(|e| {
            let refusal = Refusal::invalid(format!("`{key}`: {e} in {:?}", abridged(text)));
            Refusal { excerpt: excerpt(text, e.line, e.column), ..refusal }
        })?;
        self.divisors.extend(read.divisors);
        self.dropped.extend(read.dropped);
        Ok(read.expr)
    }

    /// Reads a text that names sources, such as `x.shape[0]`: each is a symbol of that name, a size is at least 0.
    /// `None` if the text names none.
    fn with_sources(
        &mut self,
        pool: &mut Pool,
        text: &str,
    ) -> Option<Result<read::Read, sizewise_expr::text::read::ReadError>> {
        let (mut scratch, mut paths) = (Pool::new(), Vec::new());
        let any = scratch.symbol("any");
        // What is wrong with the text is said when it is read for good.
        let _ = read::expression(&mut scratch, text, &mut |path| {
            paths.push(path.clone());
            Some(any)
        });
        if paths.is_empty() {
            return None;
        }
        let mut known: FxHashMap<SourcePath, Expr> = FxHashMap::default();
        for path in paths {
            let e = pool.symbol(&source_name(&path));
            if let Some(symbol) = pool.as_symbol(e)
                && path.property.is_some()
                && !self.symbols.iter().any(|(other, ..)| *other == symbol)
            {
                self.symbols.push((symbol, Some(Int::ZERO), None));
            }
            known.insert(path, e);
        }
        Some(read::expression(pool, text, &mut |path| known.get(path).copied()))
    }

    fn declare(&mut self, pool: &mut Pool, name: &str, range: &Value) -> Result<(), Refusal> {
        if name.starts_with('%') {
            // The decision procedure names its own symbols like this.
            return Err(Refusal::invalid(format!("{name:?} is not a valid name for a symbol")));
        }
        if !range.is_object() && !range.is_null() {
            return Err(Refusal::invalid(format!(
                "symbol {name}: expected an object such as {{\"min\": 2, \"max\": null}}, got {range}"
            )));
        }
        if let Some(range) = range.as_object() {
            only(range, SYMBOL_FIELDS)?;
        }
        let e = pool.symbol(name);
        let Some(symbol) = pool.as_symbol(e) else {
            return Err(Refusal::invalid(format!("{name:?} is not a symbol")));
        };
        let bound = |key: &str| match range.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(n)) => n
                .to_string()
                .parse::<Int>()
                .map(Some)
                .map_err(|_| Refusal::invalid(format!("symbol {name}: `{key}` is not an integer: {n}"))),
            Some(other) => {
                Err(Refusal::invalid(format!("symbol {name}: `{key}` is not an integer: {other}")))
            }
        };
        let (mut low, mut high) = (bound("min")?, bound("max")?);
        if pool.sort(e) == Sort::Float {
            self.within_doubles(name, &mut low, &mut high);
        }
        if let (Some(l), Some(h)) = (&low, &high)
            && l > h
        {
            self.empty.push(format!("{l} <= {name} <= {h}"));
        }
        if let Some(hint) = bound("hint")? {
            self.hints.push((symbol, hint));
        }
        self.symbols.push((symbol, low, high));
        Ok(())
    }

    /// Narrows the bounds of a double to doubles: no other number is a value of it.
    fn within_doubles(&mut self, name: &str, low: &mut Option<Int>, high: &mut Option<Int>) {
        let given = (low.clone(), high.clone());
        let double = |bound: &Int| bound.double_above().and_then(Pool::float_as_int);
        let (least, most) = (low.as_ref().map(double), high.as_ref().map(|high| double(&-high)));
        match (least, most) {
            (Some(None), _) => self.empty.push(format!("{} <= {name}", given.0.unwrap_or(Int::ZERO))),
            (_, Some(None)) => self.empty.push(format!("{name} <= {}", given.1.unwrap_or(Int::ZERO))),
            (least, most) => {
                *low = least.flatten();
                *high = most.flatten().map(|most| -&most);
            }
        }
    }

    /// A premise as text: an assumption as it was given, a bound as `2 <= s0`, a divisor as `Ne(s0, 0)`.
    pub fn premise(&self, pool: &Pool, premise: Premise) -> Value {
        let bounds = |s: Symbol| self.symbols.iter().find(|(t, ..)| *t == s);
        let shown = |v: Option<&Int>| v.map_or_else(|| "?".to_string(), Int::to_string);
        match premise {
            Premise::Fact(id) => {
                let text = self.texts.get(id.0 as usize).cloned();
                text.unwrap_or_else(|| self.empty.join(" and "))
            }
            Premise::Lower(s) => {
                format!("{} <= {}", shown(bounds(s).and_then(|b| b.1.as_ref())), pool.symbol_name(s))
            }
            Premise::Upper(s) => {
                format!("{} <= {}", pool.symbol_name(s), shown(bounds(s).and_then(|b| b.2.as_ref())))
            }
            Premise::Nonzero(e) => format!("Ne({}, 0)", print::expression(pool, e)),
        }
        .into()
    }

    /// Premises that contradict each other, if that is found. There has to be an assumption, or an empty range.
    pub(super) fn contradiction(&mut self, pool: &mut Pool) -> Option<Vec<Premise>> {
        if self.given.is_empty() && self.empty.is_empty() {
            return None;
        }
        let (never, budget) = (pool.bool(false), Budget::small());
        match decide::decide(pool, &mut self.facts, never, &budget).verdict {
            Verdict::Inconsistent { because } => {
                Some(decide::minimal_unsat_core(pool, &self.facts, &because, &budget))
            }
            _ => None,
        }
    }

    /// Says in a reply that premises contradict each other.
    pub(super) fn note(&self, pool: &Pool, reply: &mut Fields, contradiction: Option<&[Premise]>) {
        if let Some(because) = contradiction {
            let because: Vec<Value> = because.iter().map(|&p| self.premise(pool, p)).collect();
            reply.insert("inconsistent".into(), true.into());
            reply.insert("because".into(), because.into());
        }
    }

    /// An assignment as a JSON object.
    pub fn assignment(&self, pool: &Pool, witness: &[(Symbol, Int)]) -> Value {
        witness
            .iter()
            .map(|(s, v)| (pool.symbol_name(*s).to_string(), int_json(v)))
            .collect::<Map<_, _>>()
            .into()
    }
}
