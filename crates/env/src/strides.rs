//! Strides that follow the traced example: choices of memory layout, and the steps that depend on them.
use super::ShapeEnv;
use super::guard::Origin;
use super::parts::StrideNotes;
use sizewise_expr::Expr;

impl ShapeEnv {
    /// As [`ShapeEnv::branch`] for a choice that changes only the strides of a result: by the facts, else by the
    /// hints without a guard (the choice is noted), else `false`.
    pub fn layout_choice(&mut self, condition: Expr) -> bool {
        if let Some(value) = self.statically(condition) {
            return value;
        }
        let value = match self.strides.chosen.get(&condition) {
            Some(&value) => value,
            None => self.hint(condition).is_some_and(|v| v.as_bool()),
        };
        self.strides.chosen.insert(condition, value);
        let held = if value { condition } else { self.pool.not(condition) };
        // Every step that goes by the choice is noted: each has a result of its own.
        let mut of_this_step =
            self.strides.choices.iter().rev().take_while(|(_, origin)| *origin == self.records.origin);
        if !of_this_step.any(|(noted, _)| *noted == held) {
            self.strides.choices.push((held, self.records.origin));
        }
        value
    }

    /// Notes that what the operator at hand does depends on strides of its operands, if strides so far may be other
    /// ones elsewhere.
    pub fn need_strides(&mut self) {
        self.strides.asked = true;
        if !self.strides.choices.is_empty() {
            self.strides.needed.push(self.records.origin);
        }
    }

    /// Begins a call: what [`ShapeEnv::notes_since`] needs to know.
    pub fn begin_notes(&mut self) -> usize {
        self.strides.asked = false;
        self.strides.choices.len()
    }

    /// What was noted of strides since [`ShapeEnv::begin_notes`].
    pub fn notes_since(&self, begun: usize) -> StrideNotes {
        let choices = self.strides.choices.get(begun..).unwrap_or_default();
        StrideNotes {
            choices: choices.iter().map(|(held, _)| *held).collect(),
            asked: self.strides.asked,
            unchecked: self.leaves_indices_unchecked(),
        }
    }

    /// Notes of the step at hand what was noted of another one that made the same call.
    pub fn repeat_notes(&mut self, notes: &StrideNotes) {
        self.strides.choices.extend(notes.choices.iter().map(|&held| (held, self.records.origin)));
        if notes.asked {
            self.need_strides();
        }
        if notes.unchecked {
            self.leave_indices_unchecked();
        }
    }

    /// The steps that depend on strides of their operands, after the first choice of strides.
    pub fn strides_needed(&self) -> &[Origin] {
        &self.strides.needed
    }

    /// The layout choices made by hint so far.
    pub fn layout_choices(&self) -> &[(Expr, Origin)] {
        &self.strides.choices
    }
}
