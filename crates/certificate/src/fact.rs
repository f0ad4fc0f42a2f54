//! Facts: comparisons of polynomials with zero, and what is put together from them.
use super::poly::{Poly, Var};
use super::term::{Op, Sort, Term, integer};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A fact in normal form; see [`Fact::at_least`], [`Fact::equal`], [`Fact::all`] and [`Fact::any`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fact {
    /// `p >= 0`.
    Ge(Poly),
    /// `p = 0`.
    Eq(Poly),
    /// All of them. The empty conjunction is true.
    All(Vec<Fact>),
    /// Any of them. The empty disjunction is false.
    Any(Vec<Fact>),
}

impl Fact {
    /// What is always true.
    pub const TRUE: Fact = Fact::All(Vec::new());
    /// What is never true.
    pub const FALSE: Fact = Fact::Any(Vec::new());

    fn truth(value: bool) -> Fact {
        if value { Fact::TRUE } else { Fact::FALSE }
    }

    /// `p >= 0` over the integers, divided by the common divisor of its coefficients; the constant is rounded down.
    pub fn at_least(p: &Poly) -> Fact {
        match p.as_constant() {
            Some(value) => Fact::truth(!value.is_negative()),
            None => Fact::Ge(p.divided(&p.content())),
        }
    }

    /// `p = 0` over the integers, divided by the common divisor of its coefficients. False if that does not divide the
    /// constant.
    pub fn equal(p: &Poly) -> Fact {
        if let Some(value) = p.as_constant() {
            return Fact::truth(value.is_zero());
        }
        let content = p.content();
        if !p.constant_part().is_multiple_of(&content) {
            return Fact::FALSE;
        }
        Fact::Eq(p.divided(&content))
    }

    /// `p != 0`.
    pub fn unequal(p: &Poly) -> Fact {
        Fact::any(vec![Fact::at_least(&p.plus_int(-1)), Fact::at_least(&p.negated().plus_int(-1))])
    }

    /// All facts, conjunctions among them taken apart.
    pub fn all(facts: Vec<Fact>) -> Fact {
        Fact::joined(facts, true)
    }

    /// Any fact, disjunctions among them taken apart.
    pub fn any(facts: Vec<Fact>) -> Fact {
        Fact::joined(facts, false)
    }

    fn joined(facts: Vec<Fact>, all: bool) -> Fact {
        let mut parts = Vec::new();
        for fact in facts {
            match fact {
                Fact::All(inner) if all => parts.extend(inner),
                Fact::Any(inner) if !all => parts.extend(inner),
                Fact::Any(inner) if inner.is_empty() => return Fact::FALSE,
                Fact::All(inner) if inner.is_empty() => return Fact::TRUE,
                fact => parts.push(fact),
            }
        }
        match parts.len() {
            1 => parts.swap_remove(0),
            _ if all => Fact::All(parts),
            _ => Fact::Any(parts),
        }
    }
}

/// What a defined name stands for; operands are polynomials in symbols and in names defined before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Meaning {
    /// The quotient, rounded down; 0 where the divisor is 0.
    FloorDiv(Poly, Poly),
    /// The greatest.
    Max(Vec<Poly>),
    /// The least.
    Min(Vec<Poly>),
    /// The first if the fact holds, else the second.
    Ite(Fact, Poly, Poly),
    /// The power; 0 where the exponent is negative.
    Pow(Poly, Poly),
    /// Bitwise and of two's complements.
    And(Poly, Poly),
    /// Some integer, the same wherever the text is the same.
    Integer(String),
    /// 1 where the text is true, else 0.
    Truth(String),
}

impl Meaning {
    /// The same for operands in another order, where that is the same.
    fn key(&self) -> Meaning {
        let sorted = |all: &[Poly]| all.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        match self {
            Meaning::Max(all) => Meaning::Max(sorted(all)),
            Meaning::Min(all) => Meaning::Min(sorted(all)),
            Meaning::And(a, b) if a > b => Meaning::And(b.clone(), a.clone()),
            other => other.clone(),
        }
    }
}

/// The names of a certificate and what they mean.
#[derive(Default, Debug)]
pub struct Names {
    /// The numbers of symbols and definitions by name.
    pub numbers: BTreeMap<String, Var>,
    /// The names by number.
    pub list: Vec<String>,
    meanings: BTreeMap<Meaning, Var>,
    work: Cell<usize>,
}

/// The most products of terms that are computed for the polynomials of a certificate.
const MAX_PRODUCTS: usize = 20_000_000;

/// Why a term has no polynomial, or a formula no fact.
#[derive(Clone, Debug)]
pub enum Problem {
    /// An operation has no definition; the text is the term.
    Missing(Box<Meaning>, String),
    /// What is wrong.
    Wrong(String),
}

