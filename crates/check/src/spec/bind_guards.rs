//! The guards of a program under a spec: those that its module checks of sizes left to it, and those that remain to be
//! proved.
//!
//! A guard may compare a dimension on `AUTO` with named ones: `past + new <= mask` and `mask <= past + new`, where the
//! mask is on `AUTO`. It says which masks the module takes, as `mask == past + new` would, and is assumed where there is a
//! mask for all named sizes: each lower bound of it is at most each upper bound, and nothing else is said of it. Else it
//! would exclude named sizes: with `mask % 8 == 0` beside, those whose sum is no multiple of 8. Where only the mask's range
//! leaves no room, the mask is the sum, and its range is to be proved of that.
use super::assumptions::DemandKind;
use super::bind::Binder;
use super::contract::{ContractGuard, UNCHECKED_MINIMUM};
use super::dim::Entry;
use super::locate::InputPlace;
use crate::records::range;
use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Func, Int, Symbol};

/// The most pairs of bounds of one size. With more, its guards are to be proved as they stand.
const MAX_PAIRS: usize = 64;

/// The bounds that guards put on a size that is left to the program.
#[derive(Default)]
struct Own {
    /// The guards, by their places.
    guards: Vec<usize>,
    lower: Vec<Expr>,
    upper: Vec<Expr>,
}

impl Binder<'_, '_> {
    /// Demands the program's guards, or assumes those that the module checks of free symbols.
    pub(super) fn demand_guards(&mut self) {
        let assumed = self.own_checks();
        for (at, guard) in self.contract.guards.iter().enumerate() {
            let parts: Vec<Expr> = guard.requirements.iter().copied().chain([guard.condition]).collect();
            let condition = self.records.translate(&mut self.env, guard.condition);
            if assumed.contains(&at) || self.determined(&parts).is_empty() {
                self.env.assume(condition);
                continue;
            }
            // The step that asserts it demands it.
            if guard.is_asserted {
                continue;
            }
            for &requirement in &guard.requirements {
                let requirement = self.records.translate(&mut self.env, requirement);
                self.demand(requirement, DemandKind::Guard, guard.text.clone());
            }
            self.demand(condition, DemandKind::Guard, guard.text.clone());
        }
        self.join_opposites();
    }

    /// The symbols of expressions that the spec determines.
    pub(super) fn determined(&self, parts: &[Expr]) -> Vec<Symbol> {
        let symbols = self.env.pool.free_symbols(parts).into_iter();
        symbols.filter(|symbol| self.bound.contains(symbol)).collect()
    }

    /// The symbols of expressions that the spec leaves to the program.
    fn left(&self, parts: &[Expr]) -> Vec<Symbol> {
        let symbols = self.env.pool.free_symbols(parts).into_iter();
        symbols.filter(|symbol| !self.bound.contains(symbol)).collect()
    }

    /// Replaces free symbols that guards hold to one value, if their ranges exclude that value for some sizes of the spec.
    pub(super) fn bind_computed(&mut self, places: &[InputPlace], allowed: &mut [Expr]) {
        for (symbol, own) in self.compared() {
            let Some(&value) = own.lower.iter().find(|low| own.upper.contains(low)) else { continue };
            let Some(e) = self.env.pool.known_symbol_expr(symbol) else { continue };
            let mut bounds = range(self.contract.bounds(symbol));
            for place in places.iter().filter(|place| place.recorded == e) {
                if let Entry::Inferred { min, max, .. } = &place.entry
                    && let Some(met) = ValueRange::between_options(min.clone(), max.clone())
                        .and_then(|given| given.meet(&bounds))
                {
                    bounds = met;
                }
            }
            let ends = (bounds.lower(), bounds.upper());
            if !self.is_only_bounded(symbol, &own) || self.has_room(ends, &own) {
                continue;
            }
            self.records.bind(symbol, value);
            self.bound.insert(symbol);
            self.computed.insert(symbol);
            for (size, place) in allowed.iter_mut().zip(places).filter(|(size, _)| **size == e) {
                // An input has a size that the spec allows, so the module refuses it where that is not the value.
                *size = match &place.entry {
                    Entry::Inferred { min, max, .. } => self.clamped(value, min.as_ref(), max.as_ref()),
                    _ => value,
                };
            }
        }
    }

    /// The number nearest to a value between these ends.
    fn clamped(&mut self, value: Expr, min: Option<&Int>, max: Option<&Int>) -> Expr {
        let pool = &mut self.env.pool;
        let below = max.map_or(value, |max| {
            let max = pool.int(max.clone());
            pool.min(value, max)
        });
        min.map_or(below, |min| {
            let min = pool.int(min.clone());
            pool.max(below, min)
        })
    }

    /// The free symbols that guards compare with sizes that the spec determines, with these bounds.
    fn compared(&mut self) -> IndexMap<Symbol, Own> {
        let mut found: IndexMap<Symbol, Own> = IndexMap::new();
        for (at, guard) in self.contract.guards.iter().enumerate() {
            let Some((symbol, is_lower, bound)) = self.bound_of_free(guard) else { continue };
            let own = found.entry(symbol).or_default();
            own.guards.push(at);
            if is_lower { own.lower.push(bound) } else { own.upper.push(bound) }
        }
        found
    }

