//! Laws of `range`, checked on random expressions with the exact evaluator as the oracle.
use crate::campaign;

use campaign::{config, count};
use proptest::prelude::*;
use sizewise::expr::{Evaluator, Expr, Func, Int, Pool, Sort, Symbol, Value};
use sizewise::range::{Bounds, Congruence, Domain, DomainTable, ValueRange};

const SYMBOLS: [&str; 3] = ["s0", "s1", "s2"];

/// One construction step: an operation, and which of the expressions built so far it takes.
type Step = (u8, usize, usize, i64);

/// A symbol's domain: where its range begins, how long it is (`None`: unbounded), a modulus and a residue.
type Range = (i64, Option<i64>, i64, i64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..38u8, 0..100usize, 0..100usize, -5..6i64), 1..20)
}

fn symbol_ranges() -> impl Strategy<Value = Vec<Range>> {
    prop::collection::vec((-4..4i64, prop::option::weighted(0.8, 0..6i64), 1..4i64, 0..3i64), SYMBOLS.len())
}

fn domain_of(&(lo, length, modulus, residue): &Range) -> Option<Domain> {
    let range = match length {
        Some(length) => ValueRange::new(lo, lo + length)?,
        None => ValueRange::at_least(Int::from(lo)),
    };
    Domain::new(range, Congruence::new(modulus, residue))
}

/// What a random program builds: integers, doubles and conditions.
struct Built {
    pool: Pool,
    symbols: Vec<Expr>,
    integers: Vec<Expr>,
    doubles: Vec<Expr>,
    conditions: Vec<Expr>,
}

fn build(steps: &[Step]) -> Built {
    let mut pool = Pool::new();
    let symbols: Vec<Expr> = SYMBOLS.iter().map(|name| pool.symbol(name)).collect();
    let mut built = Built {
        integers: symbols.clone(),
        symbols,
        doubles: vec![pool.float(0.5)],
        conditions: Vec::new(),
        pool,
    };
    for step in steps {
        built.step(*step);
    }
    built
}

impl Built {
    fn step(&mut self, (op, i, j, k): Step) {
        let pool = &mut self.pool;
        let (a, b) = (self.integers[i % self.integers.len()], self.integers[j % self.integers.len()]);
        let (x, y) = (self.doubles[i % self.doubles.len()], self.doubles[j % self.doubles.len()]);
        let constant = pool.int(k);
        let condition = |i: usize| self.conditions.get(i % self.conditions.len().max(1)).copied();
        let nonzero = pool.int(if k == 0 { 6 } else { k });
        let new = match op {
            0 | 1 => pool.add(a, b),
            2 => pool.sub(a, b),
            3 | 4 => pool.mul(a, b),
            5 => pool.mul(constant, a),
            6 => pool.add(a, constant),
            7 | 8 => pool.floor_div(a, nonzero),
            9 => pool.floor_div(a, b),
            10 | 11 => pool.modulo(a, nonzero),
            12 => pool.modulo(a, b),
            13 => pool.min(a, b),
            14 => pool.max(a, b),
            15 => pool.abs(a),
            16 => pool.bitwise([Func::BitAnd, Func::BitOr, Func::BitXor][j % 3], a, constant),
            17 => match condition(j) {
                Some(c) => pool.ite(c, a, b),
                None => pool.max(a, constant),
            },
            18 | 31 => pool.eq(a, b),
            19 | 30 => pool.le(a, b),
            20 | 32 => pool.lt(a, constant),
            21 | 33 => pool.ne(a, constant),
            22 | 23 | 34..=37 => match (condition(i), condition(j)) {
                (Some(c), Some(d)) if op % 2 == 0 => pool.or(&[c, d]),
                (Some(c), Some(d)) => pool.and(&[c, d]),
                _ => pool.ge(a, b),
            },
            24 => match condition(i) {
                Some(c) => pool.not(c),
                None => pool.eq(a, constant),
            },
            25 => pool.true_div(a, nonzero),
            26 => pool.to_float(a),
            27 => pool.float_to_int([Func::Trunc, Func::Floor, Func::Ceil, Func::Round][j % 4], x),
            28 => [pool.add(x, y), pool.mul(x, y), pool.le(x, y)][j % 3],
            _ => pool.real_function([Func::Sqrt, Func::Exp, Func::Log, Func::Tanh][j % 4], x),
        };
        match self.pool.sort(new) {
            Sort::Int => self.integers.push(new),
            Sort::Float => self.doubles.push(new),
            Sort::Bool => self.conditions.push(new),
        }
    }

