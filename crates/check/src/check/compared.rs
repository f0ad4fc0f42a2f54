//! Slices whose ends torch compares with the size of what they cut while it traces a program: `x[:10]` of a size that varies makes
//! the export keep that the size is not 10, and `x[:n]` that it is at least `n`.
use crate::propagate::{Derived, Step};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Pool};
use sizewise_ir::{Argument, Operand, ValueId};
use sizewise_kernels::Value;

/// What the values of the program's own graph are.
pub(super) struct Values(FxHashMap<ValueId, Value>);

impl Values {
    /// The values of the inputs, and those that steps have made.
    pub fn new(given: &FxHashMap<ValueId, Value>, made: &[Derived]) -> Values {
        let mut values = given.clone();
        let own = made.iter().filter(|derived| derived.scope.is_empty());
        values.extend(own.map(|derived| (derived.value, derived.found.clone())));
        Values(values)
    }

    /// The step of a slice whose end is what a condition compares with a size.
    pub fn slice<'s, 'p>(
        &self,
        pool: &mut Pool,
        steps: &'s [Step<'p>],
        condition: Expr,
    ) -> Option<&'s Step<'p>> {
        let (compared, is_order) = compared(pool, condition)?;
        steps.iter().find(|step| {
            let is_slice = !step.is_nested() && step.op() == "aten.slice.Tensor";
            is_slice && self.ends(pool, step).into_iter().any(|end| is_same(pool, (compared, is_order), end))
        })
    }

    /// By how much the size of what a slice cuts exceeds its start and its end.
    fn ends(&self, pool: &mut Pool, step: &Step) -> Vec<Expr> {
        let inputs = &step.reached().inputs;
        let argument = |name: &str| inputs.iter().find(|input| *input.name == *name).map(|input| &input.arg);
        let Some(Argument::Tensor(cut)) = argument("self") else { return Vec::new() };
        let Some(Value::Tensor(cut)) = self.0.get(cut) else { return Vec::new() };
        let dim = match argument("dim") {
            Some(Argument::Int(dim)) => *dim,
            _ => 0,
        };
        let dim = if dim < 0 { dim + cut.sizes.len() as i64 } else { dim };
        let Some(&size) = usize::try_from(dim).ok().and_then(|dim| cut.sizes.get(dim)) else {
            return Vec::new();
        };
        let ends = [argument("start"), argument("end")].map(|end| self.number(pool, end?));
        ends.into_iter().flatten().map(|end| pool.sub(size, end)).collect()
    }

    fn number(&self, pool: &mut Pool, argument: &Argument) -> Option<Expr> {
        match argument {
            Argument::Int(number) => Some(pool.int(*number)),
            Argument::SymInt(Operand::Value(id)) => match self.0.get(id)? {
                Value::Int(e) => Some(*e),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a comparison asks the sign of, and whether it asks which of two is larger.
fn compared(pool: &Pool, condition: Expr) -> Option<(Expr, bool)> {
    match pool.as_call(condition)? {
        (Func::Not, &[inner]) => Some((pool.as_func(inner, Func::IsZero)?[0], false)),
        (Func::IsZero, &[p]) => Some((p, false)),
        (Func::NotPositive, &[p]) => Some((p, true)),
        _ => None,
    }
}

/// Whether a difference is another one, in either direction. A strict comparison of two sizes adds 1; an equation does not.
fn is_same(pool: &mut Pool, (compared, is_order): (Expr, bool), difference: Expr) -> bool {
    if pool.free_symbols(&[difference]).is_empty() {
        return false;
    }
    let opposite = pool.neg(difference);
    [difference, opposite].into_iter().any(|one| {
        let apart = pool.sub(compared, one);
        pool.as_int(apart).is_some_and(|apart| apart.is_zero() || is_order && apart == Int::ONE)
    })
}

#[cfg(test)]
mod tests {
    use super::{compared, is_same};
    use sizewise_expr::{Pool, read};

    #[test]
    fn an_equation_with_another_number_is_not_that_of_a_slice() {
        for (condition, is_of_slice) in [
            ("Ne(t, 10)", true),
            ("Eq(t, 10)", true),
            ("Ne(t, 11)", false),
            ("Ne(t, 9)", false),
            ("t >= 10", true),
            ("t > 10", true),
            ("t <= 10", true),
            ("t < 10", true),
            ("t >= 12", false),
            ("Ne(n, 10)", false),
        ] {
            let mut pool = Pool::new();
            let difference = read::closed(&mut pool, "t - 10").expect("a size").expr;
            let e = read::closed(&mut pool, condition).expect("a condition").expr;
            let found = compared(&pool, e).is_some_and(|sign| is_same(&mut pool, sign, difference));
            assert_eq!(found, is_of_slice, "{condition}");
        }
    }
}
