//! Why sizes of inputs are what they are: the conditions on them, with the nodes that need them.
use super::examples::{Walked, walked};
use super::plain::simple_in_turn;
use super::run_time::sentences;
use super::sources::{CHANCE_DECIDES, Decides, SIZES_DECIDE, Sources};
use super::symbolic::Symbolic;
use super::ways::is_branch;
use sizewise_check::check::readable;
use sizewise_check::report::{Cause, Condition, Explanation, recorded_because};
use sizewise_expr::{Expr, Symbol};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::RunTime;
use sizewise_onnx_model::walk::{Given, Walk, WalkStep, inputs};
use std::collections::HashSet;

/// A dimension of an input.
pub type DeclaredDim = (String, usize);

/// The dimensions of inputs that the model does not declare as numbers.
pub fn dynamic_dimensions(model: &Model) -> Vec<DeclaredDim> {
    let mut found = Vec::new();
    for input in inputs(model) {
        let sizes = input.shape.iter().flatten().enumerate();
        let varies = sizes.filter(|(_, given)| !matches!(given, Given::Size(_)));
        found.extend(varies.map(|(dim, _)| (input.name.clone(), dim)));
    }
    found
}

/// The dimension of a text, `x.shape[0]` or `x.0`.
pub fn dimension(model: &Model, text: &str) -> Option<DeclaredDim> {
    inputs(model).into_iter().find_map(|input| {
        let rest = text.strip_prefix(input.name.as_str())?;
        let at = rest.strip_prefix(".shape[").and_then(|rest| rest.strip_suffix(']'));
        let dim = at.or_else(|| rest.strip_prefix('.'))?.parse::<usize>().ok()?;
        (dim < input.shape.as_ref()?.len()).then_some((input.name, dim))
    })
}

/// What the model declares of dimensions, and the conditions on them.
pub fn explanations(model: &Model, places: &[DeclaredDim]) -> Vec<Explanation> {
    let Walked { symbolic, walk, .. } = walked(model, None);
    let pool = &walk.env.pool;
    let shown = |e| symbolic.shown(pool, readable(pool, symbolic.env.known_facts(), e));
    let not_followed = not_followed(model, &walk, &shown);
    let simple = simple_guards(&symbolic, &walk);
    let mut explained = Vec::with_capacity(places.len());
    for (name, dim) in places {
        let size = symbolic.sizes.iter().find(|(input, _)| input.name == *name);
        let Some(&size) = size.and_then(|(_, sizes)| sizes.get(*dim)) else { continue };
        let own: HashSet<Symbol> = pool.free_symbols(&[size]).into_iter().collect();
        let mut restrictions: Vec<(Expr, Condition)> = Vec::new();
        for (guard, simple) in walk.env.guards().iter().zip(&simple) {
            let &Some(simple) = simple else { continue };
            if is_branch(guard) {
                continue;
            }
            if !pool.free_symbols(&[guard.condition]).iter().any(|symbol| own.contains(symbol)) {
                continue;
            }
            if let Some((_, known)) = restrictions.iter_mut().find(|(known, _)| *known == guard.condition) {
                known.more_nodes += 1;
                continue;
            }
            let Some(step) = walk.steps.get(guard.origin.0 as usize) else { continue };
            let condition = condition(shown(simple), step, guard.clause.name());
            restrictions.push((guard.condition, condition));
        }
        // What the example breaks is a condition, too.
        for failure in &walk.failures {
            let KernelError::Invalid { clause, condition: Some(e), .. } = &failure.error else { continue };
            let is_own = pool.free_symbols(&[*e]).iter().any(|symbol| own.contains(symbol));
            if let Some(step) = walk.steps.get(failure.step).filter(|_| is_own) {
                restrictions.push((*e, condition(shown(*e), step, clause.name())));
            }
        }
        let is_static = size.as_inline().is_some();
        if !is_static {
            restrictions.extend(not_followed.iter().map(|condition| (Expr::ZERO, condition.clone())));
        }
        let stopped = walk.unknown.first().and_then(|(step, _)| walk.steps.get(*step));
        explained.push(Explanation {
            dim: format!("{name}.shape[{dim}]"),
            recorded: shown(size),
            is_static,
            specialized: is_static.then(|| recorded_because(Cause::Declared, false, "").to_owned()),
            reasons: Vec::new(),
            restrictions: restrictions.into_iter().map(|(_, condition)| condition).collect(),
            also_taken: None,
            stopped_at: stopped.map(|step| step.node().to_owned()),
            unreadable: Vec::new(),
        });
    }
    explained
}

/// The guards of a walk as reports show them. `None` for one that holds at all sizes, or follows from those before.
fn simple_guards(symbolic: &Symbolic, walk: &Walk) -> Vec<Option<Expr>> {
    let conditions: Vec<Expr> = walk.env.guards().iter().map(|guard| guard.condition).collect();
    let mut declared = symbolic.env.clone();
    let simple = simple_in_turn(&symbolic.env, &conditions).into_iter().zip(conditions);
    let restricts = |(simple, condition): (Expr, Expr)| {
        let holds = simple.as_literal_bool() == Some(true) || declared.statically(condition) == Some(true);
        (!holds).then_some(simple)
    };
    simple.map(restricts).collect()
}

/// The conditions that sizes decide through numbers which are not followed, or chance: any size may be the one that
/// matters.
fn not_followed(model: &Model, walk: &Walk, shown: &dyn Fn(Expr) -> String) -> Vec<Condition> {
    let sources = Sources::new(model);
    let of = |(step, left, sentence): (usize, &RunTime, String)| {
        let at = walk.steps.get(step)?;
        let reason = match sources.of_condition(*at, left) {
            Decides::Sizes => SIZES_DECIDE,
            Decides::Chance => CHANCE_DECIDES,
            Decides::Inputs(_) | Decides::Unknown => return None,
        };
        Some(condition(format!("{sentence} ({reason})"), at, left.clause.code))
    };
    sentences(walk, shown).into_iter().filter_map(of).collect()
}

/// A condition of a node.
fn condition(shown: String, at: &WalkStep, clause: &str) -> Condition {
    Condition {
        shown,
        node: Some(at.node().to_owned()),
        op: Some(at.op()),
        more_nodes: 0,
        clause: Some(clause.to_owned()),
        location: None,
        code: None,
        cause: Cause::Operator,
        excludes: None,
    }
}
