//! Results of operations on expressions, by their operands: operators build the same sizes and conditions over and
//! over.
use super::ShapeEnv;
use super::operations::Operation;
use sizewise_expr::Expr;

impl ShapeEnv {
    /// The result of an operation; that of an earlier one on the same operands is remembered.
    pub fn compute(&mut self, operation: Operation, a: Expr, b: Expr) -> Expr {
        if a.as_inline().is_some() && b.as_inline().is_some() {
            return operation.apply(&mut self.pool, a, b);
        }
        let pool = &mut self.pool;
        *self.computed.0.entry((operation, a, b)).or_insert_with(|| operation.apply(pool, a, b))
    }

    /// The product of expressions.
    pub fn product(&mut self, items: impl IntoIterator<Item = Expr>) -> Expr {
        items.into_iter().fold(Expr::ONE, |product, item| self.compute(Operation::Mul, product, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clause, Required, SymbolInfo};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Pool, Value};

    #[test]
    fn results_are_those_of_the_pool() {
        let mut env = ShapeEnv::new();
        let (n, m) = (env.pool.symbol("n"), env.pool.symbol("m"));
        for (operation, method) in [
            (Operation::Add, Pool::add as fn(&mut Pool, Expr, Expr) -> Expr),
            (Operation::Sub, Pool::sub),
            (Operation::Mul, Pool::mul),
            (Operation::FloorDiv, Pool::floor_div),
            (Operation::Modulo, Pool::modulo),
            (Operation::Eq, Pool::eq),
            (Operation::Lt, Pool::lt),
            (Operation::Ge, Pool::ge),
        ] {
            for (a, b) in [(n, m), (m, n), (n, 3.into()), (3.into(), n), (7.into(), 3.into())] {
                let expected = method(&mut env.pool, a, b);
                for _ in 0..2 {
                    assert_eq!(env.compute(operation, a, b), expected, "{operation:?}");
                }
            }
        }
    }

    #[test]
    fn an_open_question_is_asked_again_once_something_is_known() {
        let mut env = ShapeEnv::new();
        let info = SymbolInfo { hint: Some(Value::Int(6.into())), source: None };
        let n = env.declare("n", ValueRange::at_least(0.into()), info);
        let (more, most) = (env.pool.gt(n, 4.into()), env.pool.gt(n, 2.into()));
        let before = env.revision();
        assert_eq!((env.statically(most), env.statically(most)), (None, None));
        assert_eq!(env.revision(), before);
        assert_eq!(env.require(more, Clause::Check), Required::Guarded);
        assert_ne!(env.revision(), before);
        let after = env.revision();
        assert_eq!((env.statically(most), env.require(more, Clause::Check)), (Some(true), Required::Proved));
        assert_eq!(env.revision(), after);
    }
}
