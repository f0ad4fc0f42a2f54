//! Conditions as Z3 terms over mathematical integers.
//!
//! Z3's own `div` and `mod` are Euclidean, which agrees with flooring for positive constant divisors. For any
//! other divisor, the quotient `q` and the remainder `r` are fresh constants with `a = b*q + r`, `0 <= r < b`
//! or `b < r <= 0`, and `b != 0`. Anything without a term (floats, bitwise operations) is a fresh constant
//! without constraints, so `unsat` stays sound.
use num_bigint::BigInt;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort, Symbol};
use z3::Model;
use z3::ast::{Bool, Int as Term};

#[derive(Clone)]
enum Encoded {
    Int(Term),
    Bool(Bool),
}

/// Builds terms and collects what has to hold.
pub struct Encoder<'a> {
    pool: &'a Pool,
    known: FxHashMap<Expr, Encoded>,
    quotients: FxHashMap<(Expr, Expr), (Term, Term)>,
    symbols: Vec<(Symbol, Term)>,
    assertions: Vec<Bool>,
    fresh: u32,
}

impl<'a> Encoder<'a> {
    /// An encoder of expressions of `pool`.
    pub fn new(pool: &'a Pool) -> Encoder<'a> {
        Encoder {
            pool,
            known: FxHashMap::default(),
            quotients: FxHashMap::default(),
            symbols: Vec::new(),
            assertions: Vec::new(),
            fresh: 0,
        }
    }

    /// Everything that has to hold.
    pub fn assertions(&self) -> &[Bool] {
        &self.assertions
    }

    /// The constant of a symbol, within inclusive bounds.
    pub fn declare(&mut self, symbol: Symbol, low: Option<&Int>, high: Option<&Int>) {
        let term = self.symbol(symbol);
        if let Some(low) = low {
            self.assertions.push(term.ge(number(low)));
        }
        if let Some(high) = high {
            self.assertions.push(term.le(number(high)));
        }
    }

    /// Requires a condition.
    pub fn require(&mut self, condition: Expr) {
        self.encode(condition);
        let holds = self.truth(condition);
        self.assertions.push(holds);
    }

    /// The term of a condition, which is not required by itself.
    pub fn condition(&mut self, condition: Expr) -> Bool {
        self.encode(condition);
        self.truth(condition)
    }

    /// Requires that a divisor is not 0.
    pub fn require_nonzero(&mut self, divisor: Expr) {
        self.encode(divisor);
        let zero = self.int(divisor).eq(number(&Int::ZERO));
        self.assertions.push(zero.not());
    }

    /// The symbols' values in a model.
    pub fn values(&self, model: &Model) -> Option<Vec<(Symbol, Int)>> {
        self.symbols
            .iter()
            .map(|(symbol, term)| {
                let value = model.eval(term, true)?;
                let value = match value.as_i64() {
                    Some(v) => Int::from(v),
                    None => {
                        // Z3 prints negative numbers as (- 5).
                        let text = value.to_string();
                        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                        let magnitude = Int::from_big(digits.parse::<BigInt>().ok()?);
                        if text.contains('-') { -magnitude } else { magnitude }
                    }
                };
                Some((*symbol, value))
            })
            .collect()
    }

    fn symbol(&mut self, symbol: Symbol) -> Term {
        if let Some((_, term)) = self.symbols.iter().find(|(s, _)| *s == symbol) {
            return term.clone();
        }
        let term = Term::new_const(format!("s{}", symbol.0));
        self.symbols.push((symbol, term.clone()));
        term
    }

    fn fresh_int(&mut self) -> Term {
        self.fresh += 1;
        Term::new_const(format!("k{}", self.fresh))
    }

    fn encode(&mut self, root: Expr) {
        for e in self.pool.reachable(&[root]) {
            if !self.known.contains_key(&e) {
                let encoded = self.encode_node(e);
                self.known.insert(e, encoded);
            }
        }
    }

    fn int(&self, e: Expr) -> Term {
        if let Some(v) = e.as_inline() {
            return Term::from_i64(v);
        }
        match self.known.get(&e) {
            Some(Encoded::Int(term)) => term.clone(),
            Some(Encoded::Bool(b)) => b.ite(&Term::from_i64(1), &Term::from_i64(0)),
            None => Term::from_i64(0),
        }
    }

    fn truth(&self, e: Expr) -> Bool {
        match (self.pool.as_bool(e), self.known.get(&e)) {
            (Some(b), _) => Bool::from_bool(b),
            (None, Some(Encoded::Bool(b))) => b.clone(),
            _ => self.int(e).eq(Term::from_i64(0)).not(),
        }
    }

    fn encode_node(&mut self, e: Expr) -> Encoded {
        let pool = self.pool;
        match pool.node(e) {
            Some(Node::Int(v)) => Encoded::Int(number(v)),
            Some(Node::Bool(b)) => Encoded::Bool(Bool::from_bool(*b)),
            Some(Node::Symbol(s)) if pool.sort(e) == Sort::Int => Encoded::Int(self.symbol(*s)),
            Some(Node::Sum { constant, terms }) => {
                let mut parts = vec![number(constant)];
                for (monomial, c) in terms {
                    parts.push(Term::mul(&[&number(c), &self.int(*monomial)]));
                }
                Encoded::Int(Term::add(&parts.iter().collect::<Vec<_>>()))
            }
            Some(Node::Product(factors)) => {
                let mut parts = Vec::new();
                for (atom, power) in factors {
                    let term = self.int(*atom);
                    parts.extend((0..*power).map(|_| term.clone()));
                }
                Encoded::Int(Term::mul(&parts.iter().collect::<Vec<_>>()))
            }
            Some(Node::Call(func, args)) => self.encode_call(e, *func, args),
            _ => self.opaque(e),
        }
    }

    fn encode_call(&mut self, e: Expr, func: Func, args: &[Expr]) -> Encoded {
        let zero = || Term::from_i64(0);
        let exact = args.iter().all(|&a| self.pool.sort(a) != Sort::Float);
        match (func, args) {
            (Func::FloorDiv, &[a, b]) => Encoded::Int(self.quotient(a, b).0),
            (Func::Mod, &[a, b]) => Encoded::Int(self.quotient(a, b).1),
            (Func::Min | Func::Max, _) if exact => {
                let mut best = self.int(args[0]);
                for &a in &args[1..] {
                    let a = self.int(a);
                    let keep = if func == Func::Min { best.le(&a) } else { best.ge(&a) };
                    best = keep.ite(&best, &a);
                }
                Encoded::Int(best)
            }
            (Func::Abs, &[a]) if exact => {
                let a = self.int(a);
                Encoded::Int(a.ge(zero()).ite(&a, &a.unary_minus()))
            }
            (Func::Ite, &[c, p, q]) if self.pool.sort(e) == Sort::Int && exact => {
                Encoded::Int(self.truth(c).ite(&self.int(p), &self.int(q)))
            }
            (Func::IsZero, &[p]) => Encoded::Bool(self.int(p).eq(zero())),
            (Func::NotPositive, &[p]) => Encoded::Bool(self.int(p).le(zero())),
            (Func::Not, &[a]) => Encoded::Bool(self.truth(a).not()),
            (Func::And | Func::Or, _) => {
                let parts: Vec<Bool> = args.iter().map(|&a| self.truth(a)).collect();
                let parts: Vec<&Bool> = parts.iter().collect();
                Encoded::Bool(if func == Func::And { Bool::and(&parts) } else { Bool::or(&parts) })
            }
            _ => self.opaque(e),
        }
    }

    fn opaque(&mut self, e: Expr) -> Encoded {
        if self.pool.sort(e) == Sort::Bool {
            self.fresh += 1;
            return Encoded::Bool(Bool::new_const(format!("b{}", self.fresh)));
        }
        Encoded::Int(self.fresh_int())
    }

    fn quotient(&mut self, a: Expr, b: Expr) -> (Term, Term) {
        if let Some(pair) = self.quotients.get(&(a, b)) {
            return pair.clone();
        }
        let (x, d, zero) = (self.int(a), self.int(b), Term::from_i64(0));
        let pair = if self.pool.as_int(b).is_some_and(|d| d.is_positive()) {
            (x.div(&d), x.modulo(&d))
        } else {
            let (q, r) = (self.fresh_int(), self.fresh_int());
            self.assertions.push(d.eq(&zero).not());
            self.assertions.push(x.eq(Term::add(&[&Term::mul(&[&d, &q]), &r])));
            let upwards = Bool::and(&[&d.gt(&zero), &r.ge(&zero), &r.lt(&d)]);
            let downwards = Bool::and(&[&d.lt(&zero), &r.le(&zero), &r.gt(&d)]);
            self.assertions.push(Bool::or(&[&upwards, &downwards]));
            (q, r)
        };
        self.quotients.insert((a, b), pair.clone());
        pair
    }
}

fn number(v: &Int) -> Term {
    match v.to_i64() {
        Some(v) => Term::from_i64(v),
        None => Term::from_big_int(&v.to_big()),
    }
}
