//! Compiled code computes what the exact evaluator does.
use super::program::{Checked, Program, floor_div, modulo, to_i128};
use sizewise_expr::{Expr, Int, Pool, Value, read};

fn of(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr
}

/// Values of `a`, `b` and `c` at which everything is tried.
fn points() -> Vec<[i128; 3]> {
    let values = [-7i128, -2, -1, 0, 1, 2, 5, 8];
    values.iter().flat_map(|&a| values.iter().flat_map(move |&b| [-3, 0, 2].map(|c| [a, b, c]))).collect()
}

/// A program with slots for `a`, `b` and `c`, in this order.
fn program(pool: &mut Pool) -> Program {
    let mut program = Program::default();
    for name in ["a", "b", "c"] {
        let symbol = pool.symbol(name);
        program.slot(pool.as_symbol(symbol).expect("a symbol"));
    }
    program
}

#[test]
fn every_operation_has_the_value_that_the_evaluator_gives() {
    let texts = [
        "a + 2*b - 3*c + 7",
        "a*b",
        "a*a*b*c - 4",
        "a**3*b**2",
        "a // b",
        "Mod(a, b)",
        "a // 3 + Mod(b, 5)",
        "Mod(a, -3)",
        "Min(a, b)",
        "Min(a, b, c)",
        "Max(a, b)",
        "Max(a, b, c, 1)",
        "Abs(a - b)",
        "2**a",
        "a**b",
        "Where(a < b, a, c)",
        "Where(And(a < b, b < 3), b, c + 1)",
        "Eq(a, b)",
        "Ne(a, b + c)",
        "a <= b",
        "a < b",
        "And(a < b, b < c)",
        "Or(a < b, b < c, Eq(a, 5))",
        "Or(Eq(Mod(a, 2), 0), And(a < 0, b < 0))",
    ];
    for text in texts {
        let mut pool = Pool::new();
        let mut program = program(&mut pool);
        let symbols = program.symbols().to_vec();
        let e = of(&mut pool, text);
        let register = program.compile(&pool, e) as usize;
        assert_eq!(program.register(e), Some(register));
        for point in points() {
            let at = |s| symbols.iter().position(|t| *t == s).map(|i| Value::Int(Int::from(point[i])));
            let wanted = match pool.eval(e, at) {
                Ok(Value::Bool(v)) => Some(i128::from(v)),
                Ok(value) => value.as_int().and_then(|v| to_i128(&v)),
                Err(_) => None,
            };
            let mut regs = Vec::new();
            let found = (program.run(0, &point, &mut regs) == Checked::Passed).then(|| regs[register]);
            assert_eq!(found, wanted, "{text} at {point:?}");
            let mut regs = Vec::new();
            let found = (program.run_all(&point, &mut regs) == Checked::Passed).then(|| regs[register]);
            assert_eq!(found, wanted, "{text} at {point:?}, all of it");
        }
    }
}

#[test]
fn checks_stop_at_the_first_that_fails_or_are_counted() {
    let mut pool = Pool::new();
    let mut program = program(&mut pool);
    for text in ["a > 0", "b > 0", "c > 0"] {
        let condition = of(&mut pool, text);
        program.check(&pool, condition);
    }
    let divisor = of(&mut pool, "a - b");
    program.exclude_zero(&pool, divisor);
    let table = [
        ([1, 2, 3], Checked::Passed, Checked::Passed),
        ([0, 2, 3], Checked::Failed(0), Checked::Failed(1)),
        ([1, 0, 0], Checked::Failed(1), Checked::Failed(2)),
        ([1, 2, 0], Checked::Failed(2), Checked::Failed(1)),
        ([0, -1, -2], Checked::Failed(0), Checked::Failed(3)),
        ([2, 2, 2], Checked::Excluded, Checked::Excluded),
        ([0, 0, 2], Checked::Failed(0), Checked::Excluded),
    ];
    for (point, first, all) in table {
        assert_eq!(program.run(0, &point, &mut Vec::new()), first, "{point:?}");
        assert_eq!(program.run_all(&point, &mut Vec::new()), all, "{point:?}");
    }
}

