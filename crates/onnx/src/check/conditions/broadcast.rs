//! Broadcasts that the example decides: a size of 1 on the other side would do as well.
use super::{Check, Condition};
use rustc_hash::FxHashMap;
use sizewise_check::check::readable;
use sizewise_expr::text::print;
use sizewise_expr::{Evaluator, Expr, Func, Node, Value};

/// The clauses of operators whose operands broadcast.
pub(in super::super) const BROADCASTS: &[&str] =
    &["Broadcast.C1", "MatMul.C3", "Expand.C3", "Quantized.C3", "Einsum.C3", "Einsum.C4"];

impl Check<'_> {
    /// A condition of a broadcast with the sizes of 1 that the walk has left out, for it took the way of the example.
    /// Those that are not allowed are left out here, too.
    pub(super) fn with_ones(&mut self, clause: &str, condition: Expr) -> Option<Expr> {
        if !BROADCASTS.contains(&clause) {
            return None;
        }
        let mut env = self.symbolic.env.clone();
        let parts = match env.pool.node(condition) {
            Some(Node::Call(Func::Or, parts)) => parts.to_vec(),
            _ => vec![condition],
        };
        let mut ways = parts.clone();
        for part in parts {
            let difference = match env.pool.node(part) {
                Some(Node::Call(Func::IsZero, args)) => *args.first()?,
                _ => continue,
            };
            let poly = env.pool.poly(difference);
            let (mut above, mut below) = (Vec::new(), Vec::new());
            for (term, factor) in &poly.terms {
                let (size, is_above) = (env.pool.int(factor.abs()), factor.is_positive());
                let size = env.pool.mul(*term, size);
                if is_above { above.push(size) } else { below.push(size) }
            }
            // Of an equation of two sizes either may be 1.
            if above.is_empty() || below.is_empty() {
                continue;
            }
            let offset = env.pool.int(poly.constant.abs());
            if poly.constant.is_positive() {
                above.push(offset)
            } else {
                below.push(offset)
            }
            for side in [above, below] {
                let size = env.pool.sum(side);
                let one = env.pool.eq(size, Expr::ONE);
                if !ways.contains(&one) && env.statically(one) != Some(false) {
                    ways.push(one);
                }
            }
        }
        let wide = env.pool.or(&ways);
        (wide != condition).then(|| {
            let wide = self.symbolic.simplified(&mut env, wide);
            self.symbolic.with_multiples(&mut env, wide)
        })
    }

    /// A condition that an input breaks as all that the operator asks for, if the input breaks that, too.
    pub(super) fn widened(
        &self,
        condition: Condition,
        e: Expr,
        sizes: &FxHashMap<String, Vec<i64>>,
    ) -> Condition {
        let Some(&wide) = self.wide.get(&e) else { return condition };
        let pool = &self.symbolic.env.pool;
        let size = |symbol| {
            let (_, named) = self.symbolic.symbols.iter().find(|(known, _)| *known == symbol)?;
            let (input, dim) = named.source.as_ref()?;
            Some(Value::Int((*sizes.get(input)?.get(*dim)?).into()))
        };
        if Evaluator::new(pool, size).truth(wide) != Ok(false) {
            return condition;
        }
        let simple = readable(pool, self.symbolic.env.known_facts(), wide);
        let shown = print::python(pool, simple, &|symbol| self.symbolic.shown_name(pool, symbol));
        Condition { shown, expr: print::expression(pool, wide), ..condition }
    }
}
