//! One transfer function per node kind: the domain of a node from the domains of its operands.
//!
//! `None` means that the node has no value at any assignment within the operands' domains. The formulas and
//! the reasons why they hold are at the operations of [`ValueRange`], [`Congruence`] and [`FloatRange`]. This
//! file combines and reduces the two halves of an integer domain.
use super::bitwise;
use super::bound::Bound;
use super::congruence::Congruence;
use super::domain::{Domain, truth};
use super::float_range::FloatRange;
use super::value_range::ValueRange;
use crate::{Func, Int, Sort};
use std::cmp::Ordering;

/// A domain of any sort.
#[derive(Clone, PartialEq, Debug)]
pub enum Abstract {
    /// Of an integer or a truth value.
    Int(Domain),
    /// Of a double.
    Float(FloatRange),
}

impl Abstract {
    /// Everything of a sort.
    pub fn all(sort: Sort) -> Abstract {
        match sort {
            Sort::Int => Abstract::Int(Domain::all()),
            Sort::Bool => Abstract::Int(Domain::unit()),
            Sort::Float => Abstract::Float(FloatRange::all()),
        }
    }

    /// The length of the longer end in machine words, at least 1.
    pub(super) fn words(&self) -> usize {
        match self {
            Abstract::Int(domain) => domain.range.words(),
            Abstract::Float(_) => 1,
        }
    }

    /// As integers: of doubles, every integer between the bounds rounded outwards.
    pub fn to_domain(&self) -> Domain {
        match self {
            Abstract::Int(domain) => domain.clone(),
            Abstract::Float(range) => range.integer_hull().into(),
        }
    }

    /// As a range of doubles: of integers, one that holds them by value.
    pub fn to_float(&self) -> FloatRange {
        match self {
            Abstract::Int(domain) => FloatRange::around_integers(&domain.range),
            Abstract::Float(range) => *range,
        }
    }

    /// The operand of an operation on doubles: of integers, the nearest doubles. `None` where no integer has one.
    fn as_operand(&self) -> Option<FloatRange> {
        match self {
            Abstract::Int(domain) => FloatRange::from_integers(&domain.range),
            Abstract::Float(range) => Some(*range),
        }
    }

    /// The ends, and whether the value may be NaN.
    fn ends(&self) -> (End<'_>, End<'_>, bool) {
        match self {
            Abstract::Int(domain) => (End::Exact(&domain.range.lo), End::Exact(&domain.range.hi), false),
            Abstract::Float(range) => (End::Double(range.lo), End::Double(range.hi), range.nan),
        }
    }

    /// The members of both, or `None` when there are none. Of different sorts, `self`.
    pub fn meet(&self, other: &Abstract) -> Option<Abstract> {
        match (self, other) {
            (Abstract::Int(a), Abstract::Int(b)) => a.meet(b).map(Abstract::Int),
            (Abstract::Float(a), Abstract::Float(b)) => a.meet(b).map(Abstract::Float),
            _ => Some(self.clone()),
        }
    }

    /// The least domain that holds both; of different sorts, the one of doubles.
    pub fn join(&self, other: &Abstract) -> Abstract {
        match (self, other) {
            (Abstract::Int(a), Abstract::Int(b)) => Abstract::Int(a.join(b)),
            _ => Abstract::Float(self.to_float().join(&other.to_float())),
        }
    }
}

impl From<Domain> for Abstract {
    fn from(domain: Domain) -> Abstract {
        Abstract::Int(domain)
    }
}

impl From<FloatRange> for Abstract {
    fn from(range: FloatRange) -> Abstract {
        Abstract::Float(range)
    }
}

/// An end of a range of numbers.
#[derive(Clone, Copy)]
enum End<'a> {
    /// Of integers; an infinite end is no member.
    Exact(&'a Bound),
    /// Of doubles.
    Double(f64),
}

