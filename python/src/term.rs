//! Expressions that were made from trees and texts, with what they require.
use sizewise::env::Requires;
use sizewise::expr::text::read::{ReadError, closed};
use sizewise::expr::text::tree::{Applied, Part, apply};
use sizewise::expr::{Expr, Pool};
use std::sync::Arc;

/// Trees nest at most this deep, so that work on them fits the stack of any thread.
const MAX_DEPTH: u32 = 500;

/// An expression with its requirements.
#[derive(Clone, Debug)]
pub struct Term {
    /// The value.
    pub part: Part,
    /// What it requires; `None` for nothing.
    pub requires: Option<Arc<Requires>>,
    depth: u32,
}

impl Term {
    /// An expression that requires nothing.
    pub fn plain(e: Expr) -> Term {
        Term { part: Part::Expr(e), requires: None, depth: 0 }
    }

    /// Reads a text.
    pub fn read(pool: &mut Pool, text: &str) -> Result<Term, String> {
        let read = closed(pool, text).map_err(|error| format!("{error} in {text:?}"))?;
        let requires = Requires::of(&read);
        let requires = (!requires.is_empty()).then(|| Arc::new(requires));
        Ok(Term { part: Part::Expr(read.expr), requires, depth: 0 })
    }

    /// Applies a function.
    pub fn apply(pool: &mut Pool, name: &str, operands: &[&Term]) -> Result<Term, String> {
        let depth = operands.iter().map(|term| term.depth).max().unwrap_or(0) + 1;
        if depth > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let parts: Vec<Part> = operands.iter().map(|term| term.part.clone()).collect();
        let message = |error: ReadError| error.message;
        let Applied { part, divisors, partial } = apply(pool, name, &parts).map_err(message)?;
        let inherited = operands.iter().filter_map(|term| term.requires.as_ref());
        let requires = joined(inherited, Requires { divisors, partial });
        Ok(Term { part, requires, depth })
    }

    /// The expression, if the term is one.
    pub fn expr(&self) -> Option<Expr> {
        match self.part {
            Part::Expr(e) => Some(e),
            _ => None,
        }
    }

    /// Its divisors, and the operations that are no part of its canonical form.
    pub fn requirements(&self, pool: &Pool) -> Requires {
        let Some(requires) = &self.requires else { return Requires::default() };
        let mut requires = Requires::clone(requires);
        if let (Some(e), false) = (self.expr(), requires.partial.is_empty()) {
            let kept = pool.reachable(&[e]);
            requires.partial.retain(|part| !kept.contains(part));
        }
        requires
    }
}

/// The requirements of operands and of the function itself.
fn joined<'t>(
    mut inherited: impl Iterator<Item = &'t Arc<Requires>>,
    own: Requires,
) -> Option<Arc<Requires>> {
    let Some(first) = inherited.next() else {
        return (!own.is_empty()).then(|| Arc::new(own));
    };
    let mut all = Arc::clone(first);
    inherited.for_each(|more| add(&mut all, more));
    add(&mut all, &own);
    Some(all)
}

/// Adds what is new, and copies only then.
fn add(all: &mut Arc<Requires>, more: &Requires) {
    for &divisor in &more.divisors {
        if !all.divisors.contains(&divisor) {
            Arc::make_mut(all).divisors.push(divisor);
        }
    }
    for &operation in &more.partial {
        if !all.partial.contains(&operation) {
            Arc::make_mut(all).partial.push(operation);
        }
    }
}
