//! How conditions come to hold by what the model declares: names, expressions over names, and numbers.
use super::Check;
use crate::check::names;
use crate::walk::{Given, declared};
use sizewise_expr::escape::is_identifier;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Func, Node, Symbol};

/// What a size is to be declared as.
#[derive(Debug, Clone)]
pub(super) enum Size {
    Number(i64),
    Name(String),
}

/// A declaration that makes a condition hold.
pub(super) struct Remedy {
    /// What is declared.
    pub kept: Size,
    /// The size that is declared anew.
    pub replaced: Symbol,
    /// Whether the condition holds at no other sizes.
    pub is_all: bool,
}

impl Check<'_> {
    /// Whether a condition says what a size is, in one of its parts at least.
    pub(super) fn is_equation(&self, condition: Expr) -> bool {
        match self.walk.env.pool.node(condition) {
            Some(Node::Call(Func::IsZero, _)) => true,
            Some(Node::Call(Func::Or, parts)) => parts.iter().any(|&part| self.is_equation(part)),
            _ => false,
        }
    }

    /// The differences of which a condition asks that one is 0, or at most 0.
    fn differences(&self, condition: Expr) -> Vec<Expr> {
        match self.walk.env.pool.node(condition) {
            Some(Node::Call(Func::IsZero | Func::NotPositive, args)) => {
                args.first().copied().into_iter().collect()
            }
            Some(Node::Call(Func::Or, parts)) => {
                parts.iter().flat_map(|&part| self.differences(part)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a condition says what a size is, or bounds it by others: equal sizes meet it then.
    pub(super) fn relates_sizes(&self, condition: Expr) -> bool {
        let bounds = || self.walk.env.pool.free_symbols(&[condition]).len() > 1;
        self.is_equation(condition) || bounds() && !self.differences(condition).is_empty()
    }

    /// The text of a size that is a multiple of a new name.
    pub(super) fn multiple_of(&self, symbol: Symbol, factor: i64, offset: i64) -> String {
        let name = self.declared_name(symbol).filter(|name| is_identifier(name));
        let root = self.new_name(&name.unwrap_or_else(|| "k".to_owned()));
        // Where there are no smaller multiples, the offset is what is left over.
        let is_first = offset - factor < self.range(symbol).0;
        let offset = if is_first { offset.rem_euclid(factor) } else { offset };
        let plus = if offset == 0 { String::new() } else { format!(" + {offset}") };
        format!("{factor}*{root}{plus}")
    }

    /// How a condition on one size or two may come to hold: by one name for two sizes, or by the number that a size has
    /// in the example.
    pub(super) fn remedy(&self, condition: Expr) -> Option<Remedy> {
        let mut places = Vec::new();
        for symbol in &self.walk.env.pool.free_symbols(&[condition]) {
            places.push(self.symbolic.symbols.iter().position(|(known, _)| known == symbol)?);
        }
        places.sort_unstable();
        let symbols: Vec<Symbol> = places.iter().map(|&at| self.symbolic.symbols[at].0).collect();
        if let Some((text, replaced, is_all)) = self.expression(condition, &symbols) {
            return Some(Remedy { kept: Size::Name(text), replaced, is_all });
        }
        // A clone is a handle of the same pool.
        let mut pool = self.walk.env.pool.clone();
        let (kept, value, replaced) = match *symbols.as_slice() {
            [first, second] if self.equal(condition, &symbols).is_some() => {
                // One of them has a name; a new one might mean something elsewhere in the model. Names that the model
                // has already are kept.
                let named = |kept, replaced| Some((self.declared_name(kept)?, kept, replaced));
                let mut pairs: Vec<_> =
                    named(first, second).into_iter().chain(named(second, first)).collect();
                pairs.sort_by_key(|(name, ..)| name.starts_with('_'));
                let (name, kept, replaced) = pairs.into_iter().next()?;
                (Size::Name(name), pool.symbol_expr(kept), replaced)
            }
            [only] => {
                let number = self.symbolic.hint(only)?;
                (Size::Number(number), pool.int(number), only)
            }
            _ => return None,
        };
        let size = pool.symbol_expr(replaced);
        Some(Remedy { kept, replaced, is_all: pool.eq(size, value) == condition })
    }

    /// The expression over names that a size has to be, `4*_h` or `past + q`, and whether the condition holds at no
    /// other sizes.
    fn expression(&self, condition: Expr, symbols: &[Symbol]) -> Option<(String, Symbol, bool)> {
        if let [only] = *symbols {
            let (factor, offset, is_all) = match self.regular(condition, only) {
                Some((factor, offset)) => (factor, offset, true),
                None => self.recurring(condition, only).map(|(factor, offset)| (factor, offset, false))?,
            };
            return Some((self.multiple_of(only, factor, offset), only, is_all));
        }
        let is_all = matches!(self.walk.env.pool.node(condition), Some(Node::Call(Func::IsZero, _)));
        let (text, replaced) = self.differences(condition).into_iter().find_map(|e| self.solved(e))?;
        Some((text, replaced, is_all))
    }

    /// What one symbol is by names of others, where a difference is 0: a sum of them.
    fn solved(&self, difference: Expr) -> Option<(String, Symbol)> {
        let pool = &self.walk.env.pool;
        let poly = pool.poly(difference);
        let name = |symbol| self.declared_name(symbol).filter(|name| is_identifier(name));
        let solved = |at: usize| {
            let replaced = pool.as_symbol(poly.terms[at].0)?;
            let rest = poly.solved_for(at)?;
            rest.constant.to_i64().filter(|&constant| constant >= 0)?;
            // Two sizes that are equal get one name.
            let is_name = matches!(rest.terms.as_slice(), [(_, factor)] if factor.is_one());
            if rest.terms.is_empty() || rest.constant.is_zero() && is_name {
                return None;
            }
            for (term, factor) in &rest.terms {
                name(pool.as_symbol(*term)?).filter(|_| factor.is_positive())?;
            }
            let rest = pool.clone().from_poly(&rest);
            let text = print::python(pool, rest, &|symbol| name(symbol).unwrap_or_default());
            Some((text, replaced))
        };
        // A size without a name is the first to get one.
        let mut found: Vec<_> = (0..poly.terms.len()).rev().filter_map(solved).collect();
        found.sort_by_key(|(_, replaced)| self.declared_name(*replaced).is_some());
        found.into_iter().next()
    }

    /// For an equation what one size is by others, computed in another way than as a sum: `2*(h // 2)`.
    pub(super) fn computed(&self, condition: Expr) -> Option<Remedy> {
        let pool = &self.walk.env.pool;
        let difference = match pool.node(condition) {
            Some(Node::Call(Func::IsZero, args)) => *args.first()?,
            Some(Node::Call(Func::Or, parts)) => {
                return parts.iter().find_map(|&part| Some(Remedy { is_all: false, ..self.computed(part)? }));
            }
            _ => return None,
        };
        let poly = pool.poly(difference);
        let of = |at: usize| {
            let replaced = pool.as_symbol(poly.terms[at].0)?;
            let rest = poly.solved_for(at)?;
            let is_sum = rest.terms.iter().all(|(term, _)| pool.as_symbol(*term).is_some());
            // A clone is a handle of the same pool.
            let rest = pool.clone().from_poly(&rest);
            if is_sum || pool.free_symbols(&[rest]).contains(&replaced) {
                return None;
            }
            Some(Remedy { kept: Size::Name(self.declared_text(rest)?), replaced, is_all: true })
        };
        (0..poly.terms.len()).rev().find_map(of)
    }

    /// A name that nothing in the model has.
    fn new_name(&self, name: &str) -> String {
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
        let (_, named) = self.symbolic.symbols.iter().find(|(known, _)| *known == symbol)?;
        named.declared.clone()
    }
}