impl End<'_> {
    /// The order of two ends by value. NaN is no end.
    fn order(self, other: End) -> Ordering {
        match (self, other) {
            (End::Exact(a), End::Exact(b)) => a.cmp(b),
            (End::Double(a), End::Double(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (End::Exact(a), End::Double(b)) => order_exact(a, b),
            (End::Double(a), End::Exact(b)) => order_exact(b, a).reverse(),
        }
    }
}

fn order_exact(a: &Bound, b: f64) -> Ordering {
    match a {
        // Infinite doubles lie beyond all integers.
        Bound::NegInf if b == f64::NEG_INFINITY => Ordering::Greater,
        Bound::PosInf if b == f64::INFINITY => Ordering::Less,
        Bound::NegInf => Ordering::Less,
        Bound::PosInf => Ordering::Greater,
        Bound::Finite(v) => v.partial_cmp_f64(b).unwrap_or(Ordering::Equal),
    }
}

/// `a == b`, `a < b` or `a <= b` ([`Func::FloatEq`], [`Func::FloatLt`], [`Func::FloatLe`]) by value, if the
/// ranges decide it. All three are false if an operand is NaN.
fn compare(func: Func, a: &Abstract, b: &Abstract) -> Option<bool> {
    let ((a_lo, a_hi, a_nan), (b_lo, b_hi, b_nan)) = (a.ends(), b.ends());
    let (below, above) = (a_hi.order(b_lo), a_lo.order(b_hi));
    let (holds, fails) = match func {
        Func::FloatLt => (below.is_lt(), above.is_ge()),
        Func::FloatLe => (below.is_le(), above.is_gt()),
        _ => (below.is_eq() && above.is_eq(), below.is_lt() || above.is_gt()),
    };
    if holds && !a_nan && !b_nan { Some(true) } else { fails.then_some(false) }
}

/// `constant + Σ coefficient · monomial` increases in monomials with positive coefficients and decreases in
/// the others, so the ends add up. Residues are modulo the common divisor of the scaled moduli. Operands
/// count as independent.
pub fn sum<'a>(constant: &Int, terms: impl IntoIterator<Item = (&'a Domain, &'a Int)>) -> Option<Domain> {
    let mut range = ValueRange::point(constant.clone());
    let mut congruence = Congruence::point(constant.clone());
    for (domain, coefficient) in terms {
        if coefficient.is_one() {
            range = range.add(&domain.range);
            congruence = congruence.add(&domain.congruence);
        } else {
            range = range.add(&domain.range.scale(coefficient));
            if !congruence.is_any() {
                congruence = congruence.add(&domain.congruence.scale(coefficient));
            }
        }
    }
    Domain::new(range, congruence)
}

/// `Π atom^power`: multilinear in the powers, see [`ValueRange::mul`] and [`ValueRange::pow`]. Operands count
/// as independent.
pub fn product<'a>(factors: impl IntoIterator<Item = (&'a Domain, u32)>) -> Option<Domain> {
    let mut total: Option<Domain> = None;
    for (domain, power) in factors {
        let factor = pow_literal(domain, power)?;
        total = Some(match total {
            None => factor,
            Some(total) => {
                Domain::new(total.range.mul(&factor.range), total.congruence.mul(&factor.congruence))?
            }
        });
    }
    total
}

/// `a ** n` for a fixed `n`; even powers are not negative.
pub fn pow_literal(a: &Domain, n: u32) -> Option<Domain> {
    if n == 1 { Some(a.clone()) } else { Domain::new(a.range.pow(n), a.congruence.pow(n)) }
}

/// `a // b`, see [`ValueRange::floor_div`]; residues where the divisor is one integer ([`Congruence::floor_div`]).
pub fn floor_div(a: &Domain, b: &Domain) -> Option<Domain> {
    let range = a.range.floor_div(&b.range)?;
    let congruence = b.as_point().map_or(Congruence::any(), |d| a.congruence.floor_div(d));
    Domain::new(range, congruence)
}

/// `a % b`, see [`ValueRange::modulo`] and [`Congruence::modulo`].
pub fn modulo(a: &Domain, b: &Domain) -> Option<Domain> {
    Domain::new(a.range.modulo(&b.range)?, a.congruence.modulo(&b.congruence))
}

