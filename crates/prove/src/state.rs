//! What is known where the search is, and the steps that led there.
use super::simplex::{Number, Simplex};
use super::step::{Line, ProofStep};
use num_bigint::BigInt;
use num_traits::Zero;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_certificate::{Fact, Monomial, Poly, Var, times};

/// Larger facts are left alone.
pub const MAX_TERMS: usize = 60;

/// What is known in a case, besides the facts.
#[derive(Clone)]
pub struct State<T: Number> {
    /// Comparisons, reduced by the equations.
    pub active: Vec<usize>,
    /// Disjunctions.
    pub open: Vec<usize>,
    /// Equations by the monomial that each replaces.
    pub rules: Vec<(Monomial, usize)>,
    /// What is linear.
    pub simplex: Simplex<T>,
    /// Whether `simplex` has facts that were reduced.
    pub stale: bool,
    /// Products that were formed.
    pub tried: FxHashSet<(usize, usize)>,
    /// Cuts on the way here.
    pub cuts: usize,
    /// The variable that an equation replaces, where that is not for its form to say.
    pub solve_for: FxHashMap<usize, Var>,
    /// Rounds of rounding.
    pub rounds: usize,
    /// Names that were given.
    pub named: usize,
}

impl<T: Number> Default for State<T> {
    fn default() -> State<T> {
        State {
            active: Vec::new(),
            open: Vec::new(),
            rules: Vec::new(),
            simplex: Simplex::default(),
            stale: false,
            tried: FxHashSet::default(),
            cuts: 0,
            solve_for: FxHashMap::default(),
            rounds: 0,
            named: 0,
        }
    }
}

impl<T: Number> State<T> {
    /// What it costs to copy it.
    pub fn size(&self) -> u64 {
        20 + 2 * (self.active.len() + self.open.len()) as u64 + self.simplex.size()
    }
}

/// The facts along the path to where the search is.
pub struct Search {
    /// The facts by number.
    pub facts: Vec<Fact>,
    /// The names by number.
    pub names: Vec<String>,
    /// The work that may still be done.
    pub fuel: u64,
    /// Whether a number grew too large for fast arithmetic.
    pub overflowed: bool,
}

/// Steps so far.
pub struct Path {
    /// The steps.
    pub lines: Vec<Line>,
    /// Whether they end in a contradiction.
    pub closed: bool,
}

impl Search {
    /// Adds a fact that a step concludes.
    pub fn conclude(&mut self, path: &mut Path, step: ProofStep, fact: Fact) -> usize {
        let number = self.facts.len();
        if path.closed {
            return number;
        }
        path.closed |= fact == Fact::FALSE;
        path.lines.push(Line { fact: number, step });
        self.facts.push(fact);
        number
    }

    /// Gives a polynomial a name; the fact that says so.
    pub fn give_name(&mut self, p: Poly, path: &mut Path) -> usize {
        let name = Var::try_from(self.names.len()).unwrap_or(Var::MAX);
        let fresh = (name..).map(|n| format!("t{n}")).find(|t| !self.names.contains(t));
        self.names.push(fresh.unwrap_or_default());
        let fact = Fact::equal(&Poly::var(name).minus(&p));
        self.conclude(path, ProofStep::Let(name, p), fact)
    }

    /// Takes work from what may be done; whether some is left.
    pub fn spend(&mut self, work: u64) -> bool {
        self.fuel = self.fuel.saturating_sub(work);
        self.fuel > 0
    }
}

/// What is left of a monomial without a part of it.
pub fn contains(monomial: &Monomial, part: &Monomial) -> Option<Monomial> {
    let mut rest = Vec::with_capacity(monomial.len());
    let mut needed = part.iter().peekable();
    for &(var, power) in monomial {
        match needed.peek() {
            Some(&&(v, k)) if v == var => {
                needed.next();
                if power < k {
                    return None;
                }
                if power > k {
                    rest.push((var, power - k));
                }
            }
            _ => rest.push((var, power)),
        }
    }
    needed.peek().is_none().then_some(rest)
}

/// Whether a polynomial is small enough to go on with.
pub fn is_handy(p: &Poly) -> bool {
    p.terms.len() <= MAX_TERMS && !p.terms.values().any(|c| c.is_zero() || c.bits() > 300)
}

/// The terms of variables.
fn variables(p: &Poly) -> impl Iterator<Item = (&Monomial, &BigInt)> {
    // The empty monomial sorts before all others.
    p.terms.iter().skip_while(|(m, _)| m.is_empty())
}

/// Whether two polynomials differ by a constant at most.
pub fn is_parallel(p: &Poly, q: &Poly) -> bool {
    variables(p).eq(variables(q))
}

/// The sum of two polynomials, if it is a constant.
pub fn constant_sum(p: &Poly, q: &Poly) -> Option<BigInt> {
    let cancels = |((m, c), (n, d)): ((&Monomial, &BigInt), (&Monomial, &BigInt))| {
        c.sign() == -d.sign() && m == n && c.magnitude() == d.magnitude()
    };
    if !variables(p).zip(variables(q)).all(cancels) {
        return None;
    }
    let same_length = variables(p).count() == variables(q).count();
    same_length.then(|| p.constant_part() + q.constant_part())
}

/// The monomials of a product.
pub fn product_monomials<'a>(p: &'a Poly, q: &'a Poly) -> impl Iterator<Item = Monomial> + 'a {
    p.terms.keys().flat_map(move |m| q.terms.keys().map(move |n| times(m, n)))
}
