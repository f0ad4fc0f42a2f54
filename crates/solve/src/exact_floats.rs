//! Double arithmetic that happens to be exact, as integer arithmetic.
//!
//! A double is an integer of up to 53 bits times a power of two from `2^-1074` to `2^971`, and every such
//! number is a double. A sum or product of doubles that is such a number is computed without rounding, so
//! `TruncToInt(2.5*ToFloat(s))` is `5*s // 2` as long as `5*s` has no more than 53 bits. A correctly rounded
//! quotient `n/d` of integers of fewer than 53 bits becomes an integer, or a number halfway between two, only
//! if it equals it: it is at least `1/(2*d)` away from every other one, which is more than the rounding error
//! `n/d * 2^-53`.
//!
//! A product with a constant such as 0.1, which is the double next to a fraction `p/q`, is rounded twice. Where `n*p/q` is
//! an integer or halfway between two, it is that, if the constant is within `2^-54` of the fraction: half the distance to
//! the next double. Elsewhere it is `1/(2*q)` away from them, which is more than both errors for `n*p` of up to 50 bits.
//!
//! Rounding keeps an order: of numbers that are rounded once, the lesser does not become the greater.
//!
//! A minimum of an integer and a double, or a choice between them, is the integer itself where that is taken, and may lie
//! between a number and the double next to it. What is computed of such numbers is exact, or rounded: it is known where
//! both are the same.
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort};

/// Integers of this many bits are doubles, and quotients of smaller ones round as if they were exact.
const EXACT_BITS: u64 = 53;
/// The exponents of doubles: the least positive double is `2^-1074`, the greatest ones are integers of 53
/// bits times `2^971`.
const EXPONENTS: std::ops::RangeInclusive<i32> = -1074..=971;
/// Products with fractions of this many bits round as if they were exact.
const FRACTION_BITS: u64 = 50;
/// The most bits of the denominator of a fraction that a constant stands for.
const DENOMINATOR_BITS: u64 = 24;
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
        let mut reading = Reading::new(pool, table);
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
    /// Doubles that become integers, and numbers halfway between two, as fractions do.
    near: FxHashMap<Expr, (Expr, Expr)>,
    /// Among the expressions that count as doubles, those that may be an integer which is none.
    mixed: FxHashSet<Expr>,
}

impl<'a> Reading<'a> {
    fn new(pool: &'a mut Pool, table: &'a mut DomainTable) -> Reading<'a> {
        let (known, near, mixed) = Default::default();
        Reading { pool, table, known, near, mixed }
    }

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
                let is_choice = !taken.is_empty();
                let value = match self.number(func, &args) {
                    // It may be an integer, which is not rounded.
                    Some(Real::Rounded { .. } | Real::Quotient { .. }) if self.pool.may_be_integer(part) => {
                        None
                    }
                    value => value,
                };
                let is_double = match self.pool.may_be_integer(part) && !is_choice {
                    true => value.is_some(),
                    false => taken.iter().all(|&operand| self.is_double(operand)),
                };
                if !is_double {
                    self.mixed.insert(part);
                }
                if let Some(Real::Rounded { .. }) = value {
                    let near = self.fraction_near(func, &args);
                    self.near.extend(near.map(|near| (part, near)));
                }
                if let Some(value) = value {
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
            (Func::IntTrueDiv, &[a, b]) if [a, b].iter().all(|&e| self.pool.sort(e) == Sort::Int) => {
                self.quotient(a, b)
            }
            (Func::IntTrueDiv | Func::FloatTrueDiv, &[a, b]) => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                let shift = a.exponent - b.exponent;
                let (n, d) =
                    (self.scaled(a.numerator, shift.max(0)), self.scaled(b.numerator, (-shift).max(0)));
                self.quotient(n, d)
            }
            _ => None,
        }
    }

    /// The fraction with small denominators for which the product with a constant stands, where both are as good for
    /// roundings to integers.
    fn fraction_near(&mut self, func: Func, args: &[Expr]) -> Option<(Expr, Expr)> {
        let (Func::FloatMul, &[a, b]) = (func, args) else { return None };
        let (a, b) = (self.operand(a)?, self.operand(b)?);
        let (number, constant) = if self.pool.as_int(a.numerator).is_some() { (b, a) } else { (a, b) };
        let mantissa = self.pool.as_int(constant.numerator)?;
        let power = |exponent: i32| {
            (exponent.unsigned_abs() <= 64).then(|| Int::power_of_two(exponent.unsigned_abs()))
        };
        let (above, below) = match power(constant.exponent)? {
            power if constant.exponent < 0 => (mantissa, power),
            power => (&mantissa * &power, Int::ONE),
        };
        let (p, q) = simplest(&above, &below)?;
        let (p, q) = (self.pool.int(p), self.pool.int(q));
        let (n, scale) = self.fraction_of(number);
        power(number.exponent)?;
        let (numerator, denominator) = (self.pool.mul(n, p), self.pool.mul(scale, q));
        self.fits(numerator, FRACTION_BITS).then_some((numerator, denominator))
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
            _ if self.near.contains_key(&e) => self.near[&e],
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

/// The first fraction `p/q`, by continued fractions, within `2^-54` of `above/below`, of its size.
fn simplest(above: &Int, below: &Int) -> Option<(Int, Int)> {
    let (mut p, mut q) = ((Int::ZERO, Int::ONE), (Int::ONE, Int::ZERO));
    let (mut rest, mut divisor) = (above.clone(), below.clone());
    while !divisor.is_zero() && q.1.bits() <= DENOMINATOR_BITS {
        let whole = rest.floor_div(&divisor)?;
        p = (p.1.clone(), &(&whole * &p.1) + &p.0);
        q = (q.1.clone(), &(&whole * &q.1) + &q.0);
        let error = &(above * &q.1) - &(&p.1 * below);
        if &error.abs() * &Int::power_of_two(54) <= (&p.1 * below).abs() && q.1.bits() <= DENOMINATOR_BITS {
            return Some((p.1, q.1));
        }
        let remainder = rest.modulo(&divisor)?;
        (rest, divisor) = (divisor, remainder);
    }
    None
}

#[cfg(test)]
mod tests;
