//! Certificates of what was decided: claims in the words of the certificate format, and the prover asked for a proof.
use super::facts::Facts;
use super::verdict::{Premise, Verdict};
use sizewise_certificate::{Claim, Op, Term, check_text};
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort, Symbol};
use sizewise_prove::{Hints, certify};

/// The most operations of a claim.
const MAX_OPERATIONS: usize = 20_000;

/// A certificate that the facts imply `goal`, or contradict each other; `None` where nothing was proved, something has
/// no counterpart in certificates, or the prover finds no proof.
pub fn certificate(pool: &mut Pool, facts: &Facts, goal: Expr, verdict: &Verdict) -> Option<String> {
    let (goal, because) = match verdict {
        Verdict::Implied { because } => (Some(goal), because),
        Verdict::Inconsistent { because } => (None, because),
        Verdict::Refuted { .. } | Verdict::Unknown { .. } => return None,
    };
    let mut claim = stated(pool, facts, goal)?;
    let mut writer = ClaimWriter { pool, left: MAX_OPERATIONS };
    for &condition in facts.conditions() {
        claim.premises.push(writer.formula(condition)?);
    }
    claim.goal = goal.map_or(Some(None), |goal| writer.formula(goal).map(Some))?;
    let because = used(facts, because);
    proved(&claim, because)
}

/// A certificate of a claim in the words in which it was asked. `given` are the conditions of the facts, as written.
pub fn certificate_as_asked(
    pool: &mut Pool,
    facts: &Facts,
    (given, goal): (Vec<Term>, Term),
    verdict: &Verdict,
) -> Option<String> {
    let (goal, because) = match verdict {
        Verdict::Implied { because } => (Some(goal), because),
        Verdict::Inconsistent { because } => (None, because),
        Verdict::Refuted { .. } | Verdict::Unknown { .. } => return None,
    };
    let mut claim = stated(pool, facts, None)?;
    // What the goal divides by is no part of a claim without it, but was assumed.
    claim.premises.extend(given);
    claim.goal = goal;
    let because = used(facts, because);
    proved(&claim, because)
}

/// A certificate that the checker accepts.
fn proved(claim: &Claim, because: Option<Vec<usize>>) -> Option<String> {
    let certificate = certify(claim, &Hints { because })?;
    check_text(&certificate).is_ok().then_some(certificate)
}

/// The symbols with their ranges, and the divisors that are not zero.
fn stated(pool: &mut Pool, facts: &Facts, goal: Option<Expr>) -> Option<Claim> {
    let mut claim = Claim::default();
    for (symbol, low, high) in facts.ranges() {
        let e = pool.symbol_expr(symbol);
        let name = name(pool, symbol).filter(|_| pool.sort(e) == Sort::Int)?;
        let bounded = |op, bound: &Int| Term::Call(op, vec![Term::name(&name), Term::Int(bound.to_big())]);
        claim.premises.extend(low.map(|low| bounded(Op::Ge, low)));
        claim.premises.extend(high.map(|high| bounded(Op::Le, high)));
        claim.symbols.push(name);
    }
    let divisors = facts.divisors(pool, goal);
    let mut roots = facts.conditions().to_vec();
    roots.extend(goal);
    roots.extend(&divisors);
    for symbol in pool.free_symbols(&roots) {
        let e = pool.symbol_expr(symbol);
        let name = name(pool, symbol).filter(|_| pool.sort(e) == Sort::Int)?;
        if !claim.symbols.contains(&name) {
            claim.symbols.push(name);
        }
    }
    let mut writer = ClaimWriter { pool, left: MAX_OPERATIONS };
    for divisor in divisors {
        // That this has a value says that the divisor is not zero.
        claim.defined.push(Term::Call(Op::FloorDiv, vec![Term::int(1), writer.term(divisor)?]));
    }
    Some(claim)
}

/// The places of premises that an answer named.
fn used(facts: &Facts, because: &[Premise]) -> Option<Vec<usize>> {
    let mut used = Vec::new();
    let mut at = 0;
    for (_, low, high) in facts.ranges() {
        // Ranges are few, and cheap.
        for _ in low.iter().chain(high.iter()) {
            used.push(at);
            at += 1;
        }
    }
    used.extend(because.iter().filter_map(|premise| match premise {
        Premise::Fact(id) => Some(at + id.0 as usize),
        _ => None,
    }));
    Some(used)
}

