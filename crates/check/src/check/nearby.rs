//! Counterexamples near the traced example, and the nearest sizes at which the program runs. Where no example is known, small
//! sizes that the assumptions allow take its place.
//!
//! A proof by refutation gives any counterexample. People want the one that differs least from the example that they
//! traced: few sizes changed, each by little, none of them 0 unless that is the point, and no other condition broken.
use super::evaluate::{DIVIDES, Shapes};
use super::examine::Examination;
use super::instance::{MAX_INSTANCE, instance};
use super::obligation::{Obligation, Source};
use super::prove::{Replayed, shapes_json};
use super::search::{Search, Tried, tried};
use super::summary;
use super::usual_sizes::usual_sizes;
use crate::propagate::Run;
use crate::report::{ConditionKind, GuardVerdict, int_json};
use crate::spec::DemandKind;
use rustc_hash::FxHashMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Symbol, Value as Number};
use sizewise_solve::Witness;
use std::cell::RefCell;

/// The most conditions whose counterexample is improved.
const MAX_IMPROVED: usize = 24;
/// What an exported module does that checks a condition.
const REFUSES: &str = "the exported module refuses it";
/// What a program does that asserts a condition.
const ASSERTS: &str = "the program asserts";
/// How a condition is said that something needs, where it is not known what.
const NEEDS: &str = "it needs";

/// Whether what is said to happen at a counterexample is a check of the module or an assertion, and no operator's.
pub(super) fn is_check(consequence: &str) -> bool {
    [REFUSES, ASSERTS, NEEDS, "_assert"].iter().any(|begin| consequence.starts_with(begin))
}

