//! Solves equations among dimensions in the form that a spec can express: one dimension is a positive multiple
//! of another, plus a constant.
use super::ViolatedDim;
use num_integer::Integer;
use sizewise_expr::{Evaluator, Expr, Func, Int, Pool, Symbol, Value};

/// The most rounds of solving; each settles one more dimension.
const MAX_ROUNDS: usize = 32;

/// The role of a dimension in the equations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It varies.
    Free,
    /// It has the size of the example.
    Fixed,
    /// `factor * root + offset` for another dimension, by its place.
    Derived { root: usize, factor: i64, offset: i64 },
    /// `factor * t + offset` for a new dimension `t`, shared by all dimensions with the same `of`.
    Shared { of: usize, factor: i64, offset: i64 },
}

/// Dimensions, conditions on them, and what the equations among those make of the dimensions.
#[derive(Clone)]
pub(super) struct System {
    pub dims: Vec<ViolatedDim>,
    pub roles: Vec<Role>,
    pub conditions: Vec<Expr>,
}

impl System {
    pub fn new(dims: &[ViolatedDim], conditions: &[Expr]) -> System {
        System { dims: dims.to_vec(), roles: vec![Role::Free; dims.len()], conditions: conditions.to_vec() }
    }

    fn place(&self, symbol: Symbol) -> Option<usize> {
        self.dims.iter().position(|d| d.symbol == symbol)
    }

    /// Solves what can be solved; equations that no spec can express fix dimensions. Those that are not linear
    /// are left alone unless `all` are to be solved: they may hold throughout for sizes of some form.
    pub fn solve(&mut self, pool: &mut Pool, all: bool) {
        for _ in 0..MAX_ROUNDS {
            let open = self.conditions.iter().find_map(|&c| self.equation(pool, c, all));
            let Some(equation) = open else { break };
            if !self.solve_one(pool, equation) {
                break;
            }
            self.rewrite(pool);
        }
    }

    /// The equation of two or more dimensions that a condition is, or that is one of several ways to satisfy it.
    fn equation(&self, pool: &Pool, condition: Expr, all: bool) -> Option<Expr> {
        let is_equation = |&e: &Expr| {
            pool.as_func(e, Func::IsZero).is_some()
                && pool.free_symbols(&[e]).len() >= 2
                && (all || self.linear(pool, e).is_some())
        };
        match pool.as_func(condition, Func::Or) {
            Some(ways) => {
                let mut ways = ways.iter().copied().filter(is_equation);
                ways.find(|&way| self.holds(pool, &[way], &[]))
            }
            None => Some(condition).filter(is_equation),
        }
    }

    fn solve_one(&mut self, pool: &mut Pool, equation: Expr) -> bool {
        if let Some((terms, constant)) = self.linear(pool, equation)
            && let [(i, a), (j, b)] = terms.as_slice()
            && self.relate(*i, *a, *j, *b, constant)
        {
            return true;
        }
        // No spec can express this for more than two dimensions, or with a negative factor: one of them is fixed, one
        // after which the rest can be said, if there is one.
        let places: Vec<usize> =
            pool.free_symbols(&[equation]).into_iter().filter_map(|s| self.place(s)).collect();
        let free: Vec<usize> = places.into_iter().filter(|&i| self.roles[i] == Role::Free).collect();
        let helps = |system: &System, pool: &mut Pool, i: usize| {
            let fixed = system.at_example(pool, equation, i);
            let linear = system.linear(pool, fixed);
            linear.is_some_and(|(terms, _)| {
                matches!(terms.as_slice(), [(_, a), (_, b)] if (*a < 0) != (*b < 0)) || terms.len() > 2
            })
        };
        // The later ones first: the first are to vary.
        let chosen = free.iter().rev().copied().find(|&i| helps(self, pool, i)).or(free.last().copied());
        match chosen {
            Some(i) => {
                self.roles[i] = Role::Fixed;
                true
            }
            None => false,
        }
    }

    fn at_example(&self, pool: &mut Pool, e: Expr, i: usize) -> Expr {
        let (symbol, example) = (self.dims[i].symbol, pool.int(self.dims[i].example));
        pool.substitute_symbols(e, |s| (s == symbol).then_some(example))
    }

