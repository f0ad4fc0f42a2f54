//! Deciding where sizes choose the way that a node takes.
use super::{Check, Decided, GuardReport, Witness};
use crate::check::evaluate::evaluate_for_any_data;
use crate::check::ways::OTHER_WAY;
use sizewise_expr::Expr;

impl Check<'_> {
    /// Looks at the other way that a node takes: sizes that lead there and are refused, or make another output than is
    /// declared, violate the model.
    pub(super) fn decide_branch(&mut self, guard: GuardReport, e: Expr) {
        let mut env = std::mem::take(&mut self.asked);
        let (verdict, ..) = self.decided(e, &mut env);
        self.asked = env;
        let found = match verdict {
            Decided::Implied { .. } | Decided::Inconsistent { .. } => return,
            Decided::Refuted { witness } => Some(witness),
            Decided::Unknown { .. } => None,
        };
        let tried = self.breaking(e, found.as_ref()).into_iter().filter(|(_, is_alone)| *is_alone);
        let near: Vec<Witness> = tried.map(|(witness, _)| witness).collect();
        // Large sizes show what small ones make by chance.
        let large: Vec<Witness> = near.iter().map(|witness| self.at_hints(witness)).collect();
        let large = large.into_iter().filter(|witness| self.keeps_others(e, witness)).collect::<Vec<_>>();
        for witness in near.into_iter().chain(large) {
            let Some(sizes) = self.sizes_at(&witness) else { continue };
            if self.tries == 0 {
                break;
            }
            self.tries -= 1;
            match evaluate_for_any_data(self.model, &sizes) {
                Ok(evaluated) => {
                    let (named, before) =
                        (self.sizes_of_names(&self.values(&witness)), self.wrong_outputs.len());
                    self.as_declared((&sizes, None), &named, &evaluated);
                    if self.wrong_outputs.len() > before {
                        return;
                    }
                }
                Err(refused) if !refused.is_unsupported => {
                    self.need(&guard, Some(e));
                    return self.refuted(guard, e, vec![(witness, true)]);
                }
                Err(_) => {}
            }
        }
        self.leave_open(guard, OTHER_WAY);
    }
}
