//! Fixes: other declarations, or a narrower spec, under which a check of the model comes out ok.
//!
//! What sizes have to become is solved of equations, and else proposed as for exported programs. An ONNX file declares names,
//! numbers, and expressions over names; ranges are a spec.
use super::declare::Changed;
use super::named::Solved;
use super::{Check, MAX_VIOLATIONS, Outcome, checked};
use crate::check::declaration::{Declaration, differences};
use crate::check::limits::{LEAST, Limits};
use crate::check::symbolic::Symbolic;
use crate::check::written::{dimension_names, written};
use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;
use sizewise_check::check::{Changes, Cost, apply, proposals};
use sizewise_check::spec::{Change, Spec};
use sizewise_expr::{Evaluator, Expr, Func, Int, Symbol, Value};
use sizewise_onnx_model::read::Model;
use sizewise_solve::Budget;

/// The most rounds of changes that follow each other, and the most checks for one fix; the nodes that may be visited in them.
const MAX_ROUNDS: usize = 8;
const MAX_CHECKED: usize = 24;
const MAX_VISITED: usize = 200_000;
/// Sizes around which conditions are looked at. Of several sizes that a condition ties, those that need not be multiples are
/// none: first dimensions, which are batches, before others.
const ODD: [i64; 3] = [7, 11, 13];
const EVEN: [i64; 12] = [64, 48, 16, 8, 24, 4, 2, 1, 224, 256, 384, 32];
/// The most choices of them.
const MAX_TRIED: usize = 8_192;

/// How changes of sizes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As declarations: sizes that have to be in a range become those of the example.
    Declared,
    /// As declarations where these can say it, and as a spec.
    Both,
    /// As a spec.
    Spec,
}

/// A model with other declarations, and a spec for it.
#[derive(Clone)]
pub(super) struct Draft {
    pub model: Model,
    pub spec: Option<Spec>,
    /// What the model with these declarations allows, if there is a spec.
    pub before: Option<Spec>,
    /// Whether it may reject sizes at which the conditions hold.
    pub rejects: bool,
}

/// Declarations and a spec under which a check of the model comes out ok.
#[derive(Clone)]
pub(super) struct Fix {
    /// What inputs and outputs are to be declared as.
    pub changes: Vec<Declaration>,
    /// The spec, if that is what changes, of the model with these changes.
    pub spec: Option<Spec>,
    /// What that model allows, as a spec.
    pub before: Option<Spec>,
    /// What it loses of the sizes at which the model runs.
    pub cost: Cost,
    /// Whether a check with it comes out ok; else only what no declaration settles stays open.
    pub is_proved: bool,
}

impl Fix {
    /// What makes it worse than others: that it loses sizes or leaves something open, numbers, ends of ranges, and its length.
    fn rank(&self) -> (bool, bool, usize, bool, usize, usize) {
        let ends = self.more(|entry| entry.get("max").is_some_and(Json::is_number));
        // A change of the model's own declarations is simpler than a spec.
        let needs_spec = self.spec.is_some();
        (!self.cost.is_nothing(), !self.is_proved, self.numbers(), needs_spec, ends, self.changes.len())
    }

    /// How many sizes it fixes to numbers.
    fn numbers(&self) -> usize {
        let declared = self.changes.iter().filter(|change| !change.is_output && change.is_number()).count();
        declared + self.more(Json::is_number)
    }

    /// How many more entries of its spec are so than of what the model allows.
    fn more(&self, is: fn(&Json) -> bool) -> usize {
        let count = |spec: &Option<Spec>| {
            let tree = spec.as_ref().map(Spec::to_json);
            let inputs = tree.as_ref().and_then(Json::as_object).into_iter().flat_map(|tree| tree.values());
            inputs.filter_map(Json::as_array).flatten().filter(|entry| is(entry)).count()
        };
        count(&self.spec).saturating_sub(count(&self.before))
    }

    fn is_best(&self) -> bool {
        self.is_proved && self.cost.is_nothing()
    }
}

