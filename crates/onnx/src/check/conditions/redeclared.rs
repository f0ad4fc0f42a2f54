//! Other declarations that no condition on sizes asks for: of outputs, of sizes that nodes compare, and of numbers that stand for
//! sizes.
use super::declare::Changed;
use super::fixes::{Draft, Fix, Way};
use super::{Check, Violation};
use crate::check::declaration::{Declared, differences};
use sizewise_expr::{Expr, Func, Symbol};
use sizewise_onnx_model::walk::{Given, inputs};

/// Of more sizes it is not tried which of them have to be equal.
const MAX_PAIRED: usize = 4;
/// The most choices of dimensions that get a name.
const MAX_OPENED: usize = 8;

impl Check<'_> {
    /// The model with outputs that are declared as they are computed.
    pub(super) fn outputs_as_computed(&self) -> Option<Draft> {
        let mut model = self.model.clone();
        for wrong in &self.wrong_outputs {
            let output = model.graph.output.iter_mut().find(|output| output.name == wrong.output);
            output.into_iter().for_each(|output| wrong.right.write(output));
        }
        let is_changed = !differences(&self.model.graph, &model.graph).is_empty();
        is_changed.then_some(Draft { model, spec: None, before: None, rejects: false })
    }

    /// The model with other declarations of sizes.
    fn redeclared(&self, changed: &Changed) -> Draft {
        let mut model = self.model.clone();
        self.declare(&mut model, changed);
        Draft { model, spec: None, before: None, rejects: true }
    }

    /// The model with numbers for sizes of inputs that outputs, too, have by name, and that are computed as these
    /// numbers, where a condition on such a size is violated: a batch that a reshape has as a number.
    pub(super) fn numbers_of_outputs(&self) -> Option<Draft> {
        let mut changed = Changed::default();
        let pool = &self.walk.env.pool;
        let broken: Vec<Expr> = self.violations.iter().filter_map(|violation| violation.condition).collect();
        let broken = pool.free_symbols(&broken);
        for wrong in &self.wrong_outputs {
            let Declared::Size(_, Some(text)) = &wrong.right else { continue };
            if text.parse::<i64>().is_err() {
                continue;
            }
            let named = self.symbolic.symbols.iter().filter(|(symbol, named)| {
                let is_it = named.source.is_some() && named.declared.as_ref() == Some(&wrong.report.recorded);
                is_it && broken.contains(symbol)
            });
            changed.extend(named.map(|(symbol, _)| (*symbol, text.clone())));
        }
        (!changed.is_empty()).then(|| self.redeclared(&changed))
    }

    /// Where a node refuses sizes and no condition says which: the model with one name for two of its sizes, each two
    /// in turn, and with one for all.
    pub(super) fn paired(&self) -> Vec<Draft> {
        let is_blind = |v: &Violation| !v.guard.follows && v.condition.is_none();
        let named = self.symbolic.symbols.iter().filter(|(_, named)| named.source.is_some());
        let named: Vec<(Symbol, &String)> =
            named.filter_map(|(symbol, named)| Some((*symbol, named.declared.as_ref()?))).collect();
        if named.len() > MAX_PAIRED || !self.violations.iter().any(is_blind) {
            return Vec::new();
        }
        let one_name = |at: usize, others: &[(Symbol, &String)]| {
            self.redeclared(&others.iter().map(|(symbol, _)| (*symbol, named[at].1.clone())).collect())
        };
        let pairs = (0..named.len()).flat_map(|at| (at + 1..named.len()).map(move |other| (at, other)));
        let mut pairs: Vec<(usize, usize)> = pairs.collect();
        // Batches, which come first among several dimensions, are rarely equal to something else.
        let is_batch = |at: usize| {
            let source = self.symbolic.named(named[at].0).and_then(|named| named.source.as_ref());
            let several = |name: &str| {
                let input = self.symbolic.sizes.iter().find(|(input, _)| input.name == name);
                input.is_some_and(|(_, sizes)| sizes.len() > 1)
            };
            source.is_some_and(|(name, dim)| *dim == 0 && several(name))
        };
        pairs.sort_by_key(|&(at, other)| usize::from(is_batch(at)) + usize::from(is_batch(other)));
        let pairs = pairs.into_iter().map(|(at, other)| one_name(at, &named[other..=other]));
        let all = (named.len() > 2).then(|| one_name(0, &named[1..]));
        pairs.chain(all).collect()
    }

    /// Declares numbers by the name of a size that a condition wants to be this number, if the model is right then, as the state
    /// of a recurrent network for a batch of one size: all of these numbers, or those of one dimension.
    pub(super) fn opened(&self) -> Option<Fix> {
        let pool = &self.walk.env.pool;
        let wanted = self.roots().into_iter().filter_map(|condition| {
            let &[difference] = pool.as_func(condition, Func::IsZero)? else { return None };
            let poly = pool.poly(difference);
            let [(term, _)] = poly.terms.as_slice() else { return None };
            let number = poly.solved_for(0)?.constant.to_i64()?;
            Some((self.declared_name(pool.as_symbol(*term)?)?, number))
        });
        let mut left = self.checks_left().min(MAX_OPENED);
        wanted.into_iter().find_map(|(name, number)| {
            let mut places: Vec<(String, usize)> = Vec::new();
            for input in inputs(self.model) {
                let sizes = input.shape.iter().flatten().enumerate();
                let are_it = sizes.filter(|(_, size)| matches!(size, Given::Size(size) if *size == number));
                places.extend(are_it.map(|(dim, _)| (input.name.clone(), dim)));
            }
            let most = places.iter().map(|(_, dim)| dim + 1).max()?;
            let along = |dim: usize| places.iter().filter(|place| place.1 == dim).cloned().collect();
            let mut choices: Vec<Vec<(String, usize)>> = vec![places.clone()];
            choices.extend((0..most).map(along));
            choices.dedup();
            choices.into_iter().filter(|choice| !choice.is_empty()).find_map(|choice| {
                let mut model = self.model.clone();
                for (input, dim) in choice {
                    let input = model.graph.input.iter_mut().find(|own| own.name == input)?;
                    Declared::Size(dim, Some(name.clone())).write(input);
                }
                let draft = Draft { model, spec: None, before: None, rejects: false };
                self.pursued(draft, Way::Declared, 1, &mut left).filter(|fix| fix.is_proved)
            })
        })
    }
}
