//! The exact evaluator: the meaning of every expression.
use super::int::Int;
use super::node::{Func, Node, Sort};
use super::pool::{Expr, Pool, Symbol};
use super::rounding;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{FromPrimitive, Signed};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Results beyond this many bits are refused rather than computed.
const MAX_BITS: u64 = 1 << 16;

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

    /// The nearest double. `None` for an integer or a ratio beyond the greatest double, where Python raises
    /// `OverflowError`.
    pub fn to_double(&self) -> Option<f64> {
        match self {
            Value::Float(v) => Some(*v),
            exact => Some(exact.as_f64()).filter(|v| v.is_finite()),
        }
    }

    /// The nearest double; infinite for an integer or a ratio beyond the greatest one.
    pub fn as_f64(&self) -> f64 {
        match self {
            Value::Int(v) => v.to_f64(),
            Value::Ratio(v) => rounding::ratio_to_f64(v.numer(), v.denom()),
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

    /// An evaluator that starts with known values at `assignment`. [`Evaluator::into_known`] returns them
    /// together with the new ones.
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

    /// Whether `e` is so cheap to evaluate that its value is not worth storing: a constant, a symbol, a
    /// product of a few symbols.
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
            None => e.as_inline().map(|v| Value::Int(Int::from(v))).ok_or(EvalError::Domain),
            Some(Node::Int(v)) => Ok(Value::Int(v.clone())),
            Some(Node::Float(v)) => Ok(Value::Float(v.0)),
            Some(Node::Bool(v)) => Ok(Value::Bool(*v)),
            Some(Node::Symbol(symbol)) => {
                let value = (self.assignment)(*symbol).ok_or(EvalError::Unbound(*symbol))?;
                match value {
                    // A double may be given by the integer that it is.
                    Value::Int(_) if self.pool.sort(e) == Sort::Float => {
                        value.to_double().map(Value::Float).ok_or(EvalError::Domain)
                    }
                    value => Ok(value),
                }
            }
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
    if let Some(function) = func.real_function() {
        let x = args.first().and_then(Value::to_double).ok_or(EvalError::Domain)?;
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
                // If an operand is NaN, Python's result depends on their order, which is not kept.
                if compare(v, best).ok_or(EvalError::Domain)? == keep {
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
        IsZero => Value::Bool(int(0)?.is_zero()),
        NotPositive => Value::Bool(!int(0)?.is_positive()),
        Not => Value::Bool(!args[0].as_bool()),
        And => Value::Bool(args.iter().all(Value::as_bool)),
        Or => Value::Bool(args.iter().any(Value::as_bool)),
        _ => return call_on_doubles(func, args),
    })
}

/// The value of a call whose operands or value are doubles.
fn call_on_doubles(func: Func, args: &[Value]) -> Result<Value, EvalError> {
    use Func::*;
    let int = |i: usize| args.get(i).and_then(Value::as_int).ok_or(EvalError::Domain);
    let real = |i: usize| args.get(i).and_then(Value::to_double).ok_or(EvalError::Domain);
    if let Some(exact) = call_on_integers(func, args) {
        return exact;
    }
    Ok(match func {
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
        IntTrueDiv | FloatTrueDiv => {
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
            Value::Float(rounding::round_decimal(x, k).ok_or(EvalError::Domain)?)
        }
        TruncToFloat => Value::Float(finite(real(0)?)?.trunc()),
        FloatEq => Value::Bool(compare(&args[0], &args[1]) == Some(Ordering::Equal)),
        FloatLt => Value::Bool(compare(&args[0], &args[1]) == Some(Ordering::Less)),
        FloatLe => Value::Bool(compare(&args[0], &args[1]).is_some_and(Ordering::is_le)),
        _ => return Err(EvalError::Domain),
    })
}

/// The value of arithmetic if its operands turn out to be integers: where doubles are computed with, no operand is one.
fn call_on_integers(func: Func, args: &[Value]) -> Option<Result<Value, EvalError>> {
    use Func::*;
    let [Some(a), Some(b)] = [args.first()?.as_int(), args.get(1)?.as_int()] else { return None };
    let bounded = |v: Int| if v.bits() > MAX_BITS { Err(EvalError::TooLarge) } else { Ok(Value::Int(v)) };
    Some(match func {
        FloatAdd => bounded(&a + &b),
        FloatMul => bounded(&a * &b),
        FloatPow if !b.is_negative() => call(Pow, args),
        RoundDecimal => match b.to_i64() {
            Some(k) if k < -(MAX_BITS as i64) => Ok(Value::Int(Int::ZERO)),
            Some(k) if k < 0 => {
                let unit = num_traits::pow(BigInt::from(10), k.unsigned_abs() as usize);
                let tens = exact_rounding(Round, &Value::Ratio(BigRational::new(a.to_big(), unit.clone())));
                tens.map(|v| Value::Int(Int::from_big(v.as_int().unwrap_or_default().to_big() * unit)))
            }
            Some(_) => Ok(Value::Int(a)),
            None => Err(EvalError::TooLarge),
        },
        IntTrueDiv if b.is_zero() => Err(EvalError::ZeroDivisor),
        IntTrueDiv => finite(rounding::ratio_to_f64(&a.to_big(), &b.to_big())).map(Value::Float),
        _ => return None,
    })
}

/// `x` unless it is infinite or NaN, where Python raises an error.
fn finite(x: f64) -> Result<f64, EvalError> {
    if x.is_finite() { Ok(x) } else { Err(EvalError::Domain) }
}

/// The order of two numbers by their values, as Python compares them: an integer and a double exactly,
/// without rounding. `None` if one of them is NaN.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
        (Value::Float(x), exact) => compare_exact(exact, *x).map(Ordering::reverse),
        (exact, Value::Float(x)) => compare_exact(exact, *x),
        _ => Some(a.to_rational().cmp(&b.to_rational())),
    }
}

/// The order of an integer, ratio or truth value and a double.
fn compare_exact(exact: &Value, x: f64) -> Option<Ordering> {
    match exact.as_int() {
        Some(v) => v.partial_cmp_f64(x),
        None if x.is_infinite() => 0f64.partial_cmp(&x),
        None => exact.to_rational()?.partial_cmp(&BigRational::from_float(x)?),
    }
}

fn exact_rounding(func: Func, value: &Value) -> Result<Value, EvalError> {
    let ratio = value.to_rational().ok_or(EvalError::Domain)?;
    Ok(Value::Int(Int::from_big(rounding::rounded(func, &ratio))))
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