#[test]
fn what_cannot_be_computed_is_beyond_and_a_zero_divisor_is_excluded() {
    let huge = i128::MAX / 2;
    let table = [
        ("a*b", [huge, 3, 0], Checked::Beyond),
        ("a + b", [i128::MAX, 1, 0], Checked::Beyond),
        ("2**a", [200, 0, 0], Checked::Beyond),
        ("2**a", [-1, 0, 0], Checked::Beyond),
        ("Abs(a)", [i128::MIN, 0, 0], Checked::Beyond),
        ("a // b", [1, 0, 0], Checked::Excluded),
        ("Mod(a, b)", [1, 0, 0], Checked::Excluded),
        ("a // b", [i128::MIN, -1, 0], Checked::Beyond),
        ("ToFloat(a) + 0.5", [1, 0, 0], Checked::Beyond),
        ("a & b", [1, 0, 0], Checked::Beyond),
        ("a**70*b", [1, 1, 0], Checked::Passed),
        ("a + 1000000000000000000000000000000000000000000", [1, 0, 0], Checked::Beyond),
        ("a*1000000000000000000000000000000000000000000", [0, 0, 0], Checked::Beyond),
    ];
    for (text, point, expected) in table {
        let mut pool = Pool::new();
        let mut program = program(&mut pool);
        let e = of(&mut pool, text);
        program.compile(&pool, e);
        assert_eq!(program.run(0, &point, &mut Vec::new()), expected, "{text} at {point:?}");
        assert_eq!(program.run_all(&point, &mut Vec::new()), expected, "{text} at {point:?}");
    }
}

#[test]
fn returning_to_a_mark_forgets_what_was_compiled_since() {
    let mut pool = Pool::new();
    let mut program = program(&mut pool);
    let (a, b) = (of(&mut pool, "a > 0"), of(&mut pool, "a*b > 3"));
    program.check(&pool, a);
    let (mark, length) = (program.mark(), program.len());
    assert_eq!(mark.code(), length);
    program.check(&pool, b);
    let mut regs = Vec::new();
    assert_eq!(program.run(0, &[1, 1, 1], &mut regs), Checked::Failed(1));
    // The code after the mark needs no more than the registers before it.
    assert_eq!(program.run(mark.code(), &[1, 4, 1], &mut regs), Checked::Passed);
    program.reset(mark);
    assert_eq!((program.len(), program.register(b)), (length, None));
    assert_eq!(program.run(0, &[1, 1, 1], &mut regs), Checked::Passed);
    program.check(&pool, b);
    assert_eq!(program.run(0, &[1, 1, 1], &mut regs), Checked::Failed(1));
}

#[test]
fn quotients_and_remainders_are_floored_whatever_the_width() {
    let wide = i128::from(i64::MAX);
    let numbers =
        [0, 1, -1, 2, -2, 3, -3, 7, -7, 10, -10, wide, -wide, wide + 1, -wide - 1, 3 * wide, -3 * wide];
    let more = numbers.iter().flat_map(|v| [v - 1, v + 1, v * 7]);
    let all: Vec<i128> = numbers.iter().copied().chain(more).collect();
    for &a in &all {
        for &b in &all {
            let (x, y) = (Int::from(a), Int::from(b));
            let quotient = x.floor_div(&y).and_then(|v| to_i128(&v));
            let remainder = x.modulo(&y).and_then(|v| to_i128(&v));
            assert_eq!(floor_div(a, b), quotient, "{a} // {b}");
            assert_eq!(modulo(a, b), remainder, "{a} % {b}");
        }
    }
    assert_eq!((floor_div(i128::MIN, -1), modulo(i128::MIN, -1)), (None, None));
}

#[test]
fn integers_of_up_to_128_bits_fit() {
    let power = |k| Int::from(2).pow(k, 400).expect("a power");
    assert_eq!(to_i128(&(&power(127) - &Int::ONE)), Some(i128::MAX));
    assert_eq!(to_i128(&-power(127)), Some(i128::MIN));
    assert_eq!(to_i128(&power(127)), None);
}
