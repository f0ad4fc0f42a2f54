//! Double arithmetic that happens to be exact, as integer arithmetic.
//!
//! A double is an integer of up to 53 bits times a power of two from `2^-1074` to `2^971`, and every such
//! number is a double. A sum or product of doubles that is such a number is computed without rounding, so
//! `TruncToInt(2.5*ToFloat(s))` is `5*s // 2` as long as `5*s` has no more than 53 bits. A correctly rounded
//! quotient `n/d` of integers of fewer than 53 bits becomes an integer, or a number halfway between two, only
//! if it equals it: it is at least `1/(2*d)` away from every other one, which is more than the rounding error
//! `n/d * 2^-53`.
//!
//! Rounding keeps an order: of numbers that are rounded once, the lesser does not become the greater.
//!
//! A minimum of an integer and a double, or a choice between them, is the integer itself where that is taken: what is
//! computed from it rounds it first, and it may lie between a number and the double next to it.
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort};

/// Integers of this many bits are doubles, and quotients of smaller ones round as if they were exact.
const EXACT_BITS: u64 = 53;
/// The exponents of doubles: the least positive double is `2^-1074`, the greatest ones are integers of 53
/// bits times `2^971`.
const EXPONENTS: std::ops::RangeInclusive<i32> = -1074..=971;
/// How deep roundings may nest.
const MAX_ROUNDS: usize = 4;

/// The real number `numerator * 2^exponent`.
#[derive(Clone, Copy, Debug)]
struct Dyadic {
    numerator: Expr,
    exponent: i32,
}

/// Known properties of a number.
#[derive(Clone, Copy, Debug)]
enum Real {
    /// It is exactly this.
    Exact(Dyadic),
    /// It is the double next to `numerator / denominator`, integers of fewer than 53 bits, the second one positive.
    Quotient { numerator: Expr, denominator: Expr },
    /// It is the double next to `numerator / denominator`, integers, the second one positive.
    Rounded { numerator: Expr, denominator: Expr },
}

