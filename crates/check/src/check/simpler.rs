//! Conditions in their simplest form: `t % 2 == 0` for `(t + 1) // 2 == t // 2`.
//!
//! What the engine does not find is guessed: the sizes at which a condition holds are tried, and what they look like (multiples, a
//! bound) is taken only if it is proved to be the same condition.
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};
use sizewise_solve::{Budget, Compiled, Facts, decide, simplify};
use std::collections::BTreeSet;

/// How many sizes are tried of one size alone, and of each of two.
const TRIED: [i64; 2] = [240, 40];
/// Multiples of more are not looked for.
const MAX_FACTOR: i64 = 256;

/// The simplest condition that was found which is the same wherever the facts hold: `n == 2` for `n*m == 2*m`, `h % 4 == 0`
/// for `4*(h//4) == h`. True, if the facts imply it.
pub fn simplest(pool: &mut Pool, facts: &mut Facts, condition: Expr) -> Expr {
    let simple = simplify(pool, facts, condition, &Budget::small());
    let is_quotient = |e: &Expr| pool.as_func(*e, Func::FloorDiv).is_some();
    let of_quotients = pool.reachable(&[simple]).iter().any(is_quotient);
    let simple = of_quotients.then(|| simpler(pool, facts, &[], simple)).flatten().unwrap_or(simple);
    if pool.as_bool(simple) == Some(false) { condition } else { simple }
}

/// A simpler condition that is the same under the facts, of which these are bounds.
pub(super) fn simpler(pool: &mut Pool, facts: &Facts, bounds: &[Expr], condition: Expr) -> Option<Expr> {
    let symbols = pool.free_symbols(&[condition]);
    let count = *TRIED.get(symbols.len().checked_sub(1)?)?;
    let sizes: Vec<Vec<i64>> = symbols.iter().map(|&s| sizes(facts, s, count)).collect::<Option<_>>()?;
    let compiled = Compiled::new(pool, condition);
    let bounds: Vec<Compiled> = bounds.iter().map(|&bound| Compiled::new(pool, bound)).collect();
    let (mut holds, mut fails) = (Vec::new(), Vec::new());
    let mut room = Vec::new();
    for sizes in product(&sizes) {
        let numbers: Vec<Int> = sizes.iter().map(|&size| Int::from(size)).collect();
        let value = |s: Symbol| symbols.iter().position(|&known| known == s).map(|at| &numbers[at]);
        // What bounds also other sizes is not known here.
        if bounds.iter().any(|bound| bound.holds(pool, value, &mut room) == Some(false)) {
            continue;
        }
        match compiled.holds(pool, value, &mut room)? {
            true => holds.push(sizes),
            false => fails.push(sizes),
        }
    }
    let guess = guess(pool, &symbols, &holds, &fails)?;
    let mut same = |given: Expr, implied: Expr| {
        let mut facts = facts.clone();
        facts.assume(pool, given);
        decide(pool, &mut facts, implied, &Budget::small()).verdict.is_implied()
    };
    (same(condition, guess) && same(guess, condition)).then_some(guess)
}

/// The least sizes that a symbol may have.
fn sizes(facts: &Facts, symbol: Symbol, count: i64) -> Option<Vec<i64>> {
    let range = facts.range(symbol)?;
    let low = range.lower().and_then(|low| low.to_i64()).unwrap_or(0).max(0);
    let high = range.upper().and_then(|high| high.to_i64()).unwrap_or(i64::MAX);
    Some((low..=high.min(low.saturating_add(count))).collect())
}

/// All choices of one size of each.
fn product(sizes: &[Vec<i64>]) -> Vec<Vec<i64>> {
    match sizes {
        [first] => first.iter().map(|&a| vec![a]).collect(),
        [first, second] => first.iter().flat_map(|&a| second.iter().map(move |&b| vec![a, b])).collect(),
        _ => Vec::new(),
    }
}

