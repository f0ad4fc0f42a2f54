//! Broadcasts that the example decides: a size of 1 on the other side would do as well.
use super::{Check, GuardReport, Witness};
use sizewise_check::check::simplest;
use sizewise_expr::{Expr, Func, Node};

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
            let (pool, facts) = env.facts();
            simplest(pool, facts, wide)
        })
    }

    /// A condition that a witness breaks as all that the operator asks for, if it breaks that, too.
    pub(super) fn widened(&self, guard: GuardReport, e: Expr, witness: &Witness) -> GuardReport {
        match self.wide.get(&e) {
            Some(&wide) if self.is_broken(wide, witness) => self.on_sizes(guard, wide),
            _ => guard,
        }
    }
}
