//! Which normal form is built of what is written.
use sizewise::expr::{Expr, Pool, print, read};

fn assert_forms(table: &[(&str, &str)]) {
    for (written, form) in table {
        let mut pool = Pool::new();
        // The order of symbols is that of their creation.
        for name in ["s0", "s1", "s2"] {
            pool.symbol(name);
        }
        let e = read::closed(&mut pool, written).unwrap_or_else(|error| panic!("{written}: {error}")).expr;
        assert_eq!(print::expression(&pool, e), *form, "{written}");
        // A form is the form of itself.
        let again = read::closed(&mut pool, form).unwrap_or_else(|error| panic!("{form}: {error}")).expr;
        assert_eq!(e, again, "{written}");
    }
}

/// What is written, and its form.
const SUMS_AND_PRODUCTS_ARE_POLYNOMIALS: &[(&str, &str)] = &[
    ("s0 + s0", "2*s0"),
    ("s0 - s0", "0"),
    ("3*s0 - s1 + 2*s1 - 5 + 7", "3*s0 + s1 + 2"),
    ("(s0 + s1)*(s0 - s1)", "s0**2 - s1**2"),
    ("(s0 + 1)**3", "s0**3 + 3*s0**2 + 3*s0 + 1"),
    ("(2*s0)**4", "16*s0**4"),
    ("s0*s1*s0", "s0**2*s1"),
    ("s0**2*s1 - s1*s0**2", "0"),
    ("-(s0 - s1)", "s1 - s0"),
    ("s0**0", "1"),
    ("s0**1", "s0"),
    ("2**s0", "2**s0"),
    ("(-2)**3", "-8"),
    ("0**0", "1"),
    ("s0**s1", "s0**s1"),
    ("(s0 + s1)**2", "s0**2 + 2*s0*s1 + s1**2"),
    ("(s0*s1)**3", "s0**3*s1**3"),
    ("9223372036854775807 + 1", "9223372036854775808"),
    ("-9223372036854775808 - 1", "-9223372036854775809"),
    ("4611686018427387904*2", "9223372036854775808"),
    ("4611686018427387904*s0*4", "18446744073709551616*s0"),
    ("Identity(s0 + 1)", "s0 + 1"),
];

#[test]
fn sums_and_products_are_polynomials() {
    assert_forms(SUMS_AND_PRODUCTS_ARE_POLYNOMIALS);
}

