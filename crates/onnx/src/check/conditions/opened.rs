//! Inputs that are declared with numbers where other inputs have names: the state of a recurrent network for a batch of
//! one size.
use super::Check;
use super::fixes::{MAX_VISITED, Step};
use crate::check::declaration::{Declared, differences};
use crate::check::findings::Fix;
use crate::walk::{Given, inputs};
use sizewise_expr::{Func, Node};

/// The most choices of dimensions that are tried.
const MAX_TRIES: usize = 8;

/// A dimension of an input of the model.
type Place = (String, usize);

impl Check<'_> {
    /// Declares numbers by the name of a size that a condition wants to be this number, if the model is right then: all of
    /// these numbers, or those of one dimension.
    pub(super) fn opened(&self) -> Option<Fix> {
        let own = self.broken.iter().filter(|(at, _)| !self.report.violations[*at].follows);
        let wanted = own.filter_map(|&(_, condition)| {
            let pool = &self.walk.env.pool;
            let Some(Node::Call(Func::IsZero, args)) = pool.node(condition) else { return None };
            let poly = pool.poly(*args.first()?);
            let [(term, _)] = poly.terms.as_slice() else { return None };
            let number = poly.solved_for(0)?.constant.to_i64()?;
            Some((self.declared_name(pool.as_symbol(*term)?)?, number))
        });
        let mut left = (MAX_VISITED / self.model.graph.node.len().max(1)).clamp(1, MAX_TRIES);
        wanted.into_iter().find_map(|(name, number)| self.opened_by(&name, number, &mut left))
    }

    fn opened_by(&self, name: &str, number: i64, left: &mut usize) -> Option<Fix> {
        let mut places: Vec<Place> = Vec::new();
        for input in inputs(self.model) {
            let sizes = input.shape.iter().flatten().enumerate();
            let are_it = sizes.filter(|(_, size)| matches!(size, Given::Size(size) if *size == number));
            places.extend(are_it.map(|(dim, _)| (input.name.clone(), dim)));
        }
        let most = places.iter().map(|(_, dim)| dim + 1).max()?;
        let along = |dim: usize| places.iter().filter(|place| place.1 == dim).cloned().collect();
        let mut choices: Vec<Vec<Place>> = vec![places.clone()];
        choices.extend((0..most).map(along));
        choices.dedup();
        choices.into_iter().filter(|choice| !choice.is_empty()).find_map(|choice| {
            *left = left.checked_sub(1)?;
            self.with_name(name, &choice)
        })
    }

    /// The fix that declares sizes by a name, if the model is right then.
    fn with_name(&self, name: &str, places: &[Place]) -> Option<Fix> {
        let mut model = self.model.clone();
        for (input, dim) in places {
            let input = model.graph.input.iter_mut().find(|own| own.name == *input)?;
            Declared::Size(*dim, Some(name.to_owned())).write(input);
        }
        let right = self.right_with(Step { model, rejects: false })?;
        let changes = differences(&self.model.graph, &right.graph);
        let rejects = self.rejected(&right, None, false);
        Some(Fix { changes, before: None, spec: None, rejects, is_proved: true })
    }
}
