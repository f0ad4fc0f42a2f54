//! For every assignment that facts allow, is there a choice of some other symbols that satisfies conditions?
//!
//! This decides conditions on unbacked sizes: a condition on them may be left to run time if, for every
//! allowed input shape, some data can pass. For each such symbol, a term is sought (the greatest of its
//! lower bounds, the least of its upper ones, the solution of an equation) with which the conditions follow
//! from the facts. An assignment at which none of the terms works either shows that there is no choice at
//! all, or gives a value that helps.
mod cases;
mod terms;

use super::Facts;
use super::ladder::decide;
use super::verdict::{Budget, Verdict, Witness};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};
use terms::terms;

/// Assignments of terms to symbols that are looked at for one list of samples.
const MAX_CHOICES: u32 = 600;
/// Rounds of proposing terms and finding an assignment at which they fail.
const MAX_ROUNDS: usize = 12;

/// The most choices examined for one with an informative false claim.
const MAX_GREEDY: usize = 6;

/// The answer to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feasibility {
    /// There is a choice wherever the facts hold.
    Always,
    /// There is no choice at this assignment of the facts' symbols. `condition` is a condition on these
    /// symbols alone that is false there, with the position of the condition it was derived from. It is what
    /// the conditions need, if that was found.
    Never {
        /// An assignment that the facts allow.
        witness: Witness,
        /// A condition that is false there.
        condition: Expr,
        /// The condition that it was derived from, by position.
        of: usize,
    },
    /// Neither was found.
    Open(String),
}

/// Whether, for every assignment that `facts` allow, some values of `chosen` satisfy all `conditions`.
pub fn feasible(
    pool: &mut Pool,
    facts: &mut Facts,
    chosen: &[Symbol],
    conditions: &[Expr],
    budget: &Budget,
) -> Feasibility {
    let mut search = Search {
        chosen,
        conditions,
        samples: Vec::new(),
        values: FxHashMap::default(),
        tried: Vec::new(),
        left: MAX_CHOICES,
    };
    let never = pool.bool(false);
    match decide(pool, facts, never, budget).verdict {
        // If the facts are inconsistent, everything holds.
        Verdict::Inconsistent { .. } => return Feasibility::Always,
        Verdict::Refuted { witness } => search.samples.push(witness),
        _ => {}
    }
    if let Some((claim, of)) = cases::eliminated(pool, chosen, conditions) {
        match decide(pool, facts, claim, budget).verdict {
            Verdict::Implied { .. } | Verdict::Inconsistent { .. } => return Feasibility::Always,
            Verdict::Refuted { witness } => return Feasibility::Never { witness, condition: claim, of },
            Verdict::Unknown { .. } => {}
        }
    }
    if let Some((claim, of)) = cases::eliminated(pool, chosen, conditions) {
        match decide(pool, facts, claim, budget).verdict {
            Verdict::Implied { .. } | Verdict::Inconsistent { .. } => return Feasibility::Always,
            Verdict::Refuted { witness } => return Feasibility::Never { witness, condition: claim, of },
            Verdict::Unknown { .. } => {}
        }
    }
    let mut first: Option<Vec<Expr>> = None;
    for _ in 0..MAX_ROUNDS {
        search.left = MAX_CHOICES;
        let Some(choice) = search.choose(pool) else { break };
        let claims = search.claims(pool, &choice);
        first.get_or_insert_with(|| claims.clone());
        search.tried.push(choice);
        match search.fails(pool, facts, &claims, budget) {
            Failing::Nowhere => return Feasibility::Always,
            Failing::At(witness) => {
                if search.learn(pool, &witness, budget) == Some(false) {
                    return search.never(pool, witness, &first.unwrap_or(claims));
                }
                search.samples.push(witness);
            }
            Failing::Open => {}
        }
    }
    // No terms work at one of the samples: perhaps there is no choice.
    for witness in search.samples.clone() {
        if search.learn(pool, &witness, budget) == Some(false) {
            let claims = first.unwrap_or_else(|| search.greedy(pool, 0));
            return search.never(pool, witness, &claims);
        }
    }
    Feasibility::Open("no choice was found that is proved to pass for every allowed input".to_string())
}

/// Where conditions fail.
enum Failing {
    Nowhere,
    At(Witness),
    Open,
}

struct Search<'a> {
    chosen: &'a [Symbol],
    conditions: &'a [Expr],
    /// Assignments at which a choice has to work.
    samples: Vec<Witness>,
    /// Values that are known to help somewhere.
    values: FxHashMap<Symbol, Vec<Int>>,
    /// Choices that were tried.
    tried: Vec<Vec<Expr>>,
    /// Choices that may still be looked at.
    left: u32,
}

