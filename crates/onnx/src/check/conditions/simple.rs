//! Conditions without factors that sizes of at least 1 have in common: `n == 2` for `n*m == 2*m`.
use super::factors::split;
use super::quotients::multiples;
use super::{Decided, decide};
use crate::check::plain::{has_cases, plain, proved_plain};
use crate::check::symbolic::Symbolic;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func, Node, Poly, Pool, Symbol};
use sizewise_solve::Budget;

/// Of more terms a factor is not looked for.
const MAX_TERMS: usize = 64;
/// Of more parts of a disjunction each is left as it is.
const MAX_PARTS: usize = 6;

impl Symbolic {
    /// An equivalent condition that is simpler, where all conditions hold of which `env` knows.
    pub(in crate::check) fn simplified(&self, env: &mut ShapeEnv, condition: Expr) -> Expr {
        let condition = plain(env, condition);
        match self.env.pool.node(condition).cloned() {
            Some(Node::Call(Func::IsZero, args)) => match args.first() {
                Some(&difference) => self.equation_without_factors(env, difference).unwrap_or(condition),
                None => condition,
            },
            Some(Node::Call(Func::Or, parts)) => {
                // A case that no size allows says nothing.
                let possible = |part: &&Expr| env.statically(**part) != Some(false);
                let left: Vec<Expr> = parts.iter().filter(possible).copied().collect();
                let mut left = if left.is_empty() { parts.to_vec() } else { left };
                // A part matters where no other one holds.
                for at in (0..left.len()).filter(|_| left.len() <= MAX_PARTS).collect::<Vec<_>>() {
                    if has_cases(env, left[at]) {
                        let mut others = env.clone();
                        for (_, &part) in left.iter().enumerate().filter(|(other, _)| *other != at) {
                            let not = others.pool.not(part);
                            others.assume(not);
                        }
                        left[at] = proved_plain(&mut others, left[at]);
                    }
                }
                let left: Vec<Expr> = left.into_iter().map(|part| self.simplified(env, part)).collect();
                env.pool.or(&left)
            }
            _ => condition,
        }
    }

    /// An equivalent condition in which sizes are multiples, where it has equations of quotients.
    pub(in crate::check) fn with_multiples(&self, env: &mut ShapeEnv, condition: Expr) -> Expr {
        match self.env.pool.node(condition).cloned() {
            Some(Node::Call(Func::IsZero, args)) => {
                let found = args.first().and_then(|&difference| multiples(env, difference));
                found.map_or(condition, |parts| env.pool.and(&parts))
            }
            Some(Node::Call(Func::Or, parts)) => {
                let parts: Vec<Expr> = parts.iter().map(|&part| self.with_multiples(env, part)).collect();
                env.pool.or(&parts)
            }
            _ => condition,
        }
    }

    /// `difference == 0` without a factor that is not 0; `None` where there is none.
    fn equation_without_factors(&self, env: &mut ShapeEnv, difference: Expr) -> Option<Expr> {
        let poly = env.pool.poly(difference);
        if poly.terms.len() < 2 || poly.terms.len() > MAX_TERMS {
            return None;
        }
        // Of a symbol that it does not have it has no root.
        let own = env.pool.free_symbols(&[difference]);
        for (symbol, _) in self.symbols.iter().filter(|(symbol, _)| own.contains(symbol)) {
            let Some((factor, number)) = root(&mut env.pool, &poly, *symbol) else { continue };
            let size = env.pool.symbol_expr(*symbol);
            let equal = env.pool.eq(size, number);
            if is_never_zero(env, factor) {
                return Some(equal);
            }
        }
        let (rest, factors) = without_common_factors(&mut env.pool, difference);
        if factors.is_empty() || !factors.into_iter().all(|factor| is_never_zero(env, factor)) {
            return None;
        }
        let rest = env.pool.from_poly(&rest);
        Some(env.pool.eq(rest, Expr::ZERO))
    }
}

/// Whether it is known that an expression is not 0, or none of its factors.
fn is_never_zero(env: &mut ShapeEnv, factor: Expr) -> bool {
    let some = env.pool.ne(factor, Expr::ZERO);
    let (pool, facts) = env.facts();
    if matches!(decide(pool, facts, some, &Budget::small()).verdict, Decided::Implied { .. }) {
        return true;
    }
    let Some((one, other)) = split(&mut env.pool, factor) else { return false };
    [one, other].into_iter().all(|part| {
        let some = env.pool.ne(part, Expr::ZERO);
        let (pool, facts) = env.facts();
        matches!(decide(pool, facts, some, &Budget::small()).verdict, Decided::Implied { .. })
    })
}