impl<'p> Examination<'_, 'p> {
    /// Replaces the counterexamples by some near the example.
    pub fn counterexamples_nearby(&mut self, run: &Run<'p>, base: &ShapeEnv) {
        let mut example: FxHashMap<Symbol, Int> = FxHashMap::default();
        for (symbol, ..) in base.known_facts().ranges() {
            let hint = base.symbol(symbol).and_then(|info| info.hint.as_ref()).and_then(Number::as_int);
            example.extend(hint.map(|hint| (symbol, hint)));
        }
        let made_up = self.make_up(base, &mut example);
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        let all: Vec<Expr> = self.violated.iter().map(|o| o.condition).collect();
        let all = tried(&base.pool, &example, &all);
        let assumed = tried(&base.pool, &example, base.known_facts().conditions());
        let roots: Vec<Tried> = violated
            .iter()
            .zip(&all)
            .filter(|(i, _)| !self.report.guards[**i].follows)
            .map(|(_, tried)| tried.clone())
            .take(MAX_IMPROVED)
            .collect();
        let mut improved = 0;
        for (at, i) in violated.into_iter().enumerate().take(all.len()) {
            if self.report.guards[i].follows || improved >= MAX_IMPROVED {
                continue;
            }
            improved += 1;
            let obligation = self.violated[at].clone();
            let others = roots.iter().filter(|root| root.condition() != obligation.condition);
            // The example is one of what is shown.
            let simple = self.simple.iter().find(|(of, _)| *of == i).map(|(_, simple)| *simple);
            let simple = simple.and_then(|simple| tried(&base.pool, &example, &[simple]).pop());
            let search = Search {
                pool: &base.pool,
                facts: base.known_facts(),
                example: &example,
                made_up: &made_up,
                assumed: &assumed,
                all: &all,
                condition: simple.unwrap_or_else(|| all[at].clone()),
                others: others.cloned().collect(),
                room: RefCell::default(),
            };
            let found = self.nearest(&search);
            self.describe(i, &obligation, found, run, base);
        }
    }

    /// Adds sizes of the inputs that have no example, which it returns.
    fn make_up(&self, base: &ShapeEnv, example: &mut FxHashMap<Symbol, Int>) -> Vec<Symbol> {
        let inputs = self.assumptions.inputs.iter();
        let sizes: Vec<Expr> =
            inputs.flat_map(|i| i.allowed.iter().flatten().copied().chain(i.scalar)).collect();
        let mut missing = base.pool.free_symbols(&sizes);
        missing.retain(|symbol| !example.contains_key(symbol));
        if missing.is_empty() || self.violated.is_empty() {
            return Vec::new();
        }
        let mut pool = base.pool.clone();
        let found = usual_sizes(&mut pool, base.known_facts(), &missing, example, self.budget);
        let Some(found) = found else { return Vec::new() };
        missing.retain(|symbol| found.contains_key(symbol));
        example.extend(missing.iter().map(|symbol| (*symbol, found[symbol].clone())));
        missing
    }

    /// The best counterexample that the program refuses, with what happens, and sizes that work.
    fn nearest(&self, search: &Search) -> Option<Near> {
        let prover = self.silent_prover();
        for (broken, witness) in search.nearest() {
            if !self.assumptions.allows(&witness) {
                continue;
            }
            let Some(shapes) = prover.shapes_at(&witness) else { continue };
            let Ok(Replayed { consequence, .. }) = prover.replay(&shapes) else { continue };
            // A guard that cannot be read may refuse what all else accepts.
            let is_known = prover.evaluator.unreadable().is_empty();
            let works = if is_known { search.works(&witness) } else { None };
            let works = works
                .map(|at| search.whole(at))
                .and_then(|at| prover.shapes_at(&at))
                .filter(|at| prover.replay(at).is_err());
            return Some(Near { witness, shapes, consequence, works, alone: broken == 0 });
        }
        None
    }

    /// Writes a counterexample into the report, and what happens there in terms of the condition.
    fn describe(
        &mut self,
        i: usize,
        obligation: &Obligation,
        near: Option<Near>,
        run: &Run,
        base: &ShapeEnv,
    ) {
        let guard = &mut self.report.guards[i];
        let mut alone = false;
        if let Some(near) = near {
            let mut witness = near.witness;
            // All sizes that the condition speaks of are named.
            for s in base.pool.free_symbols(&[obligation.condition]) {
                if !witness.iter().any(|(known, _)| *known == s)
                    && let Some(hint) = base.symbol(s).and_then(|i| i.hint.as_ref()).and_then(Number::as_int)
                {
                    witness.push((s, hint));
                }
            }
            let named = |(s, v): &(Symbol, Int)| (base.pool.symbol_name(*s).to_string(), int_json(v));
            guard.witness = Some(witness.iter().map(named).collect());
            guard.inputs = Some(shapes_json(&near.shapes));
            guard.works = near.works.as_ref().map(shapes_json);
            guard.consequence = Some(near.consequence);
            alone = near.alone;
        }
        let node = obligation.origin.and_then(|origin| run.step(origin)).map(|step| step.node());
        let own = node.is_some_and(|node| {
            guard.consequence.as_deref().is_some_and(|text| text.starts_with(&format!("{node} ")))
        });
        // A guard that has no value raises an error before any is false.
        if guard.consequence.as_deref().is_some_and(|says| says.starts_with(DIVIDES)) {
            return;
        }
        let is_guard = obligation.source == Source::Demand(DemandKind::Guard);
        let is_record = obligation.source == Source::Demand(DemandKind::Contract);
        let Some(sizes) = guard.witness.clone().filter(|_| !(alone && is_record)) else { return };
        // What one size has to be is seen from the example; there it is said what is checked, rather than what that
        // comes to.
        let is_plain = guard.shown.split(' ').count() == 3 && !guard.shown.contains(['*', '(']);
        let checked = guard.recorded.clone().filter(|_| is_plain).unwrap_or_else(|| guard.shown.clone());
        let instance = instance(self.assumptions, &base.pool, obligation.condition, &sizes, &checked);
        let is_long = checked.chars().count() > MAX_INSTANCE;
        guard.consequence = Some(match guard.kind {
            ConditionKind::Assertion => format!("{ASSERTS} `{checked}`{instance}"),
            _ if is_guard && is_long => {
                let about = base.pool.free_symbols(&[obligation.condition]);
                let names: Vec<&str> =
                    about.iter().map(|&s| summary::name(self.assumptions, &base.pool, s)).collect();
                format!("{REFUSES}: a condition on {} that it checks is false", names.join(", "))
            }
            _ if is_guard => format!("{REFUSES}: it checks `{checked}`{instance}"),
            // The program runs there.
            _ if own || alone || obligation.source == Source::RecordedSize => return,
            _ if instance.is_empty() => format!("`{checked}` is false"),
            _ => format!("{NEEDS} `{checked}`{instance}"),
        });
    }
}

/// A counterexample near the example.
struct Near {
    witness: Witness,
    shapes: Shapes,
    consequence: String,
    works: Option<Shapes>,
    /// Whether no other condition is broken that does not follow.
    alone: bool,
}
