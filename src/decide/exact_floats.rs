//! Double arithmetic that happens to be exact, as integer arithmetic.
//!
//! A double holds every integer of up to 53 bits and every such integer over a power of two. A sum or product of such numbers that is
//! again one is computed without rounding, so `TruncToInt(2.5*ToFloat(s))` is `5*s // 2` as long as `5*s` has no more than 53 bits. A
//! correctly rounded quotient `n/d` of integers of fewer than 53 bits is rounded to the integer next to it only if it equals it: it is
//! `1/d` or more away from every other, which is more than the rounding error `n/d * 2^-53`.
use super::facts::Facts;
use crate::expr::{Expr, Func, Int, Node, Pool, Sort};
use crate::range::{DomainTable, ValueRange};
use rustc_hash::FxHashMap;

/// Integers of this many bits are doubles, and quotients of smaller ones round as if they were exact.
const EXACT_BITS: u64 = 53;
/// The greatest power of two in a denominator: far from where doubles become subnormal.
const MAX_SHIFT: u32 = 128;
/// How deep roundings may nest.
const MAX_ROUNDS: usize = 4;

/// A double that is `numerator / denominator` before the last rounding.
#[derive(Clone, Debug)]
struct Fraction {
    numerator: Expr,
    denominator: Expr,
    /// Whether the double is exactly that: then the denominator is `2^shift`.
    shift: Option<u32>,
}

/// `e` with every rounding and comparison of doubles that the ranges prove to be exact replaced by one of integers. Where a divisor is
/// zero in `e`, it is zero in the result, or the ranges exclude it.
pub(super) fn exact(pool: &mut Pool, table: &mut DomainTable, mut e: Expr) -> Expr {
    for _ in 0..MAX_ROUNDS {
        let mut reading = Reading { pool, table, fractions: FxHashMap::default() };
        let replaced = reading.replacements(e);
        if replaced.is_empty() {
            break;
        }
        e = pool.substitute(e, |part| replaced.get(&part).copied());
    }
    e
}

/// Whether doubles occur in `e`.
pub(super) fn has_floats(pool: &Pool, e: Expr) -> bool {
    pool.has_floats() && pool.reachable(&[e]).into_iter().any(|part| pool.sort(part) == Sort::Float)
}

/// The facts with no integer symbol that has no maximum above `limit`, and with their conditions in integer arithmetic where that makes
/// doubles exact. A maximum that was declared stays what it is.
pub fn up_to(pool: &mut Pool, facts: &Facts, limit: &Int) -> Facts {
    let mut capped = Facts::new();
    for (symbol, low, high) in facts.ranges() {
        let e = pool.symbol_expr(symbol);
        let high = match high {
            None if pool.sort(e) == Sort::Int => Some(limit.clone()),
            high => high.cloned(),
        };
        match ValueRange::between_options(low.cloned(), high) {
            Some(range) => capped.declare(pool, symbol, range),
            None => return facts.clone(),
        }
    }
    for &divisor in facts.nonzero() {
        capped.exclude_zero(pool, divisor);
    }
    for &condition in facts.conditions() {
        let condition = exact(pool, capped.table(pool), condition);
        capped.assume(pool, condition);
    }
    capped
}

struct Reading<'a> {
    pool: &'a mut Pool,
    table: &'a mut DomainTable,
    fractions: FxHashMap<Expr, Fraction>,
}

