//! One call of an operator in a walk: its shape function, and what its results are marked with.
use super::load::mark_results;
use super::untracked::mark_untracked;
use super::{Ended, Walk};
use crate::shape::{Call, Dtype, RunTime, Value, infer, operator, too_large, unknown_outputs};
use sizewise_kernels::{Cx, KernelError};

impl Walk<'_> {
    /// The results of a call at the last step; `is_known` says whether something is known of each input.
    pub(super) fn called(&mut self, call: &Call, is_known: bool) -> Result<Vec<Value>, Ended> {
        let (step, op) = (self.steps.len() - 1, operator(call.domain, call.op));
        let before = self.reads_untracked(call).then(|| self.env.clone());
        let asserted = self.env.runtime_asserts().len();
        let mut values = match infer(&mut Cx::on(&mut self.env, self.model.backend), call) {
            Ok(values) => {
                if let Some(before) = before {
                    self.ask_of_untracked(step, call, before);
                }
                if let Some(op) = op.filter(|_| self.notes_run_time && is_known) {
                    let left = op.left_to_run_time(&mut Cx::on(&mut self.env, self.model.backend), call);
                    self.leave_to_run_time(step, left, asserted);
                }
                let mut values = mark_untracked(call, values);
                if let Some(op) = op {
                    op.mark_spans(&mut Cx::on(&mut self.env, self.model.backend), call, &mut values);
                }
                values
            }
            Err(KernelError::DataDependent { .. }) if before.is_some() => {
                self.depends_on_untracked(step, call.op);
                unknown_outputs(call)
            }
            Err(error) => {
                self.failed(step, error)?;
                unknown_outputs(call)
            }
        };
        // At its own examples a check takes results to fit into memory.
        if self.notes_run_time
            && let Some(error) = too_large(&self.env.pool, &values)
        {
            self.failed(step, error)?;
            values = unknown_outputs(call);
        }
        for error in call.doubts.take() {
            self.failed(step, error)?;
        }
        mark_results(call, &mut values);
        if self.keeps && op.is_none_or(|op| !op.moves_integers) {
            self.note_integers(step, &values);
        }
        if let Some(error) = self.leave_out_large(&mut values) {
            self.failed(step, error)?;
        }
        self.forget_elements(&mut values);
        Ok(values.into_iter().map(|value| value.unwrap_or(Value::Unknown)).collect())
    }

    /// Notes the conditions on elements that a call leaves to run time. What has been asserted since then of sizes that
    /// data decide is noted there.
    fn leave_to_run_time(&mut self, step: usize, left: Vec<RunTime>, asserted: usize) {
        let asserts = &self.env.runtime_asserts()[asserted..];
        let is_new = |left: &RunTime| asserts.iter().all(|assert| assert.clause != left.clause.into());
        self.run_time.extend(left.into_iter().filter(is_new).map(|condition| (step, condition)));
    }

    /// Notes the integers among the elements of results that are computed from sizes.
    fn note_integers(&mut self, step: usize, values: &[Option<Value>]) {
        for tensor in values.iter().flatten().filter_map(Value::tensor) {
            if !matches!(tensor.dtype, Dtype::I64 | Dtype::I32) {
                continue;
            }
            let computed = tensor.known_integers();
            let computed = computed.filter(|e| e.as_inline().is_none() && self.env.pool.as_int(*e).is_none());
            self.integers.extend(computed.map(|e| (step, e, tensor.dtype)));
        }
    }
}
