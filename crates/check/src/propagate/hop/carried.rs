//! Loop-carried values keep their form: equally many values of the same ranks, dtypes and sizes.
use super::super::interpreter::{CallError, Interpreter};
use sizewise_env::OpClause;
use sizewise_kernels::{Cx, Tensor, Value};

impl<'p> Interpreter<'p> {
    /// Requires the results of an iteration to have the form of its operands, value by value; an error says which
    /// value and which dimension changes, and how.
    pub(super) fn keep_form(
        &mut self,
        before: &[Value],
        after: &[Value],
        clause: &'static OpClause,
    ) -> Result<(), CallError> {
        if before.len() != after.len() {
            let message = format!("{} values are carried, but a turn returns {}", before.len(), after.len());
            return Err(self.invalid(clause, message));
        }
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            match (before, after) {
                (Value::Tensor(x), Value::Tensor(y)) => self.keep_sizes(index, x, y, clause)?,
                (Value::Tensor(_), _) | (_, Value::Tensor(_)) => {
                    let message = format!(
                        "what is carried has to keep its form: value {index} goes from {} to {}",
                        self.form(before),
                        self.form(after)
                    );
                    return Err(self.invalid(clause, message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn keep_sizes(
        &mut self,
        index: usize,
        before: &Tensor,
        after: &Tensor,
        clause: &'static OpClause,
    ) -> Result<(), CallError> {
        if before.rank() != after.rank() || before.dtype != after.dtype {
            let message = format!(
                "what is carried has to keep its form: value {index} goes from {} to {}",
                self.describe(before),
                self.describe(after)
            );
            return Err(self.invalid(clause, message));
        }
        for (dim, (&a, &b)) in before.sizes.iter().zip(&after.sizes).enumerate() {
            if a == b {
                continue;
            }
            let mut cx = Cx::new(&mut self.run.env);
            let (same, larger, smaller) = (cx.eq(a, b), cx.gt(b, a), cx.lt(b, a));
            let change = match (cx.known(larger), cx.known(smaller)) {
                (Some(true), _) => "grows",
                (_, Some(true)) => "shrinks",
                _ => "changes",
            };
            let kept = cx.require(same, clause, |cx| {
                format!(
                    "what is carried has to keep its form: dimension {dim} of value {index} {change} from {} to {}",
                    cx.show(a),
                    cx.show(b)
                )
            });
            self.returned(kept)?;
        }
        Ok(())
    }
}