impl<T: Into<String>> From<T> for Problem {
    fn from(text: T) -> Problem {
        Problem::Wrong(text.into())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing(_, term) => write!(f, "no definition of `{term}`"),
            Problem::Wrong(text) => f.write_str(text),
        }
    }
}

type Result<T> = std::result::Result<T, Problem>;

const TOO_LARGE: &str = "a polynomial is too large";

impl Names {
    /// Adds a symbol.
    ///
    /// # Errors
    /// When the name is taken, or looks like a number.
    pub fn declare(&mut self, name: &str) -> Result<Var> {
        let number = Var::try_from(self.list.len()).map_err(|_| "too many names")?;
        let odd = name.is_empty() || name.contains(|c: char| c.is_ascii_whitespace() || "();#".contains(c));
        if odd || integer(name) != Ok(None) || self.numbers.insert(name.to_owned(), number).is_some() {
            return Err(format!("`{name}` is no new name").into());
        }
        self.list.push(name.to_owned());
        Ok(number)
    }

    /// Defines a name as an operation on polynomials.
    ///
    /// # Errors
    /// When the name is taken, or the term is no operation that is defined.
    pub fn define(&mut self, name: &str, term: &Term) -> Result<Meaning> {
        let meaning = self.meaning(term)?;
        self.declare(name)?;
        self.give(meaning.clone())?;
        Ok(meaning)
    }

    /// Gives a meaning to the name that was declared last.
    pub fn give(&mut self, meaning: Meaning) -> Result<Var> {
        let number = Var::try_from(self.list.len() - 1).map_err(|_| "too many names")?;
        if self.meanings.insert(meaning.key(), number).is_some() {
            return Err("defined twice".into());
        }
        Ok(number)
    }

    fn look_up(&self, meaning: Meaning) -> Result<Poly> {
        match self.meanings.get(&meaning.key()) {
            Some(number) => Ok(Poly::var(*number)),
            None => Err(Problem::Missing(Box::new(meaning), String::new())),
        }
    }

    fn polys(&self, terms: &[Term]) -> Result<Vec<Poly>> {
        terms.iter().map(|t| self.poly(t)).collect()
    }

    /// What a definition says.
    fn meaning(&self, term: &Term) -> Result<Meaning> {
        let Term::Call(op, operands) = term else {
            return Err("a definition of what is no operation".into());
        };
        if is_opaque(*op, operands) {
            let truth = term.known_sort() == Sort::Bool;
            return Ok(if truth {
                Meaning::Truth(term.to_string())
            } else {
                Meaning::Integer(term.to_string())
            });
        }
        if let (Op::Ite, [c, a, b]) = (op, operands.as_slice()) {
            return Ok(Meaning::Ite(self.fact(c, true)?, self.poly(a)?, self.poly(b)?));
        }
        let operands = self.polys(operands)?;
        Ok(match (op, operands.as_slice()) {
            (Op::FloorDiv, [a, b]) => Meaning::FloorDiv(a.clone(), b.clone()),
            (Op::Max, _) => Meaning::Max(operands),
            (Op::Min, _) => Meaning::Min(operands),
            (Op::Pow, [a, b]) => Meaning::Pow(a.clone(), b.clone()),
            (Op::And, [a, b]) => Meaning::And(a.clone(), b.clone()),
            _ => return Err("a definition of what needs none".into()),
        })
    }

    /// The polynomial of an integer term.
    ///
    /// # Errors
    /// When a name is unknown, an operation has no definition, or a limit is reached.
    pub fn poly(&self, term: &Term) -> Result<Poly> {
        self.poly_of(term).map_err(|problem| match problem {
            Problem::Missing(meaning, at) if at.is_empty() => Problem::Missing(meaning, term.to_string()),
            problem => problem,
        })
    }

