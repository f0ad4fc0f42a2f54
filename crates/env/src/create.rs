//! Making symbols.
use super::error::range_text;
use super::policy::Artefact;
use super::symbols::is_zero_or_one;
use super::{EnvError, ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Sort, Value};

/// How a size is to be represented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DimDynamic {
    /// As the constant that it is in the example.
    Static,
    /// As a symbol that sizes with the same hint may share, if the policies say so.
    Duck,
    /// As a symbol of its own.
    Dynamic,
}

impl ShapeEnv {
    /// Makes the symbol of a size of an input, named by its source as torch names it, or the constant that the
    /// policies make of it.
    ///
    /// `within` is the range that the user declares; a size with one has a symbol of its own, and one with a single
    /// value is static.
    ///
    /// # Errors
    /// When the hint is negative or outside the declared range.
    ///
    /// ```
    /// use sizewise_env::{DimDynamic, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Dynamic, None)?;
    /// assert_eq!(env.text(x), "s77");
    /// assert_eq!(env.bounds(x).0, Some(2.into()));
    /// // A policy, which can be switched off, makes a size of 1 a constant.
    /// let one = env.create("L['x'].size()[1]", 1, DimDynamic::Dynamic, None)?;
    /// assert_eq!(env.text(one), "1");
    /// assert_eq!(env.artefacts()[1].cost(), "every L['x'].size()[1] but 1");
    /// # Ok(()) }
    /// ```
    pub fn create(
        &mut self,
        source: &str,
        hint: impl Into<Int>,
        dynamic: DimDynamic,
        within: Option<ValueRange>,
    ) -> Result<Expr, EnvError> {
        let hint = hint.into();
        let outside = hint.is_negative() || within.as_ref().is_some_and(|range| !range.contains(&hint));
        if outside {
            let range = range_text(&within.unwrap_or_else(|| ValueRange::at_least(Int::ZERO)));
            return Err(EnvError::OutOfRange { what: source.to_string(), value: hint.to_string(), range });
        }
        let dynamic = match &within {
            Some(range) if range.as_point().is_some() => DimDynamic::Static,
            Some(_) => DimDynamic::Dynamic,
            None => dynamic,
        };
        if dynamic == DimDynamic::Static {
            return Ok(self.pool.int(hint));
        }
        if self.policies.zero_one_specialization && is_zero_or_one(&hint) {
            self.records.artefacts.push(Artefact::Constant { source: source.into(), value: hint.clone() });
            return Ok(self.pool.int(hint));
        }
        let duck = dynamic == DimDynamic::Duck && self.policies.duck_sizing;
        if duck && let Some(symbol) = self.duck(&hint) {
            let with = self.symbol(symbol).and_then(|info| info.source.clone()).unwrap_or_default();
            self.records.artefacts.push(Artefact::Shared { source: source.into(), with, symbol });
            return Ok(self.pool.symbol_expr(symbol));
        }
        let least = if self.policies.zero_one_specialization { 2 } else { 0 };
        let own = ValueRange::at_least(Int::from(least));
        let range = within.map_or(Some(own.clone()), |range| range.meet(&own)).unwrap_or(own);
        let e = self.backed("s", source, Value::Int(hint), range);
        if let Some(symbol) = self.pool.as_symbol(e) {
            if self.policies.zero_one_specialization {
                self.records.artefacts.push(Artefact::AtLeastTwo { source: source.into(), symbol });
            }
            if duck {
                self.symbols.ducks.push(symbol);
            }
        }
        Ok(e)
    }

    /// Makes the symbol of a double, named `zf<n>`.
    pub fn create_float(&mut self, source: &str, hint: f64) -> Expr {
        let name = format!("zf{}", self.free_index("zf", source));
        self.declare_float(&name, SymbolInfo { hint: Some(Value::Float(hint)), source: Some(source.into()) })
    }

    fn backed(&mut self, prefix: &str, source: &str, hint: Value, range: ValueRange) -> Expr {
        let name = format!("{prefix}{}", self.free_index(prefix, source));
        self.declare(&name, range, SymbolInfo { hint: Some(hint), source: Some(source.into()) })
    }

    /// The index of a source; names that were declared by hand count as taken.
    fn free_index(&mut self, prefix: &str, source: &str) -> u32 {
        loop {
            let index = self.symbols.names.index(source);
            if self.pool.find_symbol(&format!("{prefix}{index}")).is_none() {
                return index;
            }
        }
    }

    /// A fresh unbacked integer in a range, named `u<n>`.
    pub fn fresh_unbacked(&mut self, range: ValueRange) -> Expr {
        let name = loop {
            let name = format!("u{}", self.symbols.names.integers);
            self.symbols.names.integers += 1;
            if self.pool.find_symbol(&name).is_none() {
                break name;
            }
        };
        let e = self.declare(&name, range, SymbolInfo::default());
        self.bear(e);
        e
    }

    /// A fresh unbacked truth value: whether a fresh unbacked integer is 1.
    pub fn fresh_unbacked_bool(&mut self) -> Expr {
        let range = ValueRange::between_options(Some(Int::ZERO), Some(Int::ONE));
        let e = self.fresh_unbacked(range.unwrap_or_else(ValueRange::all));
        let one = self.pool.int(1);
        self.pool.eq(e, one)
    }

    /// A fresh unbacked double, named `zuf<n>`.
    pub fn fresh_unbacked_float(&mut self) -> Expr {
        let name = loop {
            let name = format!("zuf{}", self.symbols.names.floats);
            self.symbols.names.floats += 1;
            if self.pool.find_symbol(&name).is_none() {
                break name;
            }
        };
        let e = self.pool.symbol_of_sort(&name, Sort::Float);
        self.bear(e);
        e
    }

    fn bear(&mut self, e: Expr) {
        let Some(symbol) = self.pool.as_symbol(e) else { return };
        self.revise();
        self.symbols.unbacked.push(symbol);
        self.symbols.made_at.insert(symbol, (self.facts.conditions().len(), self.records.left_out.len()));
        self.symbols.pending.add(symbol);
    }
}
