//! Obligations as SMT-LIB 2 text that any solver can check again.
//!
//! The ranges, the assumptions and the negated goal are asserted, so `unsat` means that the goal follows.
//! Quotient and remainder are written by their definition: `a = b*q + r` with `0 <= r < b` or `b < r <= 0`.
use super::facts::Facts;
use rustc_hash::FxHashMap;
use sizewise_expr::escape::is_identifier;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort, Symbol};
use std::fmt::Write;

/// The question whether the facts imply `goal`, with the expected status (`unsat` if it is implied). `None`
/// when something in it has no counterpart (floats, bitwise operations).
pub fn obligation(pool: &mut Pool, facts: &Facts, goal: Expr, status: &str) -> Option<String> {
    let goal = pool.truth(goal);
    let negation = pool.not(goal);
    let mut writer =
        SmtWriter { text: String::new(), names: FxHashMap::default(), quotients: FxHashMap::default() };
    let _ = writeln!(writer.text, "; expected: {status}\n(set-info :status {status})");
    let nonlinear = {
        let mut roots = facts.conditions().to_vec();
        roots.push(goal);
        // A divisor that construction has cancelled has to be there all the same.
        roots.extend_from_slice(facts.nonzero());
        pool.reachable(&roots).into_iter().any(|e| match pool.node(e) {
            Some(Node::Product(_)) => true,
            Some(Node::Call(Func::FloorDiv | Func::Mod, args)) => !pool.is_constant(args[1]),
            _ => false,
        })
    };
    let logic = if nonlinear { "QF_NIA" } else { "QF_LIA" };
    let _ = writeln!(writer.text, "(set-logic {logic})");
    let symbols: Vec<(Symbol, Option<Int>, Option<Int>)> =
        facts.ranges().map(|(s, l, h)| (s, l.cloned(), h.cloned())).collect();
    for (i, (s, low, high)) in symbols.iter().enumerate() {
        let e = pool.symbol_expr(*s);
        let name = quoted(pool.symbol_name(*s), i);
        let sort = match pool.sort(e) {
            Sort::Int => "Int",
            Sort::Bool => "Bool",
            Sort::Float => return None,
        };
        let _ = writeln!(writer.text, "(declare-const {name} {sort})");
        writer.names.insert(e, name.clone());
        if let Some(low) = low {
            let _ = writeln!(writer.text, "(assert (>= {name} {}))", number(low));
        }
        if let Some(high) = high {
            let _ = writeln!(writer.text, "(assert (<= {name} {}))", number(high));
        }
    }
    for divisor in facts.divisors(pool, Some(goal)) {
        let name = writer.term(pool, divisor)?;
        let _ = writeln!(writer.text, "(assert (not (= {name} 0)))");
    }
    for &condition in facts.conditions() {
        let name = writer.term(pool, condition)?;
        let _ = writeln!(writer.text, "(assert {name})");
    }
    let name = writer.term(pool, negation)?;
    let _ = writeln!(writer.text, "; the goal is false\n(assert {name})\n(check-sat)");
    Some(writer.text)
}

fn number(v: &Int) -> String {
    if v.is_negative() { format!("(- {})", v.abs()) } else { v.to_string() }
}

/// Words that SMT-LIB keeps to itself, and what its logics define.
const WORDS: &[&str] = &[
    "BINARY",
    "DECIMAL",
    "HEXADECIMAL",
    "NUMERAL",
    "STRING",
    "_",
    "abs",
    "and",
    "as",
    "assert",
    "distinct",
    "div",
    "exists",
    "exit",
    "false",
    "forall",
    "ite",
    "let",
    "match",
    "mod",
    "not",
    "or",
    "par",
    "pop",
    "push",
    "reset",
    "true",
    "xor",
];

/// The name of the `i`-th symbol in SMT-LIB. A name that is not valid there gets a number, so that names stay
/// distinct.
fn quoted(name: &str, i: usize) -> String {
    if is_identifier(name) && !WORDS.contains(&name) {
        return name.to_string();
    }
    let name: String =
        name.chars().map(|c| if matches!(c, ' '..='~') && !"|\\".contains(c) { c } else { '_' }).collect();
    format!("|{name}!s{i}|")
}

