//! Goals that are false near the example.
use super::facts::Facts;
use super::judge::{Judge, Judgement};
use sizewise_expr::{Expr, Int, Pool, Symbol};
use smallvec::SmallVec;

/// Goals of more symbols are not tried near the example.
const MAX_SYMBOLS: usize = 6;

impl Facts {
    /// Whether a goal is false where one of its symbols has another value than in the example, which satisfies the
    /// facts. Most questions that are open are found to be so at once.
    pub(super) fn fails_nearby(&mut self, pool: &Pool, goal: Expr) -> bool {
        let symbols = pool.free_symbols(&[goal]);
        if symbols.len() > MAX_SYMBOLS {
            return false;
        }
        let mut around = None;
        for &symbol in &symbols {
            for value in self.neighbours(symbol) {
                if pool
                    .eval(goal, |s| self.example.near(s, symbol, &value))
                    .is_ok_and(|value| !value.as_bool())
                {
                    if around.is_none() {
                        around = Some(self.requirements_on(&symbols));
                    }
                    let Some((conditions, required)) = &around else { continue };
                    let judge = Judge::new(pool, conditions, required, Some(goal));
                    if judge.at(|s| self.example.near(s, symbol, &value)) == Judgement::Holds {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Other values of a symbol: around that in the example, and the ends of its range.
    fn neighbours(&self, symbol: Symbol) -> SmallVec<[Int; 8]> {
        let (Some(value), Some(range)) = (self.example.integer(symbol), self.range(symbol)) else {
            return SmallVec::new();
        };
        let mut others: SmallVec<[Int; 8]> = [1, -1, 2].iter().map(|&d| value + &Int::from(d)).collect();
        others.push(value + value);
        others.extend(range.lo.finite().cloned());
        others.extend(range.lo.finite().map(|low| low + &Int::ONE));
        others.extend(range.hi.finite().cloned());
        others.retain(|other| other != value && range.contains(other));
        others
    }
}
