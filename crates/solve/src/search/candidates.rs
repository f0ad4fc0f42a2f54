//! Values worth trying.
use super::super::program::to_i128;
use sizewise_expr::{Expr, Func, Node, Pool};

/// The most constants of a query that are used.
const MAX_CONSTANTS: usize = 24;

/// Doubles from this magnitude on are no values of symbols worth trying.
const LARGEST_DOUBLE: f64 = (1u128 << 100) as f64;

/// The constants of a query that matter to its solutions.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    /// Thresholds: constants of sums, and minima's and maxima's constant operands, by magnitude.
    pub values: Vec<i128>,
    /// Divisors and coefficients above 1: steps at which something changes.
    pub steps: Vec<i128>,
}

impl Constants {
    /// The constants in `roots`.
    pub fn of(pool: &Pool, roots: &[Expr]) -> Constants {
        let mut found = Constants::default();
        for e in pool.reachable(roots) {
            match pool.node(e) {
                Some(Node::Int(v)) => found.values.extend(to_i128(v)),
                Some(Node::Float(v)) if v.0.abs() < LARGEST_DOUBLE => found.values.push(v.0 as i128),
                Some(Node::Sum { constant, terms }) => {
                    let constant = to_i128(constant).unwrap_or_default();
                    found.values.push(constant);
                    for c in terms.iter().filter_map(|(_, c)| to_i128(c)) {
                        found.steps.push(c.saturating_abs());
                        // Where a term alone balances the constant.
                        found.values.extend(constant.checked_div(c));
                    }
                }
                Some(Node::Call(func, args)) => {
                    for v in args.iter().filter_map(|a| a.as_inline()) {
                        match func {
                            Func::FloorDiv | Func::Mod => found.steps.push(i128::from(v).abs()),
                            _ => found.values.push(i128::from(v)),
                        }
                    }
                    if matches!(func, Func::FloorDiv | Func::Mod)
                        && let Some(&d) = args.get(1)
                        && let Some(d) = pool.as_int(d).and_then(|d| to_i128(&d))
                    {
                        found.steps.push(d.saturating_abs());
                    }
                }
                _ => {}
            }
        }
        found.tidy();
        found
    }

    /// Adds other constants, those first.
    pub fn merge(&mut self, other: Constants) {
        for (mine, theirs) in [(&mut self.values, other.values), (&mut self.steps, other.steps)] {
            let mut merged = theirs;
            for v in mine.drain(..) {
                if !merged.contains(&v) {
                    merged.push(v);
                }
            }
            merged.truncate(2 * MAX_CONSTANTS);
            *mine = merged;
        }
    }

    fn tidy(&mut self) {
        for v in &mut self.values {
            *v = v.saturating_abs();
        }
        for list in [&mut self.values, &mut self.steps] {
            list.sort_unstable();
            list.dedup();
            list.retain(|&v| v > 1);
            list.truncate(MAX_CONSTANTS);
        }
        // Two steps together repeat at their least common multiple.
        let single = self.steps.clone();
        for (i, &a) in single.iter().enumerate().take(6) {
            for &b in single.iter().skip(i + 1).take(6) {
                let gcd = num_integer::Integer::gcd(&a, &b);
                if let Some(lcm) = (a / gcd).checked_mul(b)
                    && !self.steps.contains(&lcm)
                {
                    self.steps.push(lcm);
                }
            }
        }
        self.steps.truncate(2 * MAX_CONSTANTS);
    }

    /// Values for a symbol between `low` and `high`, the most promising first, about as many as `limit`.
    pub fn values_between(&self, low: Option<i128>, high: Option<i128>, limit: usize) -> Vec<i128> {
        let mut values = Vec::with_capacity(64.min(limit));
        let fits = |v: i128| low.is_none_or(|l| v >= l) && high.is_none_or(|h| v <= h);
        let mut push = |v: i128| {
            if fits(v) && !values.contains(&v) {
                values.push(v);
            }
            values.len() < limit
        };
        self.offer(low, high, &mut push);
        values
    }

    /// Offers values until `push` has enough.
    fn offer(
        &self,
        low: Option<i128>,
        high: Option<i128>,
        push: &mut impl FnMut(i128) -> bool,
    ) -> Option<()> {
        let mut push = |v: i128| push(v).then_some(());
        let origin = match (low, high) {
            (Some(l), _) => l,
            (None, Some(h)) if h < 0 => h,
            _ => 0,
        };
        for near in [0, 1, -1, 2, 3] {
            push(origin.saturating_add(near))?;
        }
        for &end in [low, high].iter().flatten() {
            push(end)?;
            push(end.saturating_sub(1))?;
            push(end.saturating_add(1))?;
        }
        for near in [4, 5, 7, -2, -3, 6, 8, -5, 12, 16] {
            push(origin.saturating_add(near))?;
        }
        for &step in &self.steps {
            push(step)?;
            push(step.saturating_mul(2))?;
            push(step.saturating_add(1))?;
            push(step - 1)?;
        }
        for &v in &self.values {
            for x in [v, v.saturating_add(1), v - 1, -v, -v - 1, 1 - v] {
                push(x)?;
            }
        }
        for &step in &self.steps {
            for x in
                [step.saturating_mul(3), step.saturating_mul(6), -step, 1 - step, step.saturating_mul(-2)]
            {
                push(x)?;
            }
        }
        // The first multiples inside the range.
        for &step in &self.steps {
            let first = origin.div_euclid(step).saturating_add(1).saturating_mul(step);
            for x in [first, first.saturating_add(step), first.saturating_sub(1), first.saturating_add(1)] {
                push(x)?;
            }
        }
        for large in [100, 1000, -100, 1 << 20, 1 << 40, -(1 << 40)] {
            push(large)?;
        }
        Some(())
    }
}
