//! Whether a fix rejects sizes at which a model runs.
use super::{Check, Decided, Given, decide};
use crate::check::examples::{SAMPLES, sampled};
use crate::check::limits::Limits;
use crate::check::names;
use crate::check::symbolic::Symbolic;
use rustc_hash::FxHashMap;
use sizewise_check::check::Lost;
use sizewise_check::spec::Spec;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Pool, Sort, Symbol};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::Given as Declared;

/// The most conditions of a fix that are looked at.
const MAX_RELATIONS: usize = 24;

impl Check<'_> {
    /// What a model with other declarations, or a spec, or both lose of the sizes at which this one runs. `is_said` is whether
    /// the fix says of itself that it may lose some.
    pub(super) fn lost(&self, model: &Model, spec: Option<&Spec>, is_said: bool) -> Lost {
        let unless_found = if is_said { Lost::Unknown } else { Lost::Nothing };
        let Ok(limits) = spec.map(|spec| Limits::new(model, spec)).transpose() else { return unless_found };
        let allowed = Symbolic::new(model, limits.as_ref(), &|at| 7 + 4 * at as i64);
        let Some(relations) = self.relations(&allowed) else { return unless_found };
        let mut env = self.symbolic.env.clone();
        for guard in self.walk.env.guards() {
            env.assume(self.any_broadcast(guard.condition));
        }
        let mut allows_all = self.are_sizes_complete() && self.failed.is_empty() && self.doubtful.is_empty();
        for &relation in relations.iter().take(MAX_RELATIONS) {
            let (pool, facts) = env.facts();
            match decide(pool, facts, relation, &self.budget).verdict {
                Decided::Implied { .. } | Decided::Inconsistent { .. } => {}
                Decided::Unknown { .. } => allows_all = false,
                Decided::Refuted { witness } => {
                    allows_all = false;
                    let tried = self.breaking(relation, Some(&witness));
                    let mut running =
                        tried.iter().filter_map(|(witness, _)| self.running(&self.values(witness)));
                    if let Some(sizes) = running.next() {
                        return self.lost_at(sizes);
                    }
                }
            }
        }
        let is_all = allows_all && relations.len() <= MAX_RELATIONS;
        let otherwise = if is_all { Lost::Nothing } else { unless_found };
        let sample = |&sample: &(i64, i64)| {
            let value = |symbol| sampled(&self.symbolic, sample, symbol);
            let mut evaluator = self.symbolic.evaluator(value);
            let is_rejected = relations.iter().any(|&relation| evaluator.truth(relation) == Ok(false));
            if is_rejected { self.running(&value) } else { None }
        };
        let found = SAMPLES.iter().find_map(sample);
        found.map_or(otherwise, |sizes| self.lost_at(sizes))
    }

    /// Sizes that are lost. Inputs of which all sizes are declared as numbers are left out.
    fn lost_at(&self, sizes: Given) -> Lost {
        let varies = |name: &String| {
            let input = self.symbolic.sizes.iter().find(|(input, _)| input.name == *name);
            let shape = input.and_then(|(input, _)| input.shape.as_ref());
            shape.is_none_or(|shape| shape.iter().any(|size| !matches!(size, Declared::Size(_))))
        };
        let own = self.ordered(sizes).into_iter().filter(|(name, _)| varies(name));
        Lost::inputs(own.map(|(name, sizes)| format!("{name}: {sizes:?}")).collect())
    }

    /// A condition as it is where operands broadcast in any way.
    fn any_broadcast(&self, condition: Expr) -> Expr {
        let as_walked = |(simple, _): &(&Expr, &Expr)| {
            **simple == condition || self.written.get(*simple) == Some(&condition)
        };
        self.wide.iter().find(as_walked).map_or(condition, |(_, wide)| *wide)
    }

    /// The sizes of inputs, if the model accepts them.
    fn running(&self, value: &dyn Fn(Symbol) -> Option<i64>) -> Option<Given> {
        let sizes = self.symbolic.at(value)?;
        self.accepts(&sizes).then_some(sizes)
    }

    /// What other declarations ask of the sizes of this model's inputs. `None` where that cannot be said.
    fn relations(&self, allowed: &Symbolic) -> Option<Vec<Expr>> {
        // A clone is a handle of the same pool.
        let mut pool = self.symbolic.env.pool.clone();
        let pairs = self.symbolic.sizes.iter().zip(&allowed.sizes).enumerate();
        let mut sizes: Vec<(Expr, Expr)> = Vec::new();
        for (at, ((input, old), (_, new))) in pairs {
            if input.shape.is_none() || old.len() != new.len() {
                return None;
            }
            let of = |symbolic: &Symbolic, dim: usize, size: Expr| symbolic.varied(at, dim).unwrap_or(size);
            sizes.extend(
                old.iter()
                    .zip(new)
                    .enumerate()
                    .map(|(dim, (&old, &new))| (of(&self.symbolic, dim, old), of(allowed, dim, new))),
            );
        }
        let theirs = &allowed.env.pool;
        // What each of their symbols is: a size, or the quotient of one by a factor.
        let mut known: FxHashMap<Symbol, Expr> = FxHashMap::default();
        for is_alone in [true, false] {
            for &(old, new) in &sizes {
                let poly = theirs.poly(new);
                let [(term, factor)] = poly.terms.as_slice() else { continue };
                let Some(symbol) = theirs.as_symbol(*term) else { continue };
                let is_plain = factor.is_one() && poly.constant.is_zero();
                if is_plain != is_alone || known.contains_key(&symbol) || !factor.is_positive() {
                    continue;
                }
                let (factor, offset) = (pool.int(factor.clone()), pool.int(poly.constant.clone()));
                let difference = pool.sub(old, offset);
                known.insert(symbol, pool.floor_div(difference, factor));
            }
        }
        let ours = |pool: &mut Pool, e: Expr, sort: Sort| {
            let written = |name: &str| {
                let size = known.get(&theirs.find_symbol(name)?)?;
                Some(format!("({})", print::expression(&self.symbolic.env.pool, *size)))
            };
            names::read_as(pool, &print::expression(theirs, e), &written, sort)
        };
        let ranges = allowed.ranges(&mut theirs.clone()).into_iter();
        let mut relations: Vec<Expr> = ranges.filter_map(|e| ours(&mut pool, e, Sort::Bool)).collect();
        for (old, new) in sizes {
            let new = match new.as_inline() {
                Some(number) => pool.int(number),
                None => ours(&mut pool, new, Sort::Int)?,
            };
            relations.push(pool.eq(old, new));
        }
        relations.retain(|&relation| pool.as_bool(relation) != Some(true));
        relations.dedup();
        Some(relations)
    }
}
