//! Matching of left sides against the expressions of an e-graph, modulo the canonical form of sums and products.
//!
//! A linear form is matched without trying all arrangements. Its calls are looked up among the atoms of the
//! polynomial, terms with bound variables are subtracted, a product with one unbound variable is matched by
//! division, and the last unbound variable takes the rest.
use super::classes::Classes;
use super::form::{Form, LawTerm, Linear};
use super::pattern::Bindings;
use super::quotient;
use sizewise_expr::{Expr, Func, Int, Poly, Pool, Sort};
use smallvec::SmallVec;

/// Ways to match found so far.
pub(super) type FoundWays = SmallVec<[Bindings; 2]>;

/// The most members of a class that are looked at.
const MAX_MEMBERS: usize = 6;
/// The most terms of a polynomial that a linear form is matched against.
const MAX_TERMS: usize = 12;
/// The most ways to match at one place.
const MAX_FOUND: usize = 24;

pub(super) struct Matcher<'a> {
    pub pool: &'a mut Pool,
    pub classes: &'a Classes,
    /// Counts down with each attempt; at 0 nothing matches any more.
    pub steps: u32,
}

impl Matcher<'_> {
    /// The ways in which `form` matches any member of the class of `e`.
    pub fn class(&mut self, form: &Form, e: Expr, bindings: &Bindings) -> FoundWays {
        if let Form::Var(v) = form {
            return self.bind(*v, e, bindings).into_iter().collect();
        }
        let classes = self.classes;
        let mut found = FoundWays::new();
        match classes.shapes(e) {
            Some(members) => {
                for &member in members.iter().take(MAX_MEMBERS) {
                    if self.may_match(form, member) {
                        found.extend(self.node(form, member, bindings));
                    }
                }
            }
            None if self.may_match(form, e) => found = self.node(form, e, bindings),
            None => {}
        }
        found.truncate(MAX_FOUND);
        found
    }

    /// Whether the outermost operation fits.
    fn may_match(&self, form: &Form, e: Expr) -> bool {
        match form {
            Form::Call(Func::Not, _) => self.pool.sort(e) == Sort::Bool,
            Form::Call(func, _) | Form::Compare(func, _) => {
                self.pool.as_call(e).is_some_and(|(f, _)| f == *func)
            }
            Form::Linear(_) => self.pool.sort(e) == Sort::Int,
            Form::Var(_) | Form::Bool => true,
        }
    }

    /// The ways in which `form` matches `e` itself.
    pub fn node(&mut self, form: &Form, e: Expr, bindings: &Bindings) -> FoundWays {
        let Some(left) = self.steps.checked_sub(1) else { return FoundWays::new() };
        self.steps = left;
        match form {
            Form::Var(v) => self.bind(*v, e, bindings).into_iter().collect(),
            // A canonical expression has no truth value among its operands.
            Form::Bool => FoundWays::new(),
            Form::Linear(linear) => match self.pool.sort(e) {
                Sort::Int => {
                    let poly = self.pool.poly(e);
                    self.linear(linear, &poly, bindings)
                }
                _ => FoundWays::new(),
            },
            Form::Compare(func, linear) => {
                let Some(&[p]) = self.pool.as_func(e, *func) else { return FoundWays::new() };
                let classes = self.classes;
                let itself = [p];
                let members = classes.shapes(p).unwrap_or(&itself);
                let mut found = FoundWays::new();
                for &member in members.iter().take(MAX_MEMBERS) {
                    let poly = self.pool.poly(member);
                    found.extend(self.linear(linear, &poly, bindings));
                    if *func == Func::IsZero {
                        found.extend(self.linear(linear, &poly.scaled(&Int::from(-1)), bindings));
                    }
                }
                found.truncate(MAX_FOUND);
                found
            }
            Form::Call(Func::Not, forms) => {
                // Construction pushes negation inwards, so the complement is matched.
                let (Sort::Bool, [form]) = (self.pool.sort(e), forms.as_slice()) else {
                    return FoundWays::new();
                };
                let complement = self.pool.not(e);
                self.class(form, complement, bindings)
            }
            Form::Call(func, forms) => {
                let Some(args) = self.pool.as_func(e, *func) else { return FoundWays::new() };
                let args: SmallVec<[Expr; 4]> = args.iter().copied().collect();
                match func {
                    Func::Min | Func::Max | Func::And | Func::Or => self
                        .operands(*func, forms, &args, false, bindings)
                        .into_iter()
                        .map(|(bindings, _)| bindings)
                        .collect(),
                    _ => self.in_order(forms, &args, bindings),
                }
            }
        }
    }

    /// Matches some operands of an associative and commutative call; the operands left over come with each match.
    pub fn partly(&mut self, form: &Form, e: Expr, bindings: &Bindings) -> Vec<(Bindings, Rest)> {
        if let Form::Call(func @ (Func::Min | Func::Max | Func::And | Func::Or), forms) = form
            && let Some(args) = self.pool.as_func(e, *func)
        {
            let args: SmallVec<[Expr; 4]> = args.iter().copied().collect();
            return self.operands(*func, forms, &args, true, bindings);
        }
        self.node(form, e, bindings).into_iter().map(|b| (b, Rest::new())).collect()
    }

    fn bind(&mut self, variable: usize, e: Expr, bindings: &Bindings) -> Option<Bindings> {
        match bindings.get(variable)? {
            Some(known) => self.classes.same(*known, e).then(|| bindings.clone()),
            None => {
                let mut bindings = bindings.clone();
                bindings[variable] = Some(e);
                Some(bindings)
            }
        }
    }

    /// Operands in their order; the last one first, as a divisor says most about its dividend.
    fn in_order(&mut self, forms: &[Form], args: &[Expr], bindings: &Bindings) -> FoundWays {
        if forms.len() != args.len() {
            return FoundWays::new();
        }
        let mut found = FoundWays::from_iter([bindings.clone()]);
        for (form, &arg) in forms.iter().zip(args).rev() {
            let mut next = FoundWays::new();
            for b in &found {
                next.extend(self.class(form, arg, b));
            }
            next.truncate(MAX_FOUND);
            found = next;
        }
        found
    }

    /// Operands in any order: calls first, then bound variables, then unbound variables, of which the last
    /// takes all the rest.
    fn operands(
        &mut self,
        func: Func,
        forms: &[Form],
        args: &[Expr],
        leave_rest: bool,
        bindings: &Bindings,
    ) -> Vec<(Bindings, Rest)> {
        if args.len() < forms.len() || args.len() > MAX_TERMS {
            return Vec::new();
        }
        let mut order: SmallVec<[&Form; 4]> = forms.iter().collect();
        let rank = |f: &&Form| match f {
            Form::Var(v) if bindings.get(*v).is_some_and(Option::is_some) => 0,
            Form::Var(_) => 2,
            _ => 1,
        };
        order.sort_by_key(rank);
        let mut found: Vec<(Bindings, Rest)> = vec![(bindings.clone(), args.iter().copied().collect())];
        for (i, form) in order.iter().enumerate() {
            let last = i + 1 == order.len();
            let mut next = Vec::new();
            for (b, rest) in &found {
                if last && let Form::Var(v) = form {
                    // Also where the rest could be left over: the match of all operands says most.
                    let all = if rest.len() == 1 { rest[0] } else { self.pool.call(func, rest) };
                    if let Some(b) = self.bind(*v, all, b) {
                        next.push((b, Rest::new()));
                    }
                    continue;
                }
                for (j, &arg) in rest.iter().enumerate() {
                    for b in self.class(form, arg, b) {
                        let mut rest = rest.clone();
                        rest.remove(j);
                        next.push((b, rest));
                    }
                }
            }
            next.truncate(MAX_FOUND);
            found = next;
        }
        found.retain(|(_, rest)| leave_rest || rest.is_empty());
        found
    }

    fn linear(&mut self, linear: &Linear, poly: &Poly, bindings: &Bindings) -> FoundWays {
        if poly.terms.len() > MAX_TERMS {
            return FoundWays::new();
        }
        let mut rest = poly.clone();
        rest.constant = &rest.constant - &linear.constant;
        let terms: SmallVec<[&LawTerm; 4]> = linear.terms.iter().collect();
        let mut found = FoundWays::new();
        self.terms(&terms, rest, bindings, &mut found);
        found
    }

    /// Matches `Σ terms` with `poly`.
    fn terms(&mut self, terms: &[&LawTerm], poly: Poly, bindings: &Bindings, found: &mut FoundWays) {
        let Some(left) = self.steps.checked_sub(1) else { return };
        self.steps = left;
        if found.len() >= MAX_FOUND {
            return;
        }
        if terms.is_empty() {
            if poly.is_zero() {
                found.push(bindings.clone());
            }
            return;
        }
        let open = |t: &LawTerm| t.variables.iter().filter(|v| bindings[**v].is_none()).count();
        let without = |i: usize| {
            let mut others: SmallVec<[&LawTerm; 4]> = terms.iter().copied().collect();
            others.remove(i);
            others
        };
        if let Some(i) = terms.iter().position(|t| !t.calls.is_empty()) {
            return self.term_with_call(terms[i], &without(i), &poly, bindings, found);
        }
        if let Some(i) = terms.iter().position(|t| open(t) == 0) {
            let product = self.product(&terms[i].variables, bindings, &terms[i].coefficient);
            if let Some(rest) = subtract(&poly, &product) {
                self.terms(&without(i), rest, bindings, found);
            }
            return;
        }
        if let Some(i) = terms.iter().position(|t| open(t) == 1 && t.variables.len() > 1) {
            return self.term_with_quotient(terms[i], &without(i), &poly, bindings, found);
        }
        if let Some(i) = terms.iter().position(|t| t.variables.len() > 1) {
            let others = without(i);
            let simple = |t: &&LawTerm| t.variables.len() == 1 && t.calls.is_empty();
            let same = terms[i].variables.iter().all(|v| *v == terms[i].variables[0]);
            if others.len() <= 1 && others.iter().all(simple) && !same {
                self.common_factor(terms[i], &others, &poly, bindings, found);
            }
            return;
        }
        // Single open variables remain.
        let (first, others) = (terms[0], without(0));
        let variable = first.variables[0];
        if others.is_empty() {
            return self.bind_poly(
                variable,
                &poly,
                &first.coefficient,
                &others,
                &Poly::default(),
                bindings,
                found,
            );
        }
        for i in 0..poly.terms.len() {
            let mut rest = poly.clone();
            let taken = rest.terms.remove(i);
            let part = Poly { constant: Int::ZERO, terms: [taken].into_iter().collect() };
            self.bind_poly(variable, &part, &first.coefficient, &others, &rest, bindings, found);
        }
        if !poly.constant.is_zero() {
            let mut rest = poly.clone();
            rest.constant = Int::ZERO;
            let part = Poly::constant(poly.constant.clone());
            self.bind_poly(variable, &part, &first.coefficient, &others, &rest, bindings, found);
        }
    }

    /// Binds `variable` to `part / coefficient` and goes on with the other terms.
    #[allow(clippy::too_many_arguments)]
    fn bind_poly(
        &mut self,
        variable: usize,
        part: &Poly,
        coefficient: &Int,
        others: &[&LawTerm],
        rest: &Poly,
        bindings: &Bindings,
        found: &mut FoundWays,
    ) {
        let Some(value) = part.exact_quotient(coefficient) else { return };
        let value = self.pool.from_poly(&value);
        if let Some(bindings) = self.bind(variable, value, bindings) {
            self.terms(others, rest.clone(), &bindings, found);
        }
    }

    /// A term with a call: each atom of the polynomial may be the call. One unbound variable beside it takes
    /// the atom's cofactor.
    fn term_with_call(
        &mut self,
        term: &LawTerm,
        others: &[&LawTerm],
        poly: &Poly,
        bindings: &Bindings,
        found: &mut FoundWays,
    ) {
        let (form, _) = &term.calls[0];
        let mut atoms: SmallVec<[Expr; 8]> = SmallVec::new();
        for (monomial, _) in &poly.terms {
            for (atom, _) in self.pool.monomial(*monomial) {
                if !atoms.contains(&atom) {
                    atoms.push(atom);
                }
            }
        }
        for atom in atoms {
            for b in self.class(form, atom, bindings) {
                let mut factors: SmallVec<[Expr; 4]> = SmallVec::from_iter([atom]);
                let more = term.calls[1..].iter().map(|(_, p)| p.instantiate(self.pool, &b));
                let Some(more) = more.collect::<Option<SmallVec<[Expr; 2]>>>() else { continue };
                factors.extend(more);
                let mut open = None;
                let mut settled = true;
                for &v in &term.variables {
                    match b[v] {
                        Some(e) => factors.push(e),
                        None if open.is_none() => open = Some(v),
                        None => settled = false,
                    }
                }
                if !settled {
                    continue;
                }
                let divisor = self.pool.product(factors);
                let coefficient = self.pool.int(term.coefficient.clone());
                let divisor = self.pool.mul(divisor, coefficient);
                match open {
                    None => {
                        let instance = self.pool.poly(divisor);
                        if let Some(rest) = subtract(poly, &instance) {
                            self.terms(others, rest, &b, found);
                        }
                    }
                    Some(v) => self.take_quotient(v, divisor, others, poly, &b, found),
                }
            }
        }
    }

    fn term_with_quotient(
        &mut self,
        term: &LawTerm,
        others: &[&LawTerm],
        poly: &Poly,
        bindings: &Bindings,
        found: &mut FoundWays,
    ) {
        let mut known: SmallVec<[usize; 4]> = SmallVec::new();
        let mut open = None;
        for &v in &term.variables {
            match bindings[v] {
                Some(_) => known.push(v),
                None => open = Some(v),
            }
        }
        let Some(open) = open else { return };
        let divisor = self.product(&known, bindings, &term.coefficient);
        let divisor = self.pool.from_poly(&divisor);
        self.take_quotient(open, divisor, others, poly, bindings, found);
    }

    /// Binds a variable to all that `divisor` divides in `poly`, and goes on with the rest.
    fn take_quotient(
        &mut self,
        variable: usize,
        divisor: Expr,
        others: &[&LawTerm],
        poly: &Poly,
        bindings: &Bindings,
        found: &mut FoundWays,
    ) {
        let divisor = self.pool.poly(divisor);
        if divisor.is_zero() {
            return;
        }
        let (quotient, rest) = quotient::split(self.pool, poly, &divisor);
        if quotient == Expr::ZERO {
            return;
        }
        if let Some(bindings) = self.bind(variable, quotient, bindings) {
            self.terms(others, rest, &bindings, found);
        }
    }

    /// `k·a·c` with `a` and `c` unbound: one of them is the content, or an atom that all terms but the
    /// constant have. At most one other unbound variable takes the rest.
    fn common_factor(
        &mut self,
        term: &LawTerm,
        others: &[&LawTerm],
        poly: &Poly,
        bindings: &Bindings,
        found: &mut FoundWays,
    ) {
        let [a, c] = term.variables.as_slice() else { return };
        let Some((first, _)) = poly.terms.first() else { return };
        let mut factors: SmallVec<[Expr; 4]> =
            self.pool.monomial(*first).into_iter().map(|(atom, _)| atom).collect();
        let content = poly.content();
        if !content.is_one() && others.is_empty() && poly.constant.is_multiple_of(&content) {
            factors.push(self.pool.int(content));
        }
        for factor in factors {
            let divisor = self.pool.int(term.coefficient.clone());
            let divisor = self.pool.mul(factor, divisor);
            let divisor = self.pool.poly(divisor);
            let (quotient, rest) = quotient::split(self.pool, poly, &divisor);
            if !rest.terms.is_empty() || quotient == Expr::ONE {
                continue;
            }
            for (x, y) in [(quotient, factor), (factor, quotient)] {
                if let Some(b) = self.bind(*a, x, bindings)
                    && let Some(b) = self.bind(*c, y, &b)
                {
                    self.terms(others, rest.clone(), &b, found);
                }
            }
        }
    }

    fn product(&mut self, variables: &[usize], bindings: &Bindings, coefficient: &Int) -> Poly {
        let coefficient = self.pool.int(coefficient.clone());
        let factors = variables.iter().filter_map(|v| bindings[*v]);
        let product = factors.fold(coefficient, |product, e| self.pool.mul(product, e));
        self.pool.poly(product)
    }
}

/// Operands that a match leaves over.
pub(super) type Rest = SmallVec<[Expr; 4]>;

/// `poly - part`, when every term of `part` cancels against one of `poly`.
fn subtract(poly: &Poly, part: &Poly) -> Option<Poly> {
    let rest = poly.add_scaled(part, &Int::from(-1));
    (rest.terms.len() + part.terms.len() == poly.terms.len()).then_some(rest)
}
