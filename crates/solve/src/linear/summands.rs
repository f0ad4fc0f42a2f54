//! Which of many linear conditions add up to a contradiction: Farkas' lemma names a few of them at once, where leaving
//! them out one by one would take a proof each.
use super::rational::Small;
use super::simplex::{Feasibility, System, VariableBounds};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Poly, Pool};

/// Larger systems are left to the thorough look.
const MAX_ROWS: usize = 512;
/// Entries of the tableau that may be changed.
const WORK: u32 = 400_000;

/// The conditions, by position, of which multiples add up to `0 <= c` with `c < 0`. Operations other than sums are
/// taken as variables, and conditions other than `<=` and `==` are left out. `None` if no such sum is found.
pub fn summands(pool: &Pool, conditions: &[Expr]) -> Option<Vec<usize>> {
    let mut sums = Sums::default();
    for (i, &condition) in conditions.iter().enumerate() {
        match pool.as_call(condition) {
            Some((Func::NotPositive, &[p])) => sums.at_most_zero(&pool.poly(p), false, i),
            Some((Func::IsZero, &[p])) => sums.at_most_zero(&pool.poly(p), true, i),
            _ => {}
        }
    }
    if sums.system.rows.len() > MAX_ROWS {
        return None;
    }
    let Feasibility::Infeasible(parts) = sums.system.check::<Small>(&mut WORK.clone()) else { return None };
    let columns = sums.system.variables.len();
    let condition = |(part, factor): &(usize, Int)| match part.checked_sub(columns) {
        Some(row) => Some(sums.rows[row]),
        None if factor.is_positive() => sums.ends[*part].1,
        None => sums.ends[*part].0,
    };
    let mut used: Vec<usize> = parts.iter().map(condition).collect::<Option<_>>()?;
    used.sort_unstable();
    used.dedup();
    Some(used)
}

/// A system, and the condition that each of its bounds comes from.
#[derive(Default)]
struct Sums {
    system: System,
    columns: FxHashMap<Expr, usize>,
    /// For the lower and the upper bound of each variable.
    ends: Vec<(Option<usize>, Option<usize>)>,
    /// For each row.
    rows: Vec<usize>,
}

impl Sums {
    fn column(&mut self, monomial: Expr) -> usize {
        let next = self.ends.len();
        let column = *self.columns.entry(monomial).or_insert(next);
        if column == next {
            self.system.variables.push((None, None));
            self.ends.push((None, None));
        }
        column
    }

    /// `p <= 0`, or `p == 0` where it is `exact`.
    fn at_most_zero(&mut self, p: &Poly, exact: bool, condition: usize) {
        let end = -&p.constant;
        if let [(monomial, factor)] = p.terms.as_slice()
            && (factor.is_one() || (-factor).is_one())
        {
            let column = self.column(*monomial);
            let up = factor.is_one();
            let end = if up { end } else { -&end };
            if up || exact {
                self.tighten(column, true, &end, condition);
            }
            if !up || exact {
                self.tighten(column, false, &end, condition);
            }
            return;
        }
        let terms = p.terms.iter().map(|(monomial, c)| (self.column(*monomial), c.clone())).collect();
        let limits: VariableBounds = (exact.then(|| end.clone()), Some(end));
        self.system.rows.push((terms, limits));
        self.rows.push(condition);
    }

    /// A bound of a variable, unless a tighter one is known.
    fn tighten(&mut self, column: usize, upper: bool, end: &Int, condition: usize) {
        let (low, high) = &mut self.system.variables[column];
        let (low_of, high_of) = &mut self.ends[column];
        let (known, of) = if upper { (high, high_of) } else { (low, low_of) };
        if known.as_ref().is_none_or(|known| if upper { end < known } else { end > known }) {
            (*known, *of) = (Some(end.clone()), Some(condition));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::read;

    fn check(conditions: &[&str], used: Option<&[usize]>) {
        let mut pool = Pool::new();
        let parsed: Vec<Expr> =
            conditions.iter().map(|text| read::closed(&mut pool, text).expect("a condition").expr).collect();
        assert_eq!(summands(&pool, &parsed).as_deref(), used, "{conditions:?}");
    }

    #[test]
    fn summands_of_a_contradiction() {
        check(&["a <= 7", "x <= y", "b + a <= 3", "y <= z", "z < x"], Some(&[1, 3, 4]));
        // The tighter of two bounds is the one that is used.
        check(&["x >= 2", "x >= 5", "x + y <= 9", "y >= 3", "y >= 5"], Some(&[1, 2, 4]));
        check(&["Eq(x, 3)", "Eq(2*y + x, 9)", "y <= 2"], Some(&[0, 1, 2]));
        // Operations are variables.
        check(&["x//3 + y <= 2", "x//3 >= 2", "y >= 1"], Some(&[0, 1, 2]));
        // Nothing adds up: there is a rational solution, or no sum says it.
        check(&["Eq(2*x, 2*y + 1)"], None);
        check(&["Ne(x, 0)", "x >= 0", "x <= 0"], None);
        check(&["x <= 3"], None);
    }
}
