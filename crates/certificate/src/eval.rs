//! The value of a term at integers.
use super::term::{Op, Term};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An integer.
    Int(BigInt),
    /// A double.
    Real(f64),
    /// A truth value.
    Bool(bool),
}

/// Why there is no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An operation has no value at its operands: the assignment does not count.
    Undefined,
    /// The checker does not compute it. Nothing may be concluded.
    Refused,
}

type Result<T> = std::result::Result<T, Fault>;

/// The most bits of an integer that is computed.
const MAX_BITS: u64 = 1 << 14;

/// The value of a term: of every operand, taken branch or not.
///
/// # Errors
/// When there is none, or it is not computed.
pub fn value(term: &Term, of: &dyn Fn(&str) -> Option<BigInt>) -> Result<Value> {
    match term {
        Term::Int(v) => Ok(Value::Int(v.clone())),
        Term::Real(v) => Ok(Value::Real(*v)),
        Term::Name(name) => of(name).map(Value::Int).ok_or(Fault::Refused),
        Term::Call(op, operands) => {
            let mut values = Vec::with_capacity(operands.len());
            let mut undefined = false;
            for operand in operands {
                match value(operand, of) {
                    Ok(v) => values.push(v),
                    Err(Fault::Undefined) => undefined = true,
                    Err(Fault::Refused) => return Err(Fault::Refused),
                }
            }
            if undefined { Err(Fault::Undefined) } else { call(*op, &values) }
        }
    }
}

fn int(values: &[Value], at: usize) -> Result<&BigInt> {
    match values.get(at) {
        Some(Value::Int(v)) => Ok(v),
        _ => Err(Fault::Refused),
    }
}

fn truth(value: &Value) -> Result<bool> {
    match value {
        Value::Bool(v) => Ok(*v),
        _ => Err(Fault::Refused),
    }
}

fn bounded(v: BigInt) -> Result<Value> {
    if v.bits() > MAX_BITS { Err(Fault::Refused) } else { Ok(Value::Int(v)) }
}

fn call(op: Op, values: &[Value]) -> Result<Value> {
    let (first, second) = (int(values, 0), int(values, 1));
    let nonzero =
        |v: Result<&BigInt>| v.cloned().and_then(|v| if v.is_zero() { Err(Fault::Undefined) } else { Ok(v) });
    let count = || match second?.to_u64() {
        _ if second?.is_negative() => Err(Fault::Undefined),
        Some(n) if n <= MAX_BITS => Ok(n),
        _ => Err(Fault::Refused),
    };
    bounded(match op {
        Op::Add => (0..values.len()).map(|i| int(values, i)).sum::<Result<BigInt>>()?,
        Op::Sub if values.len() == 1 => -first?.clone(),
        Op::Sub => first? - second?,
        Op::Mul => {
            let mut product = BigInt::from(1);
            for i in 0..values.len() {
                product *= int(values, i)?;
                bounded(product.clone())?;
            }
            product
        }
        Op::FloorDiv => first?.div_floor(&nonzero(second)?),
        Op::Mod => first?.mod_floor(&nonzero(second)?),
        Op::Pow => {
            let n = count()?;
            if first?.bits().saturating_mul(n) > MAX_BITS {
                return Err(Fault::Refused);
            }
            first?.pow(u32::try_from(n).map_err(|_| Fault::Refused)?)
        }
        Op::Shl => first? << count()?,
        // Rounds towards minus infinity.
        Op::Shr => first? >> count()?,
        Op::And => first? & second?,
        Op::Or => first? | second?,
        Op::Xor => first? ^ second?,
        Op::All | Op::Any => {
            let all = values.iter().map(truth).collect::<Result<Vec<bool>>>()?;
            return Ok(Value::Bool(if op == Op::All { all.iter().all(|v| *v) } else { all.contains(&true) }));
        }
        Op::Not => return Ok(Value::Bool(!truth(values.first().ok_or(Fault::Refused)?)?)),
        Op::True | Op::False => return Ok(Value::Bool(op == Op::True)),
        Op::Ite => return Ok(values[if truth(&values[0])? { 1 } else { 2 }].clone()),
        _ => return on_numbers(op, values),
    })
}

/// Operations that take integers and doubles.
fn on_numbers(op: Op, values: &[Value]) -> Result<Value> {
    let order = || compare(&values[0], &values[1]);
    Ok(match op {
        Op::Min | Op::Max => {
            let keep = if op == Op::Min { Ordering::Less } else { Ordering::Greater };
            let mut best = &values[0];
            for v in &values[1..] {
                if compare(v, best)?.ok_or(Fault::Undefined)? == keep {
                    best = v;
                }
            }
            best.clone()
        }
        Op::Abs => match &values[0] {
            Value::Real(v) => Value::Real(v.abs()),
            _ => Value::Int(int(values, 0)?.abs()),
        },
        Op::Le | Op::FloatLe => Value::Bool(order()?.is_some_and(Ordering::is_le)),
        Op::Lt | Op::FloatLt => Value::Bool(order()? == Some(Ordering::Less)),
        Op::Ge => Value::Bool(order()?.is_some_and(Ordering::is_ge)),
        Op::Gt => Value::Bool(order()? == Some(Ordering::Greater)),
        Op::Eq | Op::FloatEq => Value::Bool(order()? == Some(Ordering::Equal)),
        Op::Ne => Value::Bool(order()? != Some(Ordering::Equal)),
        _ => return on_doubles(op, values),
    })
}

/// The nearest double, ties to even; none beyond the greatest one.
fn double(value: &Value) -> Result<f64> {
    match value {
        Value::Real(v) => Ok(*v),
        Value::Int(v) => quotient(v, &BigInt::from(1)),
        Value::Bool(_) => Err(Fault::Refused),
    }
}