impl Search<'_> {
    /// Terms for all symbols that satisfy the conditions at every sample, and were not tried before.
    fn choose(&mut self, pool: &mut Pool) -> Option<Vec<Expr>> {
        let mut choice = Vec::with_capacity(self.chosen.len());
        let conditions = self.conditions.to_vec();
        self.extend(pool, &conditions, &mut choice).then_some(choice)
    }

    /// Extends a choice for the first symbols to one for all, `conditions` being those that are left of them.
    fn extend(&mut self, pool: &mut Pool, conditions: &[Expr], choice: &mut Vec<Expr>) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let Some(&symbol) = self.chosen.get(choice.len()) else {
            return !self.tried.contains(choice) && self.holds_at_samples(pool, conditions);
        };
        if !self.may_hold(pool, conditions) {
            return false;
        }
        let others = &self.chosen[choice.len()..];
        let mut candidates = terms(pool, symbol, others, conditions);
        for value in self.values.get(&symbol).into_iter().flatten() {
            candidates.push(pool.int(value.clone()));
        }
        for term in candidates {
            let substituted: Vec<Expr> = conditions
                .iter()
                .map(|&c| pool.substitute_symbols(c, |s| (s == symbol).then_some(term)))
                .collect();
            choice.push(term);
            if self.extend(pool, &substituted, choice) {
                return true;
            }
            choice.pop();
        }
        false
    }

    /// Whether no condition is plainly false.
    fn may_hold(&self, pool: &Pool, conditions: &[Expr]) -> bool {
        conditions.iter().all(|&c| pool.as_bool(c) != Some(false))
    }

    fn holds_at_samples(&self, pool: &Pool, conditions: &[Expr]) -> bool {
        self.may_hold(pool, conditions)
            && self.samples.iter().all(|sample| conditions.iter().all(|&c| holds(pool, c, sample)))
    }

    /// The conditions with the `n`-th terms (or the last of fewer) for all symbols, whatever they satisfy.
    fn greedy(&self, pool: &mut Pool, n: usize) -> Vec<Expr> {
        let mut conditions = self.conditions.to_vec();
        for (i, &symbol) in self.chosen.iter().enumerate() {
            let candidates = terms(pool, symbol, &self.chosen[i..], &conditions);
            let term = candidates.get(n).or(candidates.last()).copied().unwrap_or(Expr::ZERO);
            for c in &mut conditions {
                *c = pool.substitute_symbols(*c, |s| (s == symbol).then_some(term));
            }
        }
        conditions
    }

    /// The conditions with the terms of a choice substituted for the symbols.
    fn claims(&self, pool: &mut Pool, choice: &[Expr]) -> Vec<Expr> {
        let mut claims = self.conditions.to_vec();
        for (&symbol, &term) in self.chosen.iter().zip(choice) {
            for c in &mut claims {
                *c = pool.substitute_symbols(*c, |s| (s == symbol).then_some(term));
            }
        }
        claims
    }

    /// Where the facts leave one of the claims false.
    fn fails(&self, pool: &mut Pool, facts: &mut Facts, claims: &[Expr], budget: &Budget) -> Failing {
        let mut open = false;
        for &claim in claims {
            match decide(pool, facts, claim, budget).verdict {
                Verdict::Implied { .. } | Verdict::Inconsistent { .. } => {}
                Verdict::Refuted { witness } => return Failing::At(witness),
                Verdict::Unknown { .. } => open = true,
            }
        }
        if open { Failing::Open } else { Failing::Nowhere }
    }

    /// Whether some values of the symbols satisfy the conditions at an assignment. Such values are proposed
    /// from now on.
    fn learn(&mut self, pool: &mut Pool, witness: &Witness, budget: &Budget) -> Option<bool> {
        let known: FxHashMap<Symbol, &Int> = witness.iter().map(|(s, v)| (*s, v)).collect();
        let mut facts = Facts::new();
        for &condition in self.conditions {
            let mut at = FxHashMap::default();
            for symbol in pool.free_symbols(&[condition]) {
                if let Some(&value) = known.get(&symbol) {
                    at.insert(symbol, pool.int(value.clone()));
                }
            }
            let concrete = pool.substitute_symbols(condition, |s| at.get(&s).copied());
            facts.assume(pool, concrete);
        }
        let never = pool.bool(false);
        match decide(pool, &mut facts, never, budget).verdict {
            Verdict::Inconsistent { .. } => Some(false),
            Verdict::Refuted { witness } => {
                for (symbol, value) in witness.into_iter().filter(|(s, _)| self.chosen.contains(s)) {
                    let values = self.values.entry(symbol).or_default();
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                Some(true)
            }
            _ => None,
        }
    }

    /// Reports that there is no choice at an assignment, with the first claim that is false there. Choices of
    /// which a claim is false everywhere are avoided, because such a claim says nothing about the assignment.
    fn never(&self, pool: &mut Pool, witness: Witness, claims: &[Expr]) -> Feasibility {
        let is_false_everywhere =
            |pool: &Pool, claims: &[Expr]| claims.iter().any(|&c| pool.as_bool(c) == Some(false));
        let mut claims = claims.to_vec();
        for n in 0..MAX_GREEDY {
            if !is_false_everywhere(pool, &claims) {
                break;
            }
            let others = self.greedy(pool, n);
            if !is_false_everywhere(pool, &others) {
                claims = others;
            }
        }
        let false_there = |&(_, &claim): &(usize, &Expr)| !holds(pool, claim, &witness);
        let (of, &condition) = claims.iter().enumerate().find(false_there).unwrap_or((0, &Expr::ZERO));
        Feasibility::Never { witness, condition, of }
    }
}

fn holds(pool: &Pool, condition: Expr, sample: &Witness) -> bool {
    let value = |s: Symbol| {
        let value = sample.iter().find(|(symbol, _)| *symbol == s)?;
        Some(Value::Int(value.1.clone()))
    };
    pool.eval(condition, value).is_ok_and(|v| v.as_bool())
}

/// Whether a symbol stands for a double.
fn is_float(pool: &mut Pool, symbol: Symbol) -> bool {
    let e = pool.symbol_expr(symbol);
    pool.sort(e) == Sort::Float
}

#[cfg(test)]
mod tests;
