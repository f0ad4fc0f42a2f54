//! Exact fixes: the conditions that a program needs besides what a ShapesSpec says, as its assumptions.
//!
//! An assumption can be any condition, so nothing that works needs to be given up. The conditions are those that a check
//! finds broken or open, without those that follow from the others, each as simple as it gets.
use super::consequences::nothing_works;
use super::cost::Cost;
use super::error::CheckError;
use super::exact_rows::rows;
use super::fix::only_skips;
use super::pipeline::Examined;
use super::readable::readable;
use super::session::Session;
use crate::report::{Fix, Outcome};
use crate::spec::shapes::{Shapes, bound, declaration, in_python};
use crate::spec::{Assumptions, Spec};
use rustc_hash::FxHashMap;
use sizewise_expr::text::read;
use sizewise_expr::{Expr, Func, Pool, Symbol, is_cancelled};
use sizewise_solve::{Budget, Verdict, decide, minimize, requirements, simplify};

/// What is said of a fix of a Dim spec in the other language.
const AS_SHAPES: &str = "a ShapesSpec can say it exactly; its sizes are unbacked (docs/dim_or_shapes.md)";
/// The most rounds: each finds the conditions that are left when those found before are assumed.
const MAX_ROUNDS: usize = 6;
/// Larger sets of conditions are not made smaller.
const MAX_CONDITIONS: usize = 24;

impl Session<'_> {
    /// The assumptions that make a violated ShapesSpec right, if a check proves them to.
    pub(super) fn exact_fix(
        &self,
        spec: &Spec,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Option<Fix>, CheckError> {
        let Some(shapes) = spec.shapes() else { return Ok(None) };
        let Some(mut texts) = needed(first, budget) else { return Ok(None) };
        let proves =
            |texts: &[String]| self.examine(Some(&Spec::of_shapes(shapes.assuming(texts))), budget, false);
        let mut proved = None;
        for round in 0..MAX_ROUNDS {
            if is_cancelled() {
                return Ok(None);
            }
            self.checker().tell("looking for a fix", round, MAX_ROUNDS);
            let mut examined = proves(&texts)?;
            if examined.report.verdict == Outcome::Ok || only_skips(&examined.report) {
                proved = Some(examined.report.verdict == Outcome::Ok);
                break;
            }
            if examined.report.has("contradictory") {
                first.report.diagnostics.push(nothing_works(&texts.join(", ")));
                return Ok(None);
            }
            let Some(more) = needed(&mut examined, budget) else { return Ok(None) };
            texts.extend(more);
        }
        let Some(mut is_proved) = proved else { return Ok(None) };
        let Some(mut conditions) = read_all(&mut first.assumptions, &texts) else { return Ok(None) };
        let smaller = smallest(&mut first.assumptions, &conditions, budget);
        let names = names(&first.assumptions);
        let smaller_texts = smaller.iter().map(|&e| text(&first.assumptions.env.pool, e, &names));
        if let Some(smaller_texts) = smaller_texts.collect::<Option<Vec<String>>>()
            && smaller_texts != texts
            && !smaller_texts.is_empty()
        {
            let examined = proves(&smaller_texts)?;
            if examined.report.verdict == Outcome::Ok || only_skips(&examined.report) {
                is_proved = examined.report.verdict == Outcome::Ok;
                (texts, conditions) = (smaller_texts, smaller);
            }
        }
        let kept = first.assumptions.env.pool.and(&conditions);
        let cost = Cost::new(Some(self.lost(kept, first, budget)), Vec::new());
        let spec = Spec::of_shapes(shapes.assuming(&texts).folded());
        let changes = rows(&mut first.assumptions, shapes, &conditions, &names);
        Ok(Some(Fix {
            text: shown(&first.assumptions, shapes, &conditions, &names),
            spec: Some(spec.to_json()),
            code: Some(spec.with_classes_of(self.contract()).to_python()),
            proved: is_proved,
            cost: cost.text(),
            loses: cost.loses(),
            changes,
            note: None,
            assumptions: texts,
            declarations: Vec::new(),
        }))
    }
}

impl Session<'_> {
    /// The exact fix of a Dim spec, which is one in the other language.
    pub(super) fn fix_as_shapes(&self, spec: &Spec, budget: &Budget) -> Result<Option<Fix>, CheckError> {
        let Ok(shapes) = spec.to_shapes(self.contract()) else { return Ok(None) };
        let mut examined = self.examine(Some(&shapes), budget, false)?;
        if examined.report.verdict != Outcome::Violated {
            return Ok(None);
        }
        let exact = self.exact_fix(&shapes, &mut examined, budget)?;
        let Some(fix) = exact.filter(|fix| fix.proved && fix.loses == Some(false)) else { return Ok(None) };
        let fixed = fix.spec.as_ref().and_then(|spec| Spec::parse(spec.to_string().as_bytes()).ok());
        let Some(fixed) = fixed.map(|fixed| fixed.with_classes_of(self.contract())) else { return Ok(None) };
        let text = fixed.shapes().map(Shapes::to_compact_python).unwrap_or_default();
        Ok(Some(Fix { text, note: Some(AS_SHAPES.to_owned()), ..fix }))
    }
}

/// The names of the variables.
fn names(assumptions: &Assumptions) -> FxHashMap<Symbol, String> {
    assumptions.dims.clone()
}

/// A condition over the variables; `None` if it is on something else too, or is none that a ShapesSpec can state.
fn text(pool: &Pool, e: Expr, names: &FxHashMap<Symbol, String>) -> Option<String> {
    if !pool.free_symbols(&[e]).iter().all(|symbol| names.contains_key(symbol)) {
        return None;
    }
    let name = |symbol: Symbol| names.get(&symbol).cloned().unwrap_or_default();
    in_python(pool, e, &name, false)
}

