//! Replacements: equalities among what is known rewrite later expressions.
use super::ShapeEnv;
use sizewise_expr::{Expr, Func, Int, Sort, Symbol};

impl ShapeEnv {
    /// An expression with the symbols that known equalities determine replaced: by constants, backed symbols for
    /// unbacked ones, earlier symbols for later ones.
    ///
    /// ```
    /// use sizewise_expr::range::ValueRange;
    /// use sizewise_env::{DimDynamic, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Dynamic, None)?;
    /// let u = env.fresh_unbacked(ValueRange::all());
    /// let equal = env.pool.eq(u, x);
    /// env.check(equal)?;
    /// let twice = env.pool.add(u, x);
    /// let replaced = env.replace(twice);
    /// assert_eq!(env.text(replaced), "2*s77");
    /// # Ok(()) }
    /// ```
    pub fn replace(&mut self, e: Expr) -> Expr {
        self.look_for_equalities();
        let replaced = self.rewritten(e);
        // A range may have shrunk to one value.
        let points: Vec<(Symbol, Int)> = self
            .pool
            .free_symbols(&[replaced])
            .into_iter()
            .filter_map(|s| {
                let symbol = self.pool.symbol_expr(s);
                let is_int = self.pool.sort(symbol) == Sort::Int;
                let point =
                    is_int.then(|| self.facts.domain(&mut self.pool, symbol).range.as_point().cloned());
                Some((s, point.flatten()?))
            })
            .collect();
        if points.is_empty() {
            return replaced;
        }
        let values: Vec<(Symbol, Expr)> =
            points.into_iter().map(|(s, value)| (s, self.pool.int(value))).collect();
        self.pool.substitute_symbols(replaced, |s| values.iter().find(|(t, _)| *t == s).map(|(_, e)| *e))
    }

    /// The symbols that known equalities determine, with what takes their place.
    pub fn replacements(&mut self) -> Vec<(Symbol, Expr)> {
        self.look_for_equalities();
        self.replacements.by.iter().map(|(s, e)| (*s, *e)).collect()
    }

    fn rewritten(&mut self, e: Expr) -> Expr {
        if self.replacements.by.is_empty() {
            return e;
        }
        let by = &self.replacements.by;
        self.pool.substitute_symbols(e, |s| by.get(&s).copied())
    }

    fn look_for_equalities(&mut self) {
        while let Some(&condition) = self.facts.conditions().get(self.replacements.seen) {
            self.replacements.seen += 1;
            let parts = match self.pool.as_func(condition, Func::And) {
                Some(parts) => parts.to_vec(),
                None => vec![condition],
            };
            for part in parts {
                let part = self.rewritten(part);
                self.learn(part);
            }
        }
    }

    /// Solves `a*s + rest == 0` with a of 1 or -1 for the symbol that is best done without.
    fn learn(&mut self, condition: Expr) {
        let Some(&[zero]) = self.pool.as_func(condition, Func::IsZero) else { return };
        let poly = self.pool.poly(zero);
        let solvable = poly.terms.iter().enumerate().filter_map(|(i, (monomial, factor))| {
            let symbol = self.pool.as_symbol(*monomial)?;
            (factor.abs().is_one() && self.pool.stands_alone(&poly, i)).then_some((symbol, i))
        });
        let rank = |symbol: Symbol| (self.symbols.unbacked.iter().position(|&u| u == symbol), symbol);
        let Some((symbol, term)) = solvable.max_by_key(|(symbol, _)| rank(*symbol)) else { return };
        let Some(value) = poly.solved_for(term) else { return };
        let value = self.pool.from_poly(&value);
        for known in self.replacements.by.values_mut() {
            *known = self.pool.substitute_symbols(*known, |t| (t == symbol).then_some(value));
        }
        self.replacements.by.insert(symbol, value);
    }
}