    /// The guards that compare one free symbol with sizes that the spec determines, where these always leave it a value.
    fn own_checks(&mut self) -> FxHashSet<usize> {
        let mut assumed = FxHashSet::default();
        for (symbol, own) in self.compared() {
            let Some(e) = self.env.pool.known_symbol_expr(symbol) else { continue };
            let ends = self.env.bounds(e);
            if self.is_only_bounded(symbol, &own) && self.has_room(ends, &own) {
                assumed.extend(own.guards);
            }
        }
        assumed
    }

    /// What a guard says of its only free symbol, beside sizes that the spec determines: whether from below, and by what.
    fn bound_of_free(&mut self, guard: &ContractGuard) -> Option<(Symbol, bool, Expr)> {
        if guard.is_asserted || !guard.requirements.is_empty() {
            return None;
        }
        let &[p] = self.env.pool.as_func(guard.condition, Func::NotPositive)? else { return None };
        let [symbol] = self.left(&[p])[..] else { return None };
        if self.determined(&[p]).is_empty() {
            return None;
        }
        let e = self.env.pool.known_symbol_expr(symbol)?;
        let poly = self.env.pool.poly(p);
        let at = poly.terms.iter().position(|(m, c)| *m == e && c.abs().is_one())?;
        if !self.env.pool.stands_alone(&poly, at) {
            return None;
        }
        // `p` is the symbol without the bound, or the opposite.
        let is_lower = poly.terms[at].1.is_negative();
        let bound = if is_lower { self.env.pool.add(p, e) } else { self.env.pool.sub(e, p) };
        Some((symbol, is_lower, self.records.translate(&mut self.env, bound)))
    }

    /// Whether nothing is said of a free symbol but these guards and bounds by numbers.
    fn is_only_bounded(&self, symbol: Symbol, own: &Own) -> bool {
        let pool = &self.env.pool;
        let has = |e: Expr| pool.free_symbols(&[e]).contains(&symbol);
        let is_bound = |e: Expr| {
            let bounded = pool.as_func(e, Func::NotPositive).map(|args| pool.poly(args[0]));
            bounded.is_some_and(
                |poly| matches!(poly.terms.as_slice(), [(m, _)] if pool.as_symbol(*m) == Some(symbol)),
            )
        };
        let guards = self.contract.guards.iter().enumerate().filter(|(at, _)| !own.guards.contains(at));
        let mut said =
            guards.flat_map(|(_, guard)| guard.requirements.iter().copied().chain([guard.condition]));
        let ranged = |(e, _): &(Expr, _)| has(*e) && pool.as_symbol(*e).is_none();
        !said.any(has)
            && !self.contract.ranges.iter().any(ranged)
            && self.env.known_facts().conditions().iter().all(|&e| !has(e) || is_bound(e))
    }

    /// Whether each lower bound of a free symbol is at most each upper bound, the ends of its range among them. No guard is
    /// assumed yet.
    fn has_room(&mut self, (least, most): (Option<Int>, Option<Int>), own: &Own) -> bool {
        // The module checks no smaller minimum.
        let least = least.map(|least| if least > Int::from(UNCHECKED_MINIMUM) { least } else { Int::ZERO });
        let lower: Vec<Expr> =
            own.lower.iter().copied().chain(least.map(|least| self.env.pool.int(least))).collect();
        let upper: Vec<Expr> =
            own.upper.iter().copied().chain(most.map(|most| self.env.pool.int(most))).collect();
        lower.len() * upper.len() <= MAX_PAIRS
            && lower.iter().all(|&low| {
                upper.iter().all(|&high| {
                    let condition = self.env.pool.le(low, high);
                    self.env.statically(condition) == Some(true)
                })
            })
    }

    /// Demands that say `a <= b` and `b <= a` become one, `a == b`.
    fn join_opposites(&mut self) {
        let mut at = 0;
        while at < self.demands.len() {
            let opposite = self.opposite(self.demands[at].condition);
            let other = opposite.and_then(|opposite| {
                self.demands.iter().skip(at + 1).position(|demand| demand.condition == opposite)
            });
            if let (Some(other), Some(&[p])) =
                (other, self.env.pool.as_func(self.demands[at].condition, Func::NotPositive))
            {
                let other = self.demands.remove(at + 1 + other);
                let demand = &mut self.demands[at];
                demand.condition = self.env.pool.eq(p, Expr::ZERO);
                demand.text = format!("{} and {}", demand.text, other.text);
            }
            at += 1;
        }
    }

    /// `p >= 0` for `p <= 0`.
    fn opposite(&mut self, condition: Expr) -> Option<Expr> {
        let &[p] = self.env.pool.as_func(condition, Func::NotPositive)? else { return None };
        Some(self.env.pool.ge(p, Expr::ZERO))
    }
}
