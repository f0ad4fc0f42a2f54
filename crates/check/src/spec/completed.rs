//! Sizes that a spec leaves static although the program takes them equal to, or computed from, sizes that the spec varies:
//! one entry was forgotten.
use super::Contract;
use super::change::linear_entry;
use super::dim::{DimSpec, Entry, Hint};
use super::locate::{InputPlace, dims_of, places, set_entry};
use super::parse::Spec;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use sizewise_expr::text::read;
use sizewise_expr::{Int, Pool, Symbol};
use sizewise_solve::{Budget, Verdict, decide};

/// The most sizes of which it is asked whether a forgotten one is equal to them.
const MAX_ALIKE: usize = 3;

/// A size that a spec leaves static, and the one that varies.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The static one: `y.shape[1]`.
    pub path: String,
    /// The one that varies, by its place: the input, and which of its dimensions.
    pub of: (usize, usize),
    /// Its path: `x.shape[1]`.
    pub varies: String,
    /// Its size in the example.
    pub size: Int,
    /// What the static one is to be, as people write it: `t`.
    pub entry: String,
    /// Whether the program is known to take no other size there.
    pub is_sure: bool,
}

/// What a symbol of the program is in a spec.
struct Known {
    /// The named dimension; none where the program infers it.
    dim: Option<DimSpec>,
    of: (usize, usize),
    path: String,
    size: Int,
}

impl Spec {
    /// The spec with the entries that it has forgotten, and these; `None` where it has forgotten none.
    pub fn completed(&self, contract: &Contract) -> Option<(Spec, Vec<Forgotten>)> {
        if self.shapes.is_some() {
            return None;
        }
        let places = places(contract, self).ok()?;
        let mut pool = contract.env.pool.clone();
        let known = known(&mut pool, &places);
        let mut spec = self.clone();
        let mut forgotten = Vec::new();
        for (place, dim) in places.iter().zip(dims_of(&places)) {
            if !matches!(place.entry, Entry::Static | Entry::Size(_)) {
                continue;
            }
            let poly = pool.poly(place.recorded);
            let [(monomial, factor)] = poly.terms.as_slice() else { continue };
            let Some(symbol) = pool.as_symbol(*monomial) else { continue };
            let own = known.get(&symbol).map(|found| (found, true));
            let is_plain = factor.is_one() && poly.constant.is_zero();
            let Some((found, is_sure)) =
                own.or_else(|| is_plain.then(|| same_size(contract, symbol, place, &known)).flatten())
            else {
                continue;
            };
            let (factor, offset) = (factor.to_i64()?, poly.constant.to_i64()?);
            let (entry, shown) = match &found.dim {
                None => ("DYNAMIC".into(), "Dim.DYNAMIC".to_owned()),
                Some(dim) => linear_entry(&dim.name, json_of(dim), factor, offset),
            };
            if set_entry(&mut spec, contract, &contract.inputs[place.input], dim, entry) {
                forgotten.push(Forgotten {
                    path: place.path.clone(),
                    of: found.of,
                    varies: found.path.clone(),
                    size: found.size.clone(),
                    entry: shown,
                    is_sure,
                });
            }
        }
        (!forgotten.is_empty()).then_some((spec, forgotten))
    }
}

/// A size that varies to which the program's guards make this one equal, as far as is seen, and whether that is proved.
fn same_size<'k>(
    contract: &Contract,
    symbol: Symbol,
    place: &InputPlace,
    known: &'k FxHashMap<Symbol, Known>,
) -> Option<(&'k Known, bool)> {
    let mut alike: Vec<(&Symbol, &Known)> =
        known.iter().filter(|(_, found)| Some(&found.size) == place.example.as_ref()).collect();
    alike.sort_by_key(|(_, found)| found.of);
    // Guards on both tie them, also together with others.
    let is_tied = |other: Symbol| {
        contract.guards.iter().any(|guard| {
            let symbols = contract.env.pool.free_symbols(&[guard.condition]);
            symbols.contains(&symbol) && symbols.contains(&other)
        })
    };
    alike.retain(|(other, found)| found.dim.is_some() && is_tied(**other));
    let mut env = contract.assumed().env;
    alike.into_iter().take(MAX_ALIKE).find_map(|(&other, found)| {
        let (one, other) = (env.pool.symbol_expr(symbol), env.pool.symbol_expr(other));
        let same = env.pool.eq(one, other);
        let (pool, facts) = env.facts();
        match decide(pool, facts, same, &Budget::small()).verdict {
            Verdict::Implied { .. } => Some((found, true)),
            Verdict::Unknown { .. } => Some((found, false)),
            _ => None,
        }
    })
}

/// The symbols of the program that are sizes which the spec varies.
fn known(pool: &mut Pool, places: &[InputPlace]) -> FxHashMap<Symbol, Known> {
    let mut known = FxHashMap::default();
    for (place, dim) in places.iter().zip(dims_of(places)) {
        let Some(size) = place.example.clone() else { continue };
        let (symbol, named) = match &place.entry {
            Entry::Dim(dim) => (pool.as_symbol(place.recorded), Some(dim)),
            Entry::Inferred { hint: Hint::Dynamic, .. } => (pool.as_symbol(place.recorded), None),
            Entry::Derived { expression, root } => {
                let Ok(ours) = read::closed(pool, expression) else { continue };
                let (ours, theirs) = (pool.poly(ours.expr), pool.poly(place.recorded));
                let symbol = match (ours.terms.as_slice(), theirs.terms.as_slice()) {
                    ([(_, a)], [(s, b)]) if a == b && ours.constant == theirs.constant => pool.as_symbol(*s),
                    _ => None,
                };
                (symbol, Some(root))
            }
            _ => continue,
        };
        let Some(symbol) = symbol else { continue };
        let found = Known { dim: named.cloned(), of: (place.input, dim), path: place.path.clone(), size };
        known.entry(symbol).or_insert(found);
    }
    known
}

fn json_of(dim: &DimSpec) -> Json {
    json!({"dim": dim.name, "min": dim.min.to_i64(), "max": dim.max.as_ref().and_then(Int::to_i64)})
}
