//! The shortest way to write an expression.
//!
//! Canonical polynomials are multiplied out, but people (and operator counts) prefer `8*(a + 1)*(b + 1)`. A
//! polynomial is written with common factors in front, as a product if it is one, and otherwise split by the
//! atom that saves most.
use super::{quotient, root};
use rustc_hash::FxHashMap;
use sizewise_expr::text::size;
use sizewise_expr::{Expr, Func, Int, Node, Poly, Pool, Sort, print};

/// Polynomials of more terms than this are written as they are.
const MAX_TERMS: usize = 16;
/// How often a polynomial is split.
const MAX_DEPTH: u32 = 4;

/// A way to write an integer.
#[derive(Clone, Debug)]
enum Tree {
    Int(Int),
    /// An atom.
    Atom(Expr),
    Power(Expr, u32),
    /// A power of a sum.
    PowerOfSum(Box<Tree>, u32),
    Product(Vec<Tree>),
    /// Summands; `true` is for one to be subtracted.
    Sum(Vec<(bool, Tree)>),
    /// A dividend and a constant divisor.
    Quotient(Box<Tree>, Int),
    Negated(Box<Tree>),
}

/// Counts the operators of expressions in their shortest form, and writes that form.
#[derive(Debug, Default)]
pub struct Reading {
    operators: FxHashMap<Expr, u32>,
    texts: FxHashMap<Expr, String>,
}

impl Reading {
    /// A reading that has seen nothing.
    pub fn new() -> Reading {
        Reading::default()
    }

    /// The number of operators and calls: one for each binary operator, negation and power, `n - 1` for a
    /// call of `n` operands (1 at least). Numbers and symbols are free.
    pub fn operators(&mut self, pool: &mut Pool, e: Expr) -> u32 {
        for part in pool.reachable(&[e]) {
            if !self.operators.contains_key(&part) {
                let count = self.count(pool, part);
                self.operators.insert(part, count);
            }
        }
        self.known(e)
    }

    /// The shortest text found for an expression, or the text that it was read from if that has fewer operators: reading
    /// multiplies out sums, and their factors are not always found again.
    pub fn text_or(&mut self, pool: &mut Pool, e: Expr, written: Option<&str>) -> String {
        let fewest = self.operators(pool, e);
        let written = written.filter(|text| size::operators(text).is_some_and(|n| n < fewest));
        written.map_or_else(|| self.text(pool, e), |text| text.trim().to_owned())
    }

    fn known(&self, e: Expr) -> u32 {
        self.operators.get(&e).copied().unwrap_or(0)
    }

    fn count(&mut self, pool: &mut Pool, e: Expr) -> u32 {
        match pool.node(e) {
            Some(Node::Sum { .. } | Node::Product(_)) => {
                let poly = pool.poly(e);
                self.shortest(pool, &poly, MAX_DEPTH).1
            }
            Some(Node::Call(func, args)) => {
                let (func, args) = (*func, args.clone());
                let inner = args.iter().fold(0u32, |sum, a| sum.saturating_add(self.known(*a)));
                match func {
                    Func::IsZero | Func::NotPositive => {
                        let poly = pool.poly(args[0]);
                        let (left, right) = sides(&poly);
                        let left = self.shortest(pool, &left, MAX_DEPTH).1;
                        let right = self.shortest(pool, &right, MAX_DEPTH).1;
                        left.saturating_add(right).saturating_add(1)
                    }
                    Func::FloorDiv if pool.as_int(args[1]).is_some_and(|d| !d.is_zero()) => {
                        self.quotient_of(pool, &args).map_or(u32::MAX, |found| found.1)
                    }
                    // `Ne` is one operator.
                    Func::Not if pool.as_func(args[0], Func::IsZero).is_some() => inner,
                    _ => inner.saturating_add((args.len() as u32).saturating_sub(1).max(1)),
                }
            }
            _ => 0,
        }
    }

