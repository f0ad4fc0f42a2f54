//! Tests of the reader.
use super::read::{self, Dialect};
use super::{Property, SourcePath, SourceStep};
use crate::{Expr, Int, Pool, Sort, Value};

/// Symbols used below and their values.
const VALUES: [(&str, i64); 6] = [("a", 7), ("b", -3), ("s0", 12), ("s1", 5), ("s17", 9), ("u0", 0)];

fn value_in(text: &str, dialect: Dialect) -> String {
    let mut pool = Pool::new();
    let x = pool.symbol("s0");
    let read = match read::expression_in(&mut pool, text, dialect, &mut |_| Some(x)) {
        Ok(read) => read,
        Err(error) => return format!("error: {error}"),
    };
    let value = pool.eval(read.expr, |s| {
        let (_, v) = VALUES.iter().find(|(name, _)| *name == pool.symbol_name(s))?;
        Some(Value::Int(Int::from(*v)))
    });
    match value {
        Ok(Value::Int(v)) => v.to_string(),
        Ok(Value::Float(v)) => format!("{v:?}"),
        Ok(Value::Bool(v)) => v.to_string(),
        Ok(Value::Ratio(v)) => v.to_string(),
        Err(error) => error.to_string(),
    }
}

fn value(text: &str) -> String {
    value_in(text, Dialect::Auto)
}

