//! Relations of sizes that a spec gets wrong: it says `d + 4` where the program needs `2*d`.
use super::error::CheckError;
use super::exact_rows::number;
use super::inferred::solved;
use super::pipeline::Examined;
use super::session::Session;
use super::whole::shown_whole;
use crate::report::{Changed, Fix, GuardVerdict, Outcome, WrongRelation};
use crate::spec::{Related, Spec};
use sizewise_expr::escape::visible;
use sizewise_expr::{Func, Symbol};
use sizewise_solve::Budget;

/// A size that the program needs to be another function of a dimension than the spec says.
struct Wrong {
    place: Related,
    factor: i64,
    offset: i64,
}

impl Session<'_> {
    /// The spec with the relations that the program needs in place of those that it says, as a fix, if a check proves it. The
    /// errors then say so.
    pub(super) fn relations(
        &self,
        spec: &Spec,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Option<Fix>, CheckError> {
        let contract = self.contract();
        let spec = spec.resolved(contract).unwrap_or_else(|_| spec.clone()).inlined();
        let Some((freed, related)) = spec.unrelated(contract) else { return Ok(None) };
        let mut examined = self.examine(Some(&freed), budget, false)?;
        let wrong: Vec<Wrong> =
            related.into_iter().filter_map(|place| needed(&mut examined, place)).collect();
        let mut fixed = spec.clone();
        let mut changes: Vec<Changed> = Vec::new();
        let mut relations: Vec<(&str, WrongRelation)> = Vec::new();
        for Wrong { place, factor, offset } in &wrong {
            let Some((related, text)) = fixed.relating(contract, place, *factor, *offset) else {
                return Ok(None);
            };
            if text != place.says {
                fixed = related;
                let size = place.path.clone();
                changes.push(Changed { dim: size.clone(), source: Some(size.clone()), needs: text.clone() });
                let relation = WrongRelation { size, says: place.says.clone(), needs: text };
                relations.push((place.root.as_str(), relation));
            }
        }
        if relations.is_empty() || self.examine(Some(&fixed), budget, false)?.report.verdict != Outcome::Ok {
            return Ok(None);
        }
        blame(first, relations);
        let mut fix = self.as_it_is(&fixed, true);
        let comments = changes.iter().map(|change| format!("# {} is {}", visible(&change.dim), change.needs));
        let comments = comments.collect::<Vec<_>>().join("\n");
        fix.text = shown_whole(&fix).map_or(comments.clone(), |whole| format!("{comments}\n{whole}"));
        fix.changes = changes;
        Ok(Some(fix))
    }
}

/// What the program needs a size to be, where it needs one function of the dimension that the spec relates it to.
fn needed(examined: &mut Examined, place: Related) -> Option<Wrong> {
    let dims = &examined.assumptions.dims;
    let symbol = dims.iter().find(|(_, name)| **name == place.name).map(|(symbol, _)| *symbol)?;
    let root = dims.iter().find(|(_, name)| **name == place.root).map(|(symbol, _)| *symbol)?;
    for condition in examined.violated.clone() {
        let pool = &examined.assumptions.env.pool;
        let symbols = pool.free_symbols(&[condition]);
        if pool.as_func(condition, Func::IsZero).is_none() || symbols.len() != 2 || !symbols.contains(&root) {
            continue;
        }
        let Some(rest) = solved(examined, condition, symbol) else { continue };
        let pool = &examined.assumptions.env.pool;
        let poly = pool.poly(rest);
        if let [(term, factor)] = poly.terms.as_slice()
            && pool.as_symbol(*term) == Some(root)
            && let (Some(factor), Some(offset)) = (factor.to_i64(), poly.constant.to_i64())
            && factor > 0
        {
            return Some(Wrong { place, factor, offset });
        }
    }
    None
}

/// Blames a relation for the equation of the dimension that it comes to: under the right relations no error is left.
fn blame(first: &mut Examined, relations: Vec<(&str, WrongRelation)>) {
    let (pool, dims) = (&first.assumptions.env.pool, &first.assumptions.dims);
    for (root, relation) in relations {
        let is_root = |symbol: Symbol| dims.get(&symbol).is_some_and(|name| name == root);
        let guards = first.report.guards.iter_mut().filter(|guard| guard.verdict == GuardVerdict::Violated);
        let of_root = guards.zip(&first.violated).find(|(guard, condition)| {
            let equation = number(pool, **condition);
            let is_equation = equation.is_some_and(|(symbol, _, is_equal)| is_equal && is_root(symbol));
            is_equation && !guard.follows && guard.relation.is_none()
        });
        if let Some((guard, _)) = of_root {
            guard.relation = Some(relation);
        }
    }
}
