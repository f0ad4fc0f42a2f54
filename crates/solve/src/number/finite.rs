//! Symbols with few values: exhaustive enumeration, and the pigeonhole principle.
use super::super::program::{Checked, Program, to_i128};
use super::super::reduce::Reduced;
use super::Lemma;
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Func, Pool, Symbol};

/// Symbols with more values than this are not enumerated.
const MAX_DOMAIN: u64 = 64;
/// The pigeonhole principle is not applied to symbols with more values than this.
const MAX_HOLES: u64 = 1 << 12;

/// Whether more symbols have to differ pairwise than there are values for them.
pub fn cliques(pool: &mut Pool, problem: &mut Reduced) -> Option<Lemma> {
    let mut edges: FxHashSet<(Expr, Expr)> = FxHashSet::default();
    let mut nodes: Vec<Expr> = Vec::new();
    for &c in &problem.conditions {
        let Some(&[inner]) = pool.as_func(c, Func::Not) else { continue };
        let Some(&[p]) = pool.as_func(inner, Func::IsZero) else { continue };
        let poly = pool.poly(p);
        let [(x, a), (y, b)] = poly.terms.as_slice() else { continue };
        if !poly.constant.is_zero() || !a.abs().is_one() || *a != -b {
            continue;
        }
        edges.extend([(*x, *y), (*y, *x)]);
        for e in [*x, *y] {
            if !nodes.contains(&e) {
                nodes.push(e);
            }
        }
    }
    if nodes.len() < 3 {
        return None;
    }
    // Those with the most neighbours first; each takes in whoever differs from all so far.
    let degree = |e: Expr| edges.iter().filter(|(a, _)| *a == e).count();
    let mut order: Vec<(usize, Expr)> = nodes.iter().map(|&e| (degree(e), e)).collect();
    order.sort_unstable_by_key(|&(d, e)| (std::cmp::Reverse(d), e));
    for start in 0..order.len().min(8) {
        let mut clique = vec![order[start].1];
        for &(_, e) in &order {
            if clique.iter().all(|&other| edges.contains(&(e, other))) {
                clique.push(e);
            }
        }
        let domains: Vec<_> = clique.iter().map(|&e| problem.table.domain(pool, e)).collect();
        let all = domains[1..].iter().fold(domains[0].clone(), |all, d| all.join(d));
        let Some(holes) = all.count().filter(|n| *n <= MAX_HOLES) else { continue };
        if (clique.len() as u64) > holes {
            return Some(Lemma::Closed);
        }
    }
    None
}

/// Whether no assignment of the symbols with few values satisfies the conditions on them alone.
pub fn enumerate(pool: &mut Pool, problem: &mut Reduced, steps: &mut u32) -> Option<Lemma> {
    let mut few: Vec<(Symbol, Vec<i128>)> = Vec::new();
    for e in pool.reachable(&problem.conditions) {
        let Some(s) = pool.as_symbol(e) else { continue };
        let domain = problem.table.domain(pool, e);
        let Some(members) = domain.members(MAX_DOMAIN) else { continue };
        let Some(values) = members.iter().map(to_i128).collect::<Option<Vec<i128>>>() else { continue };
        few.push((s, values));
    }
    let usable: Vec<(Expr, Vec<Symbol>)> = problem
        .conditions
        .iter()
        .map(|&c| (c, pool.free_symbols(&[c])))
        .filter(|(_, symbols)| {
            symbols.len() > 1 && symbols.iter().all(|s| few.iter().any(|(t, _)| t == s))
                || symbols.len() == 1 && few.iter().any(|(t, _)| *t == symbols[0])
        })
        .collect();
    few.retain(|(s, _)| usable.iter().any(|(_, symbols)| symbols.contains(s)));
    if few.is_empty() {
        return None;
    }
    // The most constrained first, then whoever shares a condition with those before.
    let uses = |s: Symbol| usable.iter().filter(|(_, symbols)| symbols.contains(&s)).count();
    few.sort_by_key(|(s, values)| (std::cmp::Reverse(uses(*s)), values.len(), *s));
    let mut levels: Vec<Program> = Vec::new();
    for (level, (symbol, _)) in few.iter().enumerate() {
        let mut program = Program::default();
        few.iter().for_each(|(s, _)| {
            program.slot(*s);
        });
        let known = |s: &Symbol| few[..=level].iter().any(|(t, _)| t == s);
        for (c, symbols) in &usable {
            if symbols.contains(symbol) && symbols.iter().all(known) {
                program.check(pool, *c);
            }
        }
        levels.push(program);
    }
    let mut search =
        Backtracking { few: &few, levels: &levels, point: vec![0; few.len()], regs: Vec::new(), steps };
    match search.extend(0) {
        Some(false) => Some(Lemma::Closed),
        _ => None,
    }
}

struct Backtracking<'a> {
    few: &'a [(Symbol, Vec<i128>)],
    levels: &'a [Program],
    point: Vec<i128>,
    regs: Vec<i128>,
    steps: &'a mut u32,
}

impl Backtracking<'_> {
    /// Whether the assignment of the first symbols extends to one of all; `None` when that was not found out.
    fn extend(&mut self, level: usize) -> Option<bool> {
        if level == self.few.len() {
            return Some(true);
        }
        for i in 0..self.few[level].1.len() {
            *self.steps = self.steps.checked_sub(1)?;
            self.point[level] = self.few[level].1[i];
            match self.levels[level].run(0, &self.point, &mut self.regs) {
                Checked::Passed => {
                    if self.extend(level + 1)? {
                        return Some(true);
                    }
                }
                Checked::Beyond => return None,
                Checked::Failed(_) | Checked::Excluded => {}
            }
        }
        Some(false)
    }
}
