//! Feasibility of linear constraints over the rationals: the bounded simplex method of Dutertre and de Moura ("A Fast
//! Linear-Arithmetic Solver for DPLL(T)", CAV 2006) with Bland's rule, so that it always ends.
//!
//! The tableau is dense and holds integers. A row `d·b = Σ c·x` has a denominator of its own and no common
//! divisor, so single entries need no greatest common divisors.
use super::rational::{Number, Whole};
use sizewise_expr::{Int, is_cancelled};
use std::cmp::Ordering;

/// Inclusive bounds.
pub type VariableBounds = (Option<Int>, Option<Int>);

/// Variables with bounds, and sums of them with bounds.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The bounds of each variable.
    pub variables: Vec<VariableBounds>,
    /// Sums `Σ coefficient · variable` with their bounds.
    pub rows: Vec<(Vec<(usize, Int)>, VariableBounds)>,
}

/// Whether a system has a solution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feasibility {
    /// There is no solution, not even over the rationals. This is a Farkas certificate: the multiples of
    /// variables and rows (numbered after the variables) add up to zero, but their bounds do not. A positive
    /// multiple uses the upper bound, a negative one the lower.
    Infeasible(Vec<(usize, Int)>),
    /// A rational solution: for each variable, and then for each row, the floor of its value, and whether the
    /// value is an integer.
    Feasible(Vec<(Int, bool)>),
    /// The work allowed did not suffice, or a number did not fit.
    Open,
}

impl System {
    /// Decides feasibility, counting entries of the tableau that change down in `work`.
    pub fn check<N: Number>(&self, work: &mut u32) -> Feasibility {
        match Tableau::<N>::new(self).and_then(|mut t| t.solve(work).map(|f| (f, t))) {
            None => Feasibility::Open,
            Some((Some(proof), _)) => Feasibility::Infeasible(proof),
            Some((None, t)) => Feasibility::Feasible(t.value.iter().map(N::floor).collect()),
        }
    }
}

/// `scale · basic = Σ entries · nonbasic`, `scale > 0`.
struct TableauRow<W> {
    scale: W,
    entries: Vec<W>,
}

struct Tableau<N: Number> {
    /// One row for each basic variable.
    rows: Vec<TableauRow<N::Whole>>,
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    low: Vec<Option<N>>,
    high: Vec<Option<N>>,
    value: Vec<N>,
}

impl<N: Number> Tableau<N> {
    fn new(system: &System) -> Option<Tableau<N>> {
        let columns = system.variables.len();
        let limits = system.variables.iter().chain(system.rows.iter().map(|(_, l)| l));
        let bound = |v: &Option<Int>| match v {
            Some(v) => N::of(v).map(Some),
            None => Some(None),
        };
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (l, h) in limits {
            low.push(bound(l)?);
            high.push(bound(h)?);
        }
        let mut rows = Vec::with_capacity(system.rows.len());
        for (terms, _) in &system.rows {
            let mut entries = vec![N::Whole::of(&Int::ZERO)?; columns];
            for (variable, coefficient) in terms {
                entries[*variable] = N::Whole::of(coefficient)?;
            }
            rows.push(TableauRow { scale: N::Whole::of(&Int::ONE)?, entries });
        }
        let mut value = vec![N::zero(); columns + rows.len()];
        for v in 0..columns {
            value[v] = low[v].clone().or_else(|| high[v].clone()).unwrap_or_else(N::zero);
        }
        let mut tableau = Tableau {
            basic: (columns..columns + rows.len()).collect(),
            nonbasic: (0..columns).collect(),
            rows,
            low,
            high,
            value,
        };
        for i in 0..tableau.rows.len() {
            tableau.value[columns + i] = tableau.evaluate(i)?;
        }
        Some(tableau)
    }

    fn evaluate(&self, row: usize) -> Option<N> {
        let row = &self.rows[row];
        let mut total = N::zero();
        for (column, entry) in row.entries.iter().enumerate() {
            if entry.sign() != 0 {
                total =
                    total.plus(&N::ratio(entry, &row.scale)?.times(&self.value[self.nonbasic[column]])?)?;
            }
        }
        Some(total)
    }

    /// A proof that no solution exists, or `None` if one does; nothing when the work runs out or a number does not fit.
    fn solve(&mut self, work: &mut u32) -> Option<Option<Vec<(usize, Int)>>> {
        for v in 0..self.low.len() {
            if let (Some(l), Some(h)) = (&self.low[v], &self.high[v])
                && l.order(h)? == Ordering::Greater
            {
                return Some(Some(vec![(v, Int::ONE), (v, Int::from(-1))]));
            }
        }
        loop {
            // A pivot of large numbers takes long enough for the caller to have given up.
            if is_cancelled() {
                return None;
            }
            // The violated basic variable of the least number.
            let mut violated: Option<(usize, bool)> = None;
            for (row, &v) in self.basic.iter().enumerate() {
                if violated.is_some_and(|(other, _)| v > self.basic[other]) {
                    continue;
                }
                let below = self.violates(v, true)?;
                if below || self.violates(v, false)? {
                    violated = Some((row, below));
                }
            }
            let Some((row, below)) = violated else { return Some(None) };
            let mut entering: Option<usize> = None;
            for (column, &v) in self.nonbasic.iter().enumerate() {
                if entering.is_some_and(|other| v > self.nonbasic[other]) {
                    continue;
                }
                let sign = self.rows[row].entries[column].sign() * if below { 1 } else { -1 };
                let useful = match sign {
                    0 => false,
                    1 => self.can_move(v, true)?,
                    _ => self.can_move(v, false)?,
                };
                if useful {
                    entering = Some(column);
                }
            }
            let Some(column) = entering else { return Some(Some(self.proof(row, below))) };
            let v = self.basic[row];
            let target = if below { self.low[v].clone()? } else { self.high[v].clone()? };
            self.pivot(row, column, &target, work)?;
        }
    }

