//! Element counts that have to fit in 64 bits.
//!
//! Expressions are exact, torch's sizes are not: it refuses to make a tensor of more than `2^63 - 1` elements.
use super::interpreter::{Interpreter, Mode, Stop};
use sizewise_env::Clause;
use sizewise_expr::Int;
use sizewise_kernels::Value;

/// The most elements that a tensor can have.
pub fn most_elements() -> Int {
    Int::from(i64::MAX)
}

impl Interpreter<'_> {
    /// Notes the number of elements of a result, which is checked later; when evaluating, fails at once if it is
    /// too large.
    pub(super) fn count_elements(&mut self, value: &Value) -> Result<(), Stop> {
        let Value::Tensor(tensor) = value else { return Ok(()) };
        let count = self.run.env.product(tensor.sizes.iter().copied());
        // What fits into a handle fits into 64 bits.
        if count.as_inline().is_some() {
            return Ok(());
        }
        let most = most_elements();
        match self.run.env.pool.as_int(count) {
            Some(n) if n <= most => {}
            Some(n) if self.mode == Mode::Evaluate => {
                let message = format!("a result has {n} elements, more than {most}");
                return Err(self.invalid(Clause::ElementCount, message));
            }
            None if self.mode == Mode::Evaluate => {}
            _ => {
                if self.counted.insert(count) {
                    self.run.element_counts.push((self.origin, count));
                }
            }
        }
        Ok(())
    }
}
