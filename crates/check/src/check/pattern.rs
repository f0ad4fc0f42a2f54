//! What the sizes at which a condition holds look like: multiples, a bound, or these but for a few sizes.
use sizewise_expr::{Expr, Pool};

/// Multiples of more are not looked for.
const MAX_FACTOR: i64 = 256;
/// The most sizes beside a rule that are named one by one.
const MAX_NAMED: usize = 2;

/// The condition on one size that is true of the first sizes and false of the others, if that is easily said. All are sorted.
pub(super) fn pattern(pool: &mut Pool, size: Expr, holds: &[i64], fails: &[i64]) -> Option<Expr> {
    if holds.is_empty() || fails.is_empty() {
        return None;
    }
    let points = Points { size, holds, fails };
    // Two sizes in sequence are a bound.
    let is_apart = holds.windows(2).all(|pair| pair[1] - pair[0] > 1);
    let few = (holds.len() <= MAX_NAMED && is_apart).then(|| points.few(pool, MAX_NAMED)).flatten();
    few.or_else(|| points.bound(pool))
        .or_else(|| points.few(pool, 1))
        .or_else(|| points.of_multiples(pool))
        .or_else(|| points.few(pool, MAX_NAMED))
}

/// Sizes, and whether a condition holds of them.
struct Points<'a> {
    size: Expr,
    holds: &'a [i64],
    fails: &'a [i64],
}

