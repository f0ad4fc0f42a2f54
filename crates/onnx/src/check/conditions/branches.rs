//! Deciding where sizes choose the way that a node takes.
use super::{Check, Condition, Decided, Given, MAX_FOLDED, Verdict};
use crate::check::evaluate::evaluate_for_any_data;
use crate::check::ways::{OTHER_WAY, is_branch};
use rustc_hash::FxHashMap;
use sizewise_expr::{Evaluator, Expr, Symbol, Value};

impl Check<'_> {
    /// Whether sizes break no condition of the walk but one.
    pub(super) fn keeps_others(&self, broken: Expr, sizes: &Given) -> bool {
        let Some(values) = self.assigned(sizes) else { return true };
        let number = |symbol: Symbol| values.get(&symbol).map(|value| Value::Int((*value).into()));
        let mut evaluator = Evaluator::new(&self.symbolic.env.pool, number);
        let own = self.as_walked(broken);
        let others = self.walk.env.guards().iter().filter(|guard| guard.condition != own).take(MAX_FOLDED);
        others.filter(|guard| !is_branch(guard)).all(|guard| evaluator.truth(guard.condition) != Ok(false))
    }

    /// Looks at the other way that a node takes: sizes that lead there and are refused, or make another output than is
    /// declared, violate the model.
    pub(super) fn decide_branch(&mut self, condition: Condition, e: Expr) {
        let mut env = std::mem::take(&mut self.asked);
        let verdict = self.decided(e, &mut env);
        self.asked = env;
        let witness: FxHashMap<Symbol, i64> = match verdict {
            Decided::Implied { .. } | Decided::Inconsistent { .. } => return,
            Decided::Refuted { witness } => {
                witness.into_iter().filter_map(|(symbol, value)| Some((symbol, value.to_i64()?))).collect()
            }
            Decided::Unknown { .. } => FxHashMap::default(),
        };
        let value = |symbol: Symbol| witness.get(&symbol).copied().or_else(|| self.symbolic.hint(symbol));
        let tried: Vec<Given> =
            self.candidates(e, &value).into_iter().filter(|sizes| self.keeps_others(e, sizes)).collect();
        for sizes in tried {
            if self.tries == 0 {
                break;
            }
            self.tries -= 1;
            let Some(values) = self.assigned(&sizes) else { continue };
            match evaluate_for_any_data(self.model, &sizes) {
                Ok(evaluated) => {
                    let names = self.symbolic.names.iter();
                    let size = |symbol: Symbol| values.get(&symbol).copied();
                    let named =
                        names.filter_map(|(name, &e)| Some((name.clone(), self.symbolic.value(e, &size)?)));
                    let (named, before) = (named.collect(), self.report.wrong_outputs.len());
                    self.as_declared((&sizes, None), &named, &evaluated);
                    if self.report.wrong_outputs.len() > before {
                        return;
                    }
                }
                Err(refused) if !refused.is_unsupported => {
                    self.report.conditions.push(condition.clone());
                    return self.violated(condition, e, vec![sizes]);
                }
                Err(_) => {}
            }
        }
        self.report.undecided.push((condition, OTHER_WAY.to_owned()));
        self.lower(Verdict::Unknown);
    }
}
