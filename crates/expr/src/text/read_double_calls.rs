//! Calls of functions of doubles.
use super::functions::Function;
use super::reader::Reader;
use crate::{Expr, Func};

impl Reader<'_, '_> {
    /// A function of doubles, or one that gives a double or rounds one; nothing for others.
    pub(super) fn apply_to_doubles(&mut self, function: Function, numbers: &[Expr]) -> Option<Expr> {
        Some(match (function, numbers) {
            (Function::ToFloat, &[a]) => self.pool.to_float(a),
            (Function::TrueDiv { float }, &[a, b]) => {
                let (a, b) = if float { (self.pool.to_float(a), self.pool.to_float(b)) } else { (a, b) };
                self.divisor(b);
                self.pool.true_div(a, b)
            }
            (Function::FloatPow, &[a, n]) => self.pool.float_pow(a, n),
            (Function::Rounding(func), &[a]) => self.pool.float_to_int(func, a),
            (Function::Round, &[a]) => self.pool.float_to_int(Func::Round, a),
            (Function::Round, &[a, k]) => self.pool.round_decimal(a, k),
            (Function::RoundDecimal, &[a, k]) => {
                let a = self.pool.to_float(a);
                self.pool.round_decimal(a, k)
            }
            (Function::TruncToFloat, &[a]) => {
                let a = self.pool.to_float(a);
                self.pool.call(Func::TruncToFloat, &[a])
            }
            (Function::Real(func), &[a]) => self.pool.real_function(func, a),
            _ => return None,
        })
    }
}