    fn roots(&self) -> Vec<Expr> {
        [&self.integers[..], &self.doubles, &self.conditions].concat()
    }
}

/// Every assignment of values near 0 that the domains allow.
fn assignments(domains: &[Domain]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for domain in domains {
        let values: Vec<i64> = (-4..=9).filter(|v| domain.contains(&Int::from(*v))).collect();
        all = all.iter().flat_map(|head| values.iter().map(move |v| [&head[..], &[*v]].concat())).collect();
    }
    all
}

fn lookup<'a>(pool: &'a Pool, values: &'a [i64]) -> impl Fn(Symbol) -> Option<Value> + 'a {
    move |symbol| {
        let position = SYMBOLS.iter().position(|name| *name == pool.symbol_name(symbol))?;
        Some(Value::Int(Int::from(values[position])))
    }
}

fn holds(table: &mut DomainTable, pool: &Pool, e: Expr, value: &Value) -> bool {
    match value {
        Value::Float(x) => table.float_range(pool, e).contains(*x),
        // A rational is compared as a double: its bounds are integers.
        Value::Ratio(_) => table.float_range(pool, e).contains(value.as_f64()),
        Value::Int(v) => table.domain(pool, e).contains(v),
        Value::Bool(b) => table.decide(pool, e).is_none_or(|known| known == *b),
    }
}

/// A table that knows the symbols' domains.
fn table_of(built: &Built, domains: &[Domain]) -> DomainTable {
    let mut table = DomainTable::new();
    for (symbol, domain) in built.symbols.iter().zip(domains) {
        table.set(&built.pool, *symbol, domain.clone()).expect("no facts before");
    }
    table
}

proptest! {
    #![proptest_config(config(1024))]

    /// Whatever value an expression takes, its domain holds it.
    #[test]
    fn domains_hold_every_value(steps in steps(), ranges in symbol_ranges()) {
        let built = build(&steps);
        let Some(domains) = ranges.iter().map(domain_of).collect::<Option<Vec<Domain>>>() else { return Ok(()) };
        let mut table = table_of(&built, &domains);
        let mut bounds = Bounds::new(&built.pool, |e| {
            built.symbols.iter().position(|s| *s == e).map(|i| domains[i].clone())
        });
        for root in built.roots() {
            prop_assert_eq!(bounds.domain(root), table.domain(&built.pool, root));
        }
        for values in assignments(&domains) {
            let mut exact = Evaluator::new(&built.pool, lookup(&built.pool, &values));
            for root in built.roots() {
                if let Ok(value) = exact.value(root) {
                    count(1);
                    prop_assert!(
                        holds(&mut table, &built.pool, root, &value),
                        "{:?} at {:?} is not in {:?}", value, values, table.domain(&built.pool, root)
                    );
                }
            }
        }
        prop_assert_eq!(table.contradiction(), None);
    }

    /// Assuming a condition loses no assignment at which it is true, nor any value that an expression has there; a
    /// contradiction means that there is no such assignment. Undoing brings back what was known before.
    #[test]
    fn assuming_loses_no_solution(steps in steps(), ranges in symbol_ranges()) {
        let built = build(&steps);
        let Some(domains) = ranges.iter().map(domain_of).collect::<Option<Vec<Domain>>>() else { return Ok(()) };
        let pool = &built.pool;
        let conditions: Vec<Expr> = built.conditions.iter().copied().rev().take(3).collect();
        let mut table = table_of(&built, &domains);
        let before: Vec<Domain> = built.roots().iter().map(|e| table.domain(pool, *e)).collect();
        let mark = table.mark();
        let mut consistent = true;
        for _ in 0..4 {
            consistent &= conditions.iter().all(|c| table.assume(pool, *c).is_ok());
        }
        for values in assignments(&domains) {
            let mut exact = Evaluator::new(pool, lookup(pool, &values));
            if !conditions.iter().all(|c| exact.truth(*c) == Ok(true)) {
                continue;
            }
            prop_assert!(consistent, "{:?} contradicts nothing", values);
            for root in built.symbols.iter().copied().chain(built.roots()) {
                if let Ok(value) = exact.value(root) {
                    count(1);
                    prop_assert!(
                        holds(&mut table, pool, root, &value),
                        "{:?} at {:?} is lost in {:?}", value, values, table.domain(pool, root)
                    );
                }
            }
        }
        table.undo(mark);
        let after: Vec<Domain> = built.roots().iter().map(|e| table.domain(pool, *e)).collect();
        prop_assert_eq!(before, after);
    }
}
