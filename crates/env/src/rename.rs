//! Numbers that a step has made, by the names under which the program records them.
use super::ShapeEnv;
use super::guard::{Clause, RuntimeAssert};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Symbol};

impl ShapeEnv {
    /// Says of `to` what is known of `from`, a symbol made just now: both are names of one value. The range of the
    /// symbol.
    pub fn carry_facts(&mut self, from: Expr, to: Expr) -> Option<ValueRange> {
        let symbol = self.pool.as_symbol(from)?;
        let known = self.facts_since_made(symbol);
        for condition in known {
            let condition = self.pool.substitute_symbols(condition, |s| (s == symbol).then_some(to));
            self.assume(condition);
        }
        self.carry_range(symbol, to)
    }

    fn carry_range(&mut self, from: Symbol, to: Expr) -> Option<ValueRange> {
        let range = self.facts.range(from)?.clone();
        if let Some(symbol) = self.pool.as_symbol(to) {
            self.revise();
            self.declared_inside(symbol, &range);
            self.facts.declare(&mut self.pool, symbol, range.clone());
            return Some(range);
        }
        if let Some(lower) = range.lower() {
            let lower = self.pool.int(lower);
            let condition = self.pool.ge(to, lower);
            self.assume(condition);
        }
        if let Some(upper) = range.upper() {
            let upper = self.pool.int(upper);
            let condition = self.pool.le(to, upper);
            self.assume(condition);
        }
        Some(range)
    }

    /// The conditions on a symbol that have been assumed since it was made.
    fn facts_since_made(&self, symbol: Symbol) -> Vec<Expr> {
        let (assumed, left_out) = self.symbols.made_at.get(&symbol).copied().unwrap_or_default();
        let assumed = self.facts.conditions().iter().skip(assumed);
        let since = assumed.chain(self.records.left_out.iter().skip(left_out));
        since.copied().filter(|&c| self.pool.free_symbols(&[c]).contains(&symbol)).collect()
    }

    /// Identifies a symbol made just now with what the program records in its place, over symbols that it had before.
    ///
    /// The records of a program replace a size that an assertion pins (`_assert_scalar(u0 == 12)`, recorded as 12)
    /// wherever it occurs, and that of the assertion with it: the equation is the assertion. One of sizes that data
    /// decides may come from the operator, too, where two steps look at the same tensor: it is an assertion when the
    /// program makes one that its records have left nothing of.
    pub fn equate(&mut self, made: Expr, recorded: Expr) {
        let equal = self.pool.eq(made, recorded);
        if self.pool.as_bool(equal) == Some(true) || self.statically(equal) == Some(true) {
            return;
        }
        let symbols = self.pool.free_symbols(&[recorded]);
        if symbols.iter().any(|symbol| self.symbols.unbacked.contains(symbol)) {
            self.assume(equal);
            self.records.equations.push(equal);
        } else {
            // The records say it, and no assertion of the graph does.
            self.state(equal, Clause::RecordedSize);
            self.record_assert(equal, Clause::RecordedSize);
        }
    }

    /// Takes the equations that no assertion has stated so far as those of the assertion at hand.
    pub(super) fn state_equations(&mut self, clause: Clause) {
        for equation in std::mem::take(&mut self.records.equations) {
            self.state(equation, clause);
            self.record_assert(equation, clause);
        }
    }

    /// Records a condition as one that the program itself asserts, where it comes this way.
    pub(super) fn state(&mut self, condition: Expr, clause: Clause) {
        self.note();
        let certain = self.path.is_certain();
        let condition = self.on_path(condition);
        self.records.stated.push(RuntimeAssert { condition, origin: self.records.origin, clause, certain });
    }
}

#[cfg(test)]
mod tests {
    use crate::{ShapeEnv, SymbolInfo};
    use sizewise_expr::print;
    use sizewise_expr::range::ValueRange;

    #[test]
    fn what_was_assumed_of_a_symbol_is_said_of_its_name_however_much_was_assumed_since() {
        let mut env = ShapeEnv::new();
        let most = env.declare("s0", ValueRange::at_least(0.into()), SymbolInfo::default());
        let made = env.fresh_unbacked(ValueRange::at_least(0.into()));
        let bounded = env.pool.le(made, most);
        env.assume(bounded);
        for i in 0..100 {
            let other = env.declare(&format!("t{i}"), ValueRange::all(), SymbolInfo::default());
            let unlike = env.pool.ne(other, most);
            env.assume(unlike);
        }
        let name = env.declare("u9", ValueRange::all(), SymbolInfo::default());
        env.carry_facts(made, name);
        let known = env.known_facts().conditions().iter().map(|&c| print::expression(&env.pool, c));
        assert!(
            known.into_iter().any(|text| text == "s0 >= u9"),
            "{:?}",
            env.known_facts().conditions().len()
        );
    }
}
