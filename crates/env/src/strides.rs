//! Strides that follow the traced example: choices of memory layout, and the steps that depend on them.
use super::ShapeEnv;
use super::guard::Origin;
use super::parts::StrideNotes;
use sizewise_expr::{Expr, Int, Symbol, Value};

/// A size that is large, for choices of which no example says how they go.
const LARGE: i64 = 101;

impl ShapeEnv {
    /// As [`ShapeEnv::branch`] for a choice that changes only the strides of a result: by the facts, else by the
    /// hints without a guard (the choice is noted), else as it goes for sizes that are neither small nor equal.
    pub fn layout_choice(&mut self, condition: Expr) -> bool {
        if let Some(value) = self.statically(condition) {
            return value;
        }
        let value = match self.strides.chosen.get(&condition) {
            Some(&value) => value,
            None => match self.hint(condition) {
                Some(value) => value.as_bool(),
                None => self.holds_generally(condition),
            },
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

    /// Whether a condition holds where sizes without a hint are large and differ, as far as their ranges allow.
    fn holds_generally(&self, condition: Expr) -> bool {
        let symbols = self.pool.free_symbols(&[condition]);
        let value = |symbol: Symbol| {
            if let Some(hint) = self.symbols.info.get(&symbol).and_then(|info| info.hint.clone()) {
                return Some(hint);
            }
            let place =
                symbols.iter().position(|known| *known == symbol).and_then(|at| i64::try_from(at).ok());
            let size = Int::from(LARGE + place.unwrap_or(0));
            let range = self.facts.range(symbol);
            let (least, most) =
                (range.and_then(|range| range.lower()), range.and_then(|range| range.upper()));
            let size = most.map_or(size.clone(), |most| size.min(most));
            Some(Value::Int(least.map_or(size.clone(), |least| size.max(least))))
        };
        self.pool.eval(condition, value).is_ok_and(|value| value.as_bool())
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