/// What the sizes at which a condition holds have in common, and those at which it fails have not.
fn guess(pool: &mut Pool, symbols: &[Symbol], holds: &[Vec<i64>], fails: &[Vec<i64>]) -> Option<Expr> {
    if let ([symbol], [only]) = (symbols, holds)
        && fails.len() > 1
    {
        let (e, size) = (pool.symbol_expr(*symbol), pool.int(only[0]));
        return Some(pool.eq(e, size));
    }
    if fails.is_empty() || holds.len() < 2 {
        return None;
    }
    let gcd = |of: &[Vec<i64>], at: usize| of.iter().fold(0, |gcd, sizes| greatest_divisor(gcd, sizes[at]));
    let factors: Vec<i64> = (0..symbols.len()).map(|at| gcd(holds, at)).collect();
    let divides = |sizes: &Vec<i64>| factors.iter().zip(sizes).all(|(factor, size)| size % factor == 0);
    let is_small = |factors: &[i64]| factors.iter().all(|factor| (1..=MAX_FACTOR).contains(factor));
    if is_small(&factors) && factors.iter().any(|&factor| factor > 1) && !fails.iter().any(divides) {
        let parts: Vec<Expr> =
            symbols.iter().zip(&factors).map(|(&s, &factor)| divisible(pool, s, factor)).collect();
        return Some(pool.and(&parts));
    }
    symbols.iter().enumerate().find_map(|(at, &symbol)| {
        let sizes = |of: &[Vec<i64>]| of.iter().map(|sizes| sizes[at]).collect::<BTreeSet<i64>>();
        let (holds, fails) = (sizes(holds), sizes(fails));
        holds.is_disjoint(&fails).then(|| alone(pool, symbol, &holds, &fails)).flatten()
    })
}

/// What the sizes of one symbol have in common that decides alone.
fn alone(pool: &mut Pool, symbol: Symbol, holds: &BTreeSet<i64>, fails: &BTreeSet<i64>) -> Option<Expr> {
    let factor = fails.iter().fold(0, |gcd, &size| greatest_divisor(gcd, size));
    let is_factor = factor > 1 && factor <= MAX_FACTOR && fails.len() > 1;
    if is_factor && !holds.iter().any(|size| size % factor == 0) {
        let divisible = divisible(pool, symbol, factor);
        return Some(pool.not(divisible));
    }
    let e = pool.symbol_expr(symbol);
    let (first, last) = (*holds.first()?, *holds.last()?);
    let (least, most) = (*fails.first()?, *fails.last()?);
    let (bound, is_least) = match () {
        () if most < first => (first, true),
        () if last < least => (last, false),
        () if fails.len() == 1 => {
            let hole = pool.int(least);
            return Some(pool.ne(e, hole));
        }
        () => return None,
    };
    let bound = pool.int(bound);
    Some(if is_least { pool.ge(e, bound) } else { pool.le(e, bound) })
}

fn divisible(pool: &mut Pool, symbol: Symbol, factor: i64) -> Expr {
    let (e, factor) = (pool.symbol_expr(symbol), pool.int(factor));
    let remainder = pool.modulo(e, factor);
    pool.eq(remainder, Expr::ZERO)
}

fn greatest_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::simpler;
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::text::{print, read};
    use sizewise_expr::{Int, Pool};
    use sizewise_solve::Facts;

    #[test]
    fn conditions_are_put_simply_where_that_is_proved() {
        for (condition, simple) in [
            ("Eq((t + 1)//2, t//2)", Some("t % 2 == 0")),
            ("Eq(2*b*(t//2), b*t)", Some("t % 2 == 0")),
            ("Ne(2*(t//2), t)", Some("t % 2 != 0")),
            ("t//5 >= 7", Some("t >= 35")),
            ("Eq(6*(t//6), 6)", None),
            ("And(Eq(t//2, 6), Eq(Mod(t, 2), 0))", Some("t == 12")),
            ("Ne(b*(t//2) + b, 5*(t//2) + 5)", Some("b != 5")),
            ("Eq(16*(h//4)*(t//4), h*t)", Some("h % 4 == 0 and t % 4 == 0")),
            // It holds of no multiples alone, and of no range.
            ("Eq(Mod(t*t, 7), 2)", None),
            ("Eq(h//2, t//3)", None),
        ] {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, condition).expect("a condition").expr;
            let mut facts = Facts::default();
            for symbol in pool.free_symbols(&[e]) {
                facts.declare(&mut pool, symbol, ValueRange::at_least(Int::ONE));
            }
            let found = simpler(&mut pool, &facts, &[], e);
            let shown = found.map(|found| print::python(&pool, found, &|s| pool.symbol_name(s)));
            assert_eq!(shown.as_deref(), simple, "{condition}");
        }
    }
}