    /// The shortest tree found for a polynomial, and its number of operators.
    fn shortest(&self, pool: &mut Pool, poly: &Poly, depth: u32) -> (Tree, u32) {
        let mut best = self.plain(pool, poly);
        pool.note_work(poly.terms.len());
        if depth == 0
            || poly.terms.len() > MAX_TERMS
            || poly.terms.len() + usize::from(!poly.constant.is_zero()) < 2
        {
            return best;
        }
        let consider = |candidate: (Tree, u32), best: &mut (Tree, u32)| {
            if candidate.1 < best.1 {
                *best = candidate;
            }
        };
        if let Some(found) = self.single_quotient(pool, poly, depth) {
            consider(found, &mut best);
        }
        let content = poly.content().gcd(&poly.constant);
        if !content.is_one() && !content.is_zero() {
            for content in [content.clone(), -content] {
                if let Some(inner) = poly.exact_quotient(&content) {
                    let inner = self.shortest(pool, &inner, depth - 1);
                    consider((product(Tree::Int(content), inner.0), inner.1.saturating_add(1)), &mut best);
                }
            }
            return best;
        }
        if let Some((base, power)) = root::power_of_sum(pool, poly) {
            let base = self.shortest(pool, &base, depth - 1);
            consider((Tree::PowerOfSum(Box::new(base.0), power), base.1.saturating_add(1)), &mut best);
        }
        let content = poly.content();
        if !content.is_one() && !poly.constant.is_zero() && poly.terms.len() > 1 {
            // c*(x + y) + k, with either sign of c.
            let terms = Poly { constant: Int::ZERO, terms: poly.terms.clone() };
            for content in [content.clone(), -content] {
                let Some(inner) = terms.exact_quotient(&content) else { continue };
                let inner = self.shortest(pool, &inner, depth - 1);
                let constant = (poly.constant.is_negative(), Tree::Int(poly.constant.abs()));
                let head = (false, product(Tree::Int(content), inner.0));
                consider((Tree::Sum(vec![head, constant]), inner.1.saturating_add(2)), &mut best);
            }
        }
        for atom in repeated_atoms(pool, poly) {
            let atom_poly = pool.poly(atom);
            let (factor, rest) = quotient::split(pool, poly, &atom_poly);
            let cofactor = pool.poly(factor);
            let with = self.shortest(pool, &cofactor, depth - 1);
            let head = (
                product(Tree::Atom(atom), with.0),
                with.1.saturating_add(self.known(atom)).saturating_add(u32::from(factor != Expr::ONE)),
            );
            if rest.is_zero() {
                consider(head, &mut best);
                return best;
            }
            let rest_form = self.shortest(pool, &rest, depth - 1);
            consider(
                (
                    Tree::Sum(vec![(false, head.0), (false, rest_form.0)]),
                    head.1.saturating_add(rest_form.1).saturating_add(1),
                ),
                &mut best,
            );
            // x*Q + k*Q is (x + k)*Q.
            let content = cofactor.content().gcd(&cofactor.constant);
            if let Some(primitive) = cofactor.exact_quotient(&content)
                && primitive.terms.len() + usize::from(!primitive.constant.is_zero()) > 1
                && let Some(other) = pool.exact_division(poly, &primitive)
            {
                let (a, b) =
                    (self.shortest(pool, &primitive, depth - 1), self.shortest(pool, &other, depth - 1));
                consider((product(a.0, b.0), a.1.saturating_add(b.1).saturating_add(1)), &mut best);
            }
        }
        best
    }

