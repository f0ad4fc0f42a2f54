//! Conditions as people and torch write them, read as they stand: nothing is simplified on the way.
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use sizewise_certificate::{Op, Sort, Term};

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 200;
/// Longer texts are not read.
const MAX_TEXT: usize = 100_000;

/// The formula of a condition in Python's syntax, with the functions of sympy and torch; `None` for what has no
/// counterpart in certificates. `is_integer` tells which names are integers.
pub fn formula(text: &str, is_integer: &dyn Fn(&str) -> bool) -> Option<Term> {
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0, is_integer };
    let term = reader.level(0)?;
    (reader.at == tokens.len() && is_bool(&term)).then_some(term)
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Int(BigInt),
    Real(f64),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 24] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "(", ")", ",", "[", "]",
];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut rest = text.trim_start();
    let mut tokens = Vec::new();
    if text.len() > MAX_TEXT {
        return None;
    }
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() || first == '.' {
            let mut end = 0;
            let bytes = rest.as_bytes();
            while end < bytes.len()
                && (bytes[end].is_ascii_alphanumeric()
                    || bytes[end] == b'.'
                    || (matches!(bytes[end], b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E')))
            {
                end += 1;
            }
            let word = &rest[..end];
            tokens.push(match word.parse::<BigInt>() {
                Ok(value) => Token::Int(value),
                Err(_) => Token::Real(word.parse().ok()?),
            });
            end
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..end].to_owned()));
            end
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// Binary operators by how tightly they bind, loosest first. Level 2 is `not`, level 3 are comparisons.
const LEVELS: [&[&str]; 10] = [
    &["or"],
    &["and"],
    &[],
    &["<", "<=", ">", ">=", "==", "!="],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "//", "%"],
];

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    is_integer: &'a dyn Fn(&str) -> bool,
}

fn is_bool(term: &Term) -> bool {
    term.sort() == Ok(Sort::Bool)
}

fn is_real(term: &Term) -> bool {
    term.sort() == Ok(Sort::Real)
}

fn call(op: Op, operands: Vec<Term>) -> Option<Term> {
    let term = Term::Call(op, operands);
    term.sort().ok()?;
    Some(term)
}

/// The double of an integer literal beside a double.
fn sum(a: Term, b: Term) -> Option<Term> {
    if is_real(&a) || is_real(&b) { call(Op::FloatAdd, vec![a, b]) } else { call(Op::Add, vec![a, b]) }
}

fn product(a: Term, b: Term) -> Option<Term> {
    if is_real(&a) || is_real(&b) { call(Op::FloatMul, vec![a, b]) } else { call(Op::Mul, vec![a, b]) }
}

fn negated(a: Term) -> Option<Term> {
    match a {
        Term::Int(v) => Some(Term::Int(-v)),
        Term::Real(v) => Some(Term::Real(-v)),
        a if is_real(&a) => call(Op::FloatMul, vec![Term::Real(-1.0), a]),
        a => call(Op::Sub, vec![a]),
    }
}

fn compared(sign: &str, a: Term, b: Term) -> Option<Term> {
    let op = match sign {
        "<" => Op::Lt,
        "<=" => Op::Le,
        ">" => Op::Gt,
        ">=" => Op::Ge,
        "==" => Op::Eq,
        _ => Op::Ne,
    };
    if is_bool(&a) && is_bool(&b) && matches!(op, Op::Eq | Op::Ne) {
        let both = call(Op::All, vec![a.clone(), b.clone()])?;
        let neither = call(Op::Not, vec![call(Op::Any, vec![a, b])?])?;
        let same = call(Op::Any, vec![both, neither])?;
        return if op == Op::Eq { Some(same) } else { call(Op::Not, vec![same]) };
    }
    call(op, vec![a, b])
}

