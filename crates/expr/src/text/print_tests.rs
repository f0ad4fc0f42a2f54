//! Tests of the printer.
use super::read::Dialect;
use super::{print, read};
use crate::{Expr, Func, Pool, Symbol};

/// The text that is printed for a parsed text. It has to parse back to the same handle.
fn shown(text: &str) -> String {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr;
    let written = print::expression(&pool, e);
    let again = read::closed(&mut pool, &written).map(|r| r.expr);
    assert_eq!(again, Ok(e), "{text} is written {written}");
    written
}

/// The same of Python code.
fn python(text: &str) -> String {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr;
    let written = print::python(&pool, e, &|s: Symbol| pool.symbol_name(s).to_owned());
    let again = read::expression_in(&mut pool, &written, Dialect::Python, &mut |_| None).map(|r| r.expr);
    assert_eq!(again, Ok(e), "{text} is written {written}");
    written
}

#[test]
fn comparisons_have_positive_terms_and_the_constant_on_the_right() {
    let table = [
        ("2*s1 - s0 == 0", "Eq(s0, 2*s1)"),
        ("s1 - s0 + 3 == 0", "Eq(s0, s1 + 3)"),
        ("3*s0 == 4*s1*s2", "Eq(4*s1*s2, 3*s0)"),
        ("2 - s0 <= 0", "s0 >= 2"),
        ("s0 < 5", "s0 <= 4"),
        ("-s0 < 5", "s0 >= -4"),
        ("s0 != 1", "Ne(s0, 1)"),
        ("s0 % 8 == 0", "Eq(Mod(s0, 8), 0)"),
        ("s0 < s1", "s0 < s1"),
        ("s1 > s0", "s0 < s1"),
        ("s0 <= s1", "s0 <= s1"),
        ("s0 + 3 <= s1", "s1 >= s0 + 3"),
        ("s10 + s2 > 3*s1", "s2 + s10 > 3*s1"),
        ("s0*s1 - s2 >= 6", "s0*s1 >= s2 + 6"),
        ("a*b > 100", "a*b >= 101"),
        ("24*s0 >= 31", "s0 >= 2"),
        ("a > 1 and b < 2 or not c == 3", "((a >= 2) & (b <= 1)) | Ne(c, 3)"),
        ("s0 < 2.5", "s0 <= 2"),
        ("s0 == 2.5", "False"),
        ("zf0 < 2.5", "zf0 < 2.5"),
        ("not zf0 < 2.5", "~(zf0 < 2.5)"),
        ("zf0 != 1.0", "Ne(zf0, 1.0)"),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn sums_go_by_degree_and_name() {
    let table = [
        ("3 + s10 + s2", "s2 + s10 + 3"),
        ("s1 - s0", "s1 - s0"),
        ("1 - s0 - s1", "1 - s0 - s1"),
        ("-s0 - 1", "-s0 - 1"),
        ("s1 + s0*s1 - s0**2", "s0*s1 - s0**2 + s1"),
        ("-2*s0", "-2*s0"),
        ("(s0//2)*s1", "s1*(s0//2)"),
        ("2*(s0//2) - (s1//2)", "2*(s0//2) - (s1//2)"),
        ("-(s0//3)", "-(s0//3)"),
        ("(s0 + 1)//2", "((s0 + 1)//2)"),
        ("(-s0)//2", "((-s0)//2)"),
        ("(2*s0)//(3*s1)", "((2*s0)//(3*s1))"),
        ("Max(s1, s0, 1)", "Max(1, s0, s1)"),
        ("Min(s0//2, s0 % 3)", "Min(Mod(s0, 3), (s0//2))"),
        ("2**s0", "2**s0"),
        ("(s0 + 1)**s1", "(s0 + 1)**s1"),
        ("(-2)**s1", "(-2)**s1"),
        ("s0 << -2", "s0*PowByNatural(2, -2)"),
        ("s0**100", "s0**100"),
        ("s0**200000", "s0**200000"),
        ("(s0 + 1)**100", "(s0 + 1)**100"),
        ("Abs(s0 - s1)", "Abs(s0 - s1)"),
        ("1 if s0 > 2 else s1", "Where(s0 >= 3, 1, s1)"),
        ("s0 & 7", "BitwiseFn_bitwise_and(s0, 7)"),
        ("s0/2 + 1", "(s0 + 2)/2"),
        ("-s0/2", "(-s0)/2"),
        ("12345678901234567890123*s0", "12345678901234567890123*s0"),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn doubles_read_back_to_the_same_bits() {
    let table = [
        ("ToFloat(s0)*2.5 - 1.0", "2.5*ToFloat(s0) - 1.0"),
        ("zf0 + (zf1 + zf2)", "zf0 + (zf1 + zf2)"),
        ("zf0*(zf1*zf2)*0.1", "0.1*(zf0*(zf1*zf2))"),
        ("(zf0 + 1.0)*zf1", "(zf0 + 1.0)*zf1"),
        ("-zf0", "-1.0*zf0"),
        ("1e300*1e300 + zf0", "zf0 + 1e999"),
        ("zf0 - 1e-7", "zf0 - 1e-7"),
        ("IntTrueDiv(s0, 3)", "IntTrueDiv(s0, 3)"),
        ("TruncToInt(FloatTrueDiv(zf0, 3.0))", "TruncToInt(FloatTrueDiv(zf0, 3.0))"),
        ("CeilToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))", "CeilToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))"),
        ("RoundDecimal(zf0, 2)", "RoundDecimal(zf0, 2)"),
        ("Max(zf0, zf1)", "Max(zf0, zf1)"),
        ("Max(zf1, zf0)", "Max(zf0, zf1)"),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected, "{text}");
        python(text);
    }
}

#[test]
fn what_may_be_an_integer_or_a_double_is_written_as_python_computes_it() {
    let table = [
        // Python takes the first of equal numbers.
        ("Max(zf0, 2)", "Max(zf0, 2)"),
        ("Max(2, zf0)", "Max(2, zf0)"),
        ("Min(s0, 0.5) + 1", "Min(s0, 0.5) + 1"),
        ("Min(s0, 0.5) - 1", "Min(s0, 0.5) - 1"),
        ("-Min(s0, 0.5)", "-1*Min(s0, 0.5)"),
        ("Min(s0, 0.5) + 1.0", "ToFloat(Min(s0, 0.5)) + 1.0"),
        ("Min(s0, 0.5)/2", "IntTrueDiv(Min(s0, 0.5), 2)"),
        ("Min(s0, 0.5)**2", "Min(s0, 0.5)**2"),
        ("FloatPow(Min(s0, 0.5), 2)", "FloatPow(ToFloat(Min(s0, 0.5)), 2.0)"),
        ("round(Min(s0, 0.5), -1)", "round(Min(s0, 0.5), -1)"),
        ("round(s0, s1)", "round(s0, s1)"),
        ("RoundDecimal(s0, s1)", "RoundDecimal(ToFloat(s0), s1)"),
        ("round(s0, 2)", "s0"),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected, "{text}");
        python(text);
    }
}

#[test]
fn python_code() {
    let table = [
        ("Eq(Mod(s0, 8), 0)", "s0 % 8 == 0"),
        ("Ne(Mod(s0*s1, 4), 0)", "(s0*s1) % 4 != 0"),
        ("2*(s0//2) + 1", "2*(s0 // 2) + 1"),
        ("-(s0//2)", "-(s0 // 2)"),
        ("s0 - (s1//2)", "s0 - s1 // 2"),
        ("(s0//s1)//s2", "(s0 // s1) // s2"),
        ("(s0 >= 2) & Eq(s1, 3) | (s2 < 1)", "(s0 >= 2 and s1 == 3) or s2 <= 0"),
        ("Max(s0, 1) <= Min(s1, 9)", "max(1, s0) <= min(9, s1)"),
        ("Where(s0 > 1, s0, 2) + 1", "(s0 if s0 >= 2 else 2) + 1"),
        ("Abs(s0 - 3)", "abs(s0 - 3)"),
        ("~(zf0 < 1.0)", "not zf0 < 1.0"),
        ("TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))", "math.trunc(math.sqrt(float(s0)))"),
        ("RoundToInt(IntTrueDiv(s0, 2))", "round(s0 / 2)"),
        ("FloatPow(zf0, -2.5)", "zf0**-2.5"),
        ("BitwiseFn_bitwise_and(s0, 7) < 2", "(s0 & 7) <= 1"),
        ("TruncToFloat(zf0)", "float(math.trunc(zf0))"),
    ];
    for (text, expected) in table {
        if text.starts_with("TruncToFloat") {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, text).expect("reads").expr;
            assert_eq!(print::python(&pool, e, &|_| "zf0".to_owned()), expected);
        } else {
            assert_eq!(python(text), expected, "{text}");
        }
    }
}

#[test]
fn symbols_by_the_names_of_the_user() {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, "Eq(Mod(s0*s1, 8), 0)").expect("reads").expr;
    let names = |s: Symbol| {
        if pool.symbol_name(s) == "s0" { "x.shape[0]".to_owned() } else { "seq".to_owned() }
    };
    assert_eq!(print::python(&pool, e, &names), "(seq*x.shape[0]) % 8 == 0");
}

#[test]
fn deep_expressions_are_written_or_refused_but_never_overflow() {
    let mut pool = Pool::new();
    let mut deep = pool.symbol("s0");
    for i in 0..500 {
        let other = pool.symbol(&format!("s{}", i % 7));
        let next = pool.modulo(other, deep);
        deep = pool.max(next, Expr::from(2));
    }
    assert!(print::try_expression(&pool, deep).is_ok());
    let mut shared = pool.symbol("s0");
    for _ in 0..100 {
        let a = pool.call(Func::BitXor, &[shared, Expr::ONE]);
        let b = pool.call(Func::BitXor, &[shared, Expr::from(2)]);
        shared = pool.call(Func::BitAnd, &[a, b]);
    }
    let error = print::try_expression(&pool, shared).err();
    assert!(error.is_some());
    assert_eq!(print::expression(&pool, shared), "<an expression of 301 nodes is too large to write down>");
}