struct SmtWriter {
    text: String,
    names: FxHashMap<Expr, String>,
    /// The names of quotient and remainder.
    quotients: FxHashMap<(Expr, Expr), (String, String)>,
}

impl SmtWriter {
    /// The name of an expression, which is defined together with all it is built of.
    fn term(&mut self, pool: &Pool, root: Expr) -> Option<String> {
        for e in pool.reachable(&[root]) {
            if !self.names.contains_key(&e) {
                let name = self.define(pool, e)?;
                self.names.insert(e, name);
            }
        }
        Some(self.name(root))
    }

    fn name(&self, e: Expr) -> String {
        match e.as_inline() {
            Some(v) => number(&Int::from(v)),
            None => self.names.get(&e).cloned().unwrap_or_else(|| "0".to_string()),
        }
    }

    /// An operand as an integer.
    fn int(&self, pool: &Pool, e: Expr) -> String {
        let name = self.name(e);
        if e.as_inline().is_none() && pool.sort(e) == Sort::Bool { format!("(ite {name} 1 0)") } else { name }
    }

    fn define(&mut self, pool: &Pool, e: Expr) -> Option<String> {
        let body = match pool.node(e) {
            None => return Some(self.name(e)),
            Some(Node::Int(v)) => return Some(number(v)),
            Some(Node::Bool(b)) => return Some(b.to_string()),
            Some(Node::Float(_) | Node::Symbol(_)) => return None,
            Some(Node::Sum { constant, terms }) => {
                let mut text = format!("(+ {}", number(constant));
                for (m, c) in terms {
                    let _ = write!(text, " (* {} {})", number(c), self.int(pool, *m));
                }
                text + ")"
            }
            Some(Node::Product(factors)) => {
                let mut text = "(*".to_string();
                for (atom, power) in factors {
                    let name = self.int(pool, *atom);
                    (0..*power).for_each(|_| {
                        let _ = write!(text, " {name}");
                    });
                }
                text + ")"
            }
            Some(Node::Call(func, args)) => {
                if args.iter().any(|&a| pool.sort(a) == Sort::Float) {
                    return None;
                }
                let all = || args.iter().map(|&a| self.name(a)).collect::<Vec<_>>().join(" ");
                match (func, args.as_slice()) {
                    (Func::FloorDiv, &[a, b]) => return Some(self.quotient(pool, a, b).0),
                    (Func::Mod, &[a, b]) => return Some(self.quotient(pool, a, b).1),
                    (Func::Min | Func::Max, operands) => {
                        let relation = if *func == Func::Min { "<=" } else { ">=" };
                        let mut best = self.int(pool, operands[0]);
                        for (i, &a) in operands.iter().enumerate().skip(1) {
                            let a = self.int(pool, a);
                            let body = format!("(ite ({relation} {best} {a}) {best} {a})");
                            best = self.fresh(&format!("m{}_{i}", e.id()), "Int", &body);
                        }
                        return Some(best);
                    }
                    (Func::Abs, &[a]) => {
                        let a = self.int(pool, a);
                        format!("(ite (>= {a} 0) {a} (- {a}))")
                    }
                    (Func::Ite, &[c, p, q]) => {
                        format!("(ite {} {} {})", self.name(c), self.int(pool, p), self.int(pool, q))
                    }
                    (Func::IsZero, &[p]) => format!("(= {} 0)", self.int(pool, p)),
                    (Func::NotPositive, &[p]) => format!("(<= {} 0)", self.int(pool, p)),
                    (Func::Not, _) => format!("(not {})", all()),
                    (Func::And, _) => format!("(and {})", all()),
                    (Func::Or, _) => format!("(or {})", all()),
                    _ => return None,
                }
            }
        };
        let sort = if pool.sort(e) == Sort::Bool { "Bool" } else { "Int" };
        Some(self.fresh(&format!("e{}", e.id()), sort, &body))
    }

