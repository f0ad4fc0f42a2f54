//! Laws of data of which an operator knows that it is one of a few sizes, such as the result of one of two branches.
use super::{Comparison, DATA, SIZES, Term, comparison, condition_of, term};
use crate::campaign::{config, count};
use proptest::prelude::*;
use sizewise::expr::{Expr, Int, Pool, Symbol, Value};
use sizewise::range::ValueRange;
use sizewise::solve::{Budget, Facts, Feasibility, feasible};

/// Numbers of the data, each of which is one of a few numbers that sizes make, and conditions on all.
#[derive(Clone, Debug)]
struct Choices {
    /// For each of [`DATA`], what it may be.
    one_of: [Vec<Term>; 2],
    conditions: Vec<Comparison>,
    most: i64,
}

impl Choices {
    fn passes(&self, sizes: [i64; 2]) -> bool {
        let values = |at: usize| self.one_of[at].iter().map(move |term| term.at(&[sizes[0], sizes[1], 0, 0]));
        values(0).any(|u0| {
            values(1).any(|u1| {
                self.conditions.iter().all(|condition| condition.holds(&[sizes[0], sizes[1], u0, u1]))
            })
        })
    }
}

fn choices() -> impl Strategy<Value = Choices> {
    let one_of = || prop::collection::vec(term(0..SIZES.len()), 2..4);
    let conditions = prop::collection::vec(comparison(), 1..4);
    ([one_of(), one_of()], conditions, 1..7_i64).prop_map(|(one_of, conditions, most)| Choices {
        one_of,
        conditions,
        most,
    })
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn a_choice_among_a_few_numbers_is_one_of_them(question in choices()) {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        for name in SIZES {
            let e = pool.symbol(name);
            let symbol = pool.as_symbol(e).expect("a symbol");
            facts.declare(&mut pool, symbol, ValueRange::between(0.into(), question.most.into()));
        }
        let chosen: Vec<Symbol> = DATA.iter().map(|name| {
            let e = pool.symbol(name);
            pool.as_symbol(e).expect("a symbol")
        }).collect();
        let is_one = |(name, terms): (&&str, &Vec<Term>)| {
            terms.iter().map(|term| format!("Eq({name}, {})", term.text())).collect::<Vec<_>>().join(" | ")
        };
        let texts = DATA.iter().zip(&question.one_of).map(is_one);
        let texts: Vec<String> = texts.chain(question.conditions.iter().map(Comparison::text)).collect();
        let conditions: Vec<Expr> = texts.iter().map(|text| condition_of(&mut pool, text)).collect();
        count(1);
        let at = |low: i64, high: i64| (0..=high).flat_map(move |a| (low..=high).map(move |b| [a, b]));
        match feasible(&mut pool, &mut facts, &chosen, &conditions, &Budget::default()) {
            Feasibility::Always => {
                for sizes in at(0, question.most) {
                    prop_assert!(question.passes(sizes), "nothing at {sizes:?} of {texts:?}");
                }
            }
            Feasibility::Never { witness, condition, .. } => {
                let value = |witness: &[(Symbol, Int)], symbol| {
                    witness.iter().find(|(s, _)| *s == symbol).map(|(_, v)| Value::Int(v.clone()))
                };
                let false_there = pool.eval(condition, |s| value(&witness, s));
                prop_assert_eq!(false_there, Ok(Value::Bool(false)), "what {:?} needs", &texts);
                let size = |pool: &Pool, name: &str| {
                    pool.find_symbol(name).and_then(|s| value(&witness, s)).and_then(|v| v.as_int()?.to_i64())
                };
                let sizes = [size(&pool, "s0").unwrap_or(0), size(&pool, "s1").unwrap_or(0)];
                prop_assert!(!question.passes(sizes), "{sizes:?} of {texts:?}");
            }
            Feasibility::Open(_) => {}
        }
    }
}
