//! Statements of the form "for every allowed size there is some data".
use super::{Feasibility, feasible};
use crate::{Budget, Facts};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, read};

/// The feasibility of conditions on sizes within ranges, `u0` and `u1`.
fn asked(sizes: &[(&str, i64, Option<i64>)], given: &[&str], conditions: &[&str]) -> Feasibility {
    let (mut pool, mut facts) = (Pool::new(), Facts::new());
    for &(name, low, high) in sizes {
        let e = pool.symbol(name);
        let symbol = pool.as_symbol(e).expect("a symbol");
        let range = ValueRange::between_options(Some(low.into()), high.map(Into::into)).expect("not empty");
        facts.declare(&mut pool, symbol, range);
    }
    for text in given {
        let condition = read::closed(&mut pool, text).expect("a condition").expr;
        facts.assume(&mut pool, condition);
    }
    let conditions: Vec<_> =
        conditions.iter().map(|text| read::closed(&mut pool, text).expect("a condition").expr).collect();
    let chosen: Vec<_> = ["u0", "u1"].iter().filter_map(|name| pool.find_symbol(name)).collect();
    feasible(&mut pool, &mut facts, &chosen, &conditions, &Budget::default())
}

#[test]
fn there_is_always_some_data() {
    type Row =
        (&'static [(&'static str, i64, Option<i64>)], &'static [&'static str], &'static [&'static str]);
    let table: [Row; 14] = [
        (&[("m", 2, Some(9)), ("n", 1, Some(9))], &[], &["Eq(u0, m) | Eq(u0, n)", "u0 >= 2"]),
        (
            &[("m", 2, None), ("n", 1, None)],
            &[],
            &["Eq(u0, m + 1) | Eq(2*n - u0, 3)", "Eq(u1, m) | Eq(u1, 4)", "u0 + u1 >= 5"],
        ),
        (&[("L", 8, Some(128)), ("S", 2, Some(8))], &[], &["u0 >= 0", "u0 + S <= L"]),
        (&[("n", 3, None)], &[], &["u0 >= 3", "u0 <= n"]),
        (&[("n", 1, None)], &["Eq(Mod(n, 2), 1)"], &["Eq(2*u0 + 1, n)"]),
        (&[("n", 8, None)], &[], &["u0 >= 1", "Eq(Mod(u0, 8), 0)", "u0 <= n"]),
        (&[("n", 0, Some(10))], &[], &["Eq(u0*u1, n)", "u1 >= 1"]),
        (&[("n", 2, None)], &[], &["u0 >= 0", "u1 >= 0", "Eq(u0 + u1, n)"]),
        (&[("n", 0, None)], &[], &["Ne(u0, n)"]),
        (&[("n", 0, None)], &[], &["(u0 < n) | (u0 > 5)"]),
        (&[("n", 4, None)], &["n <= 2"], &["u0 < u0"]),
        (&[("a", 1, None), ("b", 1, None)], &[], &["u0 >= a", "u0 >= b"]),
        (&[("n", 2, Some(9))], &[], &["u0 >= 0", "u0 <= n*n", "u1 <= u0", "u1 >= n"]),
        (&[], &[], &["u0 >= 2", "u0 <= 9"]),
    ];
    for (sizes, given, conditions) in table {
        assert_eq!(
            asked(sizes, given, conditions),
            Feasibility::Always,
            "{sizes:?} {given:?} {conditions:?}"
        );
    }
}

#[test]
fn at_some_sizes_no_data_can_pass() {
    type Row = (&'static [(&'static str, i64, Option<i64>)], &'static [&'static str]);
    let table: [Row; 9] = [
        (&[("m", 1, Some(9)), ("n", 1, Some(9))], &["Eq(u0, m) | Eq(u0, n)", "u0 >= 2"]),
        (&[("m", 1, None), ("n", 1, None)], &["Eq(u0, m) | Eq(u0, n)", "Eq(u1, m) | Eq(u1, n)", "u0 > u1"]),
        (&[("L", 4, Some(128)), ("S", 2, Some(8))], &["u0 >= 0", "u0 + S <= L"]),
        (&[("n", 2, None)], &["u0 >= 3", "u0 <= n"]),
        (&[("n", 2, Some(50))], &["Eq(2*u0 + 1, n)"]),
        (&[("n", 2, None)], &["u0 >= 1", "Eq(Mod(u0, 8), 0)", "u0 <= n"]),
        (&[("n", 2, Some(6))], &["Eq(u0*u1, n)", "u0 >= 2", "u1 >= 2"]),
        (&[("n", 2, None)], &["u0 >= 0", "u1 >= u0 + 5", "u1 <= n"]),
        (&[], &["u0 >= 2", "u0 <= 1"]),
    ];
    for (sizes, conditions) in table {
        let found = asked(sizes, &[], conditions);
        assert!(matches!(found, Feasibility::Never { .. }), "{sizes:?} {conditions:?}: {found:?}");
    }
}

#[test]
fn a_choice_among_a_few_terms_needs_exactly_one_of_them() {
    let (mut pool, mut facts) = (Pool::new(), Facts::new());
    let [m, n, u] = ["m", "n", "u0"].map(|name| pool.symbol(name));
    for e in [m, n] {
        let symbol = pool.as_symbol(e).unwrap();
        facts.declare(&mut pool, symbol, ValueRange::between(1.into(), 9.into()));
    }
    let (is_m, is_n) = (pool.eq(u, m), pool.eq(u, n));
    let conditions = [pool.or(&[is_m, is_n]), pool.ge(u, Expr::from(2))];
    let chosen = [pool.as_symbol(u).unwrap()];
    let found = feasible(&mut pool, &mut facts, &chosen, &conditions, &Budget::default());
    let (of_m, of_n) = (pool.ge(m, Expr::from(2)), pool.ge(n, Expr::from(2)));
    let either = pool.or(&[of_m, of_n]);
    match found {
        Feasibility::Never { condition, of, witness } => {
            assert_eq!((condition, of), (either, 1));
            assert_eq!(
                witness.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>(),
                [Int::ONE, Int::ONE]
            );
        }
        other => panic!("{other:?}"),
    }
}
