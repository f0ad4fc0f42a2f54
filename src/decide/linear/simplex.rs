//! Feasibility of linear constraints over the rationals: the bounded simplex method of Dutertre and de Moura ("A Fast
//! Linear-Arithmetic Solver for DPLL(T)", CAV 2006) on a dense tableau, with Bland's rule, so that it always ends.
use super::rational::Number;
use crate::expr::Int;
use std::cmp::Ordering;

/// Inclusive bounds.
pub type Limits = (Option<Int>, Option<Int>);

/// Variables with bounds, and sums of them with bounds.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The bounds of each variable.
    pub variables: Vec<Limits>,
    /// Sums `Σ coefficient · variable` with their bounds.
    pub rows: Vec<(Vec<(usize, Int)>, Limits)>,
}

/// Whether a system has a solution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feasibility {
    /// It has none, not even over the rationals.
    Infeasible,
    /// A rational solution: for each variable, and then for each row, the floor of its value, and whether that is the value.
    Feasible(Vec<(Int, bool)>),
    /// The pivots allowed did not suffice, or a number did not fit.
    Open,
}

impl System {
    /// Decides feasibility, counting pivots down in `pivots`.
    pub fn check<N: Number>(&self, pivots: &mut u32) -> Feasibility {
        match Tableau::<N>::new(self).and_then(|mut t| t.solve(pivots).map(|f| (f, t))) {
            None => Feasibility::Open,
            Some((false, _)) => Feasibility::Infeasible,
            Some((true, t)) => Feasibility::Feasible(t.value.iter().map(N::floor).collect()),
        }
    }
}

struct Tableau<N> {
    /// One row for each basic variable: its coefficients over the nonbasic ones, by column.
    rows: Vec<Vec<N>>,
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
            let mut row = vec![N::zero(); columns];
            for (variable, coefficient) in terms {
                row[*variable] = row[*variable].plus(&N::of(coefficient)?)?;
            }
            rows.push(row);
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
        let mut total = N::zero();
        for (column, coefficient) in self.rows[row].iter().enumerate() {
            if coefficient.sign() != 0 {
                total = total.plus(&coefficient.times(&self.value[self.nonbasic[column]])?)?;
            }
        }
        Some(total)
    }

    /// Whether a solution exists; `None` when the pivots run out or a number does not fit.
    fn solve(&mut self, pivots: &mut u32) -> Option<bool> {
        for v in 0..self.low.len() {
            if let (Some(l), Some(h)) = (&self.low[v], &self.high[v])
                && l.order(h)? == Ordering::Greater
            {
                return Some(false);
            }
        }
        loop {
            // The violated basic variable of the least number.
            let mut violated: Option<(usize, bool)> = None;
            for (row, &v) in self.basic.iter().enumerate() {
                let below = self.violates(v, true)?;
                if (below || self.violates(v, false)?)
                    && violated.is_none_or(|(other, _)| v < self.basic[other])
                {
                    violated = Some((row, below));
                }
            }
            let Some((row, below)) = violated else { return Some(true) };
            let mut entering: Option<usize> = None;
            for (column, &v) in self.nonbasic.iter().enumerate() {
                let sign = self.rows[row][column].sign() * if below { 1 } else { -1 };
                let useful = match sign {
                    0 => false,
                    1 => self.can_move(v, true)?,
                    _ => self.can_move(v, false)?,
                };
                if useful && entering.is_none_or(|other| v < self.nonbasic[other]) {
                    entering = Some(column);
                }
            }
            let Some(column) = entering else { return Some(false) };
            *pivots = pivots.checked_sub(1)?;
            let v = self.basic[row];
            let target = if below { self.low[v].clone()? } else { self.high[v].clone()? };
            self.pivot(row, column, &target)?;
        }
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
    fn pivot(&mut self, row: usize, column: usize, target: &N) -> Option<()> {
        let (leaving, entering) = (self.basic[row], self.nonbasic[column]);
        let factor = self.rows[row][column].clone();
        let step = target.minus(&self.value[leaving])?.over(&factor)?;
        self.value[leaving] = target.clone();
        self.value[entering] = self.value[entering].plus(&step)?;
        for (i, r) in self.rows.iter().enumerate() {
            if i != row && r[column].sign() != 0 {
                let b = self.basic[i];
                self.value[b] = self.value[b].plus(&r[column].times(&step)?)?;
            }
        }
        // leaving = Σ r·x + factor·entering, so entering = leaving/factor - Σ (r/factor)·x.
        let one = N::of(&Int::ONE)?;
        let mut solved = Vec::with_capacity(self.nonbasic.len());
        for (j, r) in self.rows[row].iter().enumerate() {
            solved.push(if j == column {
                one.over(&factor)?
            } else if r.sign() == 0 {
                N::zero()
            } else {
                r.over(&factor)?.negated()
            });
        }
        for i in 0..self.rows.len() {
            let times = self.rows[i][column].clone();
            if i == row || times.sign() == 0 {
                continue;
            }
            for (j, s) in solved.iter().enumerate() {
                if s.sign() != 0 {
                    let product = times.times(s)?;
                    let r = &mut self.rows[i][j];
                    *r = if j == column { product } else { r.plus(&product)? };
                }
            }
        }
        self.rows[row] = solved;
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

    fn limits(low: Option<i64>, high: Option<i64>) -> Limits {
        (low.map(Int::from), high.map(Int::from))
    }

    fn check(system: &System) -> Feasibility {
        let small = system.check::<Small>(&mut 100);
        assert_eq!(small, system.check::<BigRational>(&mut 100), "both kinds of numbers agree");
        small
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
        assert_eq!(check(&system), Feasibility::Infeasible);
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
