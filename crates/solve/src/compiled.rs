//! A condition that is tried at many assignments.
use crate::program::{Checked, Program, to_i128};
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};

/// A condition compiled to code over 128-bit integers; what the code cannot compute, the exact evaluator does.
#[derive(Clone, Debug)]
pub struct Compiled {
    condition: Expr,
    program: Program,
}

impl Compiled {
    /// Compiles a condition.
    pub fn new(pool: &Pool, condition: Expr) -> Compiled {
        let mut program = Program::default();
        program.check(pool, condition);
        Compiled { condition, program }
    }

    /// The condition.
    pub fn condition(&self) -> Expr {
        self.condition
    }

    /// Whether the condition holds at an assignment; `None` where it has no value. `room` is reused from call to call.
    pub fn holds<'v>(
        &self,
        pool: &Pool,
        value: impl Fn(Symbol) -> Option<&'v Int>,
        room: &mut Vec<i128>,
    ) -> Option<bool> {
        let slots = self.program.symbols().iter().map(|&s| value(s).and_then(to_i128));
        if let Some(slots) = slots.collect::<Option<Vec<i128>>>() {
            match self.program.run(0, &slots, room) {
                Checked::Passed => return Some(true),
                Checked::Failed(_) => return Some(false),
                // An operand that is not needed may have no value.
                Checked::Excluded | Checked::Beyond => {}
            }
        }
        let exact = pool.eval(self.condition, |s| value(s).cloned().map(Value::Int));
        exact.ok().map(|value| value.as_bool())
    }
}

#[cfg(test)]
mod tests {
    use super::Compiled;
    use rustc_hash::FxHashMap;
    use sizewise_expr::{Int, Pool, Value, read};

    #[test]
    fn a_compiled_condition_holds_where_the_exact_evaluator_says_so() {
        let sizes: Vec<Int> = [-3, 0, 1, 2, 7]
            .map(Int::from)
            .into_iter()
            .chain([&Int::from(i64::MAX) * &Int::from(i64::MAX)])
            .collect();
        for text in [
            "a % 3 == 1",
            "a // b >= 2",
            "a*a*a*b < 10",
            "Or(a == 0, b // a > 1)",
            "And(b != 0, Eq(a % b, 0))",
            "Max(a, b, 2) <= 7",
            "a**b == 1",
            "c >= a",
        ] {
            let mut pool = Pool::new();
            let condition = read::closed(&mut pool, text).expect("a condition").expr;
            let compiled = Compiled::new(&pool, condition);
            let mut room = Vec::new();
            for (a, b) in sizes.iter().flat_map(|a| sizes.iter().map(move |b| (a, b))) {
                let values: FxHashMap<_, _> = [("a", a), ("b", b)]
                    .into_iter()
                    .filter_map(|(name, v)| Some((pool.find_symbol(name)?, v)))
                    .collect();
                let found = compiled.holds(&pool, |s| values.get(&s).copied(), &mut room);
                let exact = pool.eval(condition, |s| values.get(&s).copied().cloned().map(Value::Int));
                assert_eq!(found, exact.ok().map(|v| v.as_bool()), "{text} at {a}, {b}");
            }
        }
    }
}
