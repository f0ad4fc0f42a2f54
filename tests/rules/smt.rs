//! Proofs of the rules for all integers.
use super::WRONG;
use sizewise::egraph::{Operation, Pattern, Rule, RuleSet};
use sizewise::expr::{Int, Sort};
use z3::ast::{Bool, Int as Term};
use z3::{Params, SatResult, Solver};

/// What Z3 may spend on one rule; counted, not timed.
const RLIMIT: u32 = 1_000_000;

enum Value {
    Int(Term),
    Bool(Bool),
}

/// Encodes patterns; collects the divisors it meets, which must not be 0, and the definitions of quotients.
struct Encoder {
    variables: Vec<Value>,
    divisors: Vec<Bool>,
    definitions: Vec<Bool>,
    quotients: Vec<(Pattern, Pattern, Term, Term)>,
}

fn integer(value: &Int) -> Term {
    Term::from_big_int(&value.to_big())
}

impl Encoder {
    fn new(rule: &Rule) -> Encoder {
        let variables = rule.variables.iter().zip(&rule.sorts).map(|(name, sort)| match sort {
            Sort::Bool => Value::Bool(Bool::new_const(name.as_str())),
            _ => Value::Int(Term::new_const(name.as_str())),
        });
        Encoder {
            variables: variables.collect(),
            divisors: Vec::new(),
            definitions: Vec::new(),
            quotients: Vec::new(),
        }
    }

    /// `a // b` and `a % b` by what defines them where b is not 0: a == b*q + r with r between 0 and b.
    fn quotient(&mut self, a: &Pattern, b: &Pattern) -> (Term, Term) {
        if let Some((.., q, r)) = self.quotients.iter().find(|(x, y, ..)| x == a && y == b) {
            return (q.clone(), r.clone());
        }
        let (x, y, zero) = (self.int(a), self.int(b), Term::from_i64(0));
        let (q, r) = (Term::fresh_const("q"), Term::fresh_const("r"));
        let nonzero = y.eq(&zero).not();
        let above = Bool::and(&[zero.le(&r), r.lt(&y)]);
        let below = Bool::and(&[y.lt(&r), r.le(&zero)]);
        let sum = &y * &q + &r;
        let defined = Bool::and(&[x.eq(&sum), Bool::or(&[above, below])]);
        self.definitions.push(nonzero.implies(&defined));
        self.divisors.push(nonzero);
        self.quotients.push((a.clone(), b.clone(), q.clone(), r.clone()));
        (q, r)
    }

    fn int(&mut self, p: &Pattern) -> Term {
        let Pattern::Call(op, args) = p else {
            return match p {
                Pattern::Int(value) => integer(value),
                Pattern::Var(v) => match &self.variables[*v] {
                    Value::Int(term) => term.clone(),
                    Value::Bool(_) => panic!("an integer variable"),
                },
                _ => panic!("an integer"),
            };
        };
        if *op == Operation::Ite {
            return self.bool(&args[0]).ite(&self.int(&args[1]), &self.int(&args[2]));
        }
        match op {
            Operation::FloorDiv => return self.quotient(&args[0], &args[1]).0,
            Operation::Mod => return self.quotient(&args[0], &args[1]).1,
            _ => {}
        }
        let values: Vec<Term> = args.iter().map(|a| self.int(a)).collect();
        let zero = Term::from_i64(0);
        match op {
            Operation::Add => Term::add(&values),
            Operation::Mul => Term::mul(&values),
            Operation::Sub if values.len() == 1 => values[0].unary_minus(),
            Operation::Sub => Term::sub(&values),
            Operation::Min => values[1..].iter().fold(values[0].clone(), |m, v| m.le(v).ite(&m, v)),
            Operation::Max => values[1..].iter().fold(values[0].clone(), |m, v| m.ge(v).ite(&m, v)),
            Operation::Abs => values[0].ge(&zero).ite(&values[0], &values[0].unary_minus()),
            _ => panic!("{op:?} is no integer operation"),
        }
    }

    fn bool(&mut self, p: &Pattern) -> Bool {
        let Pattern::Call(op, args) = p else {
            return match p {
                Pattern::Bool(value) => Bool::from_bool(*value),
                Pattern::Var(v) => match &self.variables[*v] {
                    Value::Bool(term) => term.clone(),
                    Value::Int(_) => panic!("a boolean variable"),
                },
                _ => panic!("a truth value"),
            };
        };
        if matches!(op, Operation::And | Operation::Or | Operation::Not) {
            let values: Vec<Bool> = args.iter().map(|a| self.bool(a)).collect();
            return match op {
                Operation::And => Bool::and(&values),
                Operation::Or => Bool::or(&values),
                _ => values[0].not(),
            };
        }
        let (a, b) = (self.int(&args[0]), self.int(&args[1]));
        match op {
            Operation::Eq => a.eq(&b),
            Operation::Ne => a.eq(&b).not(),
            Operation::Le => a.le(&b),
            Operation::Lt => a.lt(&b),
            Operation::Ge => a.ge(&b),
            Operation::Gt => a.gt(&b),
            _ => panic!("{op:?} is no truth value"),
        }
    }
}

/// Whether Z3 finds the rule right for all integers: the conditions and a defined left side exclude a right side that is undefined
/// or different.
fn prove(rule: &Rule) -> SatResult {
    let mut encoder = Encoder::new(rule);
    let solver = Solver::new();
    let mut params = Params::new();
    params.set_u32("rlimit", RLIMIT);
    params.set_u32("random_seed", 7);
    solver.set_params(&params);
    for condition in &rule.conditions {
        if let Some(requirement) = condition.requirement() {
            let holds = encoder.bool(requirement);
            solver.assert(&holds);
        }
    }
    // What a condition divides by is not 0 where the condition holds.
    encoder.divisors.drain(..).for_each(|d| solver.assert(&d));
    let boolean = rule.left.sort() == Some(Sort::Bool);
    let same = if boolean {
        let left = encoder.bool(&rule.left);
        encoder.divisors.drain(..).for_each(|d| solver.assert(&d));
        left.iff(&encoder.bool(&rule.right))
    } else {
        let left = encoder.int(&rule.left);
        encoder.divisors.drain(..).for_each(|d| solver.assert(&d));
        left.eq(&encoder.int(&rule.right))
    };
    encoder.definitions.iter().for_each(|d| solver.assert(d));
    let mut right = encoder.divisors;
    right.push(same);
    solver.assert(Bool::and(&right).not());
    solver.check()
}

#[test]
fn every_rule_holds_for_all_integers() {
    let mut unproved = Vec::new();
    for rule in RuleSet::simplifying().rules() {
        match (prove(rule), &rule.enumeration_only) {
            (SatResult::Sat, _) => panic!("{} is wrong", rule.name),
            (SatResult::Unknown, None) => unproved.push(rule.name.as_str()),
            (SatResult::Unsat, Some(_)) => {
                println!("{} need not be marked as enumeration only", rule.name);
            }
            _ => {}
        }
    }
    assert!(unproved.is_empty(), "Z3 cannot prove {unproved:?}");
}

#[test]
fn z3_proves_no_wrong_rule() {
    for text in WRONG {
        let set = RuleSet::parse(&format!("# wrong\nwrong: {text}"), "wrong.rules").unwrap();
        assert_ne!(prove(&set.rules()[0]), SatResult::Unsat, "{text}");
    }
}