    /// The row that no move can repair, as a combination that adds up to nothing.
    fn proof(&self, row: usize, below: bool) -> Vec<(usize, Int)> {
        let r = &self.rows[row];
        let sign = if below { Int::ONE } else { Int::from(-1) };
        let mut parts = vec![(self.basic[row], -&(&r.scale.to_int() * &sign))];
        for (column, entry) in r.entries.iter().enumerate() {
            if entry.sign() != 0 {
                parts.push((self.nonbasic[column], &entry.to_int() * &sign));
            }
        }
        parts
    }

    fn violates(&self, v: usize, below: bool) -> Option<bool> {
        let (bound, wrong) =
            if below { (&self.low[v], Ordering::Less) } else { (&self.high[v], Ordering::Greater) };
        match bound {
            Some(bound) => Some(self.value[v].order(bound)? == wrong),
            None => Some(false),
        }
    }

    fn can_move(&self, v: usize, up: bool) -> Option<bool> {
        let (bound, free) =
            if up { (&self.high[v], Ordering::Less) } else { (&self.low[v], Ordering::Greater) };
        match bound {
            Some(bound) => Some(self.value[v].order(bound)? == free),
            None => Some(true),
        }
    }

    /// Makes the variable of `column` basic in place of that of `row`, which gets the value `target`.
    fn pivot(&mut self, row: usize, column: usize, target: &N, work: &mut u32) -> Option<()> {
        let (leaving, entering) = (self.basic[row], self.nonbasic[column]);
        let factor = N::ratio(&self.rows[row].entries[column], &self.rows[row].scale)?;
        let step = target.minus(&self.value[leaving])?.over(&factor)?;
        *work = work.checked_sub(step.weight().saturating_mul(self.rows.len() as u32))?;
        self.value[leaving] = target.clone();
        self.value[entering] = self.value[entering].plus(&step)?;
        for (i, r) in self.rows.iter().enumerate() {
            if i != row && r.entries[column].sign() != 0 {
                let b = self.basic[i];
                let change = N::ratio(&r.entries[column], &r.scale)?.times(&step)?;
                self.value[b] = self.value[b].plus(&change)?;
            }
        }
        // s·leaving = Σ c·x + a·entering, so a·entering = s·leaving - Σ c·x.
        let (scale, mut entries) = {
            let r = &mut self.rows[row];
            (r.scale.clone(), std::mem::take(&mut r.entries))
        };
        let a = std::mem::replace(&mut entries[column], scale.negated());
        let a = match a.sign() {
            1 => {
                entries.iter_mut().for_each(|e| *e = e.negated());
                a
            }
            _ => a.negated(),
        };
        let cost = (entries.iter().filter(|e| e.sign() != 0).count() as u32 + 1).saturating_mul(a.weight());
        for (i, r) in self.rows.iter_mut().enumerate() {
            if i == row || r.entries[column].sign() == 0 {
                continue;
            }
            *work = work.checked_sub(cost)?;
            // d·b = Σ e·x + k·entering: times a, with a·entering from above.
            let k = std::mem::replace(&mut r.entries[column], N::Whole::of(&Int::ZERO)?);
            let g = a.gcd(&k);
            let (a, k) = (a.over(&g), k.over(&g));
            r.scale = r.scale.times(&a)?;
            let mut common = r.scale.clone();
            for (e, s) in r.entries.iter_mut().zip(&entries) {
                if s.sign() != 0 {
                    *e = e.times(&a)?.plus(&k.times(s)?)?;
                } else if e.sign() != 0 {
                    *e = e.times(&a)?;
                }
                if !common.is_one() && e.sign() != 0 {
                    common = common.gcd(e);
                }
            }
            if !common.is_one() {
                r.scale = r.scale.over(&common);
                r.entries.iter_mut().filter(|e| e.sign() != 0).for_each(|e| *e = e.over(&common));
            }
        }
        *work = work.checked_sub(cost)?;
        self.rows[row] = TableauRow { scale: a, entries: std::mem::take(&mut entries) };
        self.basic[row] = entering;
        self.nonbasic[column] = leaving;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::rational::Small;
    use super::*;
    use num_rational::BigRational;

    fn limits(low: Option<i64>, high: Option<i64>) -> VariableBounds {
        (low.map(Int::from), high.map(Int::from))
    }

    fn check(system: &System) -> Feasibility {
        let small = system.check::<Small>(&mut 10_000);
        assert_eq!(small, system.check::<BigRational>(&mut 10_000), "both kinds of numbers agree");
        if let Feasibility::Infeasible(proof) = &small {
            assert_proves(system, proof);
        }
        small
    }

    /// The bounds that a proof combines add up to `0 <=` something negative.
    fn assert_proves(system: &System, proof: &[(usize, Int)]) {
        let columns = system.variables.len();
        let (mut sum, mut bound) = (vec![Int::ZERO; columns], Int::ZERO);
        for (i, factor) in proof {
            let own = vec![(*i, Int::ONE)];
            let (terms, limits) = match i.checked_sub(columns) {
                Some(row) => (&system.rows[row].0, &system.rows[row].1),
                None => (&own, &system.variables[*i]),
            };
            for (v, c) in terms {
                sum[*v] = &sum[*v] + &(c * factor);
            }
            let end = if factor.is_positive() { &limits.1 } else { &limits.0 };
            bound = &bound + &(factor * end.as_ref().expect("a bound"));
        }
        assert!(sum.iter().all(Int::is_zero) && bound.is_negative(), "{proof:?}");
    }

    #[test]
    fn small_systems_are_settled_as_by_enumeration() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % n) as i64
        };
        let mut seen = [0, 0];
        for round in 0..400 {
            let mut variables: Vec<VariableBounds> = Vec::new();
            let mut rows: Vec<(Vec<(usize, Int)>, VariableBounds)> = Vec::new();
            for _ in 0..3 {
                let low = below(4) - 2;
                variables.push(limits(Some(low), Some(low + below(4))));
                let terms = (0..3).map(|v| (v, Int::from(below(7) - 3))).filter(|t| !t.1.is_zero()).collect();
                let low = below(9) - 4;
                let high = (below(3) > 0).then_some(low + below(4));
                rows.push((terms, limits((below(3) > 0).then_some(low), high)));
            }
            let system = System { variables, rows };
            let range = |v: usize| {
                let (l, h) = &system.variables[v];
                let end = |e: &Option<Int>| e.as_ref().and_then(Int::to_i64).expect("an end");
                end(l)..=end(h)
            };
            let holds = |at: [i64; 3]| {
                system.rows.iter().all(|(terms, (low, high))| {
                    let sum = terms.iter().fold(Int::ZERO, |s, (v, c)| &s + &(c * &Int::from(at[*v])));
                    low.as_ref().is_none_or(|l| sum >= *l) && high.as_ref().is_none_or(|h| sum <= *h)
                })
            };
            let solved = range(0).any(|x| range(1).any(|y| range(2).any(|z| holds([x, y, z]))));
            match check(&system) {
                Feasibility::Infeasible(_) => {
                    assert!(!solved, "round {round}");
                    seen[0] += 1;
                }
                Feasibility::Feasible(values) => {
                    let whole = values.iter().all(|(_, whole)| *whole);
                    let at: Vec<i64> = values[..3].iter().map(|(v, _)| v.to_i64().expect("small")).collect();
                    assert!(!whole || holds([at[0], at[1], at[2]]), "round {round}: {values:?}");
                    seen[1] += 1;
                }
                Feasibility::Open => panic!("round {round}"),
            }
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
    }

    #[test]
    fn sums_of_bounds_are_combined() {
        // x <= y, y <= z, z <= x - 1.
        let row = |terms: &[(usize, i64)], high| {
            (terms.iter().map(|&(v, c)| (v, Int::from(c))).collect(), limits(None, Some(high)))
        };
        let mut system = System {
            variables: vec![limits(None, None); 3],
            rows: vec![row(&[(0, 1), (1, -1)], 0), row(&[(1, 1), (2, -1)], 0), row(&[(2, 1), (0, -1)], -1)],
        };
        let Feasibility::Infeasible(proof) = check(&system) else { panic!("there is a solution") };
        // The three rows add up to 0 <= -1.
        let parts: Vec<(usize, i32)> = proof.iter().map(|(i, c)| (*i, c.signum())).collect();
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|&(i, sign)| i >= 3 && sign == parts[0].1));
        system.rows[2].1 = limits(None, Some(0));
        assert!(matches!(check(&system), Feasibility::Feasible(_)));
    }

    #[test]
    fn solutions_may_be_fractions() {
        // 2x = 1.
        let rows = vec![(vec![(0, Int::from(2))], limits(Some(1), Some(1)))];
        let system = System { variables: vec![limits(Some(0), Some(5))], rows };
        assert_eq!(check(&system), Feasibility::Feasible(vec![(Int::ZERO, false), (Int::ONE, true)]));
    }

    #[test]
    fn without_pivots_nothing_is_settled() {
        let rows = vec![(vec![(0, Int::from(1)), (1, Int::ONE)], limits(Some(3), None))];
        let system = System { variables: vec![limits(Some(0), None), limits(Some(0), Some(1))], rows };
        assert_eq!(system.check::<Small>(&mut 0), Feasibility::Open);
    }
}