/// What is written, and its form.
const QUOTIENTS_AND_REMAINDERS_ARE_REDUCED: &[(&str, &str)] = &[
    ("s0//1", "s0"),
    ("s0//-1", "-s0"),
    ("(2*s0 + 4)//2", "s0 + 2"),
    ("(2*s0 + 3)//2", "s0 + 1"),
    ("(6*s0 + 4*s1 + 5)//4", "s1 + ((3*s0)//2) + 1"),
    ("(4*s0 + 2)//6", "((2*s0 + 1)//3)"),
    ("(-s0)//3", "((-s0)//3)"),
    ("s0//-3", "((-s0)//3)"),
    ("(s0//2)//3", "(s0//6)"),
    ("(s0//2 + 1)//3", "((s0 + 2)//6)"),
    ("(s0//-2)//3", "((-s0)//6)"),
    ("(2*(s0//2) + 1)//3", "((2*(s0//2) + 1)//3)"),
    ("(s0*s1)//s1", "s0"),
    ("(s0*s1 + 1)//s1", "s0 + (1//s1)"),
    ("(6*s0*s1 + 9*s1)//(3*s1)", "2*s0 + 3"),
    ("(4*s0*s1 + 3)//(2*s1)", "2*s0 + (3//(2*s1))"),
    ("(3*s0*s1 + 3)//(2*s1)", "((3*s0*s1 + 3)//(2*s1))"),
    ("(s0*s1 + s0)//(s1 + 1)", "s0"),
    ("(s0**2 - s1**2)//(s0 + s1)", "s0 - s1"),
    ("(s0**2 + 2*s0 + 1)//(s0 + 1)", "s0 + 1"),
    ("(s0**2 + 2*s0 + 2)//(s0 + 1)", "((s0**2 + 2*s0 + 2)//(s0 + 1))"),
    ("(s0**2*s1 + 3*s0)//(s0*s1)", "s0 + (3//s1)"),
    ("s0//(s0*s1)", "(1//s1)"),
    ("(2*s0)//(4*s1)", "(s0//(2*s1))"),
    ("(2*s0 + 2)//(4*s1)", "((s0 + 1)//(2*s1))"),
    ("s0//(-s1)", "((-s0)//s1)"),
    ("(-s0)//(-s1)", "(s0//s1)"),
    ("(s0 + s1)//(s1 - s0)", "((-s0 - s1)//(s0 - s1))"),
    ("0//s0", "0"),
    ("7//s0", "(7//s0)"),
    ("7//2", "3"),
    ("(-7)//2", "-4"),
    ("7//-2", "-4"),
    ("s0//s0", "1"),
    ("(s0 + 5)//(2*s0)", "((s0 + 5)//(2*s0))"),
    ("(s0*s1)//(s1*s2)", "(s0//s2)"),
    ("(s0*s1 + s1)//(s1*s2)", "((s0 + 1)//s2)"),
    ("s0 % 1", "0"),
    ("s0 % -1", "0"),
    ("7 % 4", "3"),
    ("(-7) % 4", "1"),
    ("7 % -4", "-1"),
    ("(s0 + 9) % 4", "Mod(s0 + 1, 4)"),
    ("(5*s0 + 3) % 4", "Mod(s0 + 3, 4)"),
    ("(3*s0) % 4", "Mod(-s0, 4)"),
    ("(2*s0) % 4", "2*Mod(s0, 2)"),
    ("(4*s0 + 8*s1) % 4", "0"),
    ("(4*s0 + 6) % 8", "2*Mod(2*s0 + 3, 4)"),
    ("(-s0) % 4", "Mod(-s0, 4)"),
    ("s0 % -4", "-Mod(-s0, 4)"),
    ("(s0 % 8) % 4", "Mod(s0, 4)"),
    ("(s0 % 4) % 8", "Mod(Mod(s0, 4), 8)"),
    ("(2*(s0 % 8)) % 16", "2*Mod(s0, 8)"),
    ("(3*(s0 % 4) + s1) % 4", "Mod(s1 - s0, 4)"),
    ("(s0 + s1 % 8) % 4", "Mod(s0 + s1, 4)"),
    ("(s0*s1) % s1", "0"),
    ("(s0*s1 + s0) % s1", "Mod(s0, s1)"),
    ("(s0*s1 + 3*s1) % (2*s1)", "Mod(s0*s1 + 3*s1, 2*s1)"),
    ("(2*s0) % (2*s1)", "2*Mod(s0, s1)"),
    ("(4*s0 + 6) % (2*s1)", "2*Mod(2*s0 + 3, s1)"),
    ("(s0**2 + s0) % (s0 + 1)", "0"),
    ("(s0 + 1) % (s0 + 1)", "0"),
    ("s0 % (-s1)", "Mod(s0, -s1)"),
];

#[test]
fn quotients_and_remainders_are_reduced() {
    assert_forms(QUOTIENTS_AND_REMAINDERS_ARE_REDUCED);
}

