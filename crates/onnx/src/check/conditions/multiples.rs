//! Conditions on several sizes that hold where some of these are multiples: products that have to be divisible.
use super::named::{Remedy, Size};
use super::{Check, Decided, decide};
use rustc_hash::FxHashMap;
use sizewise_env::SymbolInfo;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol};

/// Of more sizes it is not asked which of them have to be multiples.
const MAX_SIZES: usize = 4;

/// A size that is a multiple of a factor, and an offset.
#[derive(Clone, Copy)]
struct Multiple {
    symbol: Symbol,
    factor: i64,
    offset: i64,
}

impl Check<'_> {
    /// The least number of multiples under which a condition on several sizes holds. Each recurs where the other sizes
    /// are those of the example; where it is not proved that fewer are enough, all sizes have to recur.
    pub(super) fn multiples(&self, condition: Expr) -> Vec<Remedy> {
        let symbols = self.by_place(condition);
        if symbols.len() < 2 || !self.is_equation(condition) {
            return Vec::new();
        }
        let recurring = |symbol: Symbol| {
            let (factor, offset) = self.recurring(condition, symbol)?;
            Some(Multiple { symbol, factor, offset })
        };
        let all: Option<Vec<Multiple>> = symbols.iter().map(|&symbol| recurring(symbol)).collect();
        // At the example a size may be a multiple already, so that the others need not be.
        let of_product = |symbol: Symbol| {
            let factor = self.factor_of(condition, symbol)?;
            Some(Multiple { symbol, factor, offset: factor })
        };
        let found: Vec<Multiple> =
            symbols.iter().filter_map(|&symbol| recurring(symbol).or_else(|| of_product(symbol))).collect();
        self.remedies_of(&self.fewest(condition, &found).or(all).unwrap_or_default())
    }

    /// For a condition on several sizes that their product divides by a number: the multiples of one of them.
    pub(super) fn multiples_of_one(&self, condition: Expr) -> Option<Remedy> {
        let symbols = self.by_place(condition);
        let of = |&symbol: &Symbol| {
            let factor = self.factor_of(condition, symbol)?;
            let multiple = Multiple { symbol, factor, offset: factor };
            self.is_enough(condition, &[multiple]).then_some(multiple)
        };
        let found = if symbols.len() < 2 { None } else { symbols.iter().find_map(of) };
        self.remedies_of(&[found?]).pop()
    }

    /// The symbols of a condition. Those of first dimensions come last, as batches are rarely what has to be a multiple.
    fn by_place(&self, condition: Expr) -> Vec<Symbol> {
        let mut symbols = self.walk.env.pool.free_symbols(&[condition]);
        let is_first = |symbol: &Symbol| {
            let named = self.symbolic.position(*symbol).map(|at| &self.symbolic.symbols[at].1);
            named.and_then(|named| named.source.as_ref()).is_some_and(|(_, dim)| *dim == 0)
        };
        symbols.sort_by_key(is_first);
        symbols
    }

    /// The fewest of some multiples under which a condition is proved.
    fn fewest(&self, condition: Expr, found: &[Multiple]) -> Option<Vec<Multiple>> {
        if found.len() > MAX_SIZES {
            return None;
        }
        let mut choices: Vec<u32> = (1..1 << found.len()).collect();
        choices.sort_by_key(|choice| choice.count_ones());
        let chosen = |choice: u32| -> Vec<Multiple> {
            let is_in = |at: &usize| choice >> at & 1 == 1;
            (0..found.len()).filter(is_in).map(|at| found[at]).collect()
        };
        choices.into_iter().map(chosen).find(|multiples| self.is_enough(condition, multiples))
    }

    /// Whether a condition holds wherever these sizes are such multiples.
    fn is_enough(&self, condition: Expr, multiples: &[Multiple]) -> bool {
        let mut env = self.symbolic.env.clone();
        let mut replaced: FxHashMap<Symbol, Expr> = FxHashMap::default();
        for (at, &Multiple { symbol, factor, offset }) in multiples.iter().enumerate() {
            let rest = offset.rem_euclid(factor);
            let least = (self.range(symbol).0.max(offset) - rest).div_euclid(factor);
            let range = ValueRange::at_least(Int::from(least));
            let quotient = env.declare(&format!("__multiple{at}"), range, SymbolInfo::default());
            let (factor, rest) = (env.pool.int(factor), env.pool.int(rest));
            let product = env.pool.mul(factor, quotient);
            replaced.insert(symbol, env.pool.add(product, rest));
        }
        let replaced = env.pool.substitute_symbols(condition, |symbol| replaced.get(&symbol).copied());
        let (pool, facts) = env.facts();
        matches!(decide(pool, facts, replaced, &self.budget).verdict, Decided::Implied { .. })
    }

    fn remedies_of(&self, multiples: &[Multiple]) -> Vec<Remedy> {
        let remedy = |&Multiple { symbol, factor, offset }: &Multiple| {
            let kept = Size::Name(self.multiple_of(symbol, factor, offset));
            Remedy { kept, replaced: symbol, is_all: false }
        };
        multiples.iter().map(remedy).collect()
    }
}