    fn poly_of(&self, term: &Term) -> Result<Poly> {
        let (op, operands) = match term {
            Term::Int(value) => return Ok(Poly::constant(value.clone())),
            Term::Name(name) => {
                let number = self.numbers.get(name).ok_or_else(|| format!("no name `{name}`"))?;
                return Ok(Poly::var(*number));
            }
            Term::Real(_) => return Err("a double where an integer is due".into()),
            Term::Call(op, operands) => (*op, operands.as_slice()),
        };
        if is_opaque(op, operands) || op == Op::Ite {
            if term.known_sort() != Sort::Int {
                return Err("a double where an integer is due".into());
            }
            return self.look_up(self.meaning(term)?);
        }
        let operands = self.polys(operands)?;
        let two = Poly::constant(2);
        let poly = match (op, operands.as_slice()) {
            (Op::Add, all) => all.iter().fold(Poly::default(), |sum, p| sum.plus(p)),
            (Op::Sub, [a]) => a.negated(),
            (Op::Sub, [a, b]) => a.minus(b),
            (Op::Mul, all) => {
                let mut product = Poly::constant(1);
                for p in all {
                    product = self.product(&product, p)?;
                }
                product
            }
            (Op::FloorDiv, [a, b]) => self.quotient(a, b)?,
            (Op::Mod, [a, b]) => a.minus(&self.product(b, &self.quotient(a, b)?)?),
            (Op::Pow, [a, n]) => self.power(a, n)?,
            (Op::Shl, [a, n]) => self.product(a, &self.power(&two, n)?)?,
            (Op::Shr, [a, n]) => self.quotient(a, &self.power(&two, n)?)?,
            (Op::And, [a, b]) => self.masked(a, b)?,
            (Op::Or, [a, b]) => a.plus(b).minus(&self.masked(a, b)?),
            (Op::Xor, [a, b]) => a.plus(b).minus(&self.masked(a, b)?.scaled(&BigInt::from(2))),
            (Op::Abs, [a]) => self.extremum(true, vec![a.clone(), a.negated()])?,
            (Op::Max | Op::Min, _) => self.extremum(op == Op::Max, operands)?,
            _ => return Err(format!("`{}` where an integer is due", op.name()).into()),
        };
        if poly.is_small() { Ok(poly) } else { Err(TOO_LARGE.into()) }
    }

    fn product(&self, a: &Poly, b: &Poly) -> Result<Poly> {
        self.work.set(self.work.get().saturating_add(a.terms.len().saturating_mul(b.terms.len())));
        a.product(b).filter(|_| self.work.get() <= MAX_PRODUCTS).ok_or(TOO_LARGE.into())
    }

    fn quotient(&self, a: &Poly, b: &Poly) -> Result<Poly> {
        self.look_up(Meaning::FloorDiv(a.clone(), b.clone()))
    }

    /// `a ** n`: a polynomial where `n` is a constant that is not negative.
    fn power(&self, a: &Poly, n: &Poly) -> Result<Poly> {
        let Some(n) = n.as_constant().filter(|n| !n.is_negative()) else {
            return self.look_up(Meaning::Pow(a.clone(), n.clone()));
        };
        let most = if a.as_constant().is_some() { 10_000 } else { 200 };
        let mut power = Poly::constant(1);
        for _ in 0..n.to_u32().filter(|n| *n <= most).ok_or(TOO_LARGE)? {
            power = self.product(&power, a)?;
        }
        Ok(power)
    }

    /// The greatest or the least of distinct polynomials.
    fn extremum(&self, greatest: bool, all: Vec<Poly>) -> Result<Poly> {
        match all.as_slice() {
            [first, rest @ ..] if rest.iter().all(|p| p == first) => Ok(first.clone()),
            _ => self.look_up(if greatest { Meaning::Max(all) } else { Meaning::Min(all) }),
        }
    }

    /// `a & b`: with 2^k - 1 a remainder, with -2^k a multiple.
    fn masked(&self, a: &Poly, b: &Poly) -> Result<Poly> {
        for (x, mask) in [(a, b), (b, a)] {
            let Some(mask) = mask.as_constant() else { continue };
            let low = !mask.is_negative();
            let size = if low { mask + BigInt::one() } else { -mask };
            if !is_power_of_two(&size) {
                continue;
            }
            let multiple = self.quotient(x, &Poly::constant(size.clone()))?.scaled(&size);
            return Ok(if low { x.minus(&multiple) } else { multiple });
        }
        self.look_up(Meaning::And(a.clone(), b.clone()))
    }

    /// The fact that a formula holds, or (`holds` unset) that it does not.
    ///
    /// # Errors
    /// As for [`Names::poly`].
    pub fn fact(&self, formula: &Term, holds: bool) -> Result<Fact> {
        let Term::Call(op, operands) = formula else { return Err(format!("{formula} is no formula").into()) };
        if formula.known_sort() != Sort::Bool {
            return Err(format!("{formula} is no formula").into());
        }
        if is_opaque(*op, operands) {
            let p = self.look_up(self.meaning(formula)?)?;
            return Ok(Fact::equal(&p.plus_int(-i64::from(holds))));
        }
        Ok(match (op, operands.as_slice()) {
            (Op::True | Op::False, _) => Fact::truth((*op == Op::True) == holds),
            (Op::Not, [f]) => self.fact(f, !holds)?,
            (Op::All | Op::Any, all) => {
                let parts = all.iter().map(|f| self.fact(f, holds)).collect::<Result<_>>()?;
                if (*op == Op::All) == holds { Fact::all(parts) } else { Fact::any(parts) }
            }
            (op, [a, b]) => {
                let p = self.poly(a)?.minus(&self.poly(b)?);
                let at_most = |p: &Poly, shift| Fact::at_least(&p.negated().plus_int(shift));
                match (op, holds) {
                    (Op::Le, true) | (Op::Gt, false) => at_most(&p, 0),
                    (Op::Lt, true) | (Op::Ge, false) => at_most(&p, -1),
                    (Op::Ge, true) | (Op::Lt, false) => Fact::at_least(&p),
                    (Op::Gt, true) | (Op::Le, false) => Fact::at_least(&p.plus_int(-1)),
                    (Op::Eq, true) | (Op::Ne, false) => Fact::equal(&p),
                    _ => Fact::unequal(&p),
                }
            }
            _ => return Err(format!("{formula} is no formula").into()),
        })
    }
}

