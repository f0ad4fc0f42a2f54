//! The exact evaluator: the meaning of every expression.
use super::int::Int;
use super::node::{Func, Node};
use super::pool::{Expr, Pool, Symbol};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Results beyond this many bits are refused rather than computed.
const MAX_BITS: u64 = 1 << 20;

/// Products of more symbols are remembered.
const MAX_FACTORS: usize = 4;

/// The value of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An integer.
    Int(Int),
    /// A rational that is no integer.
    Ratio(BigRational),
    /// A double.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

impl Value {
    /// The value as an integer; truth values count as 0 and 1.
    pub fn as_int(&self) -> Option<Int> {
        match self {
            Value::Int(v) => Some(v.clone()),
            Value::Bool(b) => Some(Int::from(i64::from(*b))),
            Value::Ratio(_) | Value::Float(_) => None,
        }
    }

    /// The value as a truth value; numbers are true unless they are 0.
    pub fn as_bool(&self) -> bool {
        match self {
            Value::Int(v) => !v.is_zero(),
            Value::Ratio(_) => true,
            Value::Float(v) => *v != 0.0,
            Value::Bool(b) => *b,
        }
    }

    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        match self {
            Value::Int(v) => v.to_f64(),
            Value::Ratio(v) => ratio_to_f64(v.numer(), v.denom()),
            Value::Float(v) => *v,
            Value::Bool(b) => f64::from(u8::from(*b)),
        }
    }

    fn to_rational(&self) -> Option<BigRational> {
        match self {
            Value::Ratio(v) => Some(v.clone()),
            _ => self.as_int().map(|v| BigRational::from_integer(v.to_big())),
        }
    }

    fn from_rational(value: BigRational) -> Value {
        if value.is_integer() { Value::Int(Int::from_big(value.to_integer())) } else { Value::Ratio(value) }
    }
}

/// Why an expression has no value at an assignment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// A divisor is zero: the assignment lies outside every query.
    #[error("division by zero")]
    ZeroDivisor,
    /// A symbol has no value.
    #[error("symbol without a value")]
    Unbound(Symbol),
    /// An operation has no value at its operands (a negative exponent, the square root of a negative number, ...).
    #[error("outside the domain of the operation")]
    Domain,
    /// The value is too large to compute.
    #[error("value too large")]
    TooLarge,
}

/// Evaluates expressions of one pool at one assignment, each shared subexpression once.
pub struct Evaluator<'a, F: Fn(Symbol) -> Option<Value>> {
    pool: &'a Pool,
    assignment: F,
    memo: FxHashMap<Expr, Result<Value, EvalError>>,
}

impl<'a, F: Fn(Symbol) -> Option<Value>> Evaluator<'a, F> {
    /// An evaluator at `assignment`.
    pub fn new(pool: &'a Pool, assignment: F) -> Evaluator<'a, F> {
        Evaluator::knowing(pool, assignment, FxHashMap::default())
    }

    /// An evaluator that knows values at `assignment` from before; [`Evaluator::into_known`] gives them back with the new ones.
    pub fn knowing(
        pool: &'a Pool,
        assignment: F,
        known: FxHashMap<Expr, Result<Value, EvalError>>,
    ) -> Evaluator<'a, F> {
        Evaluator { pool, assignment, memo: known }
    }

    /// The values found so far.
    pub fn into_known(self) -> FxHashMap<Expr, Result<Value, EvalError>> {
        self.memo
    }

    /// The value of `e`. Branches of a conditional that are not taken need no value, nor do the operands of a
    /// connective that others decide.
    pub fn value(&mut self, e: Expr) -> Result<Value, EvalError> {
        if self.is_leaf(e) {
            return self.known(e);
        }
        if let Some(known) = self.memo.get(&e) {
            return known.clone();
        }
        // Children first, without recursion, however deep the expression.
        let mut stack: SmallVec<[Expr; 16]> = SmallVec::new();
        stack.push(e);
        while let Some(&part) = stack.last() {
            let before = stack.len();
            if !self.memo.contains_key(&part) {
                self.pool.for_each_child(part, |child| {
                    if !self.is_leaf(child) && !self.memo.contains_key(&child) {
                        stack.push(child);
                    }
                });
                if stack.len() > before {
                    continue;
                }
                self.pool.charge(1);
                let value = self.node_value(part);
                self.memo.insert(part, value);
            }
            stack.pop();
        }
        self.known(e)
    }

    /// The integer value of `e`.
    pub fn int(&mut self, e: Expr) -> Result<Int, EvalError> {
        self.value(e)?.as_int().ok_or(EvalError::Domain)
    }