/// `e` with every rounding and comparison of doubles that the ranges prove to be exact replaced by one of
/// integers. A divisor that is zero in `e` is zero in the result, unless the ranges exclude it.
pub(super) fn exact(pool: &mut Pool, table: &mut DomainTable, mut e: Expr) -> Expr {
    for _ in 0..MAX_ROUNDS {
        let mut reading = Reading { pool, table, known: FxHashMap::default(), mixed: FxHashSet::default() };
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

struct Reading<'a> {
    pool: &'a mut Pool,
    table: &'a mut DomainTable,
    known: FxHashMap<Expr, Real>,
    /// Among the expressions that count as doubles, those that may be an integer which is none.
    mixed: FxHashSet<Expr>,
}

impl Reading<'_> {
    fn replacements(&mut self, root: Expr) -> FxHashMap<Expr, Expr> {
        let mut replaced = FxHashMap::default();
        for part in self.pool.reachable(&[root]) {
            let Some((func, args)) = self.pool.as_call(part).map(|(f, a)| (f, a.to_vec())) else {
                if let Some(Node::Float(value)) = self.pool.node(part)
                    && let Some(value) = self.constant(value.0)
                {
                    self.known.insert(part, Real::Exact(value));
                }
                continue;
            };
            if self.pool.sort(part) == Sort::Float {
                let taken = match func {
                    Func::Min | Func::Max | Func::Abs => args.as_slice(),
                    Func::Ite => &args[1..],
                    _ => &[],
                };
                if !taken.iter().all(|&operand| self.is_double(operand)) {
                    self.mixed.insert(part);
                }
                if let Some(value) = self.number(func, &args) {
                    self.known.insert(part, value);
                }
            } else if let Some(integer) = self.integer(func, &args) {
                replaced.insert(part, integer);
            }
        }
        replaced
    }

    /// A finite constant.
    fn constant(&mut self, value: f64) -> Option<Dyadic> {
        let (mantissa, exponent, sign) = num_traits::float::FloatCore::integer_decode(value);
        if !value.is_finite() {
            return None;
        }
        let zeros = if mantissa == 0 { 0 } else { mantissa.trailing_zeros() };
        let numerator = i64::try_from(mantissa >> zeros).ok()? * i64::from(sign);
        let exponent = if mantissa == 0 { 0 } else { i32::from(exponent) + i32::try_from(zeros).ok()? };
        Some(Dyadic { numerator: self.pool.int(numerator), exponent })
    }

    /// `numerator * 2^exponent`, if every value of it is a double.
    fn double(&mut self, numerator: Expr, exponent: i32) -> Option<Real> {
        let is_double = EXPONENTS.contains(&exponent) && self.fits(numerator, EXACT_BITS);
        // The next power of two is a double, too, but for the greatest exponent.
        let is_power = || EXPONENTS.contains(&(exponent + 1)) && EXPONENTS.contains(&exponent);
        let is_double = is_double || is_power() && self.is_at_most(numerator, &Int::power_of_two(53));
        is_double.then_some(Real::Exact(Dyadic { numerator, exponent }))
    }

    /// The double next to `numerator * 2^exponent`.
    fn nearest(&mut self, numerator: Expr, exponent: i32) -> Real {
        self.double(numerator, exponent).unwrap_or_else(|| {
            let (numerator, denominator) = self.fraction_of(Dyadic { numerator, exponent });
            Real::Rounded { numerator, denominator }
        })
    }

    /// A number as a fraction of integers.
    fn fraction_of(&mut self, number: Dyadic) -> (Expr, Expr) {
        let denominator = self.pool.int(Int::power_of_two((-number.exponent).max(0).unsigned_abs()));
        (self.scaled(number.numerator, number.exponent.max(0)), denominator)
    }

    /// Whether the magnitude of `e` is known to be at most this.
    fn is_at_most(&mut self, e: Expr, most: &Int) -> bool {
        let domain = self.table.domain(self.pool, e);
        let bound = |v: Option<Int>| v.is_some_and(|v| v.abs() <= *most);
        bound(domain.range.lower()) && bound(domain.range.upper())
    }

    /// Whether the magnitude of `e` is known to have at most this many bits.
    fn fits(&mut self, e: Expr, bits: u64) -> bool {
        let domain = self.table.domain(self.pool, e);
        let bound = |v: Option<&Int>| v.is_some_and(|v| v.abs().bits() <= bits);
        bound(domain.range.lower().as_ref()) && bound(domain.range.upper().as_ref())
    }

    fn positive(&mut self, e: Expr) -> bool {
        let condition = self.pool.gt(e, Expr::ZERO);
        self.table.decide(self.pool, condition) == Some(true)
    }

    /// A number by its exact value: an integer always, a double where it is known.
    fn exactly(&self, e: Expr) -> Option<Dyadic> {
        match self.known.get(&e) {
            Some(Real::Exact(value)) => Some(*value),
            Some(Real::Quotient { .. } | Real::Rounded { .. }) => None,
            None if self.pool.sort(e) == Sort::Float || self.pool.as_func(e, Func::Ratio).is_some() => None,
            None => Some(Dyadic { numerator: e, exponent: 0 }),
        }
    }

    /// Whether every value of an expression is known to be a double.
    fn is_double(&mut self, e: Expr) -> bool {
        match self.pool.sort(e) {
            Sort::Float => !self.mixed.contains(&e),
            _ => self.pool.as_func(e, Func::Ratio).is_none() && self.fits(e, EXACT_BITS),
        }
    }

    /// An operand of double arithmetic by its exact value, where it is not rounded before.
    fn operand(&mut self, e: Expr) -> Option<Dyadic> {
        let value = self.exactly(e)?;
        self.is_double(e).then_some(value)
    }

    /// `e * 2^shift`.
    fn scaled(&mut self, e: Expr, shift: i32) -> Expr {
        let power = self.pool.int(Int::power_of_two(shift.unsigned_abs()));
        self.pool.mul(e, power)
    }

    /// Numerators of numbers for one exponent, which comes with them.
    fn aligned(&mut self, numbers: &[Dyadic]) -> (Vec<Expr>, i32) {
        let exponent = numbers.iter().map(|n| n.exponent).min().unwrap_or(0);
        let numerators = numbers.iter().map(|n| self.scaled(n.numerator, n.exponent - exponent)).collect();
        (numerators, exponent)
    }

    /// Known properties of a call whose value is a double, or one of its operands.
    fn number(&mut self, func: Func, args: &[Expr]) -> Option<Real> {
        match (func, args) {
            (Func::ToFloat, &[e]) => {
                let Dyadic { numerator, exponent } = self.exactly(e)?;
                Some(self.nearest(numerator, exponent))
            }
            (Func::FloatMul, &[a, b]) => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                let product = self.pool.mul(a.numerator, b.numerator);
                Some(self.nearest(product, a.exponent + b.exponent))
            }
            (Func::FloatAdd, &[a, b]) => {
                let numbers = [self.operand(a)?, self.operand(b)?];
                let (numerators, exponent) = self.aligned(&numbers);
                let sum = self.pool.add(numerators[0], numerators[1]);
                Some(self.nearest(sum, exponent))
            }
            (Func::Min | Func::Max, _) => {
                let numbers = args.iter().map(|&a| self.exactly(a)).collect::<Option<Vec<Dyadic>>>()?;
                let (numerators, exponent) = self.aligned(&numbers);
                let numerator = self.pool.extremum(func, &numerators);
                Some(Real::Exact(Dyadic { numerator, exponent }))
            }
            (Func::Abs, &[a]) => {
                let Dyadic { numerator, exponent } = self.exactly(a)?;
                let numerator = self.pool.abs(numerator);
                Some(Real::Exact(Dyadic { numerator, exponent }))
            }
            (Func::Ite, &[c, p, q]) => {
                let numbers = [self.exactly(p)?, self.exactly(q)?];
                let (numerators, exponent) = self.aligned(&numbers);
                let numerator = self.pool.ite(c, numerators[0], numerators[1]);
                Some(Real::Exact(Dyadic { numerator, exponent }))
            }
            (Func::TruncToFloat, &[a]) => {
                let whole = self.rounded(Func::Trunc, a)?;
                self.double(whole, 0)
            }
            (Func::IntTrueDiv, &[a, b]) => self.quotient(a, b),
            (Func::FloatTrueDiv, &[a, b]) => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                let shift = a.exponent - b.exponent;
                let (n, d) =
                    (self.scaled(a.numerator, shift.max(0)), self.scaled(b.numerator, (-shift).max(0)));
                self.quotient(n, d)
            }
            _ => None,
        }
    }

    /// The double next to `n / d`.
    fn quotient(&mut self, mut n: Expr, mut d: Expr) -> Option<Real> {
        if self.pool.as_int(d).is_some_and(|d| d.is_negative()) {
            (n, d) = (self.pool.neg(n), self.pool.neg(d));
        }
        if let Some(divisor) = self.pool.as_int(d).filter(Int::is_positive) {
            let shift = i32::try_from(divisor.bits() - 1).ok()?;
            if Int::power_of_two(shift.unsigned_abs()) == divisor {
                return Some(self.nearest(n, -shift));
            }
            // A multiple of the divisor is divided exactly.
            let remainder = self.pool.modulo(n, d);
            if self.pool.as_int(remainder).is_some_and(|r| r.is_zero()) {
                let whole = self.pool.floor_div(n, d);
                return self.double(whole, 0);
            }
        }
        if !self.positive(d) {
            return None;
        }
        let fits = self.fits(n, EXACT_BITS - 1) && self.fits(d, EXACT_BITS - 1);
        let (numerator, denominator) = (n, d);
        Some(match fits {
            true => Real::Quotient { numerator, denominator },
            false => Real::Rounded { numerator, denominator },
        })
    }

    /// A rounding to an integer ([`Func::Trunc`], [`Func::Floor`], [`Func::Ceil`], [`Func::Round`]) in
    /// integer arithmetic.
    fn rounded(&mut self, func: Func, e: Expr) -> Option<Expr> {
        let (n, d) = match self.known.get(&e).copied() {
            Some(Real::Quotient { numerator, denominator }) => (numerator, denominator),
            _ => {
                let Dyadic { numerator, exponent } = self.exactly(e)?;
                self.fraction_of(Dyadic { numerator, exponent })
            }
        };
        if func == Func::Trunc {
            let negative = self.pool.lt(n, Expr::ZERO);
            match self.table.decide(self.pool, negative) {
                Some(true) => return Some(self.pool.ceil_div(n, d)),
                Some(false) => return Some(self.pool.floor_div(n, d)),
                None => {}
            }
        }
        Some(self.pool.round_quotient(func, n, d))
    }

    /// A rounding or comparison as one of integers.
    fn integer(&mut self, func: Func, args: &[Expr]) -> Option<Expr> {
        match (func, args) {
            (Func::Floor | Func::Ceil | Func::Trunc | Func::Round, &[e]) => self.rounded(func, e),
            (Func::FloatEq | Func::FloatLt | Func::FloatLe, &[a, b]) => {
                let (Some(p), Some(q)) = (self.exactly(a), self.exactly(b)) else {
                    return self.by_order(func, a, b);
                };
                let (numerators, _) = self.aligned(&[p, q]);
                let (p, q) = (numerators[0], numerators[1]);
                Some(match func {
                    Func::FloatEq => self.pool.eq(p, q),
                    Func::FloatLt => self.pool.lt(p, q),
                    _ => self.pool.le(p, q),
                })
            }
            _ => None,
        }
    }

    /// A number before it was rounded, if it was, as a fraction.
    fn before_rounding(&mut self, e: Expr) -> Option<(Expr, Expr)> {
        match self.known.get(&e).copied() {
            Some(Real::Quotient { numerator, denominator } | Real::Rounded { numerator, denominator }) => {
                Some((numerator, denominator))
            }
            _ => {
                let number = self.operand(e)?;
                Some(self.fraction_of(number))
            }
        }
    }

    /// The truth of a comparison by the order of what was rounded.
    fn by_order(&mut self, func: Func, a: Expr, b: Expr) -> Option<Expr> {
        let ((a, below_a), (b, below_b)) = (self.before_rounding(a)?, self.before_rounding(b)?);
        let (p, q) = (self.pool.mul(a, below_b), self.pool.mul(b, below_a));
        let (condition, truth) = match func {
            Func::FloatEq => (self.pool.eq(p, q), true),
            Func::FloatLe => (self.pool.le(p, q), true),
            _ => (self.pool.le(q, p), false),
        };
        (self.table.decide(self.pool, condition) == Some(true)).then(|| self.pool.bool(truth))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, Facts, Verdict, decide};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Int, Pool, Value, text};

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
            "IntTrueDiv(s + 1, s + 1) == 1.0",
            "IntTrueDiv(s, s + 7) <= 1.0",
            "ToFloat(s)*0.7 <= ToFloat(s)",
        ];
        for goal in table {
            assert!(implied(40, goal), "{goal}");
        }
        // The last integer up to which each one is a double.
        assert!(implied(53, "TruncToInt(ToFloat(s)) == s") && !implied(54, "TruncToInt(ToFloat(s)) == s"));
    }

    #[test]
    fn rounding_keeps_the_order() {
        for goal in [
            "ToFloat(s) <= ToFloat(s)",
            "Not(ToFloat(s) < ToFloat(s))",
            "ToFloat(s) <= ToFloat(s + 1)",
            "Not(ToFloat(s + 1) < ToFloat(s))",
            "IntTrueDiv(s, 3) <= ToFloat(s)",
            "IntTrueDiv(s, s + 1) <= 1.0",
            "ToFloat(s)*1.5 >= 0.0",
        ] {
            assert!(implied(120, goal), "{goal}");
        }
        // Two integers may be rounded to one double, and one past another integer.
        for goal in [
            "ToFloat(s) < ToFloat(s + 1)",
            "IntTrueDiv(s, s + 1) < 1.0",
            "ToFloat(s) <= s",
            "Eq(Max(-0.5, s), ToFloat(s))",
            "Min(-0.5, -s) >= -ToFloat(s + 1)",
            "Where(s >= 0, s, 0.5) <= ToFloat(s)",
            "Abs(Max(-0.5, s)) >= ToFloat(s)",
            "Max(-0.5, s)*1.5 <= IntTrueDiv(3*s, 2)",
            "Max(-0.5, s) + 1.0 <= ToFloat(s + 1)",
        ] {
            assert!(!implied(120, goal), "{goal}");
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
    fn exponents_are_those_of_doubles() {
        let mut pool = Pool::new();
        let mut table = sizewise_expr::range::DomainTable::new();
        let mut reading = super::Reading {
            pool: &mut pool,
            table: &mut table,
            known: Default::default(),
            mixed: Default::default(),
        };
        let one = sizewise_expr::Expr::ONE;
        for (exponent, is_double) in [(-1074, true), (-1075, false), (971, true), (972, false)] {
            assert_eq!(reading.double(one, exponent).is_some(), is_double, "2^{exponent}");
        }
        // Numerators of 53 bits, and of one more.
        let (fits, not) = (reading.pool.int((1i64 << 53) - 1), reading.pool.int((1i64 << 53) + 1));
        assert!(reading.double(fits, 0).is_some() && reading.double(not, 0).is_none());
    }

    #[test]
    fn constants_of_every_magnitude_are_what_they_are() {
        let least = f64::from_bits(1);
        let table =
            [0.0, 1.0, -0.75, 1e-6, -1e-300, 1e300, least, -least, f64::MIN_POSITIVE, f64::MAX, f64::MIN];
        for value in table {
            let mut pool = Pool::new();
            let mut domains = sizewise_expr::range::DomainTable::new();
            let mut reading = super::Reading {
                pool: &mut pool,
                table: &mut domains,
                known: Default::default(),
                mixed: Default::default(),
            };
            let exact = reading.constant(value).expect("a finite constant");
            let numerator = reading.pool.as_int(exact.numerator).expect("a constant").to_big();
            let power = num_rational::BigRational::from_integer(2.into()).pow(exact.exponent);
            let expected = num_rational::BigRational::from_float(value).expect("finite");
            assert_eq!(num_rational::BigRational::from_integer(numerator) * power, expected, "{value:e}");
        }
    }

    #[test]
    fn thresholds_of_every_magnitude_decide_as_they_should() {
        let table = [
            ("ToFloat(s) < 1e-300", false),
            ("ToFloat(s) >= 5e-324", false),
            ("ToFloat(s) + 1.0 >= 1e-20", true),
            ("0.5*ToFloat(s) - 8.0 <= 1e-6", false),
            ("ToFloat(s) <= 1e300", true),
            ("ToFloat(s)*1e-300 <= 1e-280", true),
            ("1.0 / (ToFloat(s) + 1.0) > 5e-324", true),
            ("Eq(s, ToFloat(s))", true),
            ("Max(s, 2.5) >= 2.5", true),
            ("RoundToInt(0.5*ToFloat(2*s)) == s", true),
        ];
        for (goal, holds) in table {
            assert_eq!(implied(20, goal), holds, "{goal}");
        }
    }

    #[test]
    fn beyond_53_bits_rounding_shows() {
        assert!(!implied(60, "Eq(TruncToInt(2.5*ToFloat(s)), (5*s)//2)"));
        assert!(!implied(60, "Eq(TruncToInt(IntTrueDiv(s, 3)), s//3)"));
        // One tenth is not a double, and ten times the nearest double is a little too much.
        assert!(!implied(40, "Eq(CeilToInt(0.1*ToFloat(s)), (s + 9)//10)"));
    }
}
