//! The smallest expression of a class.
use super::graph::Graph;
use super::quotient;
use super::reading::Reading;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Int, Pool, Sort};

/// How often the best forms of parts are put together anew.
const MAX_ROUNDS: usize = 3;
/// The most replacements tried within sums.
const MAX_TRIALS: usize = 3000;
/// Members of a class that are looked at as replacements.
const MAX_MEMBERS: usize = 6;

/// The cost by which equal expressions are compared: smaller is better.
pub trait Cost {
    /// The cost of an expression.
    fn cost(&mut self, pool: &mut Pool, e: Expr) -> u64;
}

impl Cost for Reading {
    /// By operators; among equals, the one with fewer different parts, then with smaller numbers.
    fn cost(&mut self, pool: &mut Pool, e: Expr) -> u64 {
        let operators = u64::from(self.operators(pool, e));
        let parts = pool.reachable(&[e]).len().min(0xff) as u64;
        let bits = pool.as_int(e).map_or(0, |v| v.bits().min(0xff));
        (operators << 16) | (parts << 8) | bits
    }
}

impl Graph {
    /// The cheapest expression found that is equal to `e` under the facts.
    pub fn extract(&mut self, pool: &mut Pool, e: Expr, cost: &mut dyn Cost) -> Expr {
        self.add(pool, e);
        let mut best = self.best_members(pool, e, cost);
        let mut trials = MAX_TRIALS;
        for _ in 0..MAX_ROUNDS {
            let polished = self.polish(pool, best, cost, &mut trials);
            if cost.cost(pool, polished) >= cost.cost(pool, best) {
                break;
            }
            best = polished;
        }
        best
    }

    /// Puts the best members of the parts' classes together.
    fn best_members(&self, pool: &mut Pool, e: Expr, cost: &mut dyn Cost) -> Expr {
        let mut best: FxHashMap<Expr, (u64, Expr)> = FxHashMap::default();
        let key = |e: Expr| self.members(e).first().copied().unwrap_or(e);
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for i in 0..self.classes.len() {
                let Some(member) = self.classes.expression(i) else { break };
                let mut children = Vec::new();
                pool.for_each_child(member, |child| children.push(child));
                let replaced = |part: Expr| match children.contains(&part) {
                    true => best.get(&key(part)).map(|(_, e)| *e),
                    false => None,
                };
                let rebuilt = pool.substitute(member, replaced);
                for candidate in [member, rebuilt] {
                    let price = cost.cost(pool, candidate);
                    let entry = best.entry(key(member)).or_insert((u64::MAX, member));
                    if price < entry.0 {
                        *entry = (price, candidate);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        best.get(&key(e)).map_or(e, |(_, e)| *e)
    }

    /// Replaces parts of sums and products by smaller equal ones, innermost first.
    fn polish(&mut self, pool: &mut Pool, e: Expr, cost: &mut dyn Cost, trials: &mut usize) -> Expr {
        let pairs = self.replacements(pool, cost);
        let mut done: FxHashMap<Expr, Expr> = FxHashMap::default();
        for part in pool.reachable(&[e]) {
            let mut new = pool.substitute(part, |p| if p == part { None } else { done.get(&p).copied() });
            if pool.sort(new) == Sort::Int && !pool.is_constant(new) {
                new = reduce(pool, new, &pairs, cost, trials);
            }
            done.insert(part, new);
        }
        done.get(&e).copied().unwrap_or(e)
    }

    /// Pairs of equal integers, the second cheaper than the first.
    fn replacements(&self, pool: &mut Pool, cost: &mut dyn Cost) -> Vec<(Expr, Expr)> {
        let mut pairs = Vec::new();
        let classes: Vec<Vec<Expr>> = self
            .classes
            .shared()
            .filter(|members| pool.sort(members[0]) == Sort::Int)
            .map(|members| members.iter().copied().take(MAX_MEMBERS).collect())
            .collect();
        for members in classes {
            let Some(&least) = members.iter().min_by_key(|&&m| cost.cost(pool, m)) else { continue };
            let larger = members.into_iter().filter(|&m| m != least && !pool.is_constant(m));
            pairs.extend(larger.map(|m| (m, least)));
        }
        pairs
    }
}

/// Adds multiples of `small - large` to an expression as long as it gets cheaper.
fn reduce(pool: &mut Pool, e: Expr, pairs: &[(Expr, Expr)], cost: &mut dyn Cost, trials: &mut usize) -> Expr {
    let mut best = e;
    'again: loop {
        let price = cost.cost(pool, best);
        let poly = pool.poly(best);
        for &(large, small) in pairs {
            let pattern = pool.poly(large);
            for (monomial, c) in &pattern.terms {
                let factors = pool.monomial(*monomial);
                for (target, d) in &poly.terms {
                    let Some(left) = quotient::of_monomials(&pool.monomial(*target), &factors) else {
                        continue;
                    };
                    let Some(times) = (if d.is_multiple_of(c) { d.floor_div(c) } else { None }) else {
                        continue;
                    };
                    let Some(rest) = trials.checked_sub(1) else { return best };
                    *trials = rest;
                    let left = pool.from_monomial(&left);
                    let times: Int = times;
                    let times = pool.int(times);
                    let factor = pool.mul(left, times);
                    let change = pool.sub(small, large);
                    let change = pool.mul(factor, change);
                    let candidate = pool.add(best, change);
                    if cost.cost(pool, candidate) < price {
                        best = candidate;
                        continue 'again;
                    }
                }
            }
        }
        return best;
    }
}
