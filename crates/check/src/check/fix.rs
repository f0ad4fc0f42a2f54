//! Fixes: repaired specs that a check has proved to work, and what each costs.
use super::cost::Cost;
use super::draft::Draft;
use super::error::CheckError;
use super::inferred::{self, Inferred};
use super::pipeline::Examined;
use super::repair::{self, Changes};
use super::session::Session;
use super::simpler::simpler;
use super::summary;
use super::usual_sizes::works_at;
use super::whole::shown_whole;
use crate::report::{Fix, GuardVerdict, Level, Outcome, Report};
use crate::spec::{Change, Containers, Reason, Refused, Spec, refused};
use indexmap::IndexMap;
use sizewise_expr::escape::visible;
use sizewise_expr::{Expr, Func, Int, Symbol, is_cancelled};
use sizewise_solve::{Budget, Verdict, decide, simplify};

/// The most rounds of repair.
const MAX_ROUNDS: usize = 5;
/// The most dimensions that get names because a guard ties them to violated ones.
const MAX_NAMED_TOGETHER: usize = 8;
/// The most fixes for one spec.
const MAX_FIXES: usize = 3;
/// Longer guards are not shown.
const LONGEST_SHOWN: usize = 100;

/// A fix that a check has proved to work.
struct Repair {
    fix: Fix,
    cost: Cost,
    /// How many assignments of the named dimensions it allows.
    allowed: u128,
    /// How many dimensions it changes.
    changed: usize,
    /// Whether it makes dimensions equal, and whether it caps one at its size in the example.
    equates: bool,
    caps: bool,
    /// Whether it asks for the rest that a size of the example leaves.
    leaves_a_rest: bool,
    /// Whether it sets a dimension to a number.
    fixes_a_size: bool,
    /// The condition under which the inputs of the given spec are still allowed; `None` if it cannot be written so.
    kept: Option<Expr>,
}

