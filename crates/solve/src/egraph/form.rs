//! The left side of a rule in the shape that canonical expressions have, for matching.
//!
//! Sums and products become linear forms over calls and variables, and a comparison becomes the comparison of
//! one linear form with zero, exactly as [`sizewise_expr`] builds them.
use super::classes::bit;
use super::pattern::{Operation, Pattern};
use sizewise_expr::{Func, Int};

/// A left side, or a part of one.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// A variable.
    Var(usize),
    /// A truth value.
    Bool,
    /// A call whose operands match.
    Call(Func, Vec<Form>),
    /// A comparison with zero.
    Compare(Func, Linear),
    /// An integer of this polynomial shape.
    Linear(Linear),
}

/// `constant + Σ term`.
#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    pub constant: Int,
    pub terms: Vec<LawTerm>,
}

/// `coefficient · Π variable · Π call`.
#[derive(Clone, Debug)]
pub(super) struct LawTerm {
    pub coefficient: Int,
    /// With repetition.
    pub variables: Vec<usize>,
    pub calls: Vec<(Form, Pattern)>,
}

impl Form {
    /// The shape of a term.
    pub fn of(pattern: &Pattern) -> Form {
        let forms = |args: &[Pattern]| args.iter().map(Form::of).collect::<Vec<Form>>();
        let (op, args) = match pattern {
            Pattern::Var(v) => return Form::Var(*v),
            Pattern::Bool(_) => return Form::Bool,
            Pattern::Int(_) => return Form::Linear(Linear::of(pattern)),
            Pattern::Call(op, args) => (*op, args.as_slice()),
        };
        // a <= b is a - b <= 0; a < b is a - b + 1 <= 0.
        let difference = |a: &Pattern, b: &Pattern, plus: i64| {
            let mut linear = Linear::of(a).plus(Linear::of(b).times(&Linear::constant(Int::from(-1))));
            linear.constant = &linear.constant + &Int::from(plus);
            linear
        };
        match (op, args) {
            (Operation::Add | Operation::Sub | Operation::Mul, _) => Form::Linear(Linear::of(pattern)),
            (Operation::Eq, [a, b]) => Form::Compare(Func::IsZero, difference(a, b, 0)),
            (Operation::Ne, [a, b]) => {
                Form::Call(Func::Not, vec![Form::Compare(Func::IsZero, difference(a, b, 0))])
            }
            (Operation::Le, [a, b]) | (Operation::Ge, [b, a]) => {
                Form::Compare(Func::NotPositive, difference(a, b, 0))
            }
            (Operation::Lt, [a, b]) | (Operation::Gt, [b, a]) => {
                Form::Compare(Func::NotPositive, difference(a, b, 1))
            }
            (Operation::FloorDiv, _) => Form::Call(Func::FloorDiv, forms(args)),
            (Operation::Mod, _) => Form::Call(Func::Mod, forms(args)),
            (Operation::Min, _) => Form::Call(Func::Min, forms(args)),
            (Operation::Max, _) => Form::Call(Func::Max, forms(args)),
            (Operation::Abs, _) => Form::Call(Func::Abs, forms(args)),
            (Operation::Ite, _) => Form::Call(Func::Ite, forms(args)),
            (Operation::And, _) => Form::Call(Func::And, forms(args)),
            (Operation::Or, _) => Form::Call(Func::Or, forms(args)),
            _ => Form::Call(Func::Not, forms(args)),
        }
    }

    /// The function of the expressions at which a match of this form can be rooted. For a linear form, it is
    /// that of its first call.
    pub fn trigger(&self) -> Option<Func> {
        match self {
            Form::Var(_) | Form::Bool => None,
            Form::Call(func, _) | Form::Compare(func, _) => Some(*func),
            Form::Linear(linear) => linear.calls().next().and_then(|(form, _)| form.trigger()),
        }
    }
}

impl Form {
    /// The functions of the calls that must be found below the root for this form to match; negation aside, which is
    /// matched by complements too.
    pub fn needs(&self) -> u64 {
        match self {
            Form::Var(_) | Form::Bool => 0,
            Form::Call(_, forms) => forms.iter().fold(0, |set, f| set | f.own()),
            Form::Compare(_, linear) | Form::Linear(linear) => {
                linear.calls().fold(0, |set, (f, _)| set | f.own())
            }
        }
    }

    fn own(&self) -> u64 {
        match self {
            Form::Call(Func::Not, _) => 0,
            Form::Call(func, _) | Form::Compare(func, _) => bit(*func) | self.needs(),
            _ => self.needs(),
        }
    }
}

impl Linear {
    fn constant(value: Int) -> Linear {
        Linear { constant: value, terms: Vec::new() }
    }

    /// The calls in the terms, in order.
    pub fn calls(&self) -> impl Iterator<Item = &(Form, Pattern)> {
        self.terms.iter().flat_map(|t| t.calls.iter())
    }

    fn of(pattern: &Pattern) -> Linear {
        let single = |variables, calls| Linear {
            constant: Int::ZERO,
            terms: vec![LawTerm { coefficient: Int::ONE, variables, calls }],
        };
        match pattern {
            Pattern::Int(value) => Linear::constant(value.clone()),
            Pattern::Var(v) => single(vec![*v], Vec::new()),
            Pattern::Call(Operation::Add, args) => {
                args.iter().fold(Linear::default(), |sum, a| sum.plus(Linear::of(a)))
            }
            Pattern::Call(Operation::Mul, args) => {
                args.iter().fold(Linear::constant(Int::ONE), |product, a| product.times(&Linear::of(a)))
            }
            Pattern::Call(Operation::Sub, args) => {
                let minus = Linear::constant(Int::from(-1));
                match args.as_slice() {
                    [a, b] => Linear::of(a).plus(Linear::of(b).times(&minus)),
                    _ => args.iter().fold(minus, |product, a| product.times(&Linear::of(a))),
                }
            }
            _ => single(Vec::new(), vec![(Form::of(pattern), pattern.clone())]),
        }
    }

    fn plus(mut self, other: Linear) -> Linear {
        self.constant = &self.constant + &other.constant;
        for term in other.terms {
            match self.terms.iter_mut().find(|t| t.same_monomial(&term)) {
                Some(same) => same.coefficient = &same.coefficient + &term.coefficient,
                None => self.terms.push(term),
            }
        }
        self.terms.retain(|t| !t.coefficient.is_zero());
        self
    }

    fn times(self, other: &Linear) -> Linear {
        let mut product = Linear::constant(&self.constant * &other.constant);
        let scaled = |linear: &Linear, factor: &Int| Linear {
            constant: Int::ZERO,
            terms: linear
                .terms
                .iter()
                .map(|t| LawTerm { coefficient: &t.coefficient * factor, ..t.clone() })
                .collect(),
        };
        product = product.plus(scaled(&self, &other.constant)).plus(scaled(other, &self.constant));
        for a in &self.terms {
            for b in &other.terms {
                let mut variables = [a.variables.as_slice(), &b.variables].concat();
                variables.sort_unstable();
                let calls = [a.calls.as_slice(), &b.calls].concat();
                let term = LawTerm { coefficient: &a.coefficient * &b.coefficient, variables, calls };
                product = product.plus(Linear { constant: Int::ZERO, terms: vec![term] });
            }
        }
        product
    }
}

impl LawTerm {
    fn same_monomial(&self, other: &LawTerm) -> bool {
        self.variables == other.variables
            && self.calls.len() == other.calls.len()
            && self.calls.iter().zip(&other.calls).all(|(a, b)| a.1 == b.1)
    }
}
