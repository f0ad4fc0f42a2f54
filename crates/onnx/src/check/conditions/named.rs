//! How conditions come to hold by what the model declares: names, and expressions over names.
use super::Check;
use crate::check::names;
use sizewise_expr::{Expr, Func, Node, Symbol};
use sizewise_onnx_model::walk::{Given, declared};

/// A declaration by which a condition comes to hold.
pub(super) struct Solved {
    /// The size that is declared anew.
    pub replaced: Symbol,
    /// What it is declared as.
    pub text: String,
    /// Whether the condition holds at no other sizes.
    pub is_all: bool,
}

impl Check<'_> {
    /// The differences of which a condition asks that one is 0, or at most 0, and whether it is 0.
    fn differences(&self, condition: Expr) -> Vec<(Expr, bool)> {
        match self.walk.env.pool.node(condition) {
            Some(Node::Call(func @ (Func::IsZero | Func::NotPositive), args)) => {
                args.iter().map(|&difference| (difference, *func == Func::IsZero)).collect()
            }
            Some(Node::Call(Func::Or, parts)) => {
                parts.iter().flat_map(|&part| self.differences(part)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a condition says what a size is, in one of its parts at least.
    pub(super) fn is_equation(&self, condition: Expr) -> bool {
        self.differences(condition).iter().any(|(_, is_equation)| *is_equation)
    }

    /// What one size is by names of others, where a condition on several sizes holds: `k`, `past + q`, `2*(h // 2)`. Sizes
    /// that may not be greater than others are taken to be the same.
    pub(super) fn solved(&self, condition: Expr) -> Option<Solved> {
        let pool = &self.walk.env.pool;
        let is_all = pool.as_func(condition, Func::IsZero).is_some();
        let one = |(difference, is_equation): (Expr, bool)| {
            let poly = pool.poly(difference);
            let of = |at: usize| {
                let replaced = pool.as_symbol(poly.terms[at].0)?;
                let rest = poly.solved_for(at)?;
                let is_sum = rest.terms.iter().all(|(term, _)| pool.as_symbol(*term).is_some());
                let is_positive = rest.terms.iter().all(|(_, factor)| factor.is_positive());
                let is_good = if is_sum { is_positive } else { is_equation };
                if rest.terms.is_empty() || !is_good || !is_equation && rest.constant.is_negative() {
                    return None;
                }
                // A clone is a handle of the same pool.
                let rest = pool.clone().from_poly(&rest);
                if pool.free_symbols(&[rest]).contains(&replaced) {
                    return None;
                }
                let text = match pool.as_symbol(rest) {
                    Some(kept) => self.declared_name(kept)?,
                    None => self.declared_text(rest)?,
                };
                Some(Solved { replaced, text, is_all })
            };
            let mut found: Vec<Solved> = (0..poly.terms.len()).filter_map(of).collect();
            // A size without a name is the first to get one, then later ones. Names that the model has already are kept.
            found.sort_by_key(|solved| {
                let place = self.symbolic.position(solved.replaced);
                let is_named = self.declared_name(solved.replaced).is_some();
                (is_named, solved.text.starts_with('_'), std::cmp::Reverse(place))
            });
            found.into_iter().next()
        };
        self.differences(condition).into_iter().find_map(one)
    }

    /// A name that nothing in the model has.
    pub(super) fn new_name(&self, name: &str) -> String {
        let is_taken = |new: &str| {
            let named = &self.symbolic.symbols;
            let outputs = self.model.graph.output.iter();
            let mut outputs = outputs.filter_map(|value| declared(&value.name, value.r#type.as_ref()).shape);
            let says = |given: &Given| match given {
                Given::Name(text) => text == new || names::words(text).into_iter().any(|at| &text[at] == new),
                _ => false,
            };
            named.iter().any(|(_, named)| named.name == new || named.declared.as_deref() == Some(new))
                || outputs.any(|shape| shape.iter().any(says))
        };
        let mut new = format!("_{name}");
        while is_taken(&new) {
            new.insert(0, '_');
        }
        new
    }

    /// The name that the model declares for a size.
    pub(super) fn declared_name(&self, symbol: Symbol) -> Option<String> {
        self.symbolic.named(symbol)?.declared.clone()
    }
}