#[test]
fn operators_bind_as_in_python() {
    let table = [
        ("2 + 3*4", "14"),
        ("(2 + 3)*4", "20"),
        ("-2**2", "-4"),
        ("2**-1", "1/2"),
        ("2**3**2", "512"),
        ("-7//2", "-4"),
        ("-(7//2)", "-3"),
        ("7//-2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("7//2*3", "9"),
        ("100//7//2", "7"),
        ("2*3 % 4", "2"),
        ("1 << 2 + 1", "8"),
        ("-9 >> 1", "-5"),
        ("a & 3 | 8", "11"),
        ("6 ^ 3 & 1", "7"),
        ("a & 7 < 8", "true"),
        ("~a", "-8"),
        ("~(a < 3)", "true"),
        ("1 < a < 8", "true"),
        ("1 < a < 7", "false"),
        ("a > b == -3", "true"),
        ("not a == 7", "false"),
        ("not a == 7 or a == 7 and b < 0", "true"),
        ("1 if a > 7 else 2 if a > 6 else 3", "2"),
        ("(1 if a > 6 else 2) + 10", "11"),
        ("1 + (a > 6)", "2"),
        ("10 - 2 - 3", "5"),
        ("a != 7", "false"),
        ("a <> 7", "false"),
        ("a\n  + b", "4"),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn functions_of_torch_and_sympy() {
    let table = [
        ("FloorDiv(b, 2)", "-2"),
        ("CleanDiv(a, 2)", "3"),
        ("CeilDiv(a, 2)", "4"),
        ("Mod(b, 5)", "2"),
        ("PythonMod(b, -2)", "-1"),
        ("ModularIndexing(a, 2, 3)", "0"),
        ("Min(a, b, 0)", "-3"),
        ("Max(a, b)", "7"),
        ("max(a, b) + min(a, b)", "4"),
        ("torch.sym_max(a, s0)", "12"),
        ("Abs(b)", "3"),
        ("Where(a > b, 1, 2)", "1"),
        ("Piecewise((1, a < b), (2, a < 0), (3, True))", "3"),
        ("Piecewise(ExprCondPair(Integer(1), StrictLessThan(a, b)), ExprCondPair(Integer(4), true))", "4"),
        ("Eq(a, 7)", "true"),
        ("Ne(a, 7)", "false"),
        ("Lt(b, a, s0)", "true"),
        ("Ge(a, 7)", "true"),
        ("And(a > 1, b < 0, True)", "true"),
        ("Or()", "false"),
        ("Not(Or(a < 1, b > 0))", "true"),
        ("Xor(a > 1, b < 0)", "false"),
        ("PowByNatural(b, 3)", "-27"),
        ("LShift(a, 2)", "28"),
        ("RShift(b, 1)", "-2"),
        ("BitwiseFn_bitwise_and(a, 5)", "5"),
        ("BitwiseFn_bitwise_xor(a, 5)", "2"),
        ("ToFloat(a)", "7.0"),
        ("IntTrueDiv(a, 2)", "3.5"),
        ("FloatTrueDiv(a, 2)", "3.5"),
        ("FloatPow(2.0, a)", "128.0"),
        ("TruncToInt(-2.5)", "-2"),
        ("FloorToInt(-2.5)", "-3"),
        ("CeilToInt(IntTrueDiv(a, 2))", "4"),
        ("RoundToInt(2.5)", "2"),
        ("round(3.5)", "4"),
        ("round(2.675, 2)", "2.67"),
        ("RoundDecimal(2.675, 2)", "2.67"),
        ("TruncToFloat(2.7)", "2.0"),
        ("OpaqueUnaryFn_sqrt(16)", "4.0"),
        ("math.trunc(torch._sym_sqrt(torch.sym_float(16)))", "4"),
        ("math.ceil(a / 2)", "4"),
        ("int(2.9) + float(1)", "3.0"),
        ("floor(a/2)", "3"),
        ("ceiling(a/2)", "4"),
        ("Identity(a) + 1", "8"),
        ("IsNonOverlappingAndDenseIndicator(3, 4, 4, 1)", "1"),
        ("IsNonOverlappingAndDenseIndicator(3, 4, 5, 1)", "0"),
        ("torch.sym_sum([a, b, 1])", "5"),
        ("Eq(a, 7, evaluate=False)", "true"),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn srepr_is_read() {
    let table = [
        ("Add(Symbol('s17', positive=True, integer=True), Integer(2))", "11"),
        ("Mul(Integer(-1), Symbol('u0', integer=True))", "0"),
        ("Mul(Rational(1, 2), Symbol('s17', positive=True, integer=True))", "9/2"),
        ("Pow(Symbol('s17'), Integer(2))", "81"),
        ("Mul(Symbol('s17'), Pow(Integer(2), Integer(-1)))", "9/2"),
        ("Float('2.5', precision=53)", "2.5"),
        ("Equality(Mod(Symbol('s17'), Integer(8)), Integer(1))", "true"),
        ("Unequality(Symbol('s17'), Integer(1))", "true"),
        ("StrictLessThan(Symbol('s17'), Integer(9))", "false"),
        ("LessThan(Symbol('s17'), Integer(9))", "true"),
        ("StrictGreaterThan(Symbol('s17'), int_oo)", "false"),
        ("GreaterThan(Symbol('s17'), Integer(9))", "true"),
        ("And(true, Not(false))", "true"),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn a_slash_is_exact_in_sympy_and_a_double_in_python() {
    let big = "9007199254740993/3 + s1*0";
    assert_eq!(value_in(big, Dialect::Sympy), "3002399751580331");
    assert_eq!(value_in("(s0*0 + 9007199254740993)/1", Dialect::Python), "9007199254740992.0");
    assert_eq!(value_in("s1/2", Dialect::Sympy), "5/2");
    assert_eq!(value_in("s1/2", Dialect::Python), "2.5");
    assert_eq!(value_in("s1/s0 < 1", Dialect::Python), "true");
    assert_eq!(value_in("L['x'].size()[0]/8", Dialect::Auto), "1.5");
    assert_eq!(value_in("s0/8", Dialect::Auto), "3/2");
    assert_eq!(
        value_in("s0/s1", Dialect::Sympy),
        "error: line 1, column 4: a ratio with a variable divisor is not supported: \
         write a//b, or IntTrueDiv(a, b) for a double"
    );
}

#[test]
fn infinity_decides_comparisons() {
    let table = [
        ("s0 < int_oo", "true"),
        ("s0 <= -oo", "false"),
        ("-int_oo < s0", "true"),
        ("Eq(s0, int_oo)", "false"),
        ("s0 != oo", "true"),
        ("oo == oo", "true"),
        ("-oo < oo", "true"),
        ("9 <= s0 and s0 <= IntInfinity()", "true"),
        ("math.inf > s0", "true"),
        ("Min(s0, int_oo)", "12"),
        ("Max(s0, int_oo) > 5", "true"),
        ("ToFloat(s0) < oo", "true"),
        ("2 <= s0 < int_oo", "true"),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn infinity_is_compared_at_once_unless_the_other_side_may_be_infinite() {
    let mut pool = Pool::new();
    let mut read = |text: &str| {
        let e = read::closed(&mut pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr;
        pool.as_bool(e)
    };
    for (text, holds) in [
        ("s0 < oo", true),
        ("s0 > oo", false),
        ("oo > s0", true),
        ("oo <= s0", false),
        ("-oo < s0", true),
        ("s0 <= -oo", false),
        ("s0 >= -oo", true),
        ("-oo >= s0", false),
        ("oo >= oo", true),
        ("oo > oo", false),
        ("-oo < oo", true),
        ("Ne(-oo, oo)", true),
        ("Eq(oo, oo)", true),
    ] {
        assert_eq!(read(text), Some(holds), "{text}");
    }
    for text in ["zf0 < oo", "oo > zf0", "-oo < zf0", "Eq(zf0, oo)", "zf0 >= -oo"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn an_integer_meets_a_double_exactly_as_in_python() {
    let table = [
        ("s0*0 + 9007199254740993 == 9007199254740992.0", "false"),
        ("s0*0 + 9007199254740993 > 9007199254740992.0", "true"),
        ("s0 < 12.5", "true"),
        ("s0 <= 12.0", "true"),
        ("s0 < 12.0", "false"),
        ("11.5 >= s0", "false"),
        ("s0 == 12.0", "true"),
        ("s0 == 12.5", "false"),
        ("s0 < 1e999", "true"),
        ("s0/8 <= 1.5", "true"),
        ("s0/8 < 1.5", "false"),
    ];
    for (text, expected) in table {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn integers_of_any_size() {
    assert_eq!(
        value("170141183460469231731687303715884105728 - 1"),
        "170141183460469231731687303715884105727"
    );
    assert_eq!(value("s0*10**30 % 7 == (12*10**30) % 7"), "true");
    assert_eq!(value("2**100"), "1267650600228229401496703205376");
}

fn path(text: &str) -> Result<SourcePath, String> {
    let mut pool = Pool::new();
    let x = pool.symbol("x");
    let mut found = None;
    read::expression(&mut pool, text, &mut |path| {
        found = Some(path.clone());
        Some(x)
    })
    .map_err(|error| error.to_string())?;
    found.ok_or_else(|| "no source".to_owned())
}

#[test]
fn sources_are_taken_apart() {
    let source = |root: &str, steps: &[SourceStep], property| SourcePath {
        root: root.to_owned(),
        steps: steps.to_vec(),
        property,
    };
    let key = |k: &str| SourceStep::Key(k.to_owned());
    let table = [
        ("L['x'].size()[0]", source("x", &[], Some(Property::Size(0)))),
        ("L[\"x\"].stride()[1] + 1", source("x", &[], Some(Property::Stride(1)))),
        ("L['x'].storage_offset() == 0", source("x", &[], Some(Property::StorageOffset))),
        ("L['n']", source("n", &[], None)),
        ("L['d']['k'][0].size()[1]", source("d", &[key("k"), SourceStep::Index(0)], Some(Property::Size(1)))),
        ("x.shape[-1]", source("x", &[], Some(Property::Size(-1)))),
        ("args[2].shape[0]", source("args", &[SourceStep::Index(2)], Some(Property::Size(0)))),
        (
            "cfg.mask.size()[1]",
            source("cfg", &[SourceStep::Attribute("mask".to_owned())], Some(Property::Size(1))),
        ),
        ("L['it\\'s'].size()[0]", source("it's", &[], Some(Property::Size(0)))),
    ];
    for (text, expected) in table {
        assert_eq!(path(text), Ok(expected), "{text}");
    }
    assert_eq!(
        path("L['d']['k'][0].size()[1]").map(|p| p.to_string()),
        Ok(r#"L["d"]["k"][0].size()[1]"#.to_owned())
    );
}

#[test]
fn divisors_are_remembered_even_when_they_cancel() {
    let divisors = |text: &str| {
        let mut pool = Pool::new();
        let read = read::closed(&mut pool, text).expect("reads");
        read.divisors.iter().map(|&d| super::print::expression(&pool, d)).collect::<Vec<_>>()
    };
    assert_eq!(divisors("s0*s1//s1"), ["s1"]);
    assert_eq!(divisors("s0//2 + s0 % 3"), Vec::<String>::new());
    assert_eq!(divisors("(s0//s1) % (s2 - 1) + FloorDiv(s0, s1)"), ["s1", "s2 - 1"]);
    assert_eq!(divisors("ModularIndexing(s0, s1, s2)"), ["s1", "s2"]);
    assert_eq!(divisors("IntTrueDiv(s0, s1) < 2.0"), ["s1"]);
    assert_eq!(divisors("s0 // 0"), ["0"]);
    assert_eq!(divisors("s0 % (s1 - s1)"), ["0"]);
    assert_eq!(divisors("False and s0//s1 > 0"), ["s1"]);
}

#[test]
fn assumptions_of_symbols_are_reported_once_each() {
    let mut pool = Pool::new();
    let text = "Add(Symbol('s0', positive=True, integer=True), Symbol('u1', integer=True), \
                Symbol('zf2'), Symbol('s0'))";
    let read = read::closed(&mut pool, text).expect("reads");
    let said: Vec<(&str, bool, bool)> =
        read.assumptions.iter().map(|a| (pool.symbol_name(a.symbol), a.positive, a.integer)).collect();
    assert_eq!(said, [("s0", true, true), ("u1", false, true), ("zf2", false, false)]);
    assert_eq!(pool.sort(read.expr), Sort::Float);
}

#[test]
fn errors_say_what_was_expected_and_where() {
    let deep = "(".repeat(1_000_000);
    let minus = "-".repeat(1_000_000);
    let calls = "Max(".repeat(100_000);
    let powers = "2**".repeat(80_000);
    let digits = "9".repeat(200_000);
    let table = [
        ("", "line 1, column 1: expected an operand, found the end"),
        ("s0 +", "line 1, column 5: expected an operand, found the end"),
        ("s0 s1", "line 1, column 4: expected an operator or the end, found `s1`"),
        ("(s0", "line 1, column 4: expected `)`, found the end"),
        ("s0)", "line 1, column 3: expected an operator or the end, found `)`"),
        ("s0 +\n  * 2", "line 2, column 3: expected an operand, found `*`"),
        ("()", "line 1, column 2: expected an operand, found `)`"),
        ("é + $", "line 1, column 5: unexpected character '$'"),
        ("2x", "line 1, column 1: 2x: a number runs into a name"),
        ("'s0", "line 1, column 1: expected a closing quote"),
        ("'s0'", "line 1, column 1: expected an operand, found the string 's0'"),
        ("Foo(s0)", "line 1, column 1: unknown function Foo"),
        ("FloorDiv(s0)", "line 1, column 1: FloorDiv takes 2 arguments, found 1"),
        ("Abs(1, 2)", "line 1, column 1: Abs takes 1 argument, found 2"),
        ("Min()", "line 1, column 1: Min takes 1 or more arguments, found 0"),
        ("Max(s0, x=1)", "line 1, column 1: Max takes no argument named x"),
        ("1 if s0", "line 1, column 8: expected `else`, found the end"),
        ("s0 + not s1", "line 1, column 6: expected an operand, found `not`"),
        ("and", "line 1, column 1: expected an operand, found `and`"),
        ("None", "line 1, column 1: expected an operand, found `None`"),
        ("s0 + int_oo", "line 1, column 6: infinity has a meaning only in comparisons, Min and Max"),
        ("zoo", "line 1, column 1: complex infinity has no value"),
        ("L['x'].size()[0]", "line 1, column 1: nothing is known of the source L[\"x\"].size()[0]"),
        ("L[0]", "line 1, column 1: expected the name of an input, as in L['x']"),
        ("x.foo()", "line 1, column 8: expected .size(), .stride() or .storage_offset(), found the end"),
        ("x.shape['a']", "line 1, column 13: expected a dimension, found the end"),
        ("x[s0]", "line 1, column 3: expected a key or an index, found `s0`"),
        ("torch.relu", "line 1, column 1: torch.relu is neither a number nor called"),
        ("Symbol(s0)", "line 1, column 1: expected the symbol's name in quotes"),
        ("Symbol('a b')", "line 1, column 1: 'a b' cannot name a symbol"),
        ("Rational(1, 0)", "line 1, column 1: expected two integers, the second not 0"),
        ("Integer(s0)", "line 1, column 1: expected an integer"),
        ("Float('two')", "line 1, column 1: expected a number, found 'two'"),
        ("Piecewise((1, s0 > 2))", "line 1, column 1: expected a last branch whose condition is True"),
        ("Piecewise(1, 2)", "line 1, column 1: expected pairs of a value and a condition"),
        ("IsNonOverlappingAndDenseIndicator(s0)", "line 1, column 1: expected as many strides as sizes"),
        (
            "Max(s0, 0.5)//2",
            "line 1, column 15: a quotient rounded to an integer takes integers or doubles, found what may be either",
        ),
        (
            "CeilDiv(s0, Max(s1, 0.5))",
            "line 1, column 1: a quotient rounded to an integer takes integers or doubles, found what may be either",
        ),
        ("LShift(Max(s0, 0.5), 2)", "line 1, column 1: a shift takes integers, found a double"),
        ("2.5*s0 % 3", "line 1, column 10: a remainder takes integers, found a double"),
        ("Mod(7, ToFloat(s0))", "line 1, column 1: a remainder takes integers, found a double"),
        ("ModularIndexing(s0, 2.0, 3)", "line 1, column 1: a remainder takes integers, found a double"),
        ("s0 & 2.5", "line 1, column 1: a bitwise operator takes integers, found a double"),
        (
            "BitwiseFn_bitwise_or(2.5, s0)",
            "line 1, column 1: a bitwise operator takes integers, found a double",
        ),
        ("(1, 2) + 3", "line 1, column 1: expected a number, found a list"),
        ("s0 = 2", "line 1, column 4: expected `==`, found `=`"),
        ("s0 ! 2", "line 1, column 4: expected an operator or the end, found `!`"),
        (&deep, "line 1, column 1: the text is longer than 262144 bytes"),
        (&deep[..200_000], "line 1, column 201: nested deeper than 200 levels"),
        (&minus[..200_000], "line 1, column 201: nested deeper than 200 levels"),
        (&calls[..200_000], "line 1, column 801: nested deeper than 200 levels"),
        (&powers, "line 1, column 601: nested deeper than 200 levels"),
        (&digits, "line 1, column 1: number too large"),
    ];
    for (text, expected) in table {
        let mut pool = Pool::new();
        let error = read::closed(&mut pool, text).err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), Some(expected), "{}", &text[..text.len().min(60)]);
    }
}

#[test]
fn long_runs_take_little_time_and_hostile_ones_are_refused() {
    let long_sum: String = (0..4_000).map(|i| format!("s{i} + ")).collect::<String>() + "1";
    let long_product: String = (0..2_000).map(|i| format!("s{i}*")).collect::<String>() + "1";
    let long_and: String = (0..2_000).map(|i| format!("(s{i} > 1) & ")).collect::<String>() + "True";
    for text in [&long_sum, &long_product, &long_and] {
        let mut pool = Pool::new();
        assert!(read::closed(&mut pool, text).is_ok());
        assert!(pool.len() < 100_000, "{} nodes", pool.len());
    }
    // Towers of powers and of equivalences grow exponentially when written out; they are stored shared or not at all.
    let tower = format!("{}a{}", "(".repeat(40), "**64)".repeat(40));
    let huge = format!("{}1", "10**4000*".repeat(100));
    let mut equivalence = "a > 1".to_owned();
    for i in 0..60 {
        equivalence = format!("Eq({equivalence}, s{i} > 1)");
    }
    for text in [&tower, &equivalence] {
        let mut pool = Pool::new();
        assert!(read::closed(&mut pool, text).is_ok());
        assert!(pool.len() < 100_000, "{} nodes", pool.len());
    }
    assert!(read::closed(&mut Pool::new(), &huge).is_err());
    assert_eq!(value("a*0 + (a**65536)**65536 > 0"), "value too large");
}

#[test]
fn nothing_is_read_differently_for_the_order_of_symbols() {
    let mut first = Pool::new();
    let mut second = Pool::new();
    for name in ["c", "b", "a"] {
        second.symbol(name);
    }
    let text = "Max(b*c - a, 2) - (c//a) + 3*a*b >= (a + b) % c";
    let shown = |pool: &mut Pool| {
        let e: Expr = read::closed(pool, text).expect("reads").expr;
        super::print::expression(pool, e)
    };
    assert_eq!(shown(&mut first), shown(&mut second));
}