    /// The truth value of `e`.
    pub fn truth(&mut self, e: Expr) -> Result<bool, EvalError> {
        Ok(self.value(e)?.as_bool())
    }

    /// Whether the value of `e` takes so little computing that it is not worth remembering: a constant, a symbol, a product of a few
    /// symbols.
    fn is_leaf(&self, e: Expr) -> bool {
        match self.pool.node(e) {
            None | Some(Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Symbol(_)) => true,
            Some(Node::Product(factors)) => {
                let plain = |(atom, power): &(Expr, u32)| *power == 1 && self.pool.as_symbol(*atom).is_some();
                factors.len() <= MAX_FACTORS && factors.iter().all(plain)
            }
            Some(Node::Sum { .. } | Node::Call(..)) => false,
        }
    }

    fn known(&self, e: Expr) -> Result<Value, EvalError> {
        match self.pool.node(e) {
            None => Ok(Value::Int(Int::from(e.as_inline().unwrap_or_default()))),
            Some(Node::Int(v)) => Ok(Value::Int(v.clone())),
            Some(Node::Float(v)) => Ok(Value::Float(v.0)),
            Some(Node::Bool(v)) => Ok(Value::Bool(*v)),
            Some(Node::Symbol(symbol)) => (self.assignment)(*symbol).ok_or(EvalError::Unbound(*symbol)),
            Some(_) if self.is_leaf(e) => self.node_value(e),
            Some(_) => self.memo.get(&e).cloned().unwrap_or(Err(EvalError::Domain)),
        }
    }

    fn node_value(&self, e: Expr) -> Result<Value, EvalError> {
        match self.pool.node(e) {
            Some(Node::Sum { constant, terms }) => {
                let mut total = constant.clone();
                for (monomial, coefficient) in terms {
                    let value = self.known(*monomial)?.as_int().ok_or(EvalError::Domain)?;
                    total = &total + &(&value * coefficient);
                }
                Ok(Value::Int(total))
            }
            Some(Node::Product(factors)) => {
                let mut total = Int::ONE;
                for (atom, power) in factors {
                    let value = self.known(*atom)?.as_int().ok_or(EvalError::Domain)?;
                    total = &total * &value.pow(*power, MAX_BITS).ok_or(EvalError::TooLarge)?;
                    if total.bits() > MAX_BITS {
                        return Err(EvalError::TooLarge);
                    }
                }
                Ok(Value::Int(total))
            }
            Some(Node::Call(Func::Ite, args)) => {
                let chosen = if self.known(args[0])?.as_bool() { args[1] } else { args[2] };
                self.known(chosen)
            }
            Some(Node::Call(func @ (Func::And | Func::Or), args)) => {
                // A connective has the value that one operand forces even where another has none.
                let forcing = *func == Func::Or;
                let mut undefined = None;
                for &a in args {
                    match self.known(a) {
                        Ok(v) if v.as_bool() == forcing => return Ok(Value::Bool(forcing)),
                        Ok(_) => {}
                        Err(error) => undefined = Some(error),
                    }
                }
                undefined.map_or(Ok(Value::Bool(!forcing)), Err)
            }
            Some(Node::Call(func, args)) => {
                let mut values: SmallVec<[Value; 3]> = SmallVec::new();
                for &a in args {
                    values.push(self.known(a)?);
                }
                call(*func, &values)
            }
            None | Some(Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Symbol(_)) => self.known(e),
        }
    }
}

impl Pool {
    /// The value of `e` at an assignment; see [`Evaluator`] for many expressions at one assignment.
    pub fn eval(&self, e: Expr, assignment: impl Fn(Symbol) -> Option<Value>) -> Result<Value, EvalError> {
        Evaluator::new(self, assignment).value(e)
    }
}