impl Check<'_> {
    /// Other declarations, or a narrower spec, under which the model is right, the best first.
    pub(super) fn fixes(&self) -> Vec<Fix> {
        let mut found: Vec<Fix> = Vec::new();
        // Under a spec it is the spec that is to change.
        if !self.symbolic.has_spec {
            found.extend(self.opened());
            if !found.iter().any(Fix::is_best) {
                found.extend(self.best(Way::Declared));
            }
        }
        if !found.iter().any(Fix::is_best) {
            // A change of the model's own declarations is simpler, if it keeps them dynamic.
            let is_simpler = |known: &Fix, fix: &Fix| known.is_proved && known.numbers() <= fix.numbers();
            let narrowed = self.best(Way::Spec);
            let narrowed =
                narrowed.filter(|fix| fix.is_best() || !found.iter().any(|known| is_simpler(known, fix)));
            found.extend(narrowed);
        }
        if !self.symbolic.has_spec && found.iter().all(|fix| !fix.is_best() && fix.numbers() > 0) {
            found.extend(self.best(Way::Both));
        }
        // A number is of no use where a range keeps all sizes.
        if found.iter().any(Fix::is_best) {
            found.retain(|fix| fix.is_best() || fix.numbers() == 0);
        }
        found.sort_by_key(Fix::rank);
        let mut seen: Vec<(Vec<Declaration>, Option<Json>)> = Vec::new();
        found.retain(|fix| {
            let this = (fix.changes.clone(), fix.spec.as_ref().map(Spec::to_json));
            let is_new = !seen.contains(&this);
            seen.push(this);
            is_new
        });
        found
    }

    /// The best fix of its kind.
    fn best(&self, way: Way) -> Option<Fix> {
        let mut left = self.checks_left();
        let mut drafts = self.next(way);
        match way {
            Way::Declared => {
                drafts.splice(0..0, self.numbers_of_outputs());
                drafts.extend(self.paired());
            }
            Way::Both => drafts.retain(|draft| draft.spec.is_none()),
            Way::Spec => {}
        }
        let mut found: Vec<Fix> = Vec::new();
        for draft in drafts {
            if found.iter().any(Fix::is_best) {
                break;
            }
            found.extend(self.pursued(draft, way, MAX_ROUNDS, &mut left));
        }
        found.into_iter().min_by_key(Fix::rank)
    }

    pub(super) fn checks_left(&self) -> usize {
        (MAX_VISITED / self.model.graph.node.len().max(1)).clamp(1, MAX_CHECKED)
    }

    /// Checks a draft, and changes it further until a check comes out ok.
    pub(super) fn pursued(&self, mut draft: Draft, way: Way, rounds: usize, left: &mut usize) -> Option<Fix> {
        for _ in 0..rounds {
            *left = left.checked_sub(1)?;
            let next = {
                let limits = draft.spec.as_ref().map(|spec| Limits::new(&draft.model, spec));
                let limits = limits.transpose().ok()?;
                let check = checked(&draft.model, limits.as_ref(), &self.budget);
                match check.verdict {
                    Outcome::Ok => return Some(self.fix(draft.clone(), true)),
                    Outcome::Violated => check.next(way).into_iter().next()?,
                    Outcome::Invalid => return None,
                    Outcome::Unknown => {
                        let is_as_open = check.open_count() <= self.open_count();
                        return is_as_open.then(|| self.fix(draft.clone(), false));
                    }
                }
            };
            let (rejects, before) = (draft.rejects || next.rejects, draft.before.or(next.before));
            draft = Draft { rejects, before, ..next };
        }
        None
    }

    fn fix(&self, draft: Draft, is_proved: bool) -> Fix {
        let Draft { model, spec, before, rejects } = draft;
        let cost = Cost::new(Some(self.lost(&model, spec.as_ref(), rejects)), Vec::new());
        Fix { changes: differences(&self.model.graph, &model.graph), spec, before, cost, is_proved }
    }

    /// How much is neither proved nor refuted.
    fn open_count(&self) -> usize {
        self.undecided.len() + self.unsupported.len()
    }

    /// The changes by which violated conditions come to hold, the best first.
    fn next(&self, way: Way) -> Vec<Draft> {
        if way != Way::Spec && !self.symbolic.has_spec {
            let declared = self.declared(way);
            let declared =
                if declared.is_empty() { self.outputs_as_computed().into_iter().collect() } else { declared };
            if way == Way::Declared || !declared.is_empty() {
                return declared;
            }
        }
        let is_hopeless = !self.wrong_outputs.is_empty()
            || !self.failed.is_empty()
            || self.violations.len() >= MAX_VIOLATIONS;
        if is_hopeless || self.refuses.is_some() {
            return Vec::new();
        }
        // The model may run where a condition does not hold that is in doubt.
        let doubtful = || self.doubtful.first().copied().into_iter().collect();
        let wanted = Some(self.roots()).filter(|roots| !roots.is_empty()).unwrap_or_else(doubtful);
        let Some(before) = written(&self.symbolic) else { return Vec::new() };
        let draft = |changes| {
            let (spec, _) = apply(&before, &changes);
            Draft { model: self.model.clone(), spec: Some(spec), before: Some(before.clone()), rejects: true }
        };
        self.proposals(&wanted).into_iter().map(draft).collect()
    }

    /// Models with declarations by which violated conditions come to hold.
    fn declared(&self, way: Way) -> Vec<Draft> {
        let pool = &self.walk.env.pool;
        let mut conditions = self.roots();
        // What several sizes have to be together settles each of them.
        conditions.sort_by_key(|&condition| std::cmp::Reverse(pool.free_symbols(&[condition]).len()));
        let (mut changed, mut rejects) = (Changed::default(), false);
        let mut touched: FxHashSet<Symbol> = FxHashSet::default();
        let is_touched = |condition: Expr, touched: &FxHashSet<Symbol>| {
            pool.free_symbols(&[condition]).iter().any(|symbol| touched.contains(symbol))
        };
        for &condition in &conditions {
            // What a size becomes decides what is left of its other conditions.
            if is_touched(condition, &touched) {
                continue;
            }
            if let Some(Solved { replaced, text, is_all }) = self.solved(condition) {
                // Sizes of 1 that broadcast another way are not in the condition.
                rejects |= !is_all || self.wide.contains_key(&condition);
                changed.insert(replaced, text);
                touched.extend(pool.free_symbols(&[condition]));
            }
        }
        conditions.retain(|&condition| !is_touched(condition, &touched));
        let mut all: Vec<Changed> = Vec::new();
        let (names, sizes) = (dimension_names(&self.symbolic), self.sizes_around(&conditions));
        for proposal in self.proposals(&conditions) {
            let mut more = Changed::default();
            for (symbol, name) in &names {
                let text = proposal
                    .get(name)
                    .and_then(|change| self.declarable(*symbol, change, way, (&conditions, &sizes)));
                more.extend(text.map(|text| (*symbol, text)));
            }
            if !more.is_empty() {
                more.extend(changed.clone());
                all.push(more);
            }
        }
        rejects |= !all.is_empty();
        if all.is_empty() && !changed.is_empty() {
            all.push(changed);
        }
        let draft = |changed: Changed| {
            let mut model = self.model.clone();
            self.declare(&mut model, &changed);
            Draft { model, spec: None, before: None, rejects }
        };
        all.into_iter().map(draft).collect()
    }

    /// The text that declares a change of a size, if there is one.
    fn declarable(
        &self,
        symbol: Symbol,
        change: &Change,
        way: Way,
        (conditions, sizes): (&[Expr], &FxHashMap<Symbol, Int>),
    ) -> Option<String> {
        let linear = |root: &str, factor: i64, offset: i64| match (factor, offset) {
            (1, 0) => root.to_owned(),
            (1, offset) => format!("{root} + {offset}"),
            (factor, 0) => format!("{factor}*{root}"),
            (factor, offset) => format!("{factor}*{root} + {offset}"),
        };
        // Those who have other sizes than the example have no use for its number where a bound is asked for.
        let is_asked = |&&condition: &&Expr| {
            let symbols = self.walk.env.pool.free_symbols(&[condition]);
            symbols.contains(&symbol) && self.is_equation(condition)
        };
        let is_number = way == Way::Declared && conditions.iter().any(|condition| is_asked(&condition));
        let number = || {
            let size = sizes.get(&symbol).and_then(Int::to_i64).or_else(|| self.symbolic.hint(symbol));
            size.filter(|_| is_number).map(|size| size.to_string())
        };
        match change {
            Change::Size(size) => {
                let pool = &self.walk.env.pool;
                // A clone is a handle of the same pool.
                let equal = pool.clone().int(*size);
                let equal = pool.clone().eq(pool.known_symbol_expr(symbol)?, equal);
                let is_asked = conditions.contains(&equal);
                if is_asked { Some(size.to_string()) } else { number() }
            }
            Change::Derived { root, factor, offset } if *offset >= 0 => {
                let names = dimension_names(&self.symbolic);
                let root = names.iter().find(|(_, name)| *name == root)?.0;
                Some(linear(&self.declared_name(*root)?, *factor, *offset))
            }
            Change::Linear { root, factor, offset, min, max: None } => {
                let least = factor.checked_mul(*min)?.checked_add(*offset)?;
                let is_first = least - factor < self.range(symbol).0;
                // Where there are no smaller multiples, the offset is what is left over.
                let root = self.new_name(root.trim_start_matches('_'));
                is_first.then(|| linear(&root, *factor, offset.rem_euclid(*factor))).or_else(number)
            }
            _ => number(),
        }
    }

    /// The range of a size.
    fn range(&self, symbol: Symbol) -> (i64, Option<i64>) {
        self.symbolic.named(symbol).map_or((LEAST, None), |named| (named.min, named.max))
    }

    /// Changes of sizes after which conditions hold, the best first.
    fn proposals(&self, conditions: &[Expr]) -> Vec<Changes> {
        let names = dimension_names(&self.symbolic);
        let sizes = self.sizes_around(conditions);
        let mut env = self.symbolic.env.clone();
        let dims = |size: &dyn Fn(Symbol) -> Option<Int>| -> IndexMap<Symbol, (String, Int)> {
            let of = |symbol: Symbol| Some((symbol, (names.get(&symbol)?.clone(), size(symbol)?)));
            self.symbolic.symbols.iter().filter_map(|(symbol, _)| of(*symbol)).collect()
        };
        let (around, alike) = (dims(&|symbol| sizes.get(&symbol).cloned()), dims(&|_| Some(Int::ONE)));
        let (pool, facts) = env.facts();
        proposals(pool, facts, &around, conditions, (&alike, 0))
    }

    /// Sizes at which conditions hold: usual ones, or those of the example.
    fn sizes_around(&self, conditions: &[Expr]) -> FxHashMap<Symbol, Int> {
        let pool = &self.symbolic.env.pool;
        let is_batch = |symbol: &Symbol| {
            let named = self.symbolic.named(*symbol);
            named.and_then(|named| named.source.as_ref()).is_some_and(|(_, dim)| *dim == 0)
        };
        let mut symbols = pool.free_symbols(conditions);
        symbols.sort_by_key(|symbol| (!is_batch(symbol), self.symbolic.position(*symbol)));
        let own = conditions.iter().map(|&condition| pool.free_symbols(&[condition]));
        let tied: FxHashSet<Symbol> = own.filter(|own| own.len() > 1).flatten().collect();
        let of = |symbol: &Symbol| {
            let (min, max) = self.range(*symbol);
            let odd: &[i64] = if tied.contains(symbol) { &ODD } else { &[] };
            let sizes = odd.iter().chain(&EVEN).copied();
            let inside = sizes.filter(|&size| size >= min && max.is_none_or(|max| size <= max));
            inside.chain(self.near.get(symbol).and_then(Int::to_i64)).collect::<Vec<i64>>()
        };
        let choices: Vec<Vec<i64>> = symbols.iter().map(of).collect();
        let count = choices.iter().map(Vec::len).product::<usize>().min(MAX_TRIED);
        let holds = |choice: &Vec<i64>, conditions: &[Expr]| {
            let value =
                |symbol| Some(Value::Int(choice[symbols.iter().position(|own| *own == symbol)?].into()));
            let mut evaluator = Evaluator::new(pool, value);
            conditions.iter().all(|&condition| evaluator.truth(condition) == Ok(true))
        };
        // Sizes that agree are meant more often than one of 1, which broadcasts.
        let agreeing: Vec<Expr> = conditions.iter().map(|&condition| self.without_ones(condition)).collect();
        let chosen = |number: usize| {
            let mut rest = number;
            // The first sizes change last.
            let mut choice: Vec<i64> = choices
                .iter()
                .rev()
                .map(|sizes| {
                    let size = sizes[rest % sizes.len()];
                    rest /= sizes.len();
                    size
                })
                .collect();
            choice.reverse();
            choice
        };
        // Heights and widths are often the same. Of a product that has to be a multiple one size is enough.
        let has_remainder =
            |e: Expr| pool.reachable(&[e]).into_iter().any(|part| pool.as_func(part, Func::Mod).is_some());
        let apart =
            pool.free_symbols(&conditions.iter().copied().filter(|&e| has_remainder(e)).collect::<Vec<_>>());
        let is_square = |choice: &Vec<i64>| {
            let is_own =
                |symbol: &Symbol| tied.contains(symbol) && !is_batch(symbol) && !apart.contains(symbol);
            let mut sizes =
                symbols.iter().zip(choice).filter(|(symbol, _)| is_own(symbol)).map(|(_, size)| size);
            sizes.next().is_some_and(|first| sizes.all(|size| size == first))
        };
        let find = |conditions: &[Expr]| {
            let all = || (0..count).map(chosen).filter(|choice| holds(choice, conditions));
            all().find(is_square).or_else(|| all().next())
        };
        let found = find(&agreeing).or_else(|| find(conditions)).unwrap_or_default();
        let mut sizes = self.near.clone();
        sizes.extend(symbols.iter().zip(found).map(|(symbol, size)| (*symbol, Int::from(size))));
        sizes
    }
}

/// What a model declares of its inputs, as a spec: names, numbers, and sizes of at least 1.
pub fn declared_spec(model: &Model) -> Spec {
    written(&Symbolic::new(model, None, &|_| LEAST)).unwrap_or_else(|| Spec::of_tree(Json::Null))
}

/// A spec under which the model is right, as wide as the conditions allow: what it declares, narrowed where that is too
/// wide. `None` where none was found.
pub fn widen(model: &Model, budget: &Budget) -> Option<Spec> {
    let check = checked(model, None, budget);
    match check.verdict {
        Outcome::Ok => written(&check.symbolic),
        _ => check.best(Way::Spec).filter(|found| found.is_proved).and_then(|found| found.spec),
    }
}
