//! Terms of certificates as people write them: `(h*w) % 2048 == 0`.
use sizewise_certificate::{Op, Term};

/// How tightly an operation binds its operands, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Choice,
    Or,
    And,
    Not,
    Comparison,
    Bits,
    Sum,
    Product,
    Sign,
    Power,
    Nothing,
}

/// The text of a term.
pub(super) fn infix(term: &Term) -> String {
    written(term).0
}

/// The text of a factor.
pub(super) fn factor(term: &Term) -> String {
    within(term, Binds::Product)
}

/// The text of a term, in parentheses where it binds less than that.
fn within(term: &Term, least: Binds) -> String {
    let (text, binds) = written(term);
    if binds < least { format!("({text})") } else { text }
}

fn written(term: &Term) -> (String, Binds) {
    match term {
        Term::Int(value) => {
            let text = value.to_string();
            let binds = if text.starts_with('-') { Binds::Sign } else { Binds::Nothing };
            (text, binds)
        }
        Term::Real(value) => {
            let binds = if value.is_sign_negative() { Binds::Sign } else { Binds::Nothing };
            (format!("{value:?}"), binds)
        }
        Term::Name(name) => (name.clone(), Binds::Nothing),
        Term::Call(op, operands) => call(*op, operands),
    }
}

fn call(op: Op, operands: &[Term]) -> (String, Binds) {
    let joined =
        |least, between: &str| operands.iter().map(|t| within(t, least)).collect::<Vec<_>>().join(between);
    match (op, operands) {
        (Op::Add | Op::Mul | Op::All | Op::Any, [one]) => written(one),
        (Op::Sub, [a]) => (format!("-{}", within(a, Binds::Power)), Binds::Sign),
        (Op::Not, [a]) => (format!("not {}", within(a, Binds::Nothing)), Binds::Not),
        (Op::Ite, [c, a, b]) => {
            let [c, a, b] = [c, a, b].map(|t| within(t, Binds::Or));
            (format!("{a} if {c} else {b}"), Binds::Choice)
        }
        (Op::All | Op::Any | Op::True | Op::False, []) => {
            let holds = matches!(op, Op::All | Op::True);
            (holds.to_string(), Binds::Nothing)
        }
        (Op::All, [first, rest @ ..]) => (chain(first, rest, " and ", Binds::And, Binds::Not), Binds::And),
        (Op::Any, [first, rest @ ..]) => (chain(first, rest, " or ", Binds::Or, Binds::And), Binds::Or),
        (Op::Add, all) => (sum(all), Binds::Sum),
        (Op::Mul, [first, rest @ ..]) => {
            let is_product = matches!(first, Term::Call(Op::Mul, _));
            let mut text = within(first, if is_product { Binds::Product } else { Binds::Sign });
            rest.iter().for_each(|t| text.push_str(&format!("*{}", within(t, Binds::Power))));
            if let Some(negative) = text.strip_prefix("-1*") {
                text = format!("-{negative}");
            }
            (text, Binds::Product)
        }
        (_, [a, b]) => match between(op) {
            Some((sign, binds, left, right)) => {
                (format!("{}{sign}{}", within(a, left), within(b, right)), binds)
            }
            None => (format!("{}({})", op.name(), joined(Binds::Choice, ", ")), Binds::Nothing),
        },
        _ => (format!("{}({})", op.name(), joined(Binds::Choice, ", ")), Binds::Nothing),
    }
}

/// Operands of which the first may be of the same operation.
fn chain(first: &Term, rest: &[Term], between: &str, same: Binds, other: Binds) -> String {
    let mut parts = vec![within(first, same)];
    parts.extend(rest.iter().map(|term| within(term, other)));
    parts.join(between)
}

/// A sum, in which what is subtracted has its sign in front, and does not come first if it is a number.
fn sum(all: &[Term]) -> String {
    let mut text = String::new();
    let negative = |term: &Term| matches!(term, Term::Int(_)) && infix(term).starts_with('-');
    let first = usize::from(all.first().is_some_and(negative) && all.len() > 1);
    for term in all[first..].iter().chain(&all[..first]) {
        let part = within(term, if text.is_empty() { Binds::Sum } else { Binds::Product });
        let negative = match term {
            Term::Int(_) => part.strip_prefix('-'),
            Term::Call(Op::Mul, factors) if matches!(factors.first(), Some(Term::Int(_))) => {
                part.strip_prefix('-')
            }
            _ => None,
        };
        match negative {
            Some(part) if text.is_empty() => text.push_str(&format!("-{part}")),
            Some(part) => text.push_str(&format!(" - {part}")),
            None if text.is_empty() => text = part,
            None => text.push_str(&format!(" + {part}")),
        }
    }
    text
}

