//! Conditions that share symbols: what the table of domains learns from one, it may learn more of from its neighbours.
use crate::expr::{Expr, Pool, Symbol};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Conditions by their symbols, and those that are to be assumed again.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    conditions: Vec<(Expr, SmallVec<[Symbol; 4]>)>,
    of: FxHashMap<Symbol, Vec<u32>>,
    waiting: VecDeque<u32>,
    /// Whether a condition is among those that wait.
    waits: Vec<bool>,
}

impl Neighbours {
    /// Assumes the conditions about `stirred` symbols, which `learn` does and says whether something was learned, then those that share
    /// a symbol with one that taught something, until none does, or on the average every condition was assumed `rounds` times: what
    /// waits then waits on. `all` begins with the conditions of the time before.
    ///
    /// # Errors
    /// Those of `learn`: a contradiction.
    pub fn settle<E>(
        &mut self,
        pool: &Pool,
        all: impl Iterator<Item = Expr>,
        stirred: impl Iterator<Item = Symbol>,
        rounds: usize,
        mut learn: impl FnMut(&Pool, Expr) -> Result<bool, E>,
    ) -> Result<(), E> {
        for condition in all.skip(self.conditions.len()) {
            let symbols: SmallVec<[Symbol; 4]> = pool.free_symbols(&[condition]).into_iter().collect();
            let number = self.conditions.len() as u32;
            for &symbol in &symbols {
                self.of.entry(symbol).or_default().push(number);
            }
            self.conditions.push((condition, symbols));
            self.waits.push(false);
            self.wait(number);
        }
        for symbol in stirred {
            self.stir(symbol);
        }
        let mut left = rounds * self.conditions.len();
        while left > 0
            && let Some(number) = self.waiting.pop_front()
        {
            left -= 1;
            self.waits[number as usize] = false;
            let (condition, symbols) = self.conditions[number as usize].clone();
            if learn(pool, condition)? {
                symbols.into_iter().for_each(|symbol| self.stir(symbol));
            }
        }
        Ok(())
    }

    fn stir(&mut self, symbol: Symbol) {
        let Some(numbers) = self.of.get(&symbol) else { return };
        for &number in numbers {
            if !std::mem::replace(&mut self.waits[number as usize], true) {
                self.waiting.push_back(number);
            }
        }
    }

    fn wait(&mut self, number: u32) {
        if !std::mem::replace(&mut self.waits[number as usize], true) {
            self.waiting.push_back(number);
        }
    }
}