/// Whether an operation is one on doubles, of which only the kind of its value is known.
fn is_opaque(op: Op, operands: &[Term]) -> bool {
    op as usize >= Op::Float as usize || operands.iter().any(|t| t.known_sort() == Sort::Real)
}

fn is_power_of_two(value: &BigInt) -> bool {
    value.is_positive() && value.trailing_zeros() == Some(value.bits() - 1)
}

/// What always holds of a defined name.
pub fn facts_of(name: Var, meaning: &Meaning) -> Result<Vec<Fact>> {
    let v = Poly::var(name);
    Ok(match meaning {
        Meaning::FloorDiv(a, b) => {
            let multiple = b.product(&v).ok_or(TOO_LARGE)?;
            let rest = a.minus(&multiple);
            let positive = vec![
                Fact::at_least(&b.plus_int(-1)),
                Fact::at_least(&rest),
                Fact::at_least(&b.minus(&rest).plus_int(-1)),
            ];
            let negative = vec![
                Fact::at_least(&b.negated().plus_int(-1)),
                Fact::at_least(&rest.negated()),
                Fact::at_least(&rest.minus(b).plus_int(-1)),
            ];
            let zero = vec![Fact::equal(b), Fact::equal(&v)];
            vec![Fact::any(vec![Fact::all(positive), Fact::all(negative), Fact::all(zero)])]
        }
        Meaning::Max(all) | Meaning::Min(all) => {
            let above = matches!(meaning, Meaning::Max(_));
            let side = |p: &Poly| Fact::at_least(&if above { v.minus(p) } else { p.minus(&v) });
            let mut facts: Vec<Fact> = all.iter().map(side).collect();
            facts.push(Fact::any(all.iter().map(|p| Fact::equal(&v.minus(p))).collect()));
            facts
        }
        Meaning::Ite(c, a, b) => {
            let yes = Fact::all(vec![c.clone(), Fact::equal(&v.minus(a))]);
            let no = Fact::all(vec![negation(c), Fact::equal(&v.minus(b))]);
            vec![Fact::any(vec![yes, no])]
        }
        Meaning::Pow(a, n) => {
            let (zero, negative) = (Fact::equal(n), Fact::at_least(&n.negated().plus_int(-1)));
            let above = Fact::at_least(&n.plus_int(-1));
            let one = Fact::equal(&v.plus_int(-1));
            let mut facts = vec![Fact::any(vec![
                Fact::all(vec![negative.clone(), Fact::equal(&v)]),
                Fact::all(vec![zero, one]),
                above,
            ])];
            // b**n >= n + 1 for b >= 2 and n >= 0.
            let small_base = Fact::at_least(&a.negated().plus_int(1));
            facts.push(Fact::any(vec![negative, small_base, Fact::at_least(&v.minus(n).plus_int(-1))]));
            facts
        }
        Meaning::And(a, b) => {
            let mut facts = Vec::new();
            for x in [a, b] {
                let (negative, within) =
                    (Fact::at_least(&x.negated().plus_int(-1)), Fact::at_least(&x.minus(&v)));
                facts.push(Fact::any(vec![negative, Fact::all(vec![Fact::at_least(&v), within])]));
            }
            facts
        }
        Meaning::Truth(_) => vec![Fact::at_least(&v), Fact::at_least(&v.negated().plus_int(1))],
        Meaning::Integer(_) => Vec::new(),
    })
}

/// What holds where a fact does not.
pub fn negation(fact: &Fact) -> Fact {
    match fact {
        Fact::Ge(p) => Fact::at_least(&p.negated().plus_int(-1)),
        Fact::Eq(p) => Fact::unequal(p),
        Fact::All(parts) => Fact::any(parts.iter().map(negation).collect()),
        Fact::Any(parts) => Fact::all(parts.iter().map(negation).collect()),
    }
}
