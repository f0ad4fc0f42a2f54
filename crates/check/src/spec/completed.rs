//! Sizes that a spec leaves static although the program takes them equal to, or computed from, sizes that the spec varies:
//! one entry was forgotten.
use super::Contract;
use super::change::linear_entry;
use super::dim::{DimSpec, Entry, Hint};
use super::locate::{Place, places, set_entry};
use super::parse::Spec;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use sizewise_expr::text::read;
use sizewise_expr::{Int, Pool, Symbol};

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
        for (place, dim) in places.iter().zip(dimensions(&places)) {
            if !matches!(place.entry, Entry::Static | Entry::Size(_)) {
                continue;
            }
            let poly = pool.poly(place.recorded);
            let [(monomial, factor)] = poly.terms.as_slice() else { continue };
            let Some(found) = pool.as_symbol(*monomial).and_then(|symbol| known.get(&symbol)) else {
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
                });
            }
        }
        (!forgotten.is_empty()).then_some((spec, forgotten))
    }
}

/// Which dimension of its input each place is.
fn dimensions(places: &[Place]) -> impl Iterator<Item = usize> {
    let first = |at: usize| places.iter().position(|other| other.input == places[at].input).unwrap_or(at);
    (0..places.len()).map(move |at| at - first(at))
}

/// The symbols of the program that are sizes which the spec varies.
fn known(pool: &mut Pool, places: &[Place]) -> FxHashMap<Symbol, Known> {
    let mut known = FxHashMap::default();
    for (place, dim) in places.iter().zip(dimensions(places)) {
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