/// What is written, and its form.
const EXTREMA_MAGNITUDES_AND_CHOICES: &[(&str, &str)] = &[
    ("Max(s0, 3, 5)", "Max(5, s0)"),
    ("Max(3, 5)", "5"),
    ("Min(3, 5)", "3"),
    ("Max(s0)", "s0"),
    ("Max(s0, s0)", "s0"),
    ("Min(s0 + 1, s0, s1)", "Min(s0, s1)"),
    ("Max(s0 + 1, s0, s1)", "Max(s0 + 1, s1)"),
    ("Max(Max(s0, s1), s2)", "Max(s0, s1, s2)"),
    ("Max(Min(s0, s1), s2)", "Max(s2, Min(s0, s1))"),
    ("Min(Min(s0, 4), Min(s1, 6))", "Min(4, s0, s1)"),
    ("Max(2*s0 + 1, 2*s0 + 5, s1 - 1, s1 - 2)", "Max(2*s0 + 5, s1 - 1)"),
    ("Abs(s0 - s1)", "Abs(s0 - s1)"),
    ("Abs(s1 - s0)", "Abs(s0 - s1)"),
    ("Abs(-3)", "3"),
    ("Abs(Abs(s0))", "Abs(s0)"),
    ("Abs(-s0)", "Abs(s0)"),
    ("Abs(5 - 2*s0)", "Abs(2*s0 - 5)"),
    ("Where(s0 > 3, s1, s1)", "s1"),
    ("Where(Ne(s0, 3), s1, s2)", "Where(Eq(s0, 3), s2, s1)"),
    ("Where(Eq(s0, 3), s1, s2)", "Where(Eq(s0, 3), s1, s2)"),
    ("Where(s0 > 3, s1, s2)", "Where(s0 >= 4, s1, s2)"),
    ("Where(3 < 5, s1, s2)", "s1"),
    ("Where(3 > 5, s1, s2)", "s2"),
];

#[test]
fn extrema_magnitudes_and_choices() {
    assert_forms(EXTREMA_MAGNITUDES_AND_CHOICES);
}

/// What is written, and its form.
const CONDITIONS: &[(&str, &str)] = &[
    ("Eq(s0, s0)", "True"),
    ("Eq(s0, s0 + 1)", "False"),
    ("Eq(2*s0, 5)", "False"),
    ("Eq(2*s0, 6)", "Eq(s0, 3)"),
    ("Eq(-s0, -s1)", "Eq(s0, s1)"),
    ("Eq(2*s0 + 4*s1, 6)", "Eq(s0 + 2*s1, 3)"),
    ("Eq(2*s0 + 4*s1, 7)", "False"),
    ("Ne(s0, 3)", "Ne(s0, 3)"),
    ("Ne(2*s0, 5)", "True"),
    ("s0 < s1", "s0 < s1"),
    ("s0 <= s1", "s0 <= s1"),
    ("s0 > s1", "s0 > s1"),
    ("s0 >= s1", "s0 >= s1"),
    ("2*s0 <= 5", "s0 <= 2"),
    ("2*s0 >= 5", "s0 >= 3"),
    ("2*s0 < 6", "s0 <= 2"),
    ("3*s0 + 6*s1 <= 10", "s0 + 2*s1 <= 3"),
    ("-3*s0 <= 10", "s0 >= -3"),
    ("0 <= 1", "True"),
    ("1 <= 0", "False"),
    ("0 < 0", "False"),
    ("Not(s0 < s1)", "s0 >= s1"),
    ("Not(s0 <= 5)", "s0 >= 6"),
    ("Not(Eq(s0, 5))", "Ne(s0, 5)"),
    ("Not(Ne(s0, 5))", "Eq(s0, 5)"),
    ("Not(And(s0 < 3, Eq(s1, 4)))", "(s0 >= 3) | Ne(s1, 4)"),
    ("Not(Or(s0 < 3, Eq(s1, 4)))", "(s0 >= 3) & Ne(s1, 4)"),
    ("And(s0 < 3, s0 < 3)", "s0 <= 2"),
    ("And(s0 < 3, s0 >= 3)", "False"),
    ("Or(s0 < 3, s0 >= 3)", "True"),
    ("And(s0 < 3, 1 < 2)", "s0 <= 2"),
    ("And(s0 < 3, 2 < 1)", "False"),
    ("Or(s0 < 3, 1 < 2)", "True"),
    ("Or(s0 < 3, 2 < 1)", "s0 <= 2"),
    ("And(And(s0 < 3, s1 < 3), s2 < 3)", "(s0 <= 2) & (s1 <= 2) & (s2 <= 2)"),
    ("Or(And(s0 < 3, s1 < 3), s2 < 3)", "((s0 <= 2) & (s1 <= 2)) | (s2 <= 2)"),
    ("And(Eq(s0, 1), Ne(s0, 1))", "False"),
    ("Or(Eq(s0, 1), Ne(s0, 1))", "True"),
    (
        "s0 < 1e300",
        "s0 <= 1000000000000000052504760255204420248704468581108159154915854115511802457988908195786371375080447864043704443832883878176942523235360430575644792184786706982848387200926575803737830233794788090059368953234970799945081119038967640880074652742780142494579258788820056842838115669472196386865459400540159",
    ),
    ("True", "True"),
    ("False", "False"),
    ("Eq(s0 < 3, s1 < 3)", "((s0 <= 2) & (s1 <= 2)) | ((s0 >= 3) & (s1 >= 3))"),
    ("Ne(s0 < 3, s1 < 3)", "((s0 <= 2) | (s1 <= 2)) & ((s0 >= 3) | (s1 >= 3))"),
];