/// The sign of an operation on two operands, how it binds, and how its operands have to bind.
fn between(op: Op) -> Option<(&'static str, Binds, Binds, Binds)> {
    let comparison = |sign| Some((sign, Binds::Comparison, Binds::Sum, Binds::Sum));
    match op {
        Op::Sub => Some((" - ", Binds::Sum, Binds::Sum, Binds::Product)),
        Op::FloatAdd => Some((" + ", Binds::Sum, Binds::Product, Binds::Product)),
        Op::FloatMul => Some(("*", Binds::Product, Binds::Sign, Binds::Power)),
        Op::FloorDiv => Some((" // ", Binds::Product, Binds::Sign, Binds::Sign)),
        Op::Mod => Some((" % ", Binds::Product, Binds::Sign, Binds::Sign)),
        Op::IntDiv | Op::FloatDiv => Some((" / ", Binds::Product, Binds::Sign, Binds::Sign)),
        Op::Pow | Op::FloatPow => Some(("**", Binds::Power, Binds::Nothing, Binds::Sign)),
        Op::Shl => Some((" << ", Binds::Bits, Binds::Sum, Binds::Sum)),
        Op::Shr => Some((" >> ", Binds::Bits, Binds::Sum, Binds::Sum)),
        Op::And => Some((" & ", Binds::Bits, Binds::Sum, Binds::Sum)),
        Op::Xor => Some((" ^ ", Binds::Bits, Binds::Sum, Binds::Sum)),
        Op::Or => Some((" | ", Binds::Bits, Binds::Sum, Binds::Sum)),
        Op::Le | Op::FloatLe => comparison(" <= "),
        Op::Lt | Op::FloatLt => comparison(" < "),
        Op::Ge => comparison(" >= "),
        Op::Gt => comparison(" > "),
        Op::Eq | Op::FloatEq => comparison(" == "),
        Op::Ne => comparison(" != "),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_certificate::Sexp;

    fn shown(text: &str) -> String {
        let read = Sexp::read_all(text).expect("an S-expression");
        infix(&Term::read(&read[0]).expect("a term"))
    }

    #[test]
    fn terms_are_written_as_python_reads_them() {
        for (text, expected) in [
            ("(= (% (* h w) 2048) 0)", "(h*w) % 2048 == 0"),
            ("(+ (* 2 x) (* -1 y) (* -3 z) -4)", "2*x - y - 3*z - 4"),
            ("(+ (* -2 x) (- y))", "-2*x + -y"),
            ("(// (* -1 x) (* -1 (** x 2) y))", "(-x) // (-x**2*y)"),
            ("(** (* -1 x) 2)", "(-x)**2"),
            ("(+ x (% (* -2 y) 3))", "x + (-2*y) % 3"),
            ("(- x (- y z))", "x - (y - z)"),
            ("(+ (+ x 1) (* (* x y) z))", "x + 1 + x*y*z"),
            ("(* (// x y) z)", "(x // y)*z"),
            ("(+ x (+ y z))", "x + (y + z)"),
            ("(// (+ -9 x) 2)", "(x - 9) // 2"),
            ("(+ -9 -2)", "-2 - 9"),
            ("(- (- x y) z)", "x - y - z"),
            ("(* (+ x 1) (// x 2))", "(x + 1)*(x // 2)"),
            ("(** (- x) 2)", "(-x)**2"),
            ("(- (** x 2))", "-x**2"),
            ("(** -2 x)", "(-2)**x"),
            ("(not (and (<= x 1) (or (< y 2) (!= z 3))))", "not (x <= 1 and (y < 2 or z != 3))"),
            ("(and)", "true"),
            ("(or)", "false"),
            ("(or (= x 1))", "x == 1"),
            ("(and (and (= x 1) (= y 2)) (and (= z 3) (or)))", "x == 1 and y == 2 and (z == 3 and false)"),
            ("(max x (ite (> y 0) y 1))", "max(x, y if y > 0 else 1)"),
            ("(+ 1 (ite (> y 0) y 1))", "1 + (y if y > 0 else 1)"),
            ("(bitand (<< x 1) (bitor y 3))", "(x << 1) & (y | 3)"),
            ("(floor (float* #3fe0000000000000 (float x)))", "floor(0.5*float(x))"),
            ("(= (bitand x 3) 0)", "(x & 3) == 0"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