/// The conditions that a check found broken, or else those that it left open, over the variables of its spec.
fn needed(examined: &mut Examined, budget: &Budget) -> Option<Vec<String>> {
    let names = names(&examined.assumptions);
    let conditions = match examined.roots.is_empty() {
        true => examined.open.clone(),
        false => examined.roots.clone(),
    };
    let (pool, facts) = examined.assumptions.env.facts();
    let mut texts: Vec<String> = Vec::new();
    let mut with_divisors = Vec::new();
    for condition in conditions {
        // An assumption that divides by zero is none: torch's module raises an error there.
        let defined = requirements(pool, &[condition]);
        let is_open = |&e: &Expr| !decide(pool, &mut facts.clone(), e, budget).verdict.is_implied();
        with_divisors.extend(defined.into_iter().filter(is_open));
        with_divisors.push(condition);
    }
    for condition in with_divisors {
        let simple = simplify(pool, &mut facts.clone(), condition, &Budget { rlimit: 0, ..budget.clone() });
        // What never holds is shown as the program has it.
        let simple = if pool.as_bool(simple).is_some() { condition } else { readable(pool, facts, simple) };
        let simple = if torch_uses(pool, simple) { simple } else { condition };
        let text = text(pool, simple, &names).or_else(|| text(pool, condition, &names))?;
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then_some(texts)
}

/// Whether torch knows more of an assumption than that this very condition holds: it does of bounds, equations and
/// multiples of a number. Any other remainder or quotient is of use only in the form in which the program asks for it:
/// torch 2.15 does not see `(n // 3) % 2 == 1` in `n % 6 >= 3`.
fn torch_uses(pool: &Pool, condition: Expr) -> bool {
    let divides = |e: &Expr| matches!(pool.as_call(*e), Some((Func::Mod | Func::FloorDiv, _)));
    let is_zero = pool.as_func(condition, Func::IsZero);
    let is_multiple = is_zero.is_some_and(|operands| pool.as_func(operands[0], Func::Mod).is_some());
    is_multiple || !pool.reachable(&[condition]).iter().any(divides)
}

/// Conditions over the variables in the environment's own symbols.
fn read_all(assumptions: &mut Assumptions, texts: &[String]) -> Option<Vec<Expr>> {
    let symbols: Vec<(String, Symbol)> =
        assumptions.dims.iter().map(|(symbol, name)| (name.clone(), *symbol)).collect();
    let pool = &mut assumptions.env.pool;
    let mut conditions = Vec::with_capacity(texts.len());
    for text in texts {
        let e = read::closed(pool, text).ok()?.expr;
        let mut replaced = Vec::new();
        for symbol in pool.free_symbols(&[e]) {
            let own = symbols.iter().find(|(name, _)| name == pool.symbol_name(symbol))?.1;
            replaced.push((symbol, pool.symbol_expr(own)));
        }
        let e =
            pool.substitute_symbols(e, |s| replaced.iter().find(|(known, _)| *known == s).map(|(_, e)| *e));
        conditions.push(pool.truth(e));
    }
    Some(conditions)
}

/// The conditions without those that follow from what is known and the others, each simplified.
fn smallest(assumptions: &mut Assumptions, conditions: &[Expr], budget: &Budget) -> Vec<Expr> {
    if conditions.len() > MAX_CONDITIONS {
        return conditions.to_vec();
    }
    let (pool, facts) = assumptions.env.facts();
    let mut kept = conditions.to_vec();
    if facts.conditions().is_empty() {
        let ranges = super::minimal::declared_ranges(facts);
        kept = minimize(pool, &ranges, &kept, budget).kept;
    }
    for i in (0..kept.len()).rev() {
        let mut others = facts.clone();
        for (_, &other) in kept.iter().enumerate().filter(|(j, _)| *j != i) {
            others.assume(pool, other);
        }
        match decide(pool, &mut others, kept[i], budget).verdict {
            Verdict::Implied { .. } => drop(kept.remove(i)),
            _ => {
                let simple = simplify(pool, &mut others, kept[i], budget);
                let simple = readable(pool, facts, simple);
                if torch_uses(pool, simple) {
                    kept[i] = simple;
                }
            }
        }
    }
    kept.retain(|&e| pool.as_bool(e) != Some(true));
    kept
}

/// The change as Python: ranges, and sizes computed from others, where they say it; the rest as assumptions.
fn shown(
    assumptions: &Assumptions,
    shapes: &Shapes,
    conditions: &[Expr],
    names: &FxHashMap<Symbol, String>,
) -> String {
    let pool = &assumptions.env.pool;
    let name = |symbol: Symbol| names.get(&symbol).cloned().unwrap_or_default();
    let mut ranges = shapes.variables.clone();
    let mut changed: Vec<String> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    for &condition in conditions {
        let bound = bound(pool, condition).and_then(|(symbol, min, max)| {
            let key = names.get(&symbol)?;
            let range = ranges.get_mut(key)?;
            range.min = min.or(range.min.take());
            range.max = max.or(range.max.take());
            Some(key.clone())
        });
        match bound {
            Some(key) if changed.contains(&key) => {}
            Some(key) => changed.push(key),
            None => rest.extend(in_python(pool, condition, &name, true)),
        }
    }
    let mut lines: Vec<String> = changed
        .iter()
        .map(|key| format!("{key} = {}", declaration(key, &ranges[key], &shapes.params)))
        .collect();
    if !rest.is_empty() {
        let given = shapes.assumptions_in_python();
        let all: Vec<String> = given.into_iter().chain(rest).collect();
        lines.push(format!("assumptions=[{}]", all.join(", ")));
    }
    lines.join("\n")
}