/// The value of a call at given operand values.
pub fn call(func: Func, args: &[Value]) -> Result<Value, EvalError> {
    use Func::*;
    let int = |i: usize| args.get(i).and_then(Value::as_int).ok_or(EvalError::Domain);
    let real = |i: usize| args.get(i).map(Value::as_f64).ok_or(EvalError::Domain);
    if let Some(function) = func.real_function() {
        let x = real(0)?;
        let y = function(x);
        // Python raises an error where a function has a pole or overflows, too.
        let outside = (y.is_nan() && !x.is_nan()) || (y.is_infinite() && x.is_finite());
        return if outside { Err(EvalError::Domain) } else { Ok(Value::Float(y)) };
    }
    Ok(match func {
        FloorDiv => Value::Int(int(0)?.floor_div(&int(1)?).ok_or(EvalError::ZeroDivisor)?),
        Mod => Value::Int(int(0)?.modulo(&int(1)?).ok_or(EvalError::ZeroDivisor)?),
        Ratio => {
            let (n, d) = (int(0)?, int(1)?);
            if d.is_zero() {
                return Err(EvalError::ZeroDivisor);
            }
            Value::from_rational(BigRational::new(n.to_big(), d.to_big()))
        }
        Min | Max => {
            let keep = if func == Min { Ordering::Less } else { Ordering::Greater };
            let mut best = args.first().ok_or(EvalError::Domain)?;
            for v in &args[1..] {
                if compare(v, best)? == keep {
                    best = v;
                }
            }
            best.clone()
        }
        Abs => match &args[0] {
            Value::Float(v) => Value::Float(v.abs()),
            Value::Ratio(v) => Value::Ratio(v.abs()),
            _ => Value::Int(int(0)?.abs()),
        },
        Pow => {
            let (base, exponent) = (int(0)?, int(1)?);
            match exponent.to_i64() {
                Some(k) if k < 0 => return Err(EvalError::Domain),
                Some(k) if k <= i64::from(u32::MAX) => {
                    Value::Int(base.pow(k as u32, MAX_BITS).ok_or(EvalError::TooLarge)?)
                }
                _ => return Err(EvalError::TooLarge),
            }
        }
        Ite => args[if args[0].as_bool() { 1 } else { 2 }].clone(),
        BitAnd => Value::Int(Int::from_big(int(0)?.to_big() & int(1)?.to_big())),
        BitOr => Value::Int(Int::from_big(int(0)?.to_big() | int(1)?.to_big())),
        BitXor => Value::Int(Int::from_big(int(0)?.to_big() ^ int(1)?.to_big())),
        DenseIndicator => {
            let values: Option<Vec<Int>> = args.iter().map(Value::as_int).collect();
            Value::Int(Int::from(i64::from(is_dense(&values.ok_or(EvalError::Domain)?))))
        }
        Trunc | Floor | Ceil | Round => {
            let x = match &args[0] {
                Value::Float(x) => *x,
                exact => return exact_rounding(func, exact),
            };
            let rounded = match func {
                Trunc => x.trunc(),
                Floor => x.floor(),
                Ceil => x.ceil(),
                _ => x.round_ties_even(),
            };
            Value::Int(BigInt::from_f64(rounded).map(Int::from_big).ok_or(EvalError::Domain)?)
        }
        ToFloat => Value::Float(real(0)?),
        IntTrueDiv => {
            let (n, d) = (int(0)?, int(1)?);
            if d.is_zero() {
                return Err(EvalError::ZeroDivisor);
            }
            Value::Float(ratio_to_f64(&n.to_big(), &d.to_big()))
        }
        FloatTrueDiv => {
            if real(1)? == 0.0 {
                return Err(EvalError::ZeroDivisor);
            }
            Value::Float(real(0)? / real(1)?)
        }
        FloatPow => {
            let (base, exponent) = (real(0)?, real(1)?);
            if base == 0.0 && exponent < 0.0 {
                return Err(EvalError::ZeroDivisor);
            }
            let power = base.powf(exponent);
            let finite = base.is_finite() && exponent.is_finite();
            if finite && !power.is_finite() {
                return Err(if power.is_nan() { EvalError::Domain } else { EvalError::TooLarge });
            }
            Value::Float(power)
        }
        FloatAdd => Value::Float(real(0)? + real(1)?),
        FloatMul => Value::Float(real(0)? * real(1)?),
        RoundDecimal => {
            let (x, k) = (real(0)?, int(1)?.to_i64().ok_or(EvalError::TooLarge)?);
            Value::Float(round_decimal(x, k).ok_or(EvalError::Domain)?)
        }
        TruncToFloat => Value::Float(real(0)?.trunc()),
        IsZero => Value::Bool(int(0)?.is_zero()),
        NotPositive => Value::Bool(!int(0)?.is_positive()),
        FloatEq => Value::Bool(compare(&args[0], &args[1])? == Ordering::Equal),
        FloatLt => Value::Bool(compare(&args[0], &args[1])? == Ordering::Less),
        FloatLe => Value::Bool(compare(&args[0], &args[1])? != Ordering::Greater),
        Not => Value::Bool(!args[0].as_bool()),
        And => Value::Bool(args.iter().all(Value::as_bool)),
        Or => Value::Bool(args.iter().any(Value::as_bool)),
        _ => return Err(EvalError::Domain),
    })
}

/// The order of two numbers: exact unless a double takes part; `Domain` for NaN.
fn compare(a: &Value, b: &Value) -> Result<Ordering, EvalError> {
    match (a, b) {
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            a.as_f64().partial_cmp(&b.as_f64()).ok_or(EvalError::Domain)
        }
        _ => Ok(a.to_rational().cmp(&b.to_rational())),
    }
}