#[test]
fn conditions() {
    assert_forms(CONDITIONS);
}

/// What is written, and its form.
const BITS_DOUBLES_AND_RATIOS: &[(&str, &str)] = &[
    ("s0 & s0", "s0"),
    ("s0 & s1", "BitwiseFn_bitwise_and(s0, s1)"),
    ("s1 & s0", "BitwiseFn_bitwise_and(s0, s1)"),
    ("s0 | s0", "s0"),
    ("s0 | s1", "BitwiseFn_bitwise_or(s0, s1)"),
    ("s0 ^ s0", "0"),
    ("s0 ^ s1", "BitwiseFn_bitwise_xor(s0, s1)"),
    ("12 & 10", "8"),
    ("12 | 10", "14"),
    ("12 ^ 10", "6"),
    ("(s0 < 3) & (s1 < 3)", "(s0 <= 2) & (s1 <= 2)"),
    ("(s0 < 3) | (s1 < 3)", "(s0 <= 2) | (s1 <= 2)"),
    ("IntTrueDiv(s0, 2)", "IntTrueDiv(s0, 2)"),
    ("IntTrueDiv(6, 4)", "1.5"),
    ("ToFloat(s0)", "ToFloat(s0)"),
    ("ToFloat(3)", "3.0"),
    ("TruncToInt(ToFloat(s0))", "TruncToInt(ToFloat(s0))"),
    ("FloorToInt(IntTrueDiv(s0, 2))", "FloorToInt(IntTrueDiv(s0, 2))"),
    ("CeilToInt(IntTrueDiv(s0, 2))", "CeilToInt(IntTrueDiv(s0, 2))"),
    ("TruncToInt(IntTrueDiv(7, 2))", "3"),
    ("RoundToInt(IntTrueDiv(7, 2))", "4"),
    ("RoundToInt(IntTrueDiv(5, 2))", "2"),
    ("CeilToInt(IntTrueDiv(7, 2))", "4"),
    ("FloorToInt(2.5)", "2"),
    ("2.5 + s0", "ToFloat(s0) + 2.5"),
    ("2.0*s0", "2.0*ToFloat(s0)"),
    ("s0*0.5 + s1", "0.5*ToFloat(s0) + ToFloat(s1)"),
    ("floor(s0/2)", "(s0//2)"),
    ("ceiling(s0/2)", "-((-s0)//2)"),
    ("ceiling((s0 + 1)/2)", "1 - ((1 - s0)//2)"),
    ("s0/2 + s1/3", "(3*s0 + 2*s1)/6"),
    ("s0/2 + s0/2", "s0"),
    ("(s0/2)*(s1/3)", "(s0*s1)/6"),
    ("(s0/2)**2", "s0**2/4"),
    ("Max(s0/2, s1/3)", "Max(2*s1, 3*s0)/6"),
    ("Abs(-s0/2)", "Abs(s0)/2"),
    ("s0/2 < s1/3", "2*s1 > 3*s0"),
    ("Eq(s0/2, s1)", "Eq(s0, 2*s1)"),
    ("Eq(s0/2, 3/4)", "False"),
    ("(s0/2)//3", "(s0//6)"),
    ("Mod(s0/2, 3)", "Mod(s0, 6)/2"),
    ("s0/2 - s0/2", "0"),
    ("s0 < 2.5", "s0 <= 2"),
    ("s0 <= 2.5", "s0 <= 2"),
    ("s0 > 2.5", "s0 >= 3"),
    ("Eq(s0, 2.5)", "False"),
    ("Eq(s0, 2.0)", "Eq(s0, 2)"),
    ("PythonMod(s0, 4)", "Mod(s0, 4)"),
    ("Mod(s0, 4)", "Mod(s0, 4)"),
    ("CleanDiv(s0, 4)", "(s0//4)"),
    ("FloorDiv(s0, 4)", "(s0//4)"),
    ("CeilDiv(s0, 4)", "-((-s0)//4)"),
    ("ModularIndexing(s0, 4, 8)", "Mod((s0//4), 8)"),
    ("ModularIndexing(s0, 1, 8)", "Mod(s0, 8)"),
    ("sqrt(4)", "2.0"),
    ("OpaqueUnaryFn_sqrt(s0)", "OpaqueUnaryFn_sqrt(ToFloat(s0))"),
    ("s0 << 3", "8*s0"),
    ("s0 >> 2", "(s0//4)"),
    ("1 << 70", "1180591620717411303424"),
];