impl Reading<'_> {
    fn replacements(&mut self, root: Expr) -> FxHashMap<Expr, Expr> {
        let mut replaced = FxHashMap::default();
        for part in self.pool.reachable(&[root]) {
            let Some((func, args)) = self.pool.as_call(part).map(|(f, a)| (f, a.to_vec())) else {
                if let Some(Node::Float(_)) = self.pool.node(part)
                    && let Some(fraction) = self.constant(part)
                {
                    self.fractions.insert(part, fraction);
                }
                continue;
            };
            if self.pool.sort(part) == Sort::Float {
                if let Some(fraction) = self.fraction(func, &args) {
                    self.fractions.insert(part, fraction);
                }
            } else if let Some(integer) = self.integer(func, &args) {
                replaced.insert(part, integer);
            }
        }
        replaced
    }

    /// A finite constant as an integer over a power of two.
    fn constant(&mut self, e: Expr) -> Option<Fraction> {
        let value = self.pool.as_float(e)?;
        let mut shift = 0;
        let mut scaled = value;
        while scaled.fract() != 0.0 && shift < MAX_SHIFT {
            scaled *= 2.0;
            shift += 1;
        }
        let numerator = self.pool.int(Pool::float_as_int(scaled)?);
        self.dyadic(numerator, shift)
    }

    /// `numerator / 2^shift`, if every value of the numerator fits a double.
    fn dyadic(&mut self, numerator: Expr, shift: u32) -> Option<Fraction> {
        if shift > MAX_SHIFT || !self.fits(numerator, EXACT_BITS) {
            return None;
        }
        let denominator = self.power(shift);
        Some(Fraction { numerator, denominator, shift: Some(shift) })
    }

    fn power(&mut self, shift: u32) -> Expr {
        let power = Int::from(2).pow(shift, u64::from(MAX_SHIFT) + 1).unwrap_or_default();
        self.pool.int(power)
    }

    /// Whether the magnitude of `e` is known to be at most `2^bits`.
    fn fits(&mut self, e: Expr, bits: u64) -> bool {
        let domain = self.table.domain(self.pool, e);
        let bound = |v: Option<&Int>| v.is_some_and(|v| v.abs().bits() <= bits);
        bound(domain.range.lower().as_ref()) && bound(domain.range.upper().as_ref())
    }

    fn positive(&mut self, e: Expr) -> bool {
        let condition = self.pool.gt(e, Expr::ZERO);
        self.table.decide(self.pool, condition) == Some(true)
    }

    fn known(&self, e: Expr) -> Option<Fraction> {
        self.fractions.get(&e).cloned()
    }

    fn known_dyadic(&self, e: Expr) -> Option<(Expr, u32)> {
        let fraction = self.fractions.get(&e)?;
        fraction.shift.map(|shift| (fraction.numerator, shift))
    }

    fn scaled(&mut self, numerator: Expr, shift: u32) -> Expr {
        let power = self.power(shift);
        self.pool.mul(numerator, power)
    }

    fn fraction(&mut self, func: Func, args: &[Expr]) -> Option<Fraction> {
        match (func, args) {
            (Func::ToFloat, &[e]) => self.dyadic(e, 0),
            (Func::FloatMul, &[a, b]) => {
                let ((p, i), (q, j)) = (self.known_dyadic(a)?, self.known_dyadic(b)?);
                let product = self.pool.mul(p, q);
                self.dyadic(product, i + j)
            }
            (Func::FloatAdd, &[a, b]) => {
                let ((p, i), (q, j)) = (self.known_dyadic(a)?, self.known_dyadic(b)?);
                let shift = i.max(j);
                let (p, q) = (self.scaled(p, shift - i), self.scaled(q, shift - j));
                let sum = self.pool.add(p, q);
                self.dyadic(sum, shift)
            }
            (Func::IntTrueDiv, &[a, b]) => self.quotient(a, b),
            (Func::FloatTrueDiv, &[a, b]) => {
                let ((p, i), (q, j)) = (self.known_dyadic(a)?, self.known_dyadic(b)?);
                let (n, d) = (self.scaled(p, j), self.scaled(q, i));
                self.quotient(n, d)
            }
            _ => None,
        }
    }

    /// The double next to `n / d`.
    fn quotient(&mut self, n: Expr, d: Expr) -> Option<Fraction> {
        if let Some(divisor) = self.pool.as_int(d).filter(Int::is_positive) {
            let shift = u32::try_from(divisor.bits().saturating_sub(1)).ok()?;
            if Int::from(2).pow(shift, EXACT_BITS + MAX_SHIFT as u64) == Some(divisor.clone()) {
                return self.dyadic(n, shift);
            }
            // What is divisible is divided exactly.
            let remainder = self.pool.modulo(n, d);
            if self.pool.as_int(remainder).is_some_and(|r| r.is_zero()) {
                let whole = self.pool.floor_div(n, d);
                return self.dyadic(whole, 0);
            }
        }
        let fits = self.positive(d) && self.fits(n, EXACT_BITS - 1) && self.fits(d, EXACT_BITS - 1);
        fits.then_some(Fraction { numerator: n, denominator: d, shift: None })
    }

    /// A rounding or comparison as one of integers.
    fn integer(&mut self, func: Func, args: &[Expr]) -> Option<Expr> {
        match (func, args) {
            (Func::Floor | Func::Ceil | Func::Trunc, &[e]) => {
                let Fraction { numerator: n, denominator: d, .. } = self.known(e)?;
                let (down, up) = (self.pool.floor_div(n, d), self.pool.ceil_div(n, d));
                Some(match func {
                    Func::Floor => down,
                    Func::Ceil => up,
                    _ => {
                        let negative = self.pool.lt(n, Expr::ZERO);
                        match self.table.decide(self.pool, negative) {
                            Some(negative) => {
                                if negative {
                                    up
                                } else {
                                    down
                                }
                            }
                            None => self.pool.ite(negative, up, down),
                        }
                    }
                })
            }
            (Func::FloatEq | Func::FloatLt | Func::FloatLe, &[a, b]) => {
                let ((p, i), (q, j)) = (self.known_dyadic(a)?, self.known_dyadic(b)?);
                let shift = i.max(j);
                let (p, q) = (self.scaled(p, shift - i), self.scaled(q, shift - j));
                Some(match func {
                    Func::FloatEq => self.pool.eq(p, q),
                    Func::FloatLt => self.pool.lt(p, q),
                    _ => self.pool.le(p, q),
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, Facts, Verdict, decide};
    use crate::expr::{Int, Pool, Value, text};
    use crate::range::ValueRange;

    /// Whether the goal follows for every `s` from 0 to `2^bits`.
    fn implied(bits: u32, goal: &str) -> bool {
        let mut pool = Pool::new();
        let mut facts = Facts::new();
        let s = pool.symbol("s");
        let s = pool.as_symbol(s).expect("a symbol");
        let top = Int::from(2).pow(bits, 128).expect("a power");
        facts.declare(&mut pool, s, ValueRange::between(Int::from(0), top));
        let goal = text::read::expression(&mut pool, goal, &mut |_| None).expect("a goal").expr;
        matches!(decide(&mut pool, &mut facts, goal, &Budget::default()).verdict, Verdict::Implied { .. })
    }

    #[test]
    fn arithmetic_that_needs_no_rounding_is_that_of_integers() {
        let table = [
            "Eq(TruncToInt(2.5*ToFloat(s)), (5*s)//2)",
            "Eq(TruncToInt(1.25*ToFloat(s)), (5*s)//4)",
            "Eq(FloorToInt(0.5*ToFloat(s) - 3.0), (s - 6)//2)",
            "Eq(CeilToInt(FloatTrueDiv(0.5*ToFloat(s) - 0.0, 0.25)), 2*s)",
            "Eq(CeilToInt(IntTrueDiv(s, 3)), (s + 2)//3)",
            "Eq(TruncToInt(FloatTrueDiv(ToFloat(s), 7.0)), s//7)",
            "ToFloat(s) < ToFloat(s) + 0.5",
        ];
        for goal in table {
            assert!(implied(40, goal), "{goal}");
        }
    }

    #[test]
    fn what_is_replaced_has_the_same_value() {
        let expressions = [
            "TruncToInt(2.5*ToFloat(s) - 7.0)",
            "FloorToInt(FloatTrueDiv(ToFloat(s - 1000), 7.0))",
            "CeilToInt(IntTrueDiv(s - 5000, 12))",
            "TruncToInt(IntTrueDiv(100 - s, 3))",
            "CeilToInt(FloatTrueDiv(0.75*ToFloat(s) - 0.5, 0.125))",
            "FloorToInt(FloatTrueDiv(ToFloat(s), ToFloat(s + 1)))",
            "TruncToInt(1.25*ToFloat(s)) + TruncToInt(0.1*ToFloat(s))",
            "ToFloat(s) <= 0.5*ToFloat(s + 3)",
        ];
        let top = Int::from(2).pow(46, 128).expect("a power");
        for text in expressions {
            let mut pool = Pool::new();
            let mut facts = Facts::new();
            let s = pool.symbol("s");
            let s = pool.as_symbol(s).expect("a symbol");
            facts.declare(&mut pool, s, ValueRange::between(Int::from(0), top.clone()));
            let e = text::read::expression(&mut pool, text, &mut |_| None).expect("an expression").expr;
            let table = facts.table(&pool);
            let replaced = super::exact(&mut pool, table, e);
            assert_ne!(replaced, e, "{text}");
            // All small sizes, and odd ones near every power of two.
            let large = (0..46).flat_map(|k| [(1i64 << k) - 1, (1 << k) + 1, 3 * (1 << k) / 2]);
            for v in (0..3000).chain(large).filter(|&v| v <= 1 << 46) {
                let at = |_| Some(Value::Int(Int::from(v)));
                let (before, after) =
                    (pool.eval(e, at).expect("a value"), pool.eval(replaced, at).expect("a value"));
                assert_eq!(before, after, "{text} at {v}");
            }
        }
    }

    #[test]
    fn denominators_go_up_to_two_to_the_128th() {
        let mut pool = Pool::new();
        let mut table = crate::range::DomainTable::new();
        let mut reading =
            super::Reading { pool: &mut pool, table: &mut table, fractions: Default::default() };
        let one = crate::expr::Expr::ONE;
        assert!(reading.dyadic(one, 128).is_some() && reading.dyadic(one, 129).is_none());
        // Numerators of 53 bits, and of one more.
        let (fits, not) = (reading.pool.int((1i64 << 53) - 1), reading.pool.int((1i64 << 53) + 1));
        assert!(reading.dyadic(fits, 0).is_some() && reading.dyadic(not, 0).is_none());
    }

    #[test]
    fn beyond_53_bits_rounding_shows() {
        assert!(!implied(60, "Eq(TruncToInt(2.5*ToFloat(s)), (5*s)//2)"));
        assert!(!implied(60, "Eq(TruncToInt(IntTrueDiv(s, 3)), s//3)"));
        // One tenth is no double, and ten of what is taken for it are a little too many.
        assert!(!implied(40, "Eq(CeilToInt(0.1*ToFloat(s)), (s + 9)//10)"));
    }
}
