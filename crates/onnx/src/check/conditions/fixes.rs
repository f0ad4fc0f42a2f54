//! Declarations under which a model is right: sizes that have to be equal get one name, or a number, and outputs are
//! declared as they are computed.
use super::declare::Changed;
use super::named::{Remedy, Size};
use super::narrow::numbers_in;
use super::{Check, checked};
use crate::check::declaration::{Declaration, Declared, differences};
use crate::check::findings::{Fix, Rejects, Verdict};
use crate::read::Model;
use rustc_hash::FxHashSet;
use serde_json::Value as Json;
use sizewise_expr::{Expr, Symbol};

/// The most rounds of declarations that follow each other, and the nodes that may be visited in them.
const MAX_ROUNDS: usize = 8;
pub(super) const MAX_VISITED: usize = 200_000;
/// Of more sizes it is not tried which of them have to be equal.
const MAX_PAIRED: usize = 4;

/// Which conditions declarations have to see to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All that are violated.
    All,
    /// Equations; a spec with narrower ranges sees to the others.
    Equations,
}

/// A model with other declarations, and whether these reject sizes at which a condition holds.
#[derive(Clone)]
pub(super) struct Step {
    pub model: Model,
    pub rejects: bool,
}

/// Declarations under which a model is right, perhaps within a spec.
struct Right {
    model: Model,
    /// What the model with these declarations allows, and a spec with less, where it needs one.
    before: Option<Json>,
    spec: Option<Json>,
    rejects: bool,
    is_proved: bool,
}

/// How many sizes a fix fixes to numbers.
fn numbers(fix: &Fix, known: usize) -> usize {
    let declared = fix.changes.iter().filter(|change| !change.is_output && change.is_number()).count();
    declared + fix.spec.as_ref().map_or(0, |spec| numbers_in(spec).saturating_sub(known))
}

