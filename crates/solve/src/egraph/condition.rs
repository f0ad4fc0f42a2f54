//! Side conditions of rules.
use super::pattern::{Bindings, Operation, Pattern};
use sizewise_expr::{EvalError, Expr, Int, Pool, Sort, Value};
use smallvec::SmallVec;

/// A side condition. If it is not known to hold, it counts as false.
#[derive(Clone, Debug)]
pub struct Condition {
    /// As a rule file names it: `nonzero`, `divides`, ….
    pub name: &'static str,
    /// The operands.
    pub operands: Vec<Pattern>,
    meaning: Meaning,
}

#[derive(Clone, Debug)]
enum Meaning {
    /// A truth value to be known.
    Holds(Pattern),
    /// The operand is an integer constant.
    Constant,
    /// The operand's first term has a negative coefficient. Of an expression and its negative, one is
    /// flipped. This only decides which of two equal forms to prefer, so that a rule does not undo itself.
    Flipped,
}

/// The names of conditions, their operands' number and sort.
const CONDITIONS: [(&str, usize, Sort); 14] = [
    ("nonzero", 1, Sort::Int),
    ("positive", 1, Sort::Int),
    ("negative", 1, Sort::Int),
    ("nonneg", 1, Sort::Int),
    ("nonpos", 1, Sort::Int),
    ("divides", 2, Sort::Int),
    ("le", 2, Sort::Int),
    ("lt", 2, Sort::Int),
    ("eq", 2, Sort::Int),
    ("ne", 2, Sort::Int),
    ("const", 1, Sort::Int),
    ("flipped", 1, Sort::Int),
    ("holds", 1, Sort::Bool),
    ("fails", 1, Sort::Bool),
];

impl Condition {
    /// The conditions that there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CONDITIONS.iter().map(|row| row.0)
    }

    /// The number and sort of the operands of the condition called `name`.
    pub fn signature(name: &str) -> Option<(usize, Sort)> {
        CONDITIONS.iter().find(|row| row.0 == name).map(|row| (row.1, row.2))
    }

    /// The condition called `name`; `None` for an unknown name or a wrong number of operands.
    pub fn new(name: &str, operands: Vec<Pattern>) -> Option<Condition> {
        let row = CONDITIONS.iter().find(|row| row.0 == name && row.1 == operands.len())?;
        let zero = || Pattern::Int(Int::ZERO);
        let call = |op, a: Pattern, b: Pattern| Pattern::Call(op, vec![a, b]);
        let meaning = match (row.0, operands.as_slice()) {
            ("nonzero", [a]) => call(Operation::Ne, a.clone(), zero()),
            ("positive", [a]) => call(Operation::Lt, zero(), a.clone()),
            ("negative", [a]) => call(Operation::Lt, a.clone(), zero()),
            ("nonneg", [a]) => call(Operation::Le, zero(), a.clone()),
            ("nonpos", [a]) => call(Operation::Le, a.clone(), zero()),
            ("divides", [b, a]) => call(
                Operation::And,
                call(Operation::Ne, b.clone(), zero()),
                call(Operation::Eq, call(Operation::Mod, a.clone(), b.clone()), zero()),
            ),
            ("le", [a, b]) => call(Operation::Le, a.clone(), b.clone()),
            ("lt", [a, b]) => call(Operation::Lt, a.clone(), b.clone()),
            ("eq", [a, b]) => call(Operation::Eq, a.clone(), b.clone()),
            ("ne", [a, b]) => call(Operation::Ne, a.clone(), b.clone()),
            ("holds", [p]) => p.clone(),
            ("fails", [p]) => Pattern::Call(Operation::Not, vec![p.clone()]),
            ("const", _) => return Some(Condition { name: row.0, operands, meaning: Meaning::Constant }),
            _ => return Some(Condition { name: row.0, operands, meaning: Meaning::Flipped }),
        };
        Some(Condition { name: row.0, operands, meaning: Meaning::Holds(meaning) })
    }

    /// Whether the condition holds at an assignment of the rule's variables; one that divides by zero does not.
    pub fn evaluate(&self, assignment: &[Value]) -> bool {
        match &self.meaning {
            Meaning::Holds(p) => {
                let value: Result<Value, EvalError> = p.evaluate(assignment);
                value.is_ok_and(|v| v.as_bool())
            }
            Meaning::Constant | Meaning::Flipped => true,
        }
    }

    /// The truth value that must be known, if the condition asks for one.
    pub fn requirement(&self) -> Option<&Pattern> {
        match &self.meaning {
            Meaning::Holds(p) => Some(p),
            Meaning::Constant | Meaning::Flipped => None,
        }
    }

    /// Appends the truth values that must be known for the condition to hold; `false` when it never can.
    pub(super) fn require(
        &self,
        pool: &mut Pool,
        bindings: &Bindings,
        wanted: &mut SmallVec<[Expr; 4]>,
    ) -> bool {
        let operand = |pool: &mut Pool| self.operands.first().and_then(|p| p.instantiate(pool, bindings));
        match &self.meaning {
            Meaning::Constant => operand(pool).is_some_and(|e| pool.as_int(e).is_some()),
            Meaning::Flipped => operand(pool)
                .is_some_and(|e| pool.poly(e).terms.first().is_some_and(|(_, c)| c.is_negative())),
            Meaning::Holds(Pattern::Call(Operation::And, parts)) => {
                parts.iter().all(|p| require(pool, p, bindings, wanted))
            }
            Meaning::Holds(p) => require(pool, p, bindings, wanted),
        }
    }
}

fn require(pool: &mut Pool, p: &Pattern, bindings: &Bindings, wanted: &mut SmallVec<[Expr; 4]>) -> bool {
    let Some(e) = p.instantiate(pool, bindings) else { return false };
    match pool.as_bool(e) {
        Some(value) => value,
        None => {
            wanted.push(e);
            true
        }
    }
}
