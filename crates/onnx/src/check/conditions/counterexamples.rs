//! Sizes that show a violation: those nearest to the example, which break one condition alone where there are such.
use super::report::shapes_json;
use super::{
    Check, Data, Decided, Given, MAX_FOLDED, Violation, Witness, assume_existing, decide, is_branch,
};
use crate::check::evaluate::Refused;
use crate::check::integers::CLAUSE;
use crate::check::symbolic::SizeSymbol;
use rustc_hash::FxHashMap;
use sizewise_check::check::{Search, tried, usual_sizes};
use sizewise_check::report::GuardReport;
use sizewise_expr::{Expr, Int, Symbol};

/// Instead of an example with sizes above this one, smaller sizes are shown: nobody runs a model on 224 items to see that it
/// fails.
const LARGE: i64 = 16;

/// Sizes that the model refuses.
struct Shown {
    witness: Witness,
    sizes: Given,
    refused: Refused,
    data: Option<Data>,
    /// Whether the node of the condition refuses them.
    is_own: bool,
}

impl Check<'_> {
    /// The sizes near which counterexamples are looked for: those of the example, or smaller ones at which the model's
    /// conditions hold, too.
    pub(super) fn sizes_to_show(&self) -> FxHashMap<Symbol, Int> {
        let hint =
            |(symbol, _): &(Symbol, SizeSymbol)| Some((*symbol, Int::from(self.symbolic.hint(*symbol)?)));
        let hints: FxHashMap<Symbol, Int> = self.symbolic.symbols.iter().filter_map(hint).collect();
        let most = hints.values().max().cloned().unwrap_or(Int::ZERO);
        if most <= Int::from(LARGE) || !self.walk.failures.is_empty() {
            return hints;
        }
        let mut env = self.symbolic.env.clone();
        // There the walk goes the same way.
        self.walk.env.guards().iter().for_each(|guard| env.assume(guard.condition));
        let symbols: Vec<Symbol> = self.symbolic.symbols.iter().map(|(symbol, _)| *symbol).collect();
        let (pool, facts) = env.facts();
        let found = usual_sizes(pool, facts, &symbols, &FxHashMap::default(), &self.budget);
        let is_good = |found: &FxHashMap<Symbol, Int>| {
            let sizes = self.symbolic.at(|symbol| found.get(&symbol)?.to_i64());
            found.values().all(|size| *size <= most) && sizes.is_some_and(|sizes| self.accepts(&sizes))
        };
        found.filter(is_good).unwrap_or(hints)
    }

    /// The values of symbols: those of a witness, and those of the example.
    pub(super) fn values<'w>(&'w self, witness: &'w Witness) -> impl Fn(Symbol) -> Option<i64> + 'w {
        |symbol| {
            let found = witness.iter().find(|(known, _)| *known == symbol).map(|(_, value)| value);
            found.or_else(|| self.near.get(&symbol))?.to_i64()
        }
    }

    /// A witness with the sizes of the walk's own example in the place of smaller ones.
    pub(super) fn at_hints(&self, witness: &Witness) -> Witness {
        let given =
            |symbol: Symbol| witness.iter().find(|(known, _)| *known == symbol).map(|(_, size)| size.clone());
        let size = |symbol: Symbol| given(symbol).or_else(|| self.symbolic.hint(symbol).map(Int::from));
        let symbols = self.symbolic.symbols.iter();
        symbols.filter_map(|(symbol, _)| Some((*symbol, size(*symbol)?))).collect()
    }

    /// The sizes of the inputs at a witness.
    pub(super) fn sizes_at(&self, witness: &Witness) -> Option<Given> {
        self.symbolic.at(self.values(witness))
    }

    /// The sizes of the example.
    pub(super) fn example(&self) -> Option<Given> {
        self.sizes_at(&Witness::new())
    }

    /// Whether a condition is false at a witness.
    pub(super) fn is_broken(&self, condition: Expr, witness: &Witness) -> bool {
        self.symbolic.evaluator(self.values(witness)).truth(condition) == Ok(false)
    }

    /// Whether a witness breaks no condition of the walk but one.
    pub(super) fn keeps_others(&self, broken: Expr, witness: &Witness) -> bool {
        self.others(broken).into_iter().all(|condition| !self.is_broken(condition, witness))
    }

    /// The other conditions of the walk.
    fn others(&self, condition: Expr) -> Vec<Expr> {
        let own = self.as_walked(condition);
        let guards = self.walk.env.guards().iter().filter(|guard| !is_branch(guard));
        guards.map(|guard| guard.condition).filter(|&other| other != own).take(MAX_FOLDED).collect()
    }

    /// A condition as the walk has written it.
    pub(super) fn as_walked(&self, condition: Expr) -> Expr {
        self.written.get(&condition).copied().unwrap_or(condition)
    }

    /// A search of sizes that break a condition, or at which all of these hold.
    fn searched<T>(&self, condition: Expr, all: &[Expr], ask: impl FnOnce(&Search) -> T) -> T {
        let (pool, facts) = (&self.symbolic.env.pool, self.symbolic.env.known_facts());
        let with = |conditions: &[Expr]| tried(pool, &self.near, conditions);
        let [condition, others @ ..] = &with(&[&[condition], &*self.others(condition)].concat())[..] else {
            unreachable!("one condition at least is tried")
        };
        ask(&Search {
            pool,
            facts,
            example: &self.near,
            made_up: &[],
            assumed: &with(facts.conditions()),
            all: &with(all),
            condition: condition.clone(),
            others: others.to_vec(),
            room: Default::default(),
        })
    }

    /// Witnesses that break a condition, those that break no other one first: the nearest to the example, and what the
    /// engine finds.
    pub(super) fn breaking(&self, condition: Expr, found: Option<&Witness>) -> Vec<(Witness, bool)> {
        let near = self.searched(condition, &[], |search| search.nearest());
        let is_alone = near.first().is_some_and(|(broken, _)| *broken == 0);
        let mut all: Vec<(Witness, bool)> =
            near.into_iter().map(|(broken, witness)| (witness, broken == 0)).collect();
        if !is_alone && let Some(witness) = self.breaking_alone(condition) {
            let is_small = witness.iter().all(|(_, size)| *size <= Int::from(LARGE));
            all.insert(if is_small { 0 } else { all.len() }, (witness, true));
        }
        if let Some(found) = found {
            // First with the example's sizes in the place of those that the condition does not speak of.
            let own = self.symbolic.env.pool.free_symbols(&[condition]);
            let few: Witness = found.iter().filter(|(symbol, _)| own.contains(symbol)).cloned().collect();
            for witness in [few, found.clone()] {
                let alone = self.keeps_others(condition, &witness);
                all.push((witness, alone));
            }
        }
        all
    }

    /// A witness at which the model's other conditions hold.
    fn breaking_alone(&self, condition: Expr) -> Option<Witness> {
        let mut env = self.symbolic.env.clone();
        self.others(condition).into_iter().for_each(|other| env.assume(other));
        assume_existing(&self.symbolic, &mut env);
        let (pool, facts) = env.facts();
        match decide(pool, facts, condition, &self.budget).verdict {
            Decided::Refuted { witness } => Some(witness),
            _ => None,
        }
    }

    /// The first witness that the node of a condition refuses, else the first that another one does.
    fn shown(&mut self, guard: &GuardReport, tried: Vec<(Witness, bool)>) -> Option<Shown> {
        let mut shown = None;
        for (witness, is_alone) in tried {
            let Some(sizes) = self.sizes_at(&witness) else { continue };
            if self.tries == 0 {
                break;
            }
            self.tries -= 1;
            let Some((refused, data)) = self.refusal(&sizes) else { continue };
            // Sizes that another node refuses show less, and nothing where they break a condition of that.
            let is_own = guard.node.is_none() || refused.node == guard.node;
            if is_own || shown.is_none() && is_alone {
                shown = Some(Shown { witness, sizes, refused, data, is_own });
            }
            if is_own {
                break;
            }
        }
        shown
    }

    /// Notes a condition that a witness breaks, if the model refuses sizes that do.
    pub(super) fn refuted(&mut self, guard: GuardReport, broken: Expr, tried: Vec<(Witness, bool)>) {
        let mut shown = self.shown(&guard, tried);
        // Sizes that broadcast another way than the example are refused elsewhere, if at all.
        if let Some(&wide) = self.wide.get(&broken)
            && !shown.as_ref().is_some_and(|shown| shown.is_own)
        {
            let tried = self.breaking(wide, None);
            let other = self.shown(&guard, tried);
            if shown.is_none() || other.as_ref().is_some_and(|other| other.is_own) {
                shown = other;
            }
        }
        if let Some(Shown { witness, sizes, refused, data, .. }) = shown {
            if self.wide.contains_key(&broken) {
                self.by_example.extend(guard.node.clone());
            }
            let other = refused.node.filter(|node| guard.node.as_ref().is_some_and(|own| own != node));
            let message = match other {
                Some(node) => format!("at {node}: {}", refused.message),
                None => refused.message,
            };
            let guard = self.widened(guard, broken, &witness);
            return self.violation(guard, (Some(broken), witness), sizes, (message, data));
        }
        if self.tries == 0 {
            return self.leave_open(guard, "too many inputs were tried before it");
        }
        // The walk took a way at the example that other sizes need not take: without a refusal it shows nothing.
        let reason = match guard.clause.as_deref() {
            Some(CLAUSE) => "the integer wraps around at larger sizes, and the model may still run",
            _ => "the model accepts the sizes that break it",
        };
        self.doubtful.push(broken);
        self.leave_open(guard, reason);
    }

    /// Looks for sizes that the model accepts: those nearest to each violation.
    pub(super) fn find_working(&mut self) {
        if self.violations.is_empty() {
            return;
        }
        self.works = self.example().filter(|example| self.accepts(example));
        let all: Vec<Expr> = self.violations.iter().filter_map(|violation| violation.condition).collect();
        for at in 0..self.violations.len() {
            let Violation { condition, witness, data, .. } = &self.violations[at];
            let found = match (data, condition) {
                (Some(data), _) => self.works_with(*data),
                (None, Some(condition)) if self.tries > 0 => {
                    self.tries -= 1;
                    let near = self.searched(*condition, &all, |search| search.works(witness));
                    let near = near.and_then(|witness| self.sizes_at(&witness));
                    near.filter(|sizes| self.accepts(sizes)).map(|sizes| (sizes, None))
                }
                _ => None,
            };
            let found = found.or_else(|| Some((self.works.clone()?, None)));
            let Some((sizes, data)) = found else { continue };
            let works = shapes_json(&self.ordered(sizes));
            let guard = &mut self.violations[at].guard;
            guard.works = Some(works);
            guard.works_values = data.map(|data| data.elements(self.model));
        }
    }
}
