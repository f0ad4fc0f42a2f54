//! Proofs of the rules for all integers.
use super::WRONG;
use sizewise::egraph::{Operation, Pattern, Rule, RuleSet};
use sizewise::expr::{Int, Sort};
use z3::ast::{Bool, Int as Term};
use z3::{Params, SatResult, Solver};

/// What Z3 may spend on one rule; counted, not timed.
const RLIMIT: u32 = 3_000_000;

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
    /// Quotients are unknowns with their defining equation rather than Z3's own.
    by_definition: bool,
}

fn integer(value: &Int) -> Term {
    Term::from_big_int(&value.to_big())
}

impl Encoder {
    fn new(rule: &Rule, fixed: &[Option<i64>], by_definition: bool) -> Encoder {
        let names = rule.variables.iter().zip(&rule.sorts).enumerate();
        let variables = names.map(|(i, (name, sort))| match (sort, fixed.get(i).copied().flatten()) {
            (Sort::Bool, _) => Value::Bool(Bool::new_const(name.as_str())),
            (_, Some(value)) => Value::Int(Term::from_i64(value)),
            (_, None) => Value::Int(Term::new_const(name.as_str())),
        });
        Encoder {
            variables: variables.collect(),
            divisors: Vec::new(),
            definitions: Vec::new(),
            quotients: Vec::new(),
            by_definition,
        }
    }

    /// `a // b` and `a % b`: by what defines them where b is not 0, a == b*q + r with r between 0 and b; or by Z3's
    /// division, which rounds down for positive divisors.
    fn quotient(&mut self, a: &Pattern, b: &Pattern) -> (Term, Term) {
        if let Some((.., q, r)) = self.quotients.iter().find(|(x, y, ..)| x == a && y == b) {
            return (q.clone(), r.clone());
        }
        let (x, y, zero) = (self.int(a), self.int(b), Term::from_i64(0));
        let nonzero = y.eq(&zero).not();
        if !self.by_definition {
            let q = y.gt(&zero).ite(&x.div(&y), &x.unary_minus().div(y.unary_minus()));
            let r = &x - &y * &q;
            self.divisors.push(nonzero);
            self.quotients.push((a.clone(), b.clone(), q.clone(), r.clone()));
            return (q, r);
        }
        let (q, r) = (Term::fresh_const("q"), Term::fresh_const("r"));
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

/// Whether Z3 finds the rule right for all integers: the conditions and a defined left side exclude a right side that
/// is undefined or different.
fn prove(rule: &Rule) -> SatResult {
    match prove_at(rule, &[], true) {
        SatResult::Unknown => prove_at(rule, &[], false),
        settled => settled,
    }
}

/// The same with some variables fixed.
fn prove_at(rule: &Rule, fixed: &[Option<i64>], by_definition: bool) -> SatResult {
    let mut encoder = Encoder::new(rule, fixed, by_definition);
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
        left.iff(encoder.bool(&rule.right))
    } else {
        let left = encoder.int(&rule.left);
        encoder.divisors.drain(..).for_each(|d| solver.assert(&d));
        left.eq(encoder.int(&rule.right))
    };
    encoder.definitions.iter().for_each(|d| solver.assert(d));
    let mut right = encoder.divisors;
    right.push(same);
    solver.assert(Bool::and(&right).not());
    solver.check()
}

/// The variables that something is divided by, and of each product that is nonlinear even so the first factor's: with
/// them fixed, what is left to prove is linear.
fn divisors(rule: &Rule) -> Vec<usize> {
    fn visit(p: &Pattern, products: bool, found: &mut Vec<usize>) {
        let Pattern::Call(op, args) = p else { return };
        args.iter().for_each(|a| visit(a, products, found));
        let fix = match op {
            Operation::FloorDiv | Operation::Mod => Some(1),
            Operation::Mul if products => {
                let varies = |p: &Pattern| {
                    let mut varies = false;
                    p.for_each_variable(&mut |v| varies |= !found.contains(&v));
                    varies
                };
                (args.iter().filter(|a| varies(a)).count() > 1).then_some(0)
            }
            _ => None,
        };
        if let Some(i) = fix {
            args[i].for_each_variable(&mut |v| found.push(v));
        }
    }
    let mut found = Vec::new();
    for products in [false, true] {
        visit(&rule.left, products, &mut found);
        visit(&rule.right, products, &mut found);
        rule.conditions.iter().filter_map(|c| c.requirement()).for_each(|p| visit(p, products, &mut found));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether Z3 proves a rule for all integers once the divisors are small constants; returns where it does not.
fn prove_for_small_divisors(rule: &Rule) -> Result<(), String> {
    let divisors = divisors(rule);
    let mut fixed = vec![None; rule.variables.len()];
    let reach = if divisors.len() > 2 { 2 } else { 4 };
    let width = 2 * reach + 1;
    for code in 0..(width as usize).pow(divisors.len() as u32) {
        let mut rest = code;
        for &v in &divisors {
            fixed[v] = Some((rest % width as usize) as i64 - reach);
            rest /= width as usize;
        }
        let proved = [false, true].iter().any(|&d| prove_at(rule, &fixed, d) == SatResult::Unsat);
        if !proved {
            return Err(format!("{} with {fixed:?}", rule.name));
        }
    }
    Ok(())
}

#[test]
fn every_rule_holds_for_all_integers() {
    let mut unproved = Vec::new();
    for rule in RuleSet::simplifying().rules().iter().filter(|r| r.enumeration_only.is_none()) {
        match prove(rule) {
            SatResult::Sat => panic!("{} is wrong", rule.name),
            SatResult::Unknown => unproved.push(rule.name.as_str()),
            SatResult::Unsat => {}
        }
    }
    assert!(unproved.is_empty(), "Z3 cannot prove {unproved:?}");
}

/// Rules that are nonlinear in unknown divisors are beyond Z3; with small divisors they are not.
#[test]
fn rules_beyond_z3_hold_for_small_divisors_and_all_integers() {
    let mut unproved = Vec::new();
    for rule in RuleSet::simplifying().rules().iter().filter(|r| r.enumeration_only.is_some()) {
        unproved.extend(prove_for_small_divisors(rule).err());
    }
    assert!(unproved.is_empty(), "Z3 cannot prove {unproved:#?}");
}

#[test]
fn z3_proves_no_wrong_rule() {
    for text in WRONG {
        let set = RuleSet::parse(&format!("# wrong\nwrong: {text}"), "wrong.rules").unwrap();
        assert_ne!(prove(&set.rules()[0]), SatResult::Unsat, "{text}");
    }
}