fn on_doubles(op: Op, values: &[Value]) -> Result<Value> {
    let x = || double(&values[0]);
    let y = || double(values.get(1).ok_or(Fault::Refused)?);
    let divisor = || if y()? == 0.0 { Err(Fault::Undefined) } else { y() };
    let real = |v: f64| Ok(Value::Real(v));
    let whole = |v: f64| BigInt::from_f64(v).map(Value::Int).ok_or(Fault::Undefined);
    let integers = values.iter().all(|v| matches!(v, Value::Int(_)));
    match op {
        Op::FloatAdd if integers => bounded(int(values, 0)? + int(values, 1)?),
        Op::FloatMul if integers => bounded(int(values, 0)? * int(values, 1)?),
        Op::IntDiv if integers && int(values, 1)?.is_zero() => Err(Fault::Undefined),
        Op::IntDiv if integers => real(quotient(int(values, 0)?, int(values, 1)?)?),
        Op::Trunc | Op::Floor | Op::Ceil | Op::Round if integers => Ok(values[0].clone()),
        Op::Float => real(x()?),
        Op::IntDiv | Op::FloatDiv => real(x()? / divisor()?),
        Op::FloatAdd => real(x()? + y()?),
        Op::FloatMul => real(x()? * y()?),
        Op::FloatPow if integers && !int(values, 1)?.is_negative() => call(Op::Pow, values),
        Op::FloatPow => power(x()?, y()?),
        Op::Decimal => decimal(&values[0], int(values, 1)?),
        Op::Sqrt if x()? < 0.0 => Err(Fault::Undefined),
        Op::Sqrt => real(x()?.sqrt()),
        Op::FloatTrunc if !x()?.is_finite() => Err(Fault::Undefined),
        Op::FloatTrunc => real(x()?.trunc()),
        Op::Trunc => whole(x()?.trunc()),
        Op::Floor => whole(x()?.floor()),
        Op::Ceil => whole(x()?.ceil()),
        Op::Round => whole(x()?.round_ties_even()),
        _ => Err(Fault::Refused),
    }
}

/// The power as the C library has it, where Python gives one.
fn power(base: f64, exponent: f64) -> Result<Value> {
    let power = base.powf(exponent);
    // Infinite exponents have a limit: 0.0 to minus infinity is infinity.
    if base.is_finite() && exponent.is_finite() && !power.is_finite() {
        return Err(Fault::Undefined);
    }
    Ok(Value::Real(power))
}

/// Rounds the exact value to a multiple of 10^-k, ties to even, and that to the nearest double.
fn decimal(value: &Value, k: &BigInt) -> Result<Value> {
    let k = k.to_i32().filter(|k| (0..=300).contains(k)).ok_or(Fault::Refused)?;
    let x = match value {
        Value::Int(v) => return Ok(Value::Int(v.clone())),
        Value::Real(x) if x.is_finite() => *x,
        _ => return Err(Fault::Refused),
    };
    let ten = BigInt::from(10).pow(k.unsigned_abs());
    let (mantissa, exponent) = parts(x);
    let (mut top, mut bottom) = (mantissa * &ten, BigInt::from(1));
    if exponent >= 0 {
        top <<= exponent;
    } else {
        bottom <<= -exponent;
    }
    let (below, rest) = top.div_mod_floor(&bottom);
    let up = match (rest * 2i32).cmp(&bottom) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => below.is_odd(),
    };
    quotient(&(below + i32::from(up)), &ten).map(Value::Real)
}

/// The integers m and e with `x = m * 2^e`.
fn parts(x: f64) -> (BigInt, i32) {
    let bits = x.to_bits();
    let field = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if field == 0 { fraction } else { fraction | (1 << 52) };
    let mantissa = BigInt::from(mantissa);
    (if x.is_sign_negative() { -mantissa } else { mantissa }, field.max(1) - 1075)
}

/// The double nearest to `a / b`, ties to even.
fn quotient(a: &BigInt, b: &BigInt) -> Result<f64> {
    let sign = if a.is_negative() == b.is_negative() { 1.0 } else { -1.0 };
    let (a, b) = (a.abs(), b.abs());
    if a.is_zero() {
        return Ok(0.0);
    }
    // A quotient of at least 66 bits with a last bit that says whether anything was lost rounds once.
    let shift = 66 + b.bits() as i64 - a.bits() as i64;
    let (a, b) = if shift >= 0 { (a << shift, b) } else { (a, b << -shift) };
    let (mut q, rest) = a.div_rem(&b);
    if !(-1_100..=900).contains(&shift) {
        // Near the least doubles; beyond the greatest.
        return Err(if shift > 900 { Fault::Refused } else { Fault::Undefined });
    }
    if !rest.is_zero() {
        q = (q << 1u32) | BigInt::from(1);
    } else {
        q <<= 1u32;
    }
    let nearest = q.to_f64().ok_or(Fault::Refused)?;
    let scaled = nearest * 2f64.powi(i32::try_from(-shift - 1).map_err(|_| Fault::Refused)?);
    if scaled.is_finite() { Ok(sign * scaled) } else { Err(Fault::Undefined) }
}

/// The order of two numbers by value; `None` beside NaN.
fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Real(a), Value::Real(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Real(b)) => exact(a, *b),
        (Value::Real(a), Value::Int(b)) => exact(b, *a).map(Ordering::reverse),
        _ => return Err(Fault::Refused),
    })
}

fn exact(a: &BigInt, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b.is_infinite() {
        return 0f64.partial_cmp(&b);
    }
    let below = BigInt::from_f64(b.floor())?;
    Some(a.cmp(&below).then(if b.fract() == 0.0 { Ordering::Equal } else { Ordering::Less }))
}