fn exact_rounding(func: Func, value: &Value) -> Result<Value, EvalError> {
    let ratio = value.to_rational().ok_or(EvalError::Domain)?;
    let rounded = match func {
        Func::Trunc => ratio.trunc(),
        Func::Floor => ratio.floor(),
        Func::Ceil => ratio.ceil(),
        _ => {
            let (down, half) = (ratio.floor(), BigRational::new(1.into(), 2.into()));
            let rest = &ratio - &down;
            let odd = (down.to_integer() % BigInt::from(2)).is_zero();
            if rest > half || (rest == half && !odd) { ratio.ceil() } else { down }
        }
    };
    Ok(Value::Int(Int::from_big(rounded.to_integer())))
}

/// The double nearest to `n / d`, halves to even, as Python divides integers.
fn ratio_to_f64(n: &BigInt, d: &BigInt) -> f64 {
    if n.is_zero() {
        return 0.0;
    }
    let negative = n.is_negative() != d.is_negative();
    let (n, d) = (n.abs(), d.abs());
    // Scale so that the quotient has 66 bits or more, keep a sticky bit for what is cut off, and let one rounding do the rest.
    let shift = 66 + d.bits() as i64 - n.bits() as i64;
    let (n, d) = if shift >= 0 { (n << shift as u64, d) } else { (n, d << (-shift) as u64) };
    let (mut quotient, rest) = num_integer::Integer::div_rem(&n, &d);
    if !rest.is_zero() {
        quotient |= BigInt::from(1);
    }
    let magnitude = scale_by_power_of_two(&quotient, -shift);
    if negative { -magnitude } else { magnitude }
}

/// `q * 2^exponent`, rounded once, also where the result is subnormal.
fn scale_by_power_of_two(q: &BigInt, exponent: i64) -> f64 {
    let bits = q.bits() as i64;
    if bits + exponent > 1024 {
        return f64::INFINITY;
    }
    // Below the normal range fewer than 53 bits remain: cut to that many (with a sticky bit) before converting.
    let lowest = (-1074 - exponent).max(0);
    let kept = if lowest > 0 {
        if lowest > bits {
            return 0.0;
        }
        let mut cut = q >> (lowest as u64);
        let back = &cut << lowest as u64;
        let rest = q - back;
        let half = BigInt::from(1) << (lowest as u64 - 1);
        let odd = cut.bit(0);
        if rest > half || (rest == half && odd) {
            cut += 1;
        }
        cut << lowest as u64
    } else {
        q.clone()
    };
    let value = kept.to_f64().unwrap_or(f64::INFINITY);
    // Two steps keep every intermediate a normal double.
    let half = (exponent / 2) as i32;
    value * 2f64.powi(half) * 2f64.powi(exponent as i32 - half)
}

/// Python's `round(x, k)`: correctly rounded in decimal, halves to even.
fn round_decimal(x: f64, k: i64) -> Option<f64> {
    if !x.is_finite() || k > 400 {
        return x.is_finite().then_some(x);
    }
    if k < -400 {
        return Some(0.0);
    }
    let exact = BigRational::from_float(x)?;
    let power = BigRational::from_integer(num_traits::pow(BigInt::from(10), k.unsigned_abs() as usize));
    let scaled = if k >= 0 { &exact * &power } else { &exact / &power };
    let Value::Int(rounded) = exact_rounding(Func::Round, &Value::Ratio(scaled)).ok()? else { return None };
    let back = BigRational::from_integer(rounded.to_big());
    let result = if k >= 0 { back / power } else { back * power };
    let value = ratio_to_f64(result.numer(), result.denom());
    Some(if value == 0.0 { 0f64.copysign(x) } else { value })
}

/// Whether sizes (first half) and strides (second half) cover memory densely without overlap, as torch decides it: a
/// single dimension needs stride 1 or at most one element; several need, in the order of their strides and without
/// those of size 1, each stride to be the product of the sizes before it.
fn is_dense(values: &[Int]) -> bool {
    let (sizes, strides) = values.split_at(values.len() / 2);
    if let ([size], [stride]) = (sizes, strides) {
        return stride.is_one() || *size < Int::from(2);
    }
    let mut dims: Vec<(&Int, &Int)> = strides.iter().zip(sizes).collect();
    dims.sort_by_key(|(stride, _)| *stride);
    let mut expected = Int::ONE;
    for (stride, size) in dims.into_iter().filter(|(_, size)| !size.is_one()) {
        if *stride != expected {
            return false;
        }
        expected = &expected * size;
    }
    true
}
