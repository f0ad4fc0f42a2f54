//! Terms and formulas as they are written: S-expressions.
use num_bigint::BigInt;
use num_traits::Signed;
use std::fmt;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 1_000;
/// The longest integer that is read: no longer one is computed with.
const MAX_DIGITS: usize = 4_000;

/// An S-expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Sexp {
    /// A word.
    Word(String),
    /// A list in parentheses.
    List(Vec<Sexp>),
}

impl Sexp {
    /// Reads all S-expressions of a text. What follows `;` on a line is a remark.
    ///
    /// # Errors
    /// When parentheses do not match, or nest too deeply.
    pub fn read_all(text: &str) -> Result<Vec<Sexp>, String> {
        let mut open: Vec<Vec<Sexp>> = vec![Vec::new()];
        for line in text.split('\n') {
            let code = line.split(';').next().unwrap_or_default();
            let spaced = code.replace('(', " ( ").replace(')', " ) ");
            for word in spaced.split_ascii_whitespace() {
                match word {
                    "(" if open.len() > MAX_DEPTH => return Err("nested too deeply".into()),
                    "(" => open.push(Vec::new()),
                    ")" => {
                        let list = Sexp::List(open.pop().unwrap_or_default());
                        open.last_mut().ok_or("a parenthesis too many")?.push(list);
                    }
                    word => open.last_mut().ok_or("a parenthesis too many")?.push(Sexp::Word(word.into())),
                }
            }
        }
        match (open.pop(), open.is_empty()) {
            (Some(all), true) => Ok(all),
            _ => Err("a parenthesis is missing".into()),
        }
    }

    /// The first word of a list and what follows it.
    pub fn call(&self) -> Option<(&str, &[Sexp])> {
        match self {
            Sexp::List(items) => match items.split_first() {
                Some((Sexp::Word(head), rest)) => Some((head, rest)),
                _ => None,
            },
            Sexp::Word(_) => None,
        }
    }

    /// The items of a list; none of a word.
    pub fn items(&self) -> &[Sexp] {
        match self {
            Sexp::List(items) => items,
            Sexp::Word(_) => &[],
        }
    }

    /// The word.
    pub fn word(&self) -> Option<&str> {
        match self {
            Sexp::Word(word) => Some(word),
            Sexp::List(_) => None,
        }
    }
}

/// The integer that a word is, if it is one: written in one way, so that equal terms are equal texts.
///
/// # Errors
/// When there are other digits than needed, or more than are read.
pub(crate) fn integer(word: &str) -> Result<Option<BigInt>, String> {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(None);
    }
    if digits.len() > MAX_DIGITS {
        return Err(format!("an integer of more than {MAX_DIGITS} digits"));
    }
    if word.starts_with('+') || word == "-0" || digits.len() > 1 && digits.starts_with('0') {
        return Err(format!("{word}: an integer with a sign or zeros that it does not need"));
    }
    Ok(word.parse().ok())
}

/// The integer that a word is, if that is not negative.
pub(crate) fn count(word: &str) -> Option<BigInt> {
    integer(word).ok().flatten().filter(|n| !n.is_negative())
}

/// What an operation gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// An integer.
    Int,
    /// A truth value.
    Bool,
    /// A double.
    Real,
    /// A number of the kind of its operands.
    Operand,
}

/// The operations, each with its name, the least and the greatest number of its operands, and what it gives. Their
/// meaning is in `docs/certificates.md`.
macro_rules! operations {
    ($($op:ident $name:literal $least:literal $most:tt $sort:ident;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "each is named in the table")]
        /// An operation.
        pub enum Op { $($op),* }

        const OPERATIONS: &[(&str, Op, usize, usize, Sort)] = &[$(($name, Op::$op, $least, $most, Sort::$sort)),*];
    };
}

const MANY: usize = usize::MAX;

operations! {
    Add "+" 1 MANY Int;
    Sub "-" 1 2 Int;
    Mul "*" 1 MANY Int;
    FloorDiv "//" 2 2 Int;
    Mod "%" 2 2 Int;
    Pow "**" 2 2 Int;
    Shl "<<" 2 2 Int;
    Shr ">>" 2 2 Int;
    And "bitand" 2 2 Int;
    Or "bitor" 2 2 Int;
    Xor "bitxor" 2 2 Int;
    Min "min" 1 MANY Operand;
    Max "max" 1 MANY Operand;
    Abs "abs" 1 1 Operand;
    Ite "ite" 3 3 Operand;
    True "true" 0 0 Bool;
    False "false" 0 0 Bool;
    Le "<=" 2 2 Bool;
    Lt "<" 2 2 Bool;
    Ge ">=" 2 2 Bool;
    Gt ">" 2 2 Bool;
    Eq "=" 2 2 Bool;
    Ne "!=" 2 2 Bool;
    All "and" 0 MANY Bool;
    Any "or" 0 MANY Bool;
    Not "not" 1 1 Bool;
    Float "float" 1 1 Real;
    IntDiv "int/" 2 2 Real;
    FloatDiv "float/" 2 2 Real;
    FloatAdd "float+" 2 2 Real;
    FloatMul "float*" 2 2 Real;
    FloatPow "float**" 2 2 Real;
    Sqrt "sqrt" 1 1 Real;
    FloatTrunc "ftrunc" 1 1 Real;
    Decimal "decimal" 2 2 Real;
    Trunc "trunc" 1 1 Int;
    Floor "floor" 1 1 Int;
    Ceil "ceil" 1 1 Int;
    Round "round" 1 1 Int;
    FloatEq "float=" 2 2 Bool;
    FloatLt "float<" 2 2 Bool;
    FloatLe "float<=" 2 2 Bool;
}