impl Session<'_> {
    /// The repairs of a violated spec that a check proves to work.
    pub(super) fn fixes(
        &self,
        spec: &Spec,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Vec<Fix>, CheckError> {
        if spec.shapes().is_some() {
            return Ok(self.exact_fix(spec, first, budget)?.into_iter().collect());
        }
        let mut fixes = self.completions(spec, budget)?;
        if fixes.is_empty() {
            fixes.extend(self.relations(spec, first, budget)?);
        }
        let known = fixes.len();
        let mut narrowings = self.narrowings(spec, first, budget)?;
        for fix in narrowings.iter_mut().filter(|fix| known > 0 && fix.loses == Some(false)) {
            // It loses nothing that the spec allows; the spec itself is what is too narrow.
            fix.cost = Some("leaves the rest of your spec as it is: fix 1 serves more shapes".to_owned());
        }
        fixes.extend(narrowings);
        fixes.truncate((known + 1).max(MAX_FIXES + 1));
        Ok(fixes)
    }

    /// The repairs that narrow a violated spec.
    fn narrowings(&self, spec: &Spec, first: &mut Examined, budget: &Budget) -> Result<Vec<Fix>, CheckError> {
        let mut start = Draft::new(spec, self.contract(), first);
        let constants = constant_numbers(first);
        for (input, path, condition) in &constants {
            start.spec = start.spec.with_static(self.contract(), *input);
            start.fix(path, *condition);
        }
        let mut unnamed = unnamed(first);
        let of_constants: Vec<Expr> = constants.iter().map(|(.., condition)| *condition).collect();
        let settled = first.assumptions.env.pool.free_symbols(&of_constants);
        unnamed.retain(|symbol| !settled.contains(symbol));
        let automatic = match constants.is_empty() && unnamed.is_empty() {
            true => inferred::proposals(first),
            false => Vec::new(),
        };
        let proposals = if !constants.is_empty() {
            // That may suffice; further changes are proposed by the next round.
            vec![Changes::new()]
        } else if unnamed.is_empty() {
            self.proposals(first)
        } else {
            let (named, names) = start.spec.with_named(self.contract(), &first.assumptions, &unnamed);
            start.spec = named;
            let introduced: Vec<(Symbol, String)> =
                names.iter().map(|place| (place.symbol, place.name.clone())).collect();
            names.into_iter().for_each(|place| start.name(place, first));
            let mut named = self.examine(Some(&start.spec), budget, false)?;
            match named.violated.is_empty() {
                // What was seen to be broken is undecided under the names: the changes are for what was seen.
                true => self.proposals_for(first, &introduced),
                false => self.proposals(&mut named),
            }
        };
        let found = self.pursued(&start, proposals, first, budget)?;
        let is_best = found.first().is_some_and(|repair| repair.cost.is_nothing());
        let fixes_a_size = found.first().is_none_or(|repair| repair.fixes_a_size);
        let (rests, found): (Vec<Repair>, Vec<Repair>) =
            found.into_iter().partition(|repair| repair.leaves_a_rest && !is_best);
        let mut fixes: Vec<Fix> = found.into_iter().map(|repair| repair.fix).collect();
        if is_best {
            return Ok(fixes);
        }
        // What cannot get names may still be left to torch.
        let automatic = match fixes.is_empty() && automatic.is_empty() {
            true => inferred::proposals(first),
            false => automatic,
        };
        if let Some(fix) = self.automatic_fix(&start, automatic, first, budget)?
            && fixes.iter().all(|known| !is_same(known, &fix))
        {
            // A size that is only fixed because no spec can say how it varies is better left to torch.
            let at = if fixes_a_size { 0 } else { fixes.len() };
            fixes.insert(at, fix);
        }
        fixes.truncate(MAX_FIXES);
        fixes.extend(self.fix_as_shapes(spec, budget)?);
        // Sizes that leave the rest of the example are seldom meant.
        fixes.extend(rests.into_iter().take(1).map(|repair| repair.fix));
        Ok(fixes)
    }

    /// The repairs that proposals come to, the best first.
    fn pursued(
        &self,
        start: &Draft,
        proposals: Vec<Changes>,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Vec<Repair>, CheckError> {
        let mut found: Vec<Repair> = Vec::new();
        for changes in proposals {
            if found.len() >= MAX_FIXES {
                break;
            }
            let Some(repair) = self.pursue(start, &changes, first, budget)? else { continue };
            if found.iter().any(|weaker| is_narrower(first, repair.kept, weaker.kept, budget)) {
                continue;
            }
            // No other fix is better than one without cost.
            let is_best = repair.cost.is_nothing();
            if found.iter().all(|known| !is_same(&known.fix, &repair.fix)) {
                found.push(repair);
            }
            if is_best {
                break;
            }
        }
        // Those that keep most shapes come first, then those that change least.
        // Where equal sizes will do, a range that ends at the example is seldom meant.
        let equates = found.iter().any(|repair| repair.equates && !repair.caps);
        found.retain(|repair| !(equates && repair.caps) || repair.cost.is_nothing());
        found.sort_by_key(|r| (!r.cost.is_nothing(), std::cmp::Reverse(r.allowed), r.changed));
        Ok(found)
    }

    /// The first of the proposals to leave sizes to torch.export that works, preferably without fixing another size.
    fn automatic_fix(
        &self,
        start: &Draft,
        proposals: Vec<Inferred>,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Option<Fix>, CheckError> {
        let mut second_best = None;
        for Inferred { changes, note } in proposals {
            let Some(Repair { mut fix, fixes_a_size, .. }) = self.pursue(start, &changes, first, budget)?
            else {
                continue;
            };
            fix.note = fix.note.or(note);
            if !fixes_a_size {
                return Ok(Some(fix));
            }
            second_best.get_or_insert(fix);
        }
        Ok(second_best)
    }

    /// The repairs that the violated conditions call for.
    fn proposals(&self, examined: &mut Examined) -> Vec<Changes> {
        self.proposals_for(examined, &[])
    }

    /// As [`Session::proposals`], more symbols having names.
    fn proposals_for(&self, examined: &mut Examined, more: &[(Symbol, String)]) -> Vec<Changes> {
        let named = examined.assumptions.dims.iter().chain(more.iter().map(|(s, name)| (s, name)));
        let named: Vec<(Symbol, String)> = named.map(|(symbol, name)| (*symbol, name.clone())).collect();
        let symbols: Vec<Symbol> = named.iter().map(|(symbol, _)| *symbol).collect();
        let sizes = works_at(&mut examined.assumptions.env, &symbols, &examined.roots);
        let with_size = |(symbol, name)| Some((symbol, (name, sizes.get(&symbol)?.clone())));
        let mut dims: IndexMap<Symbol, (String, Int)> = named.into_iter().filter_map(with_size).collect();
        dims.sort_unstable_by(|_, (a, _), _, (b, _)| a.cmp(b));
        let mut broken = examined.roots.clone();
        let (pool, facts) = examined.assumptions.env.facts();
        for condition in &mut broken {
            // What is known of the other sizes may leave a condition on the named ones.
            if pool.free_symbols(&[*condition]).iter().any(|symbol| !dims.contains_key(symbol)) {
                *condition = simplify(pool, &mut facts.clone(), *condition, &Budget::small());
            }
        }
        // Of several sizes one may decide alone, and can then be written as a multiple.
        for condition in &mut broken {
            if pool.free_symbols(&[*condition]).len() == 2 {
                *condition = simpler(pool, facts, &[], *condition).unwrap_or(*condition);
            }
        }
        repair::equations_of_opposites(pool, &mut broken);
        repair::proposals(pool, facts, &dims, &broken, (&dims, 1))
    }

    /// A repaired spec with dimensions left to torch, if a check of it succeeds; and whether they keep the ranges of
    /// the spec that was to be repaired. They do where the narrower ranges lose inputs.
    fn automatic(
        &self,
        draft: &Draft,
        narrowed: Changes,
        loses: bool,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Option<(Draft, bool)>, CheckError> {
        let whole = if loses { inferred::in_given_ranges(&narrowed, first) } else { Changes::new() };
        for (changes, is_whole) in [(whole, true), (narrowed, false)] {
            let mut automatic = draft.clone();
            automatic.apply(&changes, first);
            if !changes.is_empty()
                && self.examine(Some(&automatic.spec), budget, false)?.report.verdict == Outcome::Ok
            {
                return Ok(Some((automatic, is_whole)));
            }
        }
        Ok(None)
    }

    /// Applies changes, and those that become necessary then, until a check succeeds.
    fn pursue(
        &self,
        start: &Draft,
        changes: &Changes,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Option<Repair>, CheckError> {
        let mut draft = start.clone();
        let mut changes = changes.clone();
        for round in 0..MAX_ROUNDS {
            if is_cancelled() {
                break;
            }
            self.checker().tell("looking for a fix", round, MAX_ROUNDS);
            draft.apply(&changes, first);
            let mut examined = self.examine(Some(&draft.spec), budget, false)?;
            if examined.report.verdict == Outcome::Ok || only_skips(&examined.report) {
                return self.repair(draft, examined, first, budget).map(Some);
            }
            // What is open may hold in narrower ranges.
            if examined.report.verdict == Outcome::Unknown {
                examined.roots = std::mem::take(&mut examined.open);
            }
            let proposals = self.proposals(&mut examined);
            // Where equal sizes will do, a range that ends at the example is seldom meant.
            let at = proposals.iter().position(|changes| draft.only_equates(changes, first)).unwrap_or(0);
            match proposals.into_iter().nth(at) {
                Some(further) if !examined.roots.is_empty() => changes = further,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

impl Session<'_> {
    /// The repair that a checked spec is, in a form that torch takes.
    fn repair(
        &self,
        mut draft: Draft,
        mut examined: Examined,
        first: &mut Examined,
        budget: &Budget,
    ) -> Result<Repair, CheckError> {
        let (allowed, proved) = (examined.allowed(), examined.report.verdict == Outcome::Ok);
        let mut notes: Vec<String> = small_examples(&examined, first).into_iter().collect();
        let kept = draft.kept(first);
        let mut changes = draft.changes();
        let mut cost = Cost::new(kept.map(|kept| self.lost(kept, first, budget)), draft.left().to_vec());
        let refused = refused(&mut examined.assumptions, self.contract(), &draft.spec);
        if let Some(one) = refused.first() {
            let narrowed = left_to_torch(&refused);
            let loses = !cost.is_nothing();
            if let Some((automatic, is_whole)) = self.automatic(&draft, narrowed, loses, first, budget)? {
                if is_whole {
                    let kept = automatic.kept(first);
                    cost =
                        Cost::new(kept.map(|kept| self.lost(kept, first, budget)), automatic.left().to_vec());
                }
                notes = vec![unproved(&examined, one)];
                // Where the ranges are those that are proved, what is needed is known though torch is not told.
                let is_known = !is_whole && changes.iter().all(|change| !change.needs.contains(" _"));
                changes = if is_known { changes } else { automatic.changes() };
                draft = automatic;
            }
        }
        notes.extend(draft.no_longer());
        let mut fix = Fix {
            text: draft.text(),
            spec: Some(draft.spec.to_json()),
            code: Some(draft.spec.to_python_with(&Containers::of(self.checker().program()))),
            proved,
            cost: cost.text(),
            loses: cost.loses(),
            changes,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            assumptions: Vec::new(),
            declarations: Vec::new(),
        };
        // Lines with new names are of use with the entries that have them.
        let whole = if draft.names_dimensions() { shown_whole(&fix) } else { None };
        fix.text = whole.unwrap_or(fix.text);
        let kept = kept.filter(|_| draft.left().is_empty());
        Ok(Repair {
            fix,
            cost,
            allowed,
            changed: draft.changed(),
            equates: draft.equates,
            caps: draft.caps,
            leaves_a_rest: draft.leaves_a_rest,
            fixes_a_size: draft.fixes_a_size(),
            kept,
        })
    }
}

/// The changes that leave refused dimensions to torch, within the ranges that are proved.
fn left_to_torch(refused: &[Refused]) -> Changes {
    let change = |dim: &Refused| (dim.name.clone(), Change::Auto { min: dim.min, max: dim.max });
    refused.iter().map(change).collect()
}

/// Why a dimension is left to torch.
fn unproved(examined: &Examined, refused: &Refused) -> String {
    let assumptions = &examined.assumptions;
    let why = match &refused.why {
        Reason::Guard(guard) => {
            let shown = summary::shown(assumptions, &assumptions.env, *guard);
            let guard = if shown.len() <= LONGEST_SHOWN {
                format!("`{}`", visible(&shown))
            } else {
                "a guard".into()
            };
            format!("it does not prove {guard} for the entire range")
        }
        Reason::Computed(path) => format!("{} is computed from it", visible(path)),
    };
    format!("torch.export refuses a named dimension there: {why}")
}

/// Whether two fixes are the same change.
fn is_same(a: &Fix, b: &Fix) -> bool {
    a.spec == b.spec || a.text == b.text
}

/// Whether everything is proved but what operators without a shape function may need.
pub(super) fn only_skips(report: &Report) -> bool {
    report.verdict == Outcome::Unknown
        && !report.unsupported.is_empty()
        && report.guards.iter().all(|guard| guard.verdict == GuardVerdict::Implied)
        && report.diagnostics.iter().all(|diagnostic| diagnostic.level != Level::Warning)
}

/// What to do about new dimensions that are 0 or 1 in the example: torch.export makes those static.
fn small_examples(fixed: &Examined, first: &Examined) -> Option<String> {
    let mut small: Vec<(&String, Int)> = Vec::new();
    for (symbol, name) in &fixed.assumptions.dims {
        let hint = fixed.assumptions.env.symbol(*symbol).and_then(|info| info.hint.as_ref()?.as_int());
        let is_new = name.starts_with('_') && first.assumptions.dims.values().all(|known| known != name);
        if let Some(hint) = hint.filter(|hint| is_new && *hint < Int::from(2)) {
            small.push((name, hint));
        }
    }
    small.sort_unstable();
    let names: Vec<&str> = small.iter().map(|(name, _)| name.as_str()).collect();
    let here: Vec<String> = small.iter().map(|(name, hint)| format!("{name} = {hint}")).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "torch.export refuses it with the example of this export, where {}: trace one in which {} {are} 2 or more",
            here.join(" and "),
            names.join(" and ")
        )
    })
}

/// Whether every input that one fix allows is allowed by another one.
fn is_narrower(first: &mut Examined, kept: Option<Expr>, other: Option<Expr>, budget: &Budget) -> bool {
    let (Some(kept), Some(other)) = (kept, other) else { return false };
    let (pool, facts) = first.assumptions.env.facts();
    let mut narrowed = facts.clone();
    narrowed.assume(pool, kept);
    matches!(decide(pool, &mut narrowed, other, budget).verdict, Verdict::Implied { .. })
}

/// Numbers that the spec declares dynamic and the program made constant: their places, paths and the violated
/// conditions.
fn constant_numbers(first: &Examined) -> Vec<(usize, String, Expr)> {
    let pool = &first.assumptions.env.pool;
    let mut constants = Vec::new();
    for (place, input) in first.assumptions.inputs.iter().enumerate() {
        let Some(symbol) = input.scalar.and_then(|e| pool.as_symbol(e)) else { continue };
        let is_constant =
            |c: &&Expr| pool.as_func(**c, Func::IsZero).is_some() && pool.free_symbols(&[**c]) == [symbol];
        if let Some(condition) = first.violated.iter().find(is_constant) {
            constants.push((place, input.path.clone(), *condition));
        }
    }
    constants
}

/// The symbols in violated conditions that have no named dimension, with those that guards tie to them: a size that gets
/// a name of its own is no longer inferred to be equal to others.
fn unnamed(examined: &Examined) -> Vec<Symbol> {
    let pool = &examined.assumptions.env.pool;
    let is_named = |s: &Symbol| examined.assumptions.dims.contains_key(s);
    let mut unnamed = pool.free_symbols(&examined.violated);
    unnamed.retain(|s| !is_named(s));
    let mut tied: Vec<Symbol> = Vec::new();
    for &condition in examined.assumptions.env.known_facts().conditions() {
        let symbols = pool.free_symbols(&[condition]);
        if symbols.len() == 2 && symbols.iter().any(|s| unnamed.contains(s)) {
            tied.extend(symbols.into_iter().filter(|s| !is_named(s) && !unnamed.contains(s)));
        }
    }
    tied.dedup();
    if unnamed.len() + tied.len() <= MAX_NAMED_TOGETHER {
        unnamed.extend(tied);
    }
    unnamed
}
