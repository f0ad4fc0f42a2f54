//! The stack machine that evaluates checks.
use crate::format::MAX_STACK;
use crate::input::Input;
use crate::op;
use crate::reader::{Malformed, Reader};

/// Integers up to this one are doubles exactly.
const EXACT: i64 = 1 << 53;
/// Doubles from this one on are not rounded to integers.
const MOST_ROUNDED: f64 = (1i64 << 62) as f64;

/// A value on the stack, by its bits; `None` where it has none.
pub(crate) type Value = Option<i64>;

/// What a check is evaluated with.
pub(crate) struct Machine<'a> {
    pub inputs: &'a [Input<'a>],
    pub variables: &'a [Value],
    pub stack: [Value; MAX_STACK],
    pub used: usize,
}

impl Machine<'_> {
    /// Whether the condition that this code computes holds.
    pub fn holds(&mut self, code: &[u8]) -> Result<bool, Malformed> {
        self.used = 0;
        let mut code = Reader { rest: code };
        while !code.rest.is_empty() {
            self.step(&mut code)?;
        }
        let result = self.pop()?;
        if self.used == 0 { Ok(result == Some(1)) } else { Err(Malformed) }
    }

    fn push(&mut self, value: Value) -> Result<(), Malformed> {
        *self.stack.get_mut(self.used).ok_or(Malformed)? = value;
        self.used += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, Malformed> {
        self.used = self.used.checked_sub(1).ok_or(Malformed)?;
        self.stack.get(self.used).copied().ok_or(Malformed)
    }

    fn step(&mut self, code: &mut Reader) -> Result<(), Malformed> {
        let value = match code.byte()? {
            op::INT => Some(code.signed()?),
            op::VARIABLE => *self.variables.get(code.count()?).ok_or(Malformed)?,
            op::SIZE => size(self.inputs, code.count()?, code.count()?)?,
            op::DOUBLE => bits(code.double()?),
            op @ (op::ABS..=op::NOT | op::TO_DOUBLE | op::DOUBLE_ABS..=op::ROUND) if op != op::EQUAL => {
                let a = self.pop()?;
                a.and_then(|a| of_one(op, a))
            }
            op::AND => {
                let (b, a) = (self.pop()?, self.pop()?);
                if a == Some(0) || b == Some(0) { Some(0) } else { a.zip(b).map(|_| 1) }
            }
            op::OR => {
                let (b, a) = (self.pop()?, self.pop()?);
                if a == Some(1) || b == Some(1) { Some(1) } else { a.zip(b).map(|_| 0) }
            }
            op::IF => {
                let (other, value, condition) = (self.pop()?, self.pop()?, self.pop()?);
                condition.and_then(|condition| if condition != 0 { value } else { other })
            }
            op @ (op::ADD..=op::EQUAL | op::DOUBLE_ADD..=op::DOUBLE_LE) => {
                let (b, a) = (self.pop()?, self.pop()?);
                a.zip(b)
                    .and_then(|(a, b)| if op <= op::EQUAL { of_two(op, a, b) } else { of_doubles(op, a, b) })
            }
            _ => return Err(Malformed),
        };
        self.push(value)
    }
}

/// A size of an input, or the value of an integer.
pub(crate) fn size(inputs: &[Input], input: usize, dim: usize) -> Result<Value, Malformed> {
    match (inputs.get(input), dim.checked_sub(1)) {
        (Some(Input::Tensor(sizes)), Some(dim)) => sizes.get(dim).map(|&size| Some(size)).ok_or(Malformed),
        (Some(&Input::Integer(value)), None) => Ok(Some(value)),
        _ => Err(Malformed),
    }
}

fn bits(value: f64) -> Value {
    Some(value.to_bits() as i64)
}

fn of_one(op: u8, a: i64) -> Value {
    let double = f64::from_bits(a as u64);
    match op {
        op::ABS => a.checked_abs(),
        op::IS_ZERO => Some(i64::from(a == 0)),
        op::NOT_POSITIVE => Some(i64::from(a <= 0)),
        op::NOT => Some(i64::from(a == 0)),
        op::TO_DOUBLE if (-EXACT..=EXACT).contains(&a) => bits(a as f64),
        op::TO_DOUBLE => None,
        op::DOUBLE_ABS => bits(f64::from_bits(a as u64 & !(1 << 63))),
        // Not a number is not within.
        _ if !(-MOST_ROUNDED < double && double < MOST_ROUNDED) => None,
        _ => Some(rounded(op, double)),
    }
}

/// A double of moderate size as an integer.
fn rounded(op: u8, a: f64) -> i64 {
    let towards_zero = a as i64;
    let down = towards_zero - i64::from(towards_zero as f64 > a);
    let rest = a - down as f64;
    match op {
        op::TRUNC => towards_zero,
        op::FLOOR => down,
        op::CEIL => down + i64::from(rest > 0.0),
        _ => down + i64::from(rest > 0.5 || rest == 0.5 && down & 1 == 1),
    }
}

fn of_two(op: u8, a: i64, b: i64) -> Value {
    match op {
        op::ADD => a.checked_add(b),
        op::MUL => a.checked_mul(b),
        op::FLOOR_DIV => floor_div(a, b),
        op::MOD => match b {
            0 => None,
            // The least integer has no remainder by -1 in two's complement.
            -1 => Some(0),
            _ => Some(a % b + if a % b != 0 && (a % b < 0) != (b < 0) { b } else { 0 }),
        },
        op::POW => power(a, b),
        op::MIN => Some(a.min(b)),
        op::MAX => Some(a.max(b)),
        op::BIT_AND => Some(a & b),
        op::BIT_OR => Some(a | b),
        op::BIT_XOR => Some(a ^ b),
        _ => Some(i64::from(a == b)),
    }
}

/// The quotient, rounded down; `None` by 0, and where it does not fit.
pub(crate) fn floor_div(a: i64, b: i64) -> Value {
    let towards_zero = a.checked_div(b)?;
    Some(towards_zero - i64::from(a % b != 0 && (a < 0) != (b < 0)))
}

/// A power by repeated squaring.
fn power(base: i64, exponent: i64) -> Value {
    if exponent < 0 {
        return None;
    }
    let (mut result, mut square, mut left) = (1i64, Some(base), exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.checked_mul(square?)?;
        }
        left >>= 1;
        square = square.and_then(|square| square.checked_mul(square));
    }
    Some(result)
}

fn of_doubles(op: u8, a: i64, b: i64) -> Value {
    let (a, b) = (f64::from_bits(a as u64), f64::from_bits(b as u64));
    match op {
        op::DOUBLE_ADD => bits(a + b),
        op::DOUBLE_MUL => bits(a * b),
        op::DOUBLE_DIV if b == 0.0 => None,
        op::DOUBLE_DIV => bits(a / b),
        op::DOUBLE_EQ => Some(i64::from(a == b)),
        op::DOUBLE_LT => Some(i64::from(a < b)),
        _ => Some(i64::from(a <= b)),
    }
}
