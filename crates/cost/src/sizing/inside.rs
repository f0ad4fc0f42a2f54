//! What is known inside a branch: its values are bounded over the inputs that come to it.
//!
//! What data choose is another matter: it is not known whether some data do, unless the choice is an input by itself.
use super::extremes::Known;
use super::values::ValueBounds;
use super::{Sized, Sizing, SizingError, When};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;

/// The most conditions under which values are bounded.
const MAX_INSIDE: usize = 64;

/// What is known under conditions.
pub(super) struct Inside {
    env: ShapeEnv,
    open: Option<ShapeEnv>,
    known: Known,
}

/// What comes of going into a branch.
enum Entered {
    /// Some inputs do.
    Inside(Box<Inside>),
    /// No allowed input does.
    Never,
    /// Neither was shown.
    Unknown,
}

impl Sizing<'_> {
    /// The bounds of a value over the inputs that make it.
    pub(super) fn bounds_of(&mut self, value: Sized, most: usize) -> ValueBounds {
        let conditions = value.when.conditions.clone();
        if conditions.is_empty() {
            return self.bounds_here(value, most);
        }
        let entered = match self.branches.remove(&conditions) {
            Some(inside) => Entered::Inside(inside),
            None => self.enter(&conditions),
        };
        match entered {
            Entered::Inside(mut inside) => {
                self.swap(&mut inside);
                let before = self.effort();
                let found = self.bounds_here(value, most);
                let spent = self.effort().saturating_sub(before);
                self.swap(&mut inside);
                self.elsewhere += spent;
                self.branches.insert(conditions, inside);
                found
            }
            Entered::Never => ValueBounds::never(value),
            Entered::Unknown => {
                let mut found = self.bounds_here(value, most);
                found.is_bound_only("whether an input makes it was not decided");
                found
            }
        }
    }

    /// The conditions on sizes under which a value is made, as text.
    pub(super) fn when_text(&self, when: &When) -> Option<String> {
        let texts: Vec<String> = when.conditions.iter().map(|&condition| self.shown(condition)).collect();
        (!texts.is_empty()).then(|| texts.join(" and "))
    }

    fn swap(&mut self, inside: &mut Inside) {
        std::mem::swap(&mut self.env, &mut inside.env);
        std::mem::swap(&mut self.open, &mut inside.open);
        std::mem::swap(&mut self.known, &mut inside.known);
    }

    fn enter(&mut self, conditions: &[Expr]) -> Entered {
        if self.branches.len() >= MAX_INSIDE {
            return Entered::Unknown;
        }
        let (mut env, mut open) = (self.env.clone(), self.open.clone());
        for env in [Some(&mut env), open.as_mut()].into_iter().flatten() {
            conditions.iter().for_each(|&condition| env.assume(condition));
        }
        if env.left_out().len() > self.env.left_out().len() {
            return Entered::Unknown;
        }
        match Known::new(&mut env, &self.inputs) {
            Ok(known) => Entered::Inside(Box::new(Inside { env, open, known })),
            Err(SizingError::Nothing) => Entered::Never,
            Err(_) => Entered::Unknown,
        }
    }
}