    /// A sum that is written shorter with its constant inside one of its quotients: `p//d + k` as `(p + k*d)//d`.
    fn single_quotient(&self, pool: &mut Pool, poly: &Poly, depth: u32) -> Option<(Tree, u32)> {
        if poly.constant.is_zero() {
            return None;
        }
        let mut best: Option<(Tree, u32)> = None;
        for (i, (monomial, c)) in poly.terms.iter().enumerate() {
            let Some(&[a, b]) = pool.as_func(*monomial, Func::FloorDiv) else { continue };
            let Some(d) = pool.as_int(b).filter(|d| c.is_one() && !d.is_zero()) else { continue };
            let mut dividend = pool.poly(a);
            dividend.constant = &dividend.constant + &(&d * &poly.constant);
            let mut found = self.quotient(pool, &dividend, &d, (depth - 1).min(1));
            // It has to read back to the sum.
            let whole = pool.from_poly(&dividend);
            let (whole, constant) = (pool.floor_div(whole, b), pool.int(poly.constant.clone()));
            if whole != pool.add(*monomial, constant) {
                continue;
            }
            let mut rest = Poly { constant: Int::ZERO, terms: poly.terms.clone() };
            rest.terms.remove(i);
            if !rest.is_zero() {
                let beside = self.shortest(pool, &rest, depth - 1);
                let operators = found.1.saturating_add(beside.1).saturating_add(1);
                found = (Tree::Sum(vec![(false, beside.0), (false, found.0)]), operators);
            }
            if best.as_ref().is_none_or(|b| found.1 < b.1) {
                best = Some(found);
            }
        }
        best
    }

    /// The shortest way to write a quotient by a constant, whose sign may change with that of the dividend.
    fn quotient(&self, pool: &mut Pool, dividend: &Poly, divisor: &Int, depth: u32) -> (Tree, u32) {
        let (tree, operators) = self.shortest(pool, dividend, depth);
        let (opposite, fewer) = self.shortest(pool, &dividend.scaled(&Int::from(-1)), depth);
        match fewer < operators {
            true => (Tree::Quotient(Box::new(opposite), -divisor), fewer.saturating_add(1)),
            false => (Tree::Quotient(Box::new(tree), divisor.clone()), operators.saturating_add(1)),
        }
    }

    /// [`Reading::quotient`] of the operands of a call; none where the divisor is no constant or zero.
    fn quotient_of(&self, pool: &mut Pool, args: &[Expr]) -> Option<(Tree, u32)> {
        let divisor = pool.as_int(args[1]).filter(|d| !d.is_zero())?;
        let dividend = pool.poly(args[0]);
        Some(self.quotient(pool, &dividend, &divisor, MAX_DEPTH))
    }

    /// Term by term.
    fn plain(&self, pool: &Pool, poly: &Poly) -> (Tree, u32) {
        let mut summands: Vec<(bool, Tree)> = Vec::new();
        let mut operators = 0u32;
        for (monomial, c) in &poly.terms {
            let mut factors: Vec<Tree> = Vec::new();
            if c.abs() != Int::ONE {
                factors.push(Tree::Int(c.abs()));
            }
            for (atom, power) in pool.monomial(*monomial) {
                operators = operators.saturating_add(self.known(atom));
                if power > 1 {
                    operators = operators.saturating_add(1);
                    factors.push(Tree::Power(atom, power));
                } else {
                    factors.push(Tree::Atom(atom));
                }
            }
            operators = operators.saturating_add(factors.len() as u32 - 1);
            summands.push((c.is_negative(), one_or(factors, Tree::Product)));
        }
        if !poly.constant.is_zero() || summands.is_empty() {
            summands.push((poly.constant.is_negative(), Tree::Int(poly.constant.abs())));
        }
        operators = operators.saturating_add(summands.len() as u32 - 1);
        // A positive summand leads, so that no sign has to.
        let free = |tree: &Tree| match tree {
            Tree::Product(factors) => matches!(factors[0], Tree::Int(_)),
            tree => matches!(tree, Tree::Int(_)),
        };
        let lead = summands
            .iter()
            .position(|(negative, _)| !negative)
            .or_else(|| summands.iter().position(|(_, tree)| free(tree)))
            .unwrap_or(0);
        let leading = summands.remove(lead);
        let leading = match leading {
            (true, Tree::Int(value)) => Tree::Int(-value),
            (true, Tree::Product(mut factors)) if matches!(factors[0], Tree::Int(_)) => {
                if let Tree::Int(value) = &factors[0] {
                    factors[0] = Tree::Int(-value);
                }
                Tree::Product(factors)
            }
            (true, tree) => {
                operators = operators.saturating_add(1);
                Tree::Negated(Box::new(tree))
            }
            (false, tree) => tree,
        };
        if summands.is_empty() {
            return (leading, operators);
        }
        summands.insert(0, (false, leading));
        (Tree::Sum(summands), operators)
    }