/// The name of a symbol, if it is one in certificates too.
fn name(pool: &Pool, symbol: Symbol) -> Option<String> {
    let name = pool.symbol_name(symbol);
    let odd =
        name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || "();#".contains(c));
    let number = name.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    (!odd && !number).then(|| name.to_owned())
}

struct ClaimWriter<'a> {
    pool: &'a Pool,
    left: usize,
}

impl ClaimWriter<'_> {
    fn formula(&mut self, e: Expr) -> Option<Term> {
        let term = self.term(e)?;
        (term.sort() == Ok(sizewise_certificate::Sort::Bool)).then_some(term)
    }

    fn term(&mut self, e: Expr) -> Option<Term> {
        self.left = self.left.checked_sub(1)?;
        let pool = self.pool;
        let term = match pool.node(e) {
            None => Term::Int(Int::from(e.as_inline()?).to_big()),
            Some(Node::Int(v)) => Term::Int(v.to_big()),
            Some(Node::Float(v)) => Term::Real(v.0),
            Some(Node::Bool(v)) => Term::Call(if *v { Op::True } else { Op::False }, Vec::new()),
            Some(Node::Symbol(symbol)) if pool.sort(e) == Sort::Int => Term::Name(name(pool, *symbol)?),
            Some(Node::Symbol(_)) => return None,
            Some(Node::Sum { constant, terms }) => {
                let mut parts = Vec::new();
                for (monomial, c) in terms {
                    let product = self.term(*monomial)?;
                    parts.push(if c.is_one() {
                        product
                    } else {
                        Term::Call(Op::Mul, vec![Term::Int(c.to_big()), product])
                    });
                }
                if !constant.is_zero() {
                    parts.push(Term::Int(constant.to_big()));
                }
                Term::Call(Op::Add, parts)
            }
            Some(Node::Product(factors)) => {
                let mut parts = Vec::new();
                for (atom, power) in factors {
                    let atom = self.term(*atom)?;
                    parts.push(if *power == 1 {
                        atom
                    } else {
                        Term::Call(Op::Pow, vec![atom, Term::int(*power)])
                    });
                }
                Term::Call(Op::Mul, parts)
            }
            Some(Node::Call(func, args)) => return self.call(*func, args),
        };
        term.sort().ok()?;
        Some(term)
    }

    fn call(&mut self, func: Func, args: &[Expr]) -> Option<Term> {
        let op = match func {
            Func::FloorDiv => Op::FloorDiv,
            Func::Mod => Op::Mod,
            Func::Min => Op::Min,
            Func::Max => Op::Max,
            Func::Abs => Op::Abs,
            Func::Pow => Op::Pow,
            Func::Ite => Op::Ite,
            Func::BitAnd => Op::And,
            Func::BitOr => Op::Or,
            Func::BitXor => Op::Xor,
            Func::Trunc => Op::Trunc,
            Func::Floor => Op::Floor,
            Func::Ceil => Op::Ceil,
            Func::Round => Op::Round,
            Func::ToFloat => Op::Float,
            Func::IntTrueDiv => Op::IntDiv,
            Func::FloatTrueDiv => Op::FloatDiv,
            Func::FloatPow => Op::FloatPow,
            Func::FloatAdd => Op::FloatAdd,
            Func::FloatMul => Op::FloatMul,
            Func::RoundDecimal => Op::Decimal,
            Func::TruncToFloat => Op::FloatTrunc,
            Func::Sqrt => Op::Sqrt,
            Func::FloatEq => Op::FloatEq,
            Func::FloatLt => Op::FloatLt,
            Func::FloatLe => Op::FloatLe,
            Func::Not => Op::Not,
            Func::And => Op::All,
            Func::Or => Op::Any,
            Func::IsZero | Func::NotPositive => {
                let op = if func == Func::IsZero { Op::Eq } else { Op::Le };
                let term = Term::Call(op, vec![self.term(*args.first()?)?, Term::int(0)]);
                term.sort().ok()?;
                return Some(term);
            }
            _ => return None,
        };
        let operands = args.iter().map(|&a| self.term(a)).collect::<Option<Vec<_>>>()?;
        let term = Term::Call(op, operands);
        term.sort().ok()?;
        Some(term)
    }
}
