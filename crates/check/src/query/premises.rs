//! The premises of questions on expressions: symbols with ranges, assumptions, and their texts.
use super::refusal::only;
use super::{Fields, Refusal};
use crate::report::int_json;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use sizewise_env::{Declared, Premises, Requires};
use sizewise_expr::escape::{abridged, excerpt};
use sizewise_expr::text::{Property, SourcePath};
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, read};
use sizewise_solve::Premise;

/// The fields of a symbol.
pub(super) const SYMBOL_FIELDS: &[&str] = &["min", "max", "hint"];

/// A condition of a request, what its text requires, and the text.
pub(super) struct Stated {
    pub condition: Expr,
    pub requires: Requires,
    pub text: String,
}

/// What a request assumes, as it is read: no fact yet.
#[derive(Default)]
pub(super) struct Given {
    /// The symbols as declared.
    symbols: Vec<Declared>,
    hints: Vec<(Symbol, Int)>,
    /// What the texts require, that of a goal too.
    requires: Requires,
    /// The conditions, in order.
    pub conditions: Vec<Stated>,
    /// Ranges without a double, as text.
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

impl Given {
    /// Reads `symbols` and the list of conditions under `key`, which may be missing.
    pub fn read(pool: &mut Pool, request: &Fields, key: &str) -> Result<Given, Refusal> {
        let mut given = Given::default();
        match request.get("symbols") {
            None | Some(Value::Null) => {}
            Some(Value::Object(symbols)) => {
                for (name, range) in symbols {
                    given.declare(pool, name, range).map_err(|e| e.at(|| format!("symbols.{name}")))?;
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
                    let (condition, requires) = given.parse(pool, text, key).map_err(|e| e.at(place))?;
                    given.require(requires.clone());
                    given.conditions.push(Stated { condition, requires, text: text.clone() });
                }
            }
            Some(_) => return Err(Refusal::invalid(format!("expected a list of texts as `{key}`"))),
        }
        Ok(given)
    }

    /// Reads the expression under `key`.
    pub fn expression(&mut self, pool: &mut Pool, request: &Fields, key: &str) -> Result<Expr, Refusal> {
        let read = match request.get(key) {
            Some(Value::String(text)) => self.parse(pool, text, key),
            _ => Err(Refusal::invalid(format!("expected an expression as `{key}`"))),
        };
        let (e, requires) = read.map_err(|e| e.at(|| key.to_string()))?;
        self.require(requires);
        Ok(e)
    }

    fn require(&mut self, more: Requires) {
        self.requires.divisors.extend(more.divisors);
        self.requires.partial.extend(more.partial);
    }

    /// Adds everything to premises.
    pub fn learn(self, pool: &mut Pool, premises: &mut Premises) {
        self.declared(pool, premises);
        for (symbol, value) in self.hints {
            premises.facts.hint(symbol, value);
        }
        self.requires.learn(pool, &mut premises.facts);
        for Stated { condition, text, .. } in self.conditions {
            premises.assume(pool, condition, Some(text));
        }
    }

    /// Adds the symbols with their ranges to premises.
    pub fn declared(&self, pool: &mut Pool, premises: &mut Premises) {
        for Declared { symbol, min, max } in self.symbols.clone() {
            premises.declare(pool, symbol, min, max);
        }
        for text in &self.empty {
            premises.never(pool, text.clone());
        }
    }

    /// Whether there is nothing: no symbol, no assumption, no divisor.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.requires.is_empty() && self.empty.is_empty()
    }

    /// The number of symbols and assumptions.
    pub fn len(&self) -> usize {
        self.symbols.len() + self.conditions.len()
    }

    fn parse(&mut self, pool: &mut Pool, text: &str, key: &str) -> Result<(Expr, Requires), Refusal> {
        let read = match read::closed(pool, text) {
            Ok(read) => Ok(read),
            Err(error) => self.with_sources(pool, text).unwrap_or(Err(error)),
        };
        let read = read.map_err(|e| {
            let refusal = Refusal::invalid(format!("`{key}`: {e} in {:?}", abridged(text)));
            Refusal { excerpt: excerpt(text, e.line, e.column), ..refusal }
        })?;
        Ok((read.expr, Requires::of(&read)))
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
                && !self.symbols.iter().any(|known| known.symbol == symbol)
            {
                self.symbols.push(Declared { symbol, min: Some(Int::ZERO), max: None });
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
        if let Some(hint) = bound("hint")? {
            self.hints.push((symbol, hint));
        }
        self.symbols.push(Declared { symbol, min: low, max: high });
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
}

/// The declared symbols with their ranges, as they are written in requests.
pub(super) fn symbols_json(premises: &Premises, pool: &Pool) -> Value {
    let number = |v: &Option<Int>| v.as_ref().map_or(Value::Null, int_json);
    let entry = |known: &Declared| {
        let range = serde_json::json!({"min": number(&known.min), "max": number(&known.max)});
        (pool.symbol_name(known.symbol).to_string(), range)
    };
    premises.declared.iter().map(entry).collect::<Map<_, _>>().into()
}

/// Says in a reply that premises contradict each other.
pub(super) fn note(premises: &Premises, pool: &Pool, reply: &mut Fields, contradiction: Option<&[Premise]>) {
    if let Some(because) = contradiction {
        let because: Vec<Value> = because.iter().map(|p| premises.premise(pool, p).into()).collect();
        reply.insert("inconsistent".into(), true.into());
        reply.insert("because".into(), because.into());
    }
}

/// An assignment as a JSON object.
pub(super) fn assignment(pool: &Pool, witness: &[(Symbol, Int)]) -> Value {
    let value = |(s, v): &(Symbol, Int)| (pool.symbol_name(*s).to_string(), int_json(v));
    witness.iter().map(value).collect::<Map<_, _>>().into()
}