impl Check<'_> {
    /// Looks for other declarations, or for a narrower spec, under which the model is right.
    pub(super) fn fixes(&mut self, has_spec: bool) {
        let known = self.written().as_ref().map_or(0, numbers_in);
        // Under a spec it is the spec that is to change.
        let declared = if has_spec { None } else { self.fix(Scope::All) };
        let is_best = |fix: &Fix| fix.rejects == Rejects::Nothing;
        let narrowed = if declared.as_ref().is_some_and(is_best) { None } else { self.narrowed_fix() };
        // If both reject sizes, a change of the model's own declarations is the simpler fix, if it keeps them dynamic.
        let narrowed = narrowed.filter(|narrowed| {
            let is_simpler = |fix: &Fix| numbers(fix, known) <= numbers(narrowed, known);
            is_best(narrowed) || !declared.as_ref().is_some_and(is_simpler)
        });
        let is_good = |fix: &Fix| is_best(fix) || numbers(fix, known) == 0;
        let wants_both = !has_spec && ![&declared, &narrowed].into_iter().flatten().any(is_good);
        let both = if wants_both { self.fix(Scope::Equations) } else { None };
        let both = both.filter(|both| declared.as_ref() != Some(both));
        let opened = if has_spec { None } else { self.opened() };
        self.report.fixes = opened.into_iter().chain(declared).chain(both).chain(narrowed).collect();
        // A number is of no use where a range keeps all sizes.
        if self.report.fixes.iter().any(is_best) {
            self.report.fixes.retain(is_good);
        }
        // Numbers come last: most sizes are lost there. Equal sizes lose more than ranges.
        self.report.fixes.sort_by_key(|fix| {
            let rejects = fix.rejects != Rejects::Nothing;
            (rejects, !fix.is_proved, numbers(fix, known), fix.changes.len())
        });
    }

    /// A narrower spec as a fix.
    fn narrowed_fix(&self) -> Option<Fix> {
        let narrowed = self.narrowed()?;
        let rejects = self.rejected(self.model, Some(&narrowed.spec), narrowed.rejects);
        let (before, is_proved) = (self.written(), narrowed.is_proved);
        Some(Fix { changes: Vec::new(), before, spec: Some(narrowed.spec), rejects, is_proved })
    }

    /// Declares sizes that have to be equal as equal, and outputs as they are computed, and checks the model that
    /// declares them so, under a narrower spec where that is asked for. `None` where the check does not come out ok.
    fn fix(&self, scope: Scope) -> Option<Fix> {
        let mut left = (MAX_VISITED / self.model.graph.node.len().max(1)).clamp(1, MAX_ROUNDS);
        let first = [self.numbers_of_outputs(), self.next(scope)].into_iter().flatten();
        let found = first.into_iter().find_map(|step| self.after(step, scope, &mut left.clone()));
        let paired = || match scope {
            // A pair that settles all comes before those after which more has to be declared.
            Scope::All => {
                let steps = self.paired();
                let first = steps.iter().take(left);
                let settled = first.cloned().find_map(|step| self.after(step, scope, &mut 1));
                settled.or_else(|| steps.into_iter().find_map(|step| self.after(step, scope, &mut left)))
            }
            Scope::Equations => None,
        };
        let right = found.or_else(paired)?;
        let changes = self.changes(&right.model);
        let rejects = self.rejected(&right.model, right.spec.as_ref(), right.rejects);
        let Right { before, spec, is_proved, .. } = right;
        Some(Fix { changes, before, spec, rejects, is_proved })
    }

    /// The model of a step, if a check of it comes out ok.
    pub(super) fn right_with(&self, step: Step) -> Option<Model> {
        let right = self.after(step, Scope::All, &mut 1)?;
        (right.is_proved && right.spec.is_none()).then_some(right.model)
    }

    /// The declarations of another model that differ, inputs first.
    fn changes(&self, model: &Model) -> Vec<Declaration> {
        differences(&self.model.graph, &model.graph)
    }

    /// Checks a model with other declarations, and goes on from there where it is not right yet.
    fn after(&self, step: Step, scope: Scope, left: &mut usize) -> Option<Right> {
        *left = left.checked_sub(1)?;
        let Step { model, rejects } = step;
        let check = checked(&model, None, &self.budget);
        let right = |is_proved| Right { model: model.clone(), before: None, spec: None, rejects, is_proved };
        match check.report.verdict {
            Verdict::Ok => return Some(right(true)),
            Verdict::Unknown => return (check.open_count() <= self.open_count()).then(|| right(false)),
            Verdict::Violated => {}
        }
        match check.next(scope) {
            Some(next) => {
                let found = check.after(next, scope, left)?;
                Some(Right { rejects: rejects || found.rejects, ..found })
            }
            None if scope == Scope::Equations => {
                let narrowed = check.narrowed()?;
                let rejects = rejects || narrowed.rejects;
                let (before, is_proved) = (check.written(), narrowed.is_proved);
                Some(Right { before, spec: Some(narrowed.spec), rejects, is_proved, ..right(false) })
            }
            None => None,
        }
    }

    /// The model with declarations by which violated conditions come to hold; where there are none, with outputs that
    /// are declared as they are computed.
    fn next(&self, scope: Scope) -> Option<Step> {
        let own = self.broken.iter().filter(|(at, _)| !self.report.violations[*at].follows);
        let mut own: Vec<Expr> = own.map(|&(_, condition)| condition).collect();
        let pool = &self.walk.env.pool;
        // What several sizes have to be together settles each of them.
        own.sort_by_key(|&condition| std::cmp::Reverse(pool.free_symbols(&[condition]).len()));
        let (mut changed, mut rejects) = self.changed(&own, |condition| self.settling(condition, scope));
        if changed.is_empty() {
            (changed, rejects) =
                self.changed(&own, |condition| self.computed(condition).into_iter().collect());
        }
        if changed.is_empty() {
            return self.outputs_as_computed();
        }
        let mut model = self.model.clone();
        self.declare(&mut model, &changed);
        Some(Step { model, rejects })
    }

    /// What sizes become by the remedies of conditions, and whether that rejects sizes at which they hold.
    fn changed(&self, conditions: &[Expr], remedies: impl Fn(Expr) -> Vec<Remedy>) -> (Changed, bool) {
        let pool = &self.walk.env.pool;
        let (mut changed, mut rejects) = (Changed::default(), false);
        let mut touched: FxHashSet<Symbol> = FxHashSet::default();
        for &condition in conditions {
            let symbols = pool.free_symbols(&[condition]);
            // What a size becomes decides what is left of its other conditions.
            if symbols.iter().any(|symbol| touched.contains(symbol)) {
                continue;
            }
            let remedies = remedies(condition);
            if !remedies.is_empty() {
                touched.extend(symbols);
            }
            // Sizes of 1 that broadcast another way are not in the condition.
            let has_ones = self.wide.contains_key(&condition);
            for Remedy { kept, replaced, is_all } in remedies {
                rejects |= !is_all || has_ones;
                changed.entry(replaced).or_insert(kept);
            }
        }
        (changed, rejects)
    }

    /// Declarations by which a condition comes to hold.
    fn settling(&self, condition: Expr, scope: Scope) -> Vec<Remedy> {
        let mut remedies = self.multiples(condition);
        if remedies.is_empty() && (scope == Scope::All || self.relates_sizes(condition)) {
            // A spec with ranges is wider than the number of the example.
            let is_wide = |remedy: &Remedy| remedy.is_all || !matches!(remedy.kept, Size::Number(_));
            let remedy = self.remedy(condition);
            let remedy = remedy.filter(|remedy| scope == Scope::All || is_wide(remedy));
            remedies.extend(remedy.or_else(|| self.multiples_of_one(condition)));
        }
        remedies
    }

    /// The model with outputs that are declared as they are computed.
    fn outputs_as_computed(&self) -> Option<Step> {
        let mut model = self.model.clone();
        for wrong in &self.report.wrong_outputs {
            let output = model.graph.output.iter_mut().find(|output| output.name == wrong.output);
            output.into_iter().for_each(|output| wrong.right.write(output));
        }
        (!self.changes(&model).is_empty()).then_some(Step { model, rejects: false })
    }

    /// The model with numbers for sizes of inputs that outputs, too, have by name, and that are computed as these
    /// numbers, where a condition on such a size is violated: a batch that a reshape has as a number.
    fn numbers_of_outputs(&self) -> Option<Step> {
        let mut changed = Changed::default();
        for wrong in &self.report.wrong_outputs {
            let Declared::Size(_, Some(text)) = &wrong.right else { continue };
            let Ok(number) = text.parse() else { continue };
            let named = self.symbolic.symbols.iter();
            let symbols = named.filter(|(_, named)| {
                named.source.is_some() && named.declared.as_ref() == Some(&wrong.declared)
            });
            for (symbol, _) in symbols {
                let pool = &self.walk.env.pool;
                let is_broken =
                    |(_, condition): &(usize, Expr)| pool.free_symbols(&[*condition]).contains(symbol);
                if self.broken.iter().any(is_broken) {
                    changed.insert(*symbol, Size::Number(number));
                }
            }
        }
        if changed.is_empty() {
            return None;
        }
        let mut model = self.model.clone();
        self.declare(&mut model, &changed);
        Some(Step { model, rejects: true })
    }

    /// Where a node refuses sizes and no condition says which: the model with one name for two of its sizes, each two
    /// in turn, and with one for all.
    fn paired(&self) -> Vec<Step> {
        let is_blind = |v: &crate::check::findings::Violation| !v.follows && !v.condition.on_sizes;
        let named = self.symbolic.symbols.iter().filter(|(_, named)| named.source.is_some());
        let named: Vec<(Symbol, &String)> =
            named.filter_map(|(symbol, named)| Some((*symbol, named.declared.as_ref()?))).collect();
        if named.len() > MAX_PAIRED || !self.report.violations.iter().any(is_blind) {
            return Vec::new();
        }
        let one_name = |at: usize, others: &[(Symbol, &String)]| {
            let kept = named[at].1;
            let changed = others.iter().map(|(symbol, _)| (*symbol, Size::Name(kept.clone()))).collect();
            let mut model = self.model.clone();
            self.declare(&mut model, &changed);
            Step { model, rejects: true }
        };
        let pairs = (0..named.len()).flat_map(|at| (at + 1..named.len()).map(move |other| (at, other)));
        let mut pairs: Vec<(usize, usize)> = pairs.collect();
        // Batches, which come first among several dimensions, are rarely equal to something else.
        let is_batch = |at: usize| {
            let source =
                self.symbolic.position(named[at].0).and_then(|at| self.symbolic.symbols[at].1.source.clone());
            let several = |name: &str| {
                let input = self.symbolic.sizes.iter().find(|(input, _)| input.name == name);
                input.is_some_and(|(_, sizes)| sizes.len() > 1)
            };
            source.is_some_and(|(name, dim)| dim == 0 && several(&name))
        };
        pairs.sort_by_key(|&(at, other)| usize::from(is_batch(at)) + usize::from(is_batch(other)));
        let pairs = pairs.into_iter().map(|(at, other)| one_name(at, &named[other..=other]));
        let all = (named.len() > 2).then(|| one_name(0, &named[1..]));
        pairs.chain(all).collect()
    }
}