/// `a / d` as an exact rational: increasing for `d > 0`. The bounds are rounded outwards; a rational has no residue.
pub fn ratio(a: &Domain, b: &Domain) -> Option<Domain> {
    let Some(d) = b.as_point() else { return Some(Domain::all()) };
    let range = match d.signum() {
        0 => return None,
        1 => ValueRange { lo: a.range.lo.floor_div(d), hi: a.range.hi.ceil_div(d) },
        _ => ValueRange { lo: a.range.hi.floor_div(d), hi: a.range.lo.ceil_div(d) },
    };
    Some(range.into())
}

/// The least ([`Func::Min`]) or greatest ([`Func::Max`]) operand. It increases in each operand, so the ends
/// combine. Only operands that can be the result count for the residue.
pub fn extremum(func: Func, operands: &[Domain]) -> Option<Domain> {
    let (first, rest) = operands.split_first()?;
    let combine = |a: &ValueRange, b: &ValueRange| if func == Func::Min { a.min(b) } else { a.max(b) };
    let range = rest.iter().fold(first.range.clone(), |range, d| combine(&range, &d.range));
    // An operand beyond the far end of the result never is the result.
    let eligible =
        |d: &&Domain| if func == Func::Min { d.range.lo <= range.hi } else { d.range.hi >= range.lo };
    let classes = operands.iter().filter(eligible).map(|d| d.congruence.clone());
    let congruence = classes.reduce(|a, b| a.join(&b)).unwrap_or(Congruence::any());
    Domain::new(range, congruence)
}

/// `|a|`, see [`ValueRange::abs`]; where the sign is known, the residue is that of `a` or `-a`.
pub fn abs(a: &Domain) -> Option<Domain> {
    let congruence = match (a.range.lo.signum() >= 0, a.range.hi.signum() <= 0) {
        (true, _) => a.congruence.clone(),
        (_, true) => a.congruence.neg(),
        _ => a.congruence.abs(),
    };
    Domain::new(a.range.abs(), congruence)
}

/// `a ** n`, see [`ValueRange::pow_range`]; undefined for negative `n`.
pub fn pow(a: &Domain, n: &Domain) -> Option<Domain> {
    let fixed = n.as_point().and_then(|n| n.to_i64()).and_then(|n| u32::try_from(n).ok());
    let congruence = match fixed {
        Some(n) => a.congruence.pow(n),
        None => a.congruence.pow_from(n.range.lo.finite().unwrap_or(&Int::ZERO)),
    };
    Domain::new(a.range.pow_range(&n.range)?, congruence)
}

/// `p == 0`: false when 0 is out of range or of another residue class, true when `p` is 0 only.
pub fn is_zero(p: &Domain) -> Option<bool> {
    if !p.contains_zero() {
        return Some(false);
    }
    p.as_point().is_some().then_some(true)
}

/// `p <= 0`: by the ends.
pub fn not_positive(p: &Domain) -> Option<bool> {
    if p.range.hi <= Bound::ZERO {
        return Some(true);
    }
    (p.range.lo > Bound::ZERO).then_some(false)
}

/// All of ([`Func::And`]) or any of ([`Func::Or`]) some truth values. One operand can force the result;
/// otherwise all must be known.
pub fn connective(func: Func, operands: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let forcing = func == Func::Or;
    let mut known = true;
    for operand in operands {
        match operand {
            Some(value) if value == forcing => return Some(forcing),
            Some(_) => {}
            None => known = false,
        }
    }
    known.then_some(!forcing)
}

/// `p if c else q`: the branch that a known condition takes, else both.
pub fn ite(condition: Option<bool>, p: &Abstract, q: &Abstract) -> Abstract {
    match condition {
        Some(true) => p.clone(),
        Some(false) => q.clone(),
        None => p.join(q),
    }
}

/// The domain of arithmetic whose operands may all be integers or doubles: as that of doubles, but that an integer is not
/// rounded, and lies between two neighbours of a double at most.
pub fn call_on_either(func: Func, args: &[Abstract]) -> Option<Abstract> {
    let [a, b] = args else { return Some(Abstract::all(Sort::Float)) };
    let (x, y) = (a.to_float(), b.to_float());
    let rounded = match func {
        Func::FloatAdd => x.add(&y),
        Func::FloatMul => x.mul(&y),
        Func::FloatPow => x.pow(&y),
        Func::RoundDecimal => x.round_decimal(&b.to_domain().range),
        _ => return call(func, args),
    };
    Some(Abstract::Float(rounded.widened()))
}