    /// The shortest form as text that reads back to an equal expression.
    pub fn text(&mut self, pool: &mut Pool, e: Expr) -> String {
        self.operators(pool, e);
        for part in pool.reachable(&[e]) {
            if self.texts.contains_key(&part) {
                continue;
            }
            let text = self.write(pool, part);
            self.texts.insert(part, text);
        }
        self.text_of(pool, e)
    }

    fn text_of(&self, pool: &Pool, e: Expr) -> String {
        self.texts.get(&e).cloned().unwrap_or_else(|| print::expression(pool, e))
    }

    fn write(&self, pool: &mut Pool, e: Expr) -> String {
        match pool.node(e) {
            Some(Node::Sum { .. } | Node::Product(_)) => {
                let poly = pool.poly(e);
                let tree = self.shortest(pool, &poly, MAX_DEPTH).0;
                self.tree_text(pool, &tree, 0)
            }
            Some(Node::Call(func, args)) if !args.iter().any(|&a| pool.sort(a) == Sort::Float) => {
                let (func, args) = (*func, args.to_vec());
                self.call_text(pool, func, &args).unwrap_or_else(|| print::expression(pool, e))
            }
            _ => print::expression(pool, e),
        }
    }

    fn call_text(&self, pool: &mut Pool, func: Func, args: &[Expr]) -> Option<String> {
        let texts: Vec<String> = args.iter().map(|&a| self.text_of(pool, a)).collect();
        let list = texts.join(", ");
        Some(match (func, args) {
            (Func::FloorDiv, &[_, d]) if pool.as_int(d).is_some_and(|d| !d.is_zero()) => {
                let (tree, _) = self.quotient_of(pool, args)?;
                self.tree_text(pool, &tree, 0)
            }
            (Func::FloorDiv, _) => format!("({}//{})", self.tight(pool, args[0]), self.tight(pool, args[1])),
            (Func::Mod, _) => format!("Mod({list})"),
            (Func::Min, _) => format!("Min({list})"),
            (Func::Max, _) => format!("Max({list})"),
            (Func::Abs, _) => format!("Abs({list})"),
            (Func::Ite, _) => format!("Where({list})"),
            (Func::And | Func::Or, _) => {
                let operator = if func == Func::And { " & " } else { " | " };
                texts.iter().map(|t| format!("({t})")).collect::<Vec<_>>().join(operator)
            }
            (Func::IsZero | Func::NotPositive, &[p]) => {
                let poly = pool.poly(p);
                let (left, right) = sides(&poly);
                let (left, right) =
                    (self.shortest(pool, &left, MAX_DEPTH).0, self.shortest(pool, &right, MAX_DEPTH).0);
                let (left, right) = (self.tree_text(pool, &left, 0), self.tree_text(pool, &right, 0));
                if func == Func::IsZero {
                    format!("Eq({left}, {right})")
                } else {
                    format!("{left} <= {right}")
                }
            }
            (Func::Not, &[inner]) => match pool.as_func(inner, Func::IsZero) {
                Some(_) => texts[0].replacen("Eq(", "Ne(", 1),
                None => format!("~({list})"),
            },
            _ => return None,
        })
    }

    /// The text of an operand of `//`.
    fn tight(&self, pool: &Pool, e: Expr) -> String {
        let text = self.text_of(pool, e);
        match pool.node(e) {
            Some(Node::Sum { .. } | Node::Product(_)) => format!("({text})"),
            _ => text,
        }
    }