impl Reader<'_> {
    fn peek(&self, signs: &[&'static str]) -> Option<&'static str> {
        match self.tokens.get(self.at)? {
            Token::Sign(sign) => signs.iter().find(|s| *s == sign).copied(),
            Token::Name(name) => signs.iter().find(|s| *s == name).copied(),
            _ => None,
        }
    }

    fn take(&mut self, sign: &'static str) -> Option<()> {
        self.peek(&[sign])?;
        self.at += 1;
        Some(())
    }

    fn level(&mut self, level: usize) -> Option<Term> {
        self.depth += 1;
        let term = if self.depth > MAX_DEPTH * LEVELS.len() { None } else { self.level_inner(level) };
        self.depth -= 1;
        term
    }

    fn level_inner(&mut self, level: usize) -> Option<Term> {
        if level == LEVELS.len() {
            return self.unary();
        }
        if level == 2 && self.take("not").is_some() {
            return call(Op::Not, vec![self.level(2)?]);
        }
        let mut left = self.level(level + 1)?;
        if level == 3 {
            return self.comparisons(left);
        }
        while let Some(sign) = self.peek(LEVELS[level]) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = binary(sign, left, right)?;
        }
        Some(left)
    }

    fn comparisons(&mut self, first: Term) -> Option<Term> {
        let mut all = Vec::new();
        let mut left = first;
        while let Some(sign) = self.peek(LEVELS[3]) {
            self.at += 1;
            let right = self.level(4)?;
            all.push(compared(sign, left, right.clone())?);
            left = right;
        }
        match all.len() {
            0 => Some(left),
            1 => all.pop(),
            _ => call(Op::All, all),
        }
    }

    fn unary(&mut self) -> Option<Term> {
        if self.take("-").is_some() {
            return negated(self.level(LEVELS.len())?);
        }
        if self.take("+").is_some() {
            return self.level(LEVELS.len());
        }
        if self.take("~").is_some() {
            let operand = self.level(LEVELS.len())?;
            let op = if is_bool(&operand) { Op::Not } else { Op::Sub };
            // ~x is -x - 1.
            return if op == Op::Not {
                call(op, vec![operand])
            } else {
                call(op, vec![negated(operand)?, Term::int(1)])
            };
        }
        let base = self.primary()?;
        if self.take("**").is_none() {
            return Some(base);
        }
        let exponent = self.level(LEVELS.len())?;
        if is_real(&base) || is_real(&exponent) || matches!(&exponent, Term::Int(v) if v.is_negative()) {
            return None;
        }
        call(Op::Pow, vec![base, exponent])
    }

    fn primary(&mut self) -> Option<Term> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        match token {
            Token::Int(value) => Some(Term::Int(value)),
            Token::Real(value) => Some(Term::Real(value)),
            Token::Sign("(") => {
                let inner = self.level(0)?;
                if self.take(",").is_some() {
                    // A branch of a piecewise function: a value and its condition.
                    let condition = self.level(0)?;
                    self.take(")")?;
                    return call(Op::Ite, vec![condition, inner.clone(), inner]);
                }
                self.take(")")?;
                Some(inner)
            }
            Token::Sign(_) => None,
            Token::Name(name) if self.take("(").is_some() => {
                let mut operands = Vec::new();
                while self.take(")").is_none() {
                    operands.push(self.level(0)?);
                    if self.take(",").is_none() {
                        self.take(")")?;
                        break;
                    }
                }
                function(&name, operands)
            }
            Token::Name(name) => match name.as_str() {
                "True" => call(Op::True, Vec::new()),
                "False" => call(Op::False, Vec::new()),
                _ if (self.is_integer)(&name) => Some(Term::Name(name)),
                _ => None,
            },
        }
    }
}

