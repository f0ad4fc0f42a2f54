//! The lifetime of unbacked symbols: a step that makes one has to bind it to a result, or nobody could ever tell its
//! value.
use super::{EnvError, ShapeEnv};
use sizewise_expr::{Expr, Symbol};

impl ShapeEnv {
    /// The unbacked symbols that no result binds yet, in the order in which they were made.
    pub fn pending(&self) -> &[Symbol] {
        &self.symbols.pending.symbols
    }

    /// Runs `f`; unbacked symbols made in it need not be bound, because its results are thrown away.
    pub fn ignoring_fresh<T>(&mut self, f: impl FnOnce(&mut ShapeEnv) -> T) -> T {
        let before = std::mem::replace(&mut self.symbols.pending.ignoring, true);
        let result = f(self);
        self.symbols.pending.ignoring = before;
        result
    }

    /// Ends a step: finds, for each unbacked symbol made since the last one, the place among the step's results that
    /// binds it. Those are the sizes, strides, offsets and numbers of the results; one binds a symbol if it is the
    /// symbol, times a constant.
    ///
    /// # Errors
    /// When no result binds one of them. The step's symbols are no longer pending then, either.
    ///
    /// ```
    /// use sizewise_expr::range::ValueRange;
    /// use sizewise_env::ShapeEnv;
    /// let mut env = ShapeEnv::new();
    /// let u = env.fresh_unbacked(ValueRange::all());
    /// let three = env.pool.int(3);
    /// let bound = env.bind_outputs(&[three, u]).map(|bound| bound[0].1);
    /// assert_eq!(bound.ok(), Some(1));
    /// env.fresh_unbacked(ValueRange::all());
    /// let error = env.bind_outputs(&[three]).map_err(|error| error.to_string());
    /// assert_eq!(error, Err("no result of the step tells the value of u1".to_string()));
    /// ```
    pub fn bind_outputs(&mut self, results: &[Expr]) -> Result<Vec<(Symbol, usize)>, EnvError> {
        let pending = std::mem::take(&mut self.symbols.pending.symbols);
        let mut bound = Vec::with_capacity(pending.len());
        let mut lost = Vec::new();
        for symbol in pending {
            match results.iter().position(|&e| self.tells(e, symbol)) {
                Some(place) => bound.push((symbol, place)),
                None => lost.push(self.pool.symbol_name(symbol).to_string()),
            }
        }
        if lost.is_empty() { Ok(bound) } else { Err(EnvError::Unbound { symbols: lost }) }
    }

    /// Whether the value of `e` tells that of a symbol.
    fn tells(&mut self, e: Expr, symbol: Symbol) -> bool {
        if self.pool.as_symbol(e) == Some(symbol) {
            return true;
        }
        let s = self.pool.symbol_expr(symbol);
        if self.pool.sort(s) != sizewise_expr::Sort::Int {
            return false;
        }
        let one = self.pool.int(1);
        if e == self.pool.eq(s, one) {
            return true;
        }
        let poly = self.pool.poly(e);
        poly.constant.is_zero() && matches!(poly.terms.as_slice(), [(monomial, _)] if *monomial == s)
    }
}