#[test]
fn bits_doubles_and_ratios() {
    assert_forms(BITS_DOUBLES_AND_RATIOS);
}

/// Symbols are replaced in what is written or in what is built of it.
#[test]
fn substitution_builds_the_form_of_what_would_be_written() {
    let tables = [
        SUMS_AND_PRODUCTS_ARE_POLYNOMIALS,
        QUOTIENTS_AND_REMAINDERS_ARE_REDUCED,
        EXTREMA_MAGNITUDES_AND_CHOICES,
        CONDITIONS,
        BITS_DOUBLES_AND_RATIOS,
    ];
    let written: Vec<&str> = tables.into_iter().flatten().map(|(written, _)| *written).collect();
    for [s0, s1, s2] in [["s2", "s0", "s1"], ["12", "5", "-7"], ["7", "12", "3"], ["u0", "4", "u1"]] {
        for text in &written {
            let mut pool = Pool::new();
            let mut of = |text: &str| read::closed(&mut pool, text).ok().map(|read| read.expr);
            let symbols: Vec<Expr> = ["s0", "s1", "s2"].iter().filter_map(|s| of(s)).collect();
            let by: Vec<Expr> = [s0, s1, s2].iter().filter_map(|e| of(e)).collect();
            let marked = text.replace("s0", "@0").replace("s1", "@1").replace("s2", "@2");
            let replaced = [s0, s1, s2].into_iter().enumerate();
            let replaced =
                replaced.fold(marked, |text, (i, by)| text.replace(&format!("@{i}"), &format!("({by})")));
            let (Some(e), Some(expected)) = (of(text), of(&replaced)) else { continue };
            let found = pool.substitute(e, |e| symbols.iter().position(|s| *s == e).map(|i| by[i]));
            let (found, expected) = (print::expression(&pool, found), print::expression(&pool, expected));
            assert_eq!(found, expected, "{text} with {s0}, {s1}, {s2}");
        }
    }
}