/// The domain of a call from those of its operands. `None` when it has no value there. A call with too few
/// operands may be anything.
pub fn call(func: Func, args: &[Abstract]) -> Option<Abstract> {
    use Func::*;
    let sort =
        func.sort(if args.iter().any(|a| matches!(a, Abstract::Float(_))) { Sort::Float } else { Sort::Int });
    let integers = || args.iter().map(Abstract::to_domain).collect::<smallvec::SmallVec<[Domain; 2]>>();
    let known = |value: Option<bool>| Some(Abstract::Int(Domain::of_truth(value)));
    let float = |range: FloatRange| Some(Abstract::Float(range));
    if let (Min | Max, true) = (func, sort == Sort::Float) {
        let ranges = args.iter().map(Abstract::to_float);
        return ranges.reduce(|a, b| a.extremum(&b, func)).map(Abstract::Float);
    }
    match (func, args) {
        (Min | Max, _) => extremum(func, &integers()).map(Abstract::Int),
        (And | Or, _) => known(connective(func, args.iter().map(|a| truth(&a.to_domain())))),
        (DenseIndicator, _) => Some(Abstract::Int(Domain::unit())),
        (Ite, [c, p, q]) => Some(ite(truth(&c.to_domain()), p, q)),
        (Abs, [Abstract::Float(a)]) => float(a.abs()),
        (Trunc | Floor | Ceil | Round, [Abstract::Int(a)]) => Some(Abstract::Int(a.clone())),
        (Trunc | Floor | Ceil | Round, [Abstract::Float(a)]) => {
            a.to_integer(func).map(|range| Abstract::Int(range.into()))
        }
        (ToFloat, [a]) => a.as_operand().map(Abstract::Float),
        (TruncToFloat, [a]) => a.as_operand()?.trunc().map(Abstract::Float),
        (IntTrueDiv, [Abstract::Int(a), Abstract::Int(b)]) => {
            FloatRange::integer_quotient(&a.range, &b.range).map(Abstract::Float)
        }
        // A quotient is rounded once, whatever the operands are.
        (IntTrueDiv, [a, b]) => a.to_float().div(&b.to_float()).map(Abstract::Float),
        (FloatTrueDiv, [a, b]) => a.as_operand()?.div(&b.as_operand()?).map(Abstract::Float),
        (FloatAdd | FloatMul | FloatPow | RoundDecimal, [Abstract::Int(_), _]) => call_on_either(func, args),
        (FloatAdd | FloatMul | FloatPow, [_, Abstract::Int(_)]) => call_on_either(func, args),
        (FloatPow, [a, b]) => float(a.as_operand()?.pow(&b.as_operand()?)),
        (FloatAdd, [a, b]) => float(a.as_operand()?.add(&b.as_operand()?)),
        (FloatMul, [a, b]) => float(a.as_operand()?.mul(&b.as_operand()?)),
        (RoundDecimal, [a, k]) => float(a.as_operand()?.round_decimal(&k.to_domain().range)),
        (FloatEq | FloatLt | FloatLe, [a, b]) => known(compare(func, a, b)),
        (_, [a]) if func.real_function().is_some() => {
            a.as_operand()?.real_function(func).map(Abstract::Float)
        }
        (Abs, [Abstract::Int(a)]) => abs(a).map(Abstract::Int),
        (IsZero, [Abstract::Int(a)]) => known(is_zero(a)),
        (NotPositive, [Abstract::Int(a)]) => known(not_positive(a)),
        (Not, [Abstract::Int(a)]) => known(truth(a).map(|value| !value)),
        (_, [Abstract::Int(a), Abstract::Int(b)]) => match func {
            FloorDiv => floor_div(a, b),
            Mod => modulo(a, b),
            Ratio => ratio(a, b),
            Pow => pow(a, b),
            BitAnd => bitwise::and(a, b),
            BitOr => bitwise::or(a, b),
            BitXor => bitwise::xor(a, b),
            _ => return Some(Abstract::all(sort)),
        }
        .map(Abstract::Int),
        _ => Some(Abstract::all(sort)),
    }
}