fn binary(sign: &str, a: Term, b: Term) -> Option<Term> {
    let logical = is_bool(&a) && is_bool(&b);
    match sign {
        "or" => call(Op::Any, vec![a, b]),
        "and" => call(Op::All, vec![a, b]),
        "|" => call(if logical { Op::Any } else { Op::Or }, vec![a, b]),
        "&" => call(if logical { Op::All } else { Op::And }, vec![a, b]),
        "^" => call(Op::Xor, vec![a, b]),
        "<<" => call(Op::Shl, vec![a, b]),
        ">>" => call(Op::Shr, vec![a, b]),
        "+" => sum(a, b),
        "-" if is_real(&a) || is_real(&b) => sum(a, negated(b)?),
        "-" => call(Op::Sub, vec![a, b]),
        "*" => product(a, b),
        "//" => call(Op::FloorDiv, vec![a, b]),
        "%" => call(Op::Mod, vec![a, b]),
        _ => None,
    }
}

fn function(name: &str, mut operands: Vec<Term>) -> Option<Term> {
    let two = |operands: Vec<Term>| <[Term; 2]>::try_from(operands).ok();
    let op = match name {
        "FloorDiv" | "CleanDiv" => Op::FloorDiv,
        "Mod" | "PythonMod" => Op::Mod,
        "Min" => Op::Min,
        "Max" => Op::Max,
        "Abs" => Op::Abs,
        "Where" => Op::Ite,
        "And" => Op::All,
        "Or" => Op::Any,
        "Not" => Op::Not,
        "PowByNatural" => Op::Pow,
        "LShift" => Op::Shl,
        "RShift" => Op::Shr,
        "BitwiseFn_bitwise_and" => Op::And,
        "BitwiseFn_bitwise_or" => Op::Or,
        "BitwiseFn_bitwise_xor" => Op::Xor,
        "ToFloat" => Op::Float,
        "IntTrueDiv" => Op::IntDiv,
        "FloatTrueDiv" => Op::FloatDiv,
        "TruncToInt" => Op::Trunc,
        "FloorToInt" => Op::Floor,
        "CeilToInt" => Op::Ceil,
        "RoundToInt" => Op::Round,
        "TruncToFloat" => Op::FloatTrunc,
        "OpaqueUnaryFn_sqrt" => Op::Sqrt,
        "Eq" | "Ne" | "Lt" | "Le" | "Gt" | "Ge" => {
            let [a, b] = two(operands)?;
            let sign = match name {
                "Eq" => "==",
                "Ne" => "!=",
                "Lt" => "<",
                "Le" => "<=",
                "Gt" => ">",
                _ => ">=",
            };
            return compared(sign, a, b);
        }
        "CeilDiv" => {
            let [a, b] = two(operands)?;
            return negated(call(Op::FloorDiv, vec![negated(a)?, b])?);
        }
        "ModularIndexing" => {
            let [a, b, m] = <[Term; 3]>::try_from(operands).ok()?;
            return call(Op::Mod, vec![call(Op::FloorDiv, vec![a, b])?, m]);
        }
        "FloatPow" => Op::FloatPow,
        "RoundDecimal" => Op::Decimal,
        "Piecewise" => return piecewise(operands),
        "Pow" => return power(two(operands)?),
        "Identity" => return operands.pop().filter(|_| operands.is_empty()),
        _ => return None,
    };
    call(op, operands)
}

/// The value of the first branch whose condition holds; the last holds always.
fn piecewise(branches: Vec<Term>) -> Option<Term> {
    let mut value = None;
    for branch in branches.into_iter().rev() {
        let Term::Call(Op::Ite, parts) = branch else { return None };
        let [condition, then, _] = <[Term; 3]>::try_from(parts).ok()?;
        value = match value {
            None if condition == Term::Call(Op::True, Vec::new()) => Some(then),
            None => return None,
            Some(other) => Some(call(Op::Ite, vec![condition, then, other])?),
        };
    }
    value
}

fn power([a, n]: [Term; 2]) -> Option<Term> {
    let integers = !is_real(&a) && !is_real(&n);
    let natural = matches!(&n, Term::Int(v) if !v.is_negative() && v.to_u32().is_some());
    if integers && natural { call(Op::Pow, vec![a, n]) } else { None }
}