impl Op {
    /// How it is written.
    pub fn name(self) -> &'static str {
        OPERATIONS.iter().find(|(_, op, ..)| *op == self).map_or("?", |(name, ..)| name)
    }

    fn sort(self) -> Sort {
        OPERATIONS.iter().find(|(_, op, ..)| *op == self).map_or(Sort::Int, |(.., sort)| *sort)
    }
}

/// A term or a formula.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// An integer.
    Int(BigInt),
    /// A double.
    Real(f64),
    /// A symbol or a defined name.
    Name(String),
    /// An operation.
    Call(Op, Vec<Term>),
}

impl Term {
    /// An integer.
    pub fn int(value: impl Into<BigInt>) -> Term {
        Term::Int(value.into())
    }

    /// A name.
    pub fn name(name: &str) -> Term {
        Term::Name(name.to_owned())
    }

    /// The term of an S-expression: of the right number and sorts of operands.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &Sexp) -> Result<Term, String> {
        let term = match text {
            Sexp::Word(word) => match (integer(word)?, word.strip_prefix('#')) {
                (Some(value), _) => Term::Int(value),
                (None, Some(digits)) => {
                    let is_hex =
                        digits.len() == 16 && digits.bytes().all(|b| b"0123456789abcdef".contains(&b));
                    let bits = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
                    Term::Real(f64::from_bits(bits.ok_or_else(|| format!("{word}: no double"))?))
                }
                (None, None) => Term::Name(word.clone()),
            },
            Sexp::List(_) => {
                let (head, rest) = text.call().ok_or("a list without an operation")?;
                let known = OPERATIONS.iter().find(|(name, ..)| *name == head);
                let (_, op, ..) = known.ok_or_else(|| format!("no operation `{head}`"))?;
                Term::Call(*op, rest.iter().map(Term::read).collect::<Result<_, _>>()?)
            }
        };
        term.sort()?;
        Ok(term)
    }

    /// Whether it is an integer, a truth value or a double.
    ///
    /// # Errors
    /// When an operation has operands of another kind or number. Operands of operands are not looked at.
    pub fn sort(&self) -> Result<Sort, String> {
        let Term::Call(op, operands) = self else {
            return Ok(if matches!(self, Term::Real(_)) { Sort::Real } else { Sort::Int });
        };
        let (name, _, least, most, sort) =
            OPERATIONS.iter().find(|(_, known, ..)| known == op).ok_or("no operation")?;
        if operands.len() < *least || operands.len() > *most {
            return Err(format!("`{name}` of {} operands", operands.len()));
        }
        let takes_truth = matches!(op, Op::All | Op::Any | Op::Not);
        let compares = matches!(op, Op::Le | Op::Lt | Op::Ge | Op::Gt | Op::Eq | Op::Ne);
        let takes_doubles = compares || *op as usize >= Op::Float as usize || *sort == Sort::Operand;
        let mut real = false;
        for (at, operand) in operands.iter().enumerate() {
            let found = operand.known_sort();
            let wanted = if takes_truth || (*op == Op::Ite && at == 0) { Sort::Bool } else { Sort::Int };
            real |= found == Sort::Real;
            if (found == Sort::Bool) != (wanted == Sort::Bool) || (found == Sort::Real && !takes_doubles) {
                return Err(format!("`{name}` of an operand of another kind"));
            }
        }
        Ok(match sort {
            Sort::Operand if real => Sort::Real,
            Sort::Operand => Sort::Int,
            sort => *sort,
        })
    }

    /// The sort of a term that was read.
    pub(crate) fn known_sort(&self) -> Sort {
        match self {
            Term::Int(_) | Term::Name(_) => Sort::Int,
            Term::Real(_) => Sort::Real,
            Term::Call(op, operands) => match op.sort() {
                Sort::Operand => operands.last().map_or(Sort::Int, |_| {
                    let first = usize::from(*op == Op::Ite);
                    let real = operands[first..].iter().any(|t| t.known_sort() == Sort::Real);
                    if real { Sort::Real } else { Sort::Int }
                }),
                sort => sort,
            },
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Int(value) => write!(f, "{value}"),
            Term::Real(value) => write!(f, "#{:016x}", value.to_bits()),
            Term::Name(name) => f.write_str(name),
            Term::Call(op, operands) => {
                write!(f, "({}", op.name())?;
                for operand in operands {
                    write!(f, " {operand}")?;
                }
                f.write_str(")")
            }
        }
    }
}