    /// The terms of an equation `Σ a*d + c == 0`, if it is linear.
    fn linear(&self, pool: &Pool, equation: Expr) -> Option<(Vec<(usize, i64)>, i64)> {
        let &[p] = pool.as_func(equation, Func::IsZero)? else { return None };
        let poly = pool.poly(p);
        let mut terms = Vec::new();
        for (monomial, coefficient) in &poly.terms {
            terms.push((self.place(pool.as_symbol(*monomial)?)?, coefficient.to_i64()?));
        }
        Some((terms, poly.constant.to_i64()?))
    }

    /// Makes one of two dimensions derived from the other, where `a*x + b*y + c == 0`.
    fn relate(&mut self, i: usize, a: i64, j: usize, b: i64, c: i64) -> bool {
        if self.roles[i] != Role::Free || self.roles[j] != Role::Free || (a < 0) == (b < 0) {
            return false;
        }
        // The first of the two stays what it is where either may.
        for (derived, own, root, other) in [(j, b, i, a), (i, a, j, b)] {
            if own.abs() == 1 {
                self.roles[derived] = Role::Derived { root, factor: -other * own, offset: -c * own };
                return true;
            }
        }
        let g = a.abs().gcd(&b.abs());
        let (p, q) = (b.abs() / g, a.abs() / g);
        // x = p*t + x0 and y = q*t + y0 with the least offsets that are no sizes below 0.
        let steps = (self.dims[i].example / p).min(self.dims[j].example / q);
        let offset = |dim: &ViolatedDim, factor: i64| dim.example - factor * steps;
        self.roles[j] = Role::Shared { of: i, factor: q, offset: offset(&self.dims[j], q) };
        self.roles[i] = Role::Shared { of: i, factor: p, offset: offset(&self.dims[i], p) };
        true
    }

    /// Puts what is known of the dimensions into the conditions.
    fn rewrite(&mut self, pool: &mut Pool) {
        let mut values: Vec<(Symbol, Expr)> = Vec::new();
        for (dim, role) in self.dims.iter().zip(&self.roles) {
            let value = match *role {
                Role::Free | Role::Shared { .. } => continue,
                Role::Fixed => pool.int(dim.example),
                Role::Derived { root, factor, offset } => {
                    let root = pool.symbol_expr(self.dims[root].symbol);
                    let (factor, offset) = (pool.int(factor), pool.int(offset));
                    let product = pool.mul(factor, root);
                    pool.add(product, offset)
                }
            };
            values.push((dim.symbol, value));
        }
        for condition in &mut self.conditions {
            for _ in 0..self.dims.len() {
                let next = pool.substitute_symbols(*condition, |s| {
                    values.iter().find(|(symbol, _)| *symbol == s).map(|(_, value)| *value)
                });
                if next == *condition {
                    break;
                }
                *condition = next;
            }
        }
        self.conditions.retain(|&c| pool.as_bool(c) != Some(true));
        // A shared pair of dimensions satisfies its own equation by its form.
        let shared: Vec<Symbol> = self
            .dims
            .iter()
            .zip(&self.roles)
            .filter(|(_, role)| matches!(role, Role::Shared { .. }))
            .map(|(dim, _)| dim.symbol)
            .collect();
        self.conditions.retain(|&c| {
            pool.as_func(c, Func::IsZero).is_none()
                || pool.free_symbols(&[c]).len() < 2
                || !pool.free_symbols(&[c]).iter().all(|s| shared.contains(s))
        });
    }

    /// Whether all conditions hold with the given sizes, the others being as in the example.
    pub fn holds(&self, pool: &Pool, conditions: &[Expr], at: &[(Symbol, i64)]) -> bool {
        let size = |s: Symbol| {
            let given = at.iter().find(|(t, _)| *t == s).map(|(_, v)| *v);
            given.or_else(|| self.place(s).map(|i| self.dims[i].example))
        };
        let value = |s: Symbol| size(s).map(|v| Value::Int(Int::from(v)));
        let mut evaluator = Evaluator::new(pool, value);
        conditions.iter().all(|&c| evaluator.value(c).is_ok_and(|v| v.as_bool()))
    }
}