impl Points<'_> {
    /// Some sizes alone, `n == 1 or n == 4`, or all but some.
    fn few(&self, pool: &mut Pool, most: usize) -> Option<Expr> {
        match (self.holds.len(), self.fails.len()) {
            (few, many) if few <= most && many > few => Some(any_of(pool, self.size, self.holds)),
            (many, few) if few <= most && many > few => Some(none_of(pool, self.size, self.fails)),
            _ => None,
        }
    }

    /// A bound, both bounds, or a bound and few sizes on its other side.
    fn bound(&self, pool: &mut Pool) -> Option<Expr> {
        let (first, last) = (*self.holds.first()?, *self.holds.last()?);
        let is_inside = |n: &&i64| (first..=last).contains(*n);
        let (below, above) = (self.fails.iter().any(|&n| n < first), self.fails.iter().any(|&n| n > last));
        if !self.fails.iter().any(|n| is_inside(&n)) {
            let mut ends = Vec::new();
            if below {
                ends.push(at_least(pool, self.size, first));
            }
            if above {
                ends.push(at_most(pool, self.size, last));
            }
            return Some(pool.and(&ends));
        }
        let holes: Vec<i64> = self.fails.iter().copied().filter(|n| is_inside(&n)).collect();
        if holes.len() <= MAX_NAMED && self.holds.len() > 2 * holes.len() && below && !above {
            let (end, holes) = (at_least(pool, self.size, first), none_of(pool, self.size, &holes));
            return Some(pool.and(&[end, holes]));
        }
        let (least, most) = (*self.fails.first()?, *self.fails.last()?);
        let beyond: Vec<i64> = self.holds.iter().copied().filter(|&n| n > most).collect();
        let before: Vec<i64> = self.holds.iter().copied().filter(|&n| n < least).collect();
        let others = |known: &[i64]| -> Vec<i64> {
            self.holds.iter().copied().filter(|n| !known.contains(n)).collect()
        };
        // What fails last is followed by sizes that all hold.
        if let Some(&from) = beyond.first().filter(|_| others(&beyond).len() <= MAX_NAMED) {
            let (few, end) = (others(&beyond), at_least(pool, self.size, from));
            let few = any_of(pool, self.size, &few);
            return Some(pool.or(&[few, end]));
        }
        if let Some(&to) = before.last().filter(|_| others(&before).len() <= MAX_NAMED && above) {
            let (few, end) = (others(&before), at_most(pool, self.size, to));
            let few = any_of(pool, self.size, &few);
            return Some(pool.or(&[few, end]));
        }
        // Sizes below and above what fails, where that is more than one size.
        (most > least && !self.holds.iter().any(|n| (least..=most).contains(n))).then(|| {
            let ends = [at_most(pool, self.size, least - 1), at_least(pool, self.size, most + 1)];
            pool.or(&ends)
        })
    }

    /// Multiples, or sizes that are none, but for the first ones or few.
    fn of_multiples(&self, pool: &mut Pool) -> Option<Expr> {
        let exact = |own: &[i64], others: &[i64]| {
            let factor = common_divisor(own);
            let is_factor = (2..=MAX_FACTOR).contains(&factor) && own.len() > 1;
            (is_factor && others.iter().all(|n| n % factor != 0)).then_some((factor, 0))
        };
        if let Some(factor) = exact(self.holds, self.fails) {
            return Some(remainder(pool, self.size, factor));
        }
        if let Some(factor) = exact(self.fails, self.holds) {
            let multiple = remainder(pool, self.size, factor);
            return Some(pool.not(multiple));
        }
        let span = self.holds.last()?.max(self.fails.last()?);
        // The last sizes say what the rule is.
        let of_last = |sizes: &[i64]| -> Option<Vec<(i64, i64)>> {
            let [.., before, last] = *sizes else { return None };
            let step = last - before;
            ((2..=MAX_FACTOR).contains(&step) && 2 * step < *span)
                .then(|| vec![(step, last.rem_euclid(step))])
        };
        for (sizes, is_multiple) in [(self.holds, true), (self.fails, false)] {
            for (factor, rest) in of_last(sizes).unwrap_or_default() {
                let rule = remainder(pool, self.size, (factor, rest));
                let rule = if is_multiple { rule } else { pool.not(rule) };
                let says = |n: &i64| (n.rem_euclid(factor) == rest) == is_multiple;
                if let Some(found) = self.rule_but_for(pool, rule, &says) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// A rule with what holds besides, or without what fails although the rule says that it holds.
    fn rule_but_for(&self, pool: &mut Pool, rule: Expr, says: &dyn Fn(&i64) -> bool) -> Option<Expr> {
        let besides: Vec<i64> = self.holds.iter().copied().filter(|n| !says(n)).collect();
        let missing: Vec<i64> = self.fails.iter().copied().filter(says).collect();
        match (besides.last(), missing.last()) {
            (None, None) => Some(rule),
            (Some(&to), None) => {
                let all_before = self.fails.iter().all(|&n| n > to);
                let is_few = besides.len() <= MAX_NAMED;
                let more = match all_before && besides.len() > 1 {
                    true => at_most(pool, self.size, to),
                    false if is_few => any_of(pool, self.size, &besides),
                    false => return None,
                };
                Some(pool.or(&[rule, more]))
            }
            (None, Some(&to)) => {
                let first = *self.holds.first()?;
                let less = match () {
                    () if first > to => at_least(pool, self.size, first),
                    () if missing.len() <= MAX_NAMED => none_of(pool, self.size, &missing),
                    () => return None,
                };
                Some(pool.and(&[rule, less]))
            }
            (Some(_), Some(_)) => None,
        }
    }
}

pub(super) fn common_divisor(of: &[i64]) -> i64 {
    fn greatest(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { greatest(b, a % b) }
    }
    of.iter().fold(0, |divisor, &size| greatest(divisor, size))
}

/// `size % factor == rest`
pub(super) fn remainder(pool: &mut Pool, size: Expr, (factor, rest): (i64, i64)) -> Expr {
    let (factor, rest) = (pool.int(factor), pool.int(rest));
    let remainder = pool.modulo(size, factor);
    pool.eq(remainder, rest)
}

fn at_least(pool: &mut Pool, size: Expr, bound: i64) -> Expr {
    let bound = pool.int(bound);
    pool.ge(size, bound)
}

fn at_most(pool: &mut Pool, size: Expr, bound: i64) -> Expr {
    let bound = pool.int(bound);
    pool.le(size, bound)
}

fn any_of(pool: &mut Pool, size: Expr, sizes: &[i64]) -> Expr {
    let equal = |pool: &mut Pool, n: i64| {
        let n = pool.int(n);
        pool.eq(size, n)
    };
    let parts: Vec<Expr> = sizes.iter().map(|&n| equal(pool, n)).collect();
    pool.or(&parts)
}

fn none_of(pool: &mut Pool, size: Expr, sizes: &[i64]) -> Expr {
    let any = any_of(pool, size, sizes);
    pool.not(any)
}

#[cfg(test)]
mod tests {
    use super::pattern;
    use sizewise_expr::{Pool, print};

    /// What a text joins, in any order.
    fn parts(text: &str) -> Vec<&str> {
        let joint = if text.contains(" or ") { " or " } else { " and " };
        let mut parts: Vec<&str> = text.split(joint).collect();
        parts.sort_unstable();
        parts
    }

    #[test]
    fn sizes_are_said_by_a_rule_and_few_exceptions() {
        for (holds, says) in [
            (&(|n: i64| n == 5) as &dyn Fn(i64) -> bool, Some("n == 5")),
            (&|n| n != 5, Some("n != 5")),
            (&|n| n != 1, Some("n >= 2")),
            (&|n| n >= 7, Some("n >= 7")),
            (&|n| (3..=9).contains(&n), Some("n >= 3 and n <= 9")),
            (&|n| n == 1 || n >= 5, Some("n == 1 or n >= 5")),
            (&|n| n <= 4 || n == 9, Some("n == 9 or n <= 4")),
            (&|n| n >= 6 && n != 7, Some("n >= 6 and n != 7")),
            (&|n| n == 1 || n == 4, Some("n == 1 or n == 4")),
            (&|n| n / 5 != 1, Some("n <= 4 or n >= 10")),
            (&|n| n % 4 == 0, Some("n % 4 == 0")),
            (&|n| n % 4 != 0, Some("n % 4 != 0")),
            (&|n| n % 4 == 3, Some("n % 4 == 3")),
            (&|n| n % 4 == 0 || n == 1, Some("n == 1 or n % 4 == 0")),
            (&|n| n % 2 == 0 || n <= 3, Some("n % 2 == 0 or n <= 3")),
            (&|n| n % 2 == 0 && n >= 4, Some("n % 2 == 0 and n >= 4")),
            (&|n| n % 3 != 1 && n >= 5, Some("n % 3 != 1 and n >= 5")),
            (&|n| n * n % 7 == 2, None),
            (&|_| true, None),
            (&|_| false, None),
        ] {
            let (holds, fails): (Vec<i64>, Vec<i64>) = (1..=120).partition(|&n| holds(n));
            let mut pool = Pool::new();
            let size = pool.symbol("n");
            let found = pattern(&mut pool, size, &holds, &fails);
            let shown = found.map(|found| print::python(&pool, found, &|s| pool.symbol_name(s)));
            assert_eq!(shown.as_deref().map(parts), says.map(parts), "of {holds:?}");
        }
    }
}