    fn fresh(&mut self, name: &str, sort: &str, body: &str) -> String {
        // No symbol of a program has a name with this sign in it.
        let name = format!("{name}!");
        let _ = writeln!(self.text, "(define-fun {name} () {sort} {body})");
        name
    }

    fn quotient(&mut self, pool: &Pool, a: Expr, b: Expr) -> (String, String) {
        if let Some(known) = self.quotients.get(&(a, b)) {
            return known.clone();
        }
        let i = self.quotients.len();
        let (x, d) = (self.int(pool, a), self.int(pool, b));
        let (q, r) = (format!("q{i}!"), format!("r{i}!"));
        let _ = writeln!(
            self.text,
            "(declare-const {q} Int)\n(declare-const {r} Int)\n(assert (not (= {d} 0)))\n\
             (assert (= {x} (+ (* {d} {q}) {r})))\n\
             (assert (or (and (<= 0 {r}) (< {r} {d})) (and (< {d} {r}) (<= {r} 0))))"
        );
        self.quotients.insert((a, b), (q.clone(), r.clone()));
        (q, r)
    }
}

#[cfg(all(test, feature = "smt"))]
mod tests {
    use super::*;
    use sizewise_expr::read;

    fn status(given: &[&str], goal: &str) -> z3::SatResult {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        let read = |pool: &mut Pool, text: &str| read::closed(pool, text).expect("an expression").expr;
        for text in given {
            let condition = read(&mut pool, text);
            facts.assume(&mut pool, condition);
        }
        let goal = read(&mut pool, goal);
        facts.declare_free(&pool, goal);
        let text = obligation(&mut pool, &facts, goal, "unknown").expect("it has a counterpart");
        let solver = z3::Solver::new();
        solver.from_string(text);
        solver.check()
    }

    #[test]
    fn another_reader_comes_to_the_same_conclusion() {
        use z3::SatResult::{Sat, Unsat};
        assert_eq!(status(&["Eq(Mod(a, 8), 0)"], "Eq(8*(a//8), a)"), Unsat);
        assert_eq!(status(&[], "Eq(8*(a//8), a)"), Sat);
        assert_eq!(status(&["a < b"], "Max(a, b) > Min(a, b)"), Unsat);
        assert_eq!(status(&["a <= b"], "Max(a, b) > Min(a, b)"), Sat);
        assert_eq!(status(&["-7 <= a", "a <= -5"], "Eq(a//3, -3) | Eq(a//3, -2)"), Unsat);
        assert_eq!(status(&["-7 <= a", "a <= -5"], "Eq(a//-3, 2)"), Sat);
        assert_eq!(status(&["Eq(a, b)"], "Eq(a*b*c//(b*b*c), a//b)"), Unsat);
        assert_eq!(status(&["Abs(a) > 3", "a < 2"], "Where(a < 0, -a, a) >= 4"), Unsat);
    }

    #[test]
    fn names_that_smtlib_cannot_write_stay_apart() {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        let names = ["a|b", "a\\b", "let", "mod", "2a", "e1!", "a\n(assert false)", "true"];
        let mut goal = pool.bool(true);
        for (i, name) in names.iter().enumerate() {
            let symbol = pool.symbol(name);
            let value = pool.int(i64::try_from(i).unwrap_or_default());
            let equation = pool.eq(symbol, value);
            facts.assume(&mut pool, equation);
            goal = pool.and(&[goal, equation]);
            facts.declare_free(&pool, equation);
        }
        let text = obligation(&mut pool, &facts, goal, "unsat").expect("it has a counterpart");
        assert!(text.lines().all(|line| line.starts_with(['(', ';'])), "{text}");
        assert_eq!(text.matches("(declare-const").count(), names.len());
        let solver = z3::Solver::new();
        solver.from_string(text.clone());
        assert_eq!(solver.check(), z3::SatResult::Unsat, "{text}");
    }
}