/// The factor `c` and the number `k` of a polynomial that is `c * (symbol - k)`, where `c` is no number.
fn root(pool: &mut Pool, poly: &Poly, symbol: Symbol) -> Option<(Expr, Expr)> {
    let size = pool.symbol_expr(symbol);
    let (mut slope, mut rest) = (Vec::new(), vec![pool.int(poly.constant.clone())]);
    for (term, coefficient) in &poly.terms {
        let monomial = pool.monomial(*term);
        let power = monomial.iter().find(|(own, _)| *own == size).map_or(0, |(_, power)| *power);
        let left: Vec<(Expr, u32)> = monomial.iter().copied().filter(|(own, _)| *own != size).collect();
        // Elsewhere the symbol does not stand alone.
        let inner: Vec<Expr> = left.iter().map(|(own, _)| *own).collect();
        if power > 1 || pool.free_symbols(&inner).contains(&symbol) {
            return None;
        }
        let (left, coefficient) = (pool.from_monomial(&left), pool.int(coefficient.clone()));
        let part = pool.mul(left, coefficient);
        if power == 1 { slope.push(part) } else { rest.push(part) }
    }
    let (slope, rest) = (pool.sum(slope), pool.sum(rest));
    let (of_slope, of_rest) = (pool.poly(slope), pool.poly(rest));
    let (term, factor) = of_slope.terms.first()?;
    let (_, own) = of_rest.terms.iter().find(|(other, _)| other == term)?;
    let number = own.to_i64()?.checked_neg()?;
    let factor = factor.to_i64()?;
    let number = (number % factor == 0).then(|| number / factor)?;
    let number = pool.int(number);
    let product = pool.mul(slope, number);
    (pool.add(product, rest) == Expr::ZERO).then_some((slope, number))
}

/// A sum without the symbols that all its terms have in common, and these.
pub(super) fn without_common_factors(pool: &mut Pool, difference: Expr) -> (Poly, Vec<Expr>) {
    let mut poly = pool.poly(difference);
    let mut factors = Vec::new();
    while poly.constant.is_zero() && poly.terms.len() > 1 {
        let monomials: Vec<_> = poly.terms.iter().map(|(term, _)| pool.monomial(*term)).collect();
        let has = |factor: Expr| monomials.iter().all(|m| m.iter().any(|(own, _)| *own == factor));
        let common = monomials[0].iter().map(|(factor, _)| *factor);
        let Some(common) = common.into_iter().find(|&factor| has(factor)) else { break };
        factors.push(common);
        let mut terms = Vec::new();
        for (monomial, (_, coefficient)) in monomials.iter().zip(&poly.terms) {
            let left = monomial.iter().map(|&(own, power)| (own, power - u32::from(own == common)));
            let left: Vec<(Expr, u32)> = left.filter(|(_, power)| *power > 0).collect();
            let (term, coefficient) = (pool.from_monomial(&left), pool.int(coefficient.clone()));
            terms.push(pool.mul(term, coefficient));
        }
        let sum = pool.sum(terms);
        poly = pool.poly(sum);
    }
    (poly, factors)
}

#[cfg(test)]
mod tests {
    use super::super::checked;
    use crate::read::Model;
    use sizewise_solve::Budget;

    #[test]
    fn symbols_that_a_condition_does_not_have_are_no_work() {
        let work = |inputs: usize| {
            let declared: Vec<String> = (0..inputs).map(|at| format!("float[a{at},b{at}] x{at}")).collect();
            let names: Vec<String> = (0..inputs).map(|at| format!("x{at}")).collect();
            let (declared, names) = (declared.join(", "), names.join(", "));
            let text = format!(
                "<ir_version: 8, opset_import: [\"\" : 17]>\ng ({declared}) => (float[P,Q] y) \
                 {{ y = Concat<axis = 0>({names}) }}"
            );
            let model = Model::read(text.into_bytes()).expect("a model");
            let check = checked(&model, None, &Budget::default());
            let condition = check.walk.env.guards()[0].condition;
            let mut env = check.symbolic.env.clone();
            let before = env.pool.work();
            check.symbolic.simplified(&mut env, condition);
            env.pool.work() - before
        };
        assert_eq!(work(4), work(24));
    }
}