    /// The text of a tree, in brackets if it binds less tightly than `least` (0 a sum, 1 a product, 2 a
    /// power's base).
    fn tree_text(&self, pool: &Pool, tree: &Tree, least: u8) -> String {
        let (text, binding) = match tree {
            Tree::Int(value) => (value.to_string(), if value.is_negative() { 0 } else { 3 }),
            Tree::Atom(e) => (self.text_of(pool, *e), 3),
            Tree::Power(e, power) => (format!("{}**{power}", self.text_of(pool, *e)), 2),
            Tree::PowerOfSum(base, power) => (format!("({})**{power}", self.tree_text(pool, base, 0)), 2),
            Tree::Product(factors) => {
                let texts = factors.iter().enumerate().map(|(i, f)| match f {
                    Tree::Int(value) if i == 0 => value.to_string(),
                    _ => self.tree_text(pool, f, 1),
                });
                (texts.collect::<Vec<_>>().join("*"), 1)
            }
            Tree::Quotient(dividend, divisor) => {
                (format!("({}//{divisor})", self.tree_text(pool, dividend, 2)), 3)
            }
            Tree::Negated(inner) => (format!("-{}", self.tree_text(pool, inner, 1)), 0),
            Tree::Sum(summands) => {
                let mut text = String::new();
                for (i, (negative, summand)) in summands.iter().enumerate() {
                    text.push_str(match (i, negative) {
                        (0, false) => "",
                        (0, true) => "-",
                        (_, false) => " + ",
                        (_, true) => " - ",
                    });
                    text.push_str(&self.tree_text(pool, summand, u8::from(i > 0 || *negative)));
                }
                (text, 0)
            }
        };
        if binding < least { format!("({text})") } else { text }
    }
}

/// The one tree, or several put together.
fn one_or(mut trees: Vec<Tree>, join: fn(Vec<Tree>) -> Tree) -> Tree {
    if trees.len() == 1 { trees.remove(0) } else { join(trees) }
}

fn product(a: Tree, b: Tree) -> Tree {
    match (a, b) {
        (Tree::Int(one), tree) | (tree, Tree::Int(one)) if one.is_one() => tree,
        (Tree::Product(mut x), Tree::Product(y)) => {
            x.extend(y);
            Tree::Product(x)
        }
        (
            Tree::Product(mut x),
            y @ (Tree::Atom(_) | Tree::Power(..) | Tree::PowerOfSum(..) | Tree::Sum(_)),
        ) => {
            x.push(y);
            Tree::Product(x)
        }
        (x, Tree::Product(mut y)) => {
            y.insert(0, x);
            Tree::Product(y)
        }
        (x, y) => Tree::Product(vec![x, y]),
    }
}

/// The atoms that occur in several terms.
fn repeated_atoms(pool: &Pool, poly: &Poly) -> Vec<Expr> {
    let mut seen: Vec<(Expr, u32)> = Vec::new();
    for (monomial, _) in &poly.terms {
        for (atom, _) in pool.monomial(*monomial) {
            match seen.iter_mut().find(|(a, _)| *a == atom) {
                Some((_, count)) => *count += 1,
                None => seen.push((atom, 1)),
            }
        }
    }
    seen.into_iter().filter(|(_, count)| *count > 1).map(|(atom, _)| atom).collect()
}

/// `(l, r)` without negative coefficients such that `p` is `l - r`.
fn sides(poly: &Poly) -> (Poly, Poly) {
    let (mut left, mut right) = (Poly::default(), Poly::default());
    for (monomial, c) in &poly.terms {
        if c.is_negative() {
            right.terms.push((*monomial, c.abs()));
        } else {
            left.terms.push((*monomial, c.clone()));
        }
    }
    // The constant goes where it saves a sign, else to the right.
    if poly.constant.is_negative() || right.terms.is_empty() {
        right.constant = -&poly.constant;
    } else {
        left.constant = poly.constant.clone();
    }
    (left, right)
}
