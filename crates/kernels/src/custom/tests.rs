//! Tests of declarations: what they mean, and what is wrong with wrong ones.
use crate::{Cx, KernelError, Operators, Value, bind};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Int, Value as Number, print};
use sizewise_ir::dtype::{Device, Dtype};
use std::sync::Arc;

/// A tensor whose sizes are numbers or symbols; symbols have the hint 8.
fn tensor(env: &mut ShapeEnv, sizes: &[&str], dtype: Dtype) -> Value {
    let sizes: Vec<_> = sizes
        .iter()
        .map(|size| match size.parse::<i64>() {
            Ok(number) => env.pool.int(number),
            Err(_) => {
                let hint = Some(Number::Int(Int::from(8)));
                env.declare(size, ValueRange::at_least(Int::from(0)), SymbolInfo { hint, source: None })
            }
        })
        .collect();
    Cx::new(env).contiguous(sizes, dtype, &Device::cpu()).into()
}

/// What a declared operator returns, as text: dtype, sizes, strides where they are not contiguous, guards.
fn outcome(declaration: &str, make: impl Fn(&mut ShapeEnv) -> Vec<Value>) -> String {
    let mut operators = Operators::new();
    operators.declare("ops.toml", declaration).unwrap_or_else(|error| panic!("{error}"));
    let name = operators.names().next().expect("an operator").to_owned();
    let (schema, kernel) = operators.find(&name).expect("an operator");
    let env = &mut ShapeEnv::new();
    let values = make(env);
    let args = bind(&mut env.pool, schema, values, std::iter::empty::<(&str, Value)>()).expect("arguments");
    let results = match kernel.call(&mut Cx::new(env), &args) {
        Ok(results) => results,
        Err(KernelError::Invalid { clause, message, .. }) => return format!("invalid {clause}: {message}"),
        Err(other) => return format!("{other:?}"),
    };
    let mut texts = Vec::new();
    let mut stack: Vec<Value> = results.into_iter().rev().collect();
    while let Some(value) = stack.pop() {
        texts.push(match value {
            Value::Tensor(t) => {
                let mut text = format!("{} {}", t.dtype, Cx::new(env).show_all(&t.sizes));
                if Cx::new(env).contiguous_strides(&t.sizes) != t.strides {
                    text.push_str(&format!(" strides {}", Cx::new(env).show_all(&t.strides)));
                }
                text
            }
            Value::Tensors(items) => {
                stack.extend(items.into_iter().rev().map(|t| t.map_or(Value::None, Value::Tensor)));
                continue;
            }
            Value::Int(e) | Value::Bool(e) | Value::Float(e) => print::expression(&env.pool, e),
            other => other.kind().to_owned(),
        });
    }
    let guards: Vec<String> =
        env.guards().iter().map(|g| print::expression(&env.pool, g.condition)).collect();
    if !guards.is_empty() {
        texts.push(format!("if {}", guards.join(" and ")));
    }
    texts.join("; ")
}

fn declared(schema: &str, rest: &str) -> String {
    format!("[[operator]]\nschema = \"{schema}\"\n{rest}\n")
}

#[test]
fn sizes_are_formulas_over_arguments() {
    let text = declared(
        "my::op(Tensor x, Tensor y, int n, int[] sizes, bool flip) -> Tensor",
        r#"
        [[operator.returns]]
        shape = ["2*x.shape[0]", "*x.shape[1:]", "n if flip else 1", "*sizes[:1]", "sizes[-1]"]
        dtype = "promote(x, y)""#,
    );
    let found = outcome(&text, |env| {
        let sizes = vec![env.pool.int(5), env.pool.int(6), env.pool.int(7)];
        let (n, flip) = (Value::Int(env.pool.int(3)), Value::Bool(env.pool.bool(true)));
        vec![
            tensor(env, &["s0", "4"], Dtype::Int32),
            tensor(env, &["1"], Dtype::Float16),
            n,
            Value::Ints(sizes),
            flip,
        ]
    });
    assert_eq!(found, "float16 [2*s0, 4, 3, 5, 7]");
}

#[test]
fn shapes_meet_and_conditions_become_guards() {
    let text = declared(
        "my::op(Tensor x, Tensor y) -> Tensor",
        "requires = [\"x.shape[0] % 2 == 0\"]\nreturns = [{ shape = [\"*broadcast(x, y)\"], dtype = \"bool\" }]",
    );
    let found = outcome(&text, |env| {
        vec![tensor(env, &["s0", "1"], Dtype::Int32), tensor(env, &["s1", "4"], Dtype::Int32)]
    });
    assert_eq!(found, "bool [s0, 4]; if Eq(Mod(s0, 2), 0) and Eq(s0, s1) | Eq(s1, 1)");
    let found =
        outcome(&text, |env| vec![tensor(env, &["3"], Dtype::Int32), tensor(env, &["3"], Dtype::Int32)]);
    assert_eq!(found, "invalid custom.C1: my.op.default (ops.toml:3): x.shape[0] % 2 == 0");
}

#[test]
fn lists_of_tensors_fold_and_are_required_one_by_one() {
    let text = declared(
        "my::stack(Tensor[] xs, Tensor? bias) -> (Tensor, Tensor[], int)",
        r#"requires = [
            "xs.length >= 1",
            { each = "x in xs", holds = "x.rank == 2", message = "matrices only" },
            { when = "bias.given", holds = "bias.shape[0] == xs[0].shape[1]" },
        ]
        let = { rows = { sum = "x.shape[0]", each = "x in xs" }, most = { max = "x.shape[1]", each = "x in xs" } }
        returns = [
            { shape = ["most"], dtype = "bias.dtype or xs[0].dtype" },
            { each = "x in xs", like = "x", dtype = "int8" }, { int = "most*2" },
        ]"#,
    );
    let found = outcome(&text, |env| {
        let list = [tensor(env, &["s0", "3"], Dtype::Float32), tensor(env, &["2", "5"], Dtype::Float32)];
        let list = list.map(|t| if let Value::Tensor(t) = t { Some(t) } else { None });
        vec![Value::Tensors(list.to_vec()), Value::None]
    });
    assert_eq!(found, "float32 [5]; int8 [s0, 3]; int8 [2, 5]; 10");
    let found = outcome(&text, |env| {
        let Value::Tensor(flat) = tensor(env, &["2"], Dtype::Float32) else { unreachable!() };
        vec![Value::Tensors(vec![Some(Arc::clone(&flat))]), Value::None]
    });
    assert_eq!(found, "invalid custom.C2: my.stack.default (ops.toml:5): matrices only");
}

#[test]
fn cases_follow_the_hint_and_record_it() {
    let text = declared(
        "my::op(Tensor x) -> Tensor",
        r#"cases = [
            { when = "x.rank == 1", returns = [{ shape = [], dtype = "x.dtype" }] },
            { when = "x.shape[0] >= 4", returns = [{ shape = ["x.shape[1]"], dtype = "x.dtype" }] },
            { when = "x.shape[0] >= 2", returns = ["aten.t.default(x)"] },
        ]"#,
    );
    let call =
        |sizes: &'static [&'static str]| outcome(&text, move |env| vec![tensor(env, sizes, Dtype::Float32)]);
    assert_eq!(call(&["3"]), "float32 []");
    assert_eq!(call(&["s0", "3"]), "float32 [3]; if s0 >= 4");
    assert_eq!(call(&["2", "3"]), "float32 [3, 2] strides [1, 3]");
    assert!(call(&["1", "3"]).contains("none of the cases"));
}

#[test]
fn fresh_sizes_are_bounded_by_the_arguments() {
    let text = declared(
        "my::some(Tensor x) -> (Tensor, Tensor)",
        r#"fresh = { kept = { min = 1, max = "x.numel" } }
        returns = [{ shape = ["kept", "2"], dtype = "int64" }, { shape = ["2*kept"], dtype = "x.dtype" }]"#,
    );
    let call =
        |size: &'static str| outcome(&text, move |env| vec![tensor(env, &[size, "3"], Dtype::Float32)]);
    assert_eq!(call("s0"), "int64 [u0, 2]; float32 [2*u0]; if s0 >= 1");
    assert!(
        call("0").starts_with("invalid custom.shape: `kept` is at least 1 and at most 0"),
        "{}",
        call("0")
    );
}

#[test]
fn operators_that_write_return_their_argument_or_nothing() {
    let nothing =
        declared("my::fill_(Tensor(a!) x, float v) -> ()", "requires = [\"x.is_floating\"]\nreturns = []");
    let nothing = nothing.as_str();
    let args = |dtype| {
        move |env: &mut ShapeEnv| vec![tensor(env, &["s0"], dtype), Value::Float(env.pool.float(1.0))]
    };
    assert_eq!(outcome(nothing, args(Dtype::Float32)), "");
    assert!(outcome(nothing, args(Dtype::Int8)).starts_with("invalid custom.C1"));
    let itself = declared("my::inc_(Tensor(a!) x) -> Tensor(a!)", "");
    assert_eq!(outcome(&itself, |env| vec![tensor(env, &["s0"], Dtype::Int8)]), "int8 [s0]");
}

#[test]
fn divisors_and_sizes_below_zero_are_conditions() {
    let text = declared(
        "my::op(Tensor x, int n) -> Tensor",
        "returns = [{ shape = [\"x.shape[0]//n - 1\"], dtype = \"int8\", strides = [\"7\"] }]",
    );
    let call = |n: i64| {
        outcome(&text, move |env| vec![tensor(env, &["s0"], Dtype::Int8), Value::Int(env.pool.int(n))])
    };
    assert_eq!(call(2), "int8 [(s0//2) - 1] strides [7]; if (s0//2) >= 1");
    assert!(call(0).starts_with("invalid custom.shape:"), "{}", call(0));
    assert!(call(100).contains("the size `x.shape[0]//n - 1` is"), "{}", call(100));
}

#[test]
fn wrong_declarations_say_where_and_what_was_expected() {
    let x = "my::op(Tensor x, int n, Tensor[] xs, Tensor? b, str mode) -> Tensor";
    let made =
        |shape: &str| declared(x, &format!("returns = [{{ shape = [{shape}], dtype = \"x.dtype\" }}]"));
    let requires =
        |condition: &str| declared(x, &format!("requires = [{condition}]\nreturns = [{{ like = \"x\" }}]"));
    let returns = |result: &str| declared(x, &format!("returns = {result}"));
    let table: Vec<(String, &str)> = vec![
        ("[[operator]\n".into(), "1:12: not TOML"),
        ("[[operators]]\n".into(), "1:3: unknown key `operators`; expected `operator`"),
        ("operator = 3\n".into(), "1:12: expected a list of operators"),
        ("[[operator]]\n".into(), "1:1: the operator has no `schema`"),
        (declared("my::op(Tensr x) -> Tensor", ""), "2:18: in the schema: unknown type `Tensr`"),
        (declared("op(Tensor x) -> Tensor", ""), "in the schema: expected"),
        (declared(x, "return = []"), "3:1: unknown key `return`"),
        (declared(x, ""), "1:1: `returns` is missing"),
        (
            format!("{}{}", returns("[{ like = \"x\" }]"), returns("[{ like = \"x\" }]")),
            "5:11: `my.op.default` is declared on line 2 already",
        ),
        (made("\"y.shape[0]\""), "3:24: there is no argument, `let` or `fresh` called `y`"),
        (made("\"2*x.shape[0] + m\""), "3:39: there is no argument, `let` or `fresh` called `m`"),
        (made("\"x.shape[0\""), "3:33: expected `]`, found the end"),
        (made("\"x.shape[0] +\""), "3:36: expected an operand, found the end"),
        (made("\"x.size[0]\""), "a tensor has no `size` here"),
        (made("\"x\""), "`x` is a tensor; expected `rank`"),
        (made("\"xs.shape[0]\""), "`xs` is a list: expected an element"),
        (made("\"mode\""), "`mode` of type str is no number"),
        (made("\"x.shape[0] / 2\""), "expected an integer, found a float"),
        (made("\"n == 2\""), "expected an integer, found a condition"),
        (made("\"x.dtype\""), "is a dtype and no size"),
        (made("\"b.given\""), "expected an integer, found a condition"),
        (made("\"x.given + 0\""), "`x` is always given"),
        (made("\"Symbol('s0')\""), "a formula has no symbols"),
        (made("\"frob(n)\""), "unknown function frob"),
        (made("\"*y.shape\""), "3:25: there is no argument, `let` or `fresh` called `y`"),
        (made("\"*n\""), "expected `*x.shape`"),
        (made("\"*x.shape[k:]\""), "3:33: there is no argument, `let` or `fresh` called `k`"),
        (made("\"*broadcast(x, n)\""), "3:38: expected a tensor; `n` is of type int"),
        (made("true"), "expected a size, found a value of type boolean"),
        (
            requires("\"x.rank == 2\", \"x.shape[2] == 1\""),
            "3:29: `x` has 2 dimensions by a condition above: 2 is out of range",
        ),
        (requires("\"x.shape[0]\""), "expected a condition, found an integer"),
        (requires("{ each = \"x in xs\", holds = \"True\" }"), "there is an argument or a name `x` already"),
        (
            requires("{ each = \"y in x\", holds = \"True\" }"),
            "expected a list of tensors or sizes; `x` is of type Tensor",
        ),
        (requires("{ when = \"True\" }"), "a condition has no `holds`"),
        (requires("{ holds = \"True\", hold = 1 }"), "unknown key `hold`"),
        (returns("[]"), "3:11: 0 results; the schema says 1"),
        (returns("[{ shape = [] }]"), "a tensor needs a `dtype`"),
        (returns("[{ shape = [], dtype = \"flaot\" }]"), "3:35: unknown dtype `flaot`"),
        (returns("[{ shape = [], dtype = \"n\" }]"), "`n` is of type int: expected a dtype"),
        (returns("[{ like = \"x\", strides = \"dense\" }]"), "unknown strides"),
        (returns("[{ like = \"mode\" }]"), "expected a tensor; `mode` is of type str"),
        (returns("[{ like = \"xs[a]\" }]"), "expected the number of an element"),
        (returns("[{ int = \"n\" }]"), "the schema says Tensor here, this is `int`"),
        (returns("[{ same = \"n\" }]"), "the schema says Tensor, this is int"),
        (returns("[{ tensors = [] }]"), "the schema says Tensor here"),
        (returns("[{ like = \"x\", none = true }]"), "`like` does not go with `none`"),
        (returns("[\"aten.nosuch.default(x)\"]"), "3:13: no operator `aten.nosuch.default` is known"),
        (returns("[\"aten.relu.default(x, z)\"]"), "3:34: there is no argument"),
        (returns("[\"aten.relu.default(x, n)\"]"), "takes 1 arguments at most"),
        (returns("[\"aten.relu.default(self=x, to=n)\"]"), "has no argument `to`"),
        (returns("[\"x\"]"), "expected the call of an operator"),
        (returns("\"aten.topk.default(x, n)\""), "returns 2 results, the schema says 1"),
        (
            declared(x, "let = { n = 1 }\nreturns = [{ like = \"x\" }]"),
            "3:9: there is an argument or a name `n` already",
        ),
        (declared(x, "let = { k = { sum = \"1\" } }\nreturns = [{ like = \"x\" }]"), "expected `each ="),
        (
            declared(x, "fresh = { u = { most = 1 } }\nreturns = [{ like = \"x\" }]"),
            "3:17: unknown key `most`; the nearest is `min`; expected `min` or `max`",
        ),
        (declared(x, "fresh = { \"a b\" = {} }\nreturns = [{ like = \"x\" }]"), "`a b` is no name"),
        (
            declared(x, "cases = [{ returns = [{ like = \"x\" }] }, { returns = [{ like = \"x\" }] }]"),
            "it has to be the last one",
        ),
        (declared(x, "cases = []\nreturns = [{ like = \"x\" }]"), "either `returns` or `cases`"),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in table {
        match Operators::new().declare("ops.toml", &text) {
            Ok(_) => wrong.push(format!("{text}  is accepted; expected {expected}")),
            Err(error) => {
                let error = error.to_string();
                if !error.contains(expected) || !error.starts_with("ops.toml:") {
                    wrong.push(format!("{text}  gives    {error}\n  expected {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_text_makes_the_reader_panic() {
    let text = include_str!("../../../../operators/corpus.toml");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound.max(1)
    };
    let pieces = [
        "\"",
        "[",
        "]",
        "{",
        "}",
        "*",
        "xs[0]",
        ".shape[",
        "é",
        "=",
        "\n",
        "-9999999999999999999",
        "'''",
        "in",
    ];
    for _ in 0..1500 {
        let mut bytes: Vec<char> = text.chars().collect();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => {
                    bytes.remove(at);
                }
                1 => {
                    let end = (at + next(12)).min(bytes.len());
                    bytes.drain(at..end);
                }
                _ => {
                    let piece = pieces[next(pieces.len())];
                    bytes.splice(at..at, piece.chars());
                }
            }
        }
        let text: String = bytes.into_iter().collect();
        if let Err(error) = Operators::new().declare("ops.toml", &text) {
            assert!(error.line >= 1 && error.column >= 1);
        }
    }
}

#[test]
fn lists_are_gone_through_side_by_side() {
    let blocks = "[[operator]]\nschema = \"my::blocks(Tensor x, int[] block) -> Tensor\"\n\
                  requires = [{ each = \"n, b in zip(x.shape, block)\", holds = \"n % b == 0\" }]\n\
                  let = { all = { product = \"n//b\", each = \"n, b in zip(x.shape, block)\" } }\n\
                  [[operator.returns]]\n\
                  shape = [\"all\", \"*[n//b for n, b in zip(x.shape, block) if b > 1]\"]\n\
                  dtype = \"x.dtype\"\n";
    let call = |sizes: [&'static str; 2], block: &'static [i64]| {
        outcome(blocks, |env| {
            let block = block.iter().map(|&b| env.pool.int(b)).collect();
            vec![tensor(env, &sizes, Dtype::Float32), Value::Ints(block)]
        })
    };
    assert_eq!(call(["4", "6"], &[1, 3]), "float32 [8, 2]");
    assert_eq!(call(["s0", "6"], &[2, 3]), "float32 [2*(s0//2), (s0//2), 2]; if Eq(Mod(s0, 2), 0)");
    assert!(call(["4", "6"], &[1, 4]).starts_with("invalid custom.C1"));
    assert!(call(["4", "6"], &[2]).contains("1 elements beside 2"));
}

#[test]
fn strides_follow_an_order_and_texts_choose_a_case() {
    let ordered = "[[operator]]\nschema = \"my::lay(Tensor x, str mode, int[] dims) -> Tensor\"\n\
                   [[operator.cases]]\n\
                   when = { text = \"mode\", is = \"dense\" }\n\
                   returns = [{ like = \"x\", strides = \"order dims\" }]\n";
    let call = |mode: &'static str, dims: &'static [i64]| {
        outcome(ordered, |env| {
            let dims = dims.iter().map(|&d| env.pool.int(d)).collect();
            vec![tensor(env, &["2", "3", "4"], Dtype::Int8), Value::Str(mode.into()), Value::Ints(dims)]
        })
    };
    assert_eq!(call("dense", &[0, 2, 1]), "int8 [2, 3, 4] strides [12, 1, 3]");
    assert_eq!(call("dense", &[0, 1, 2]), "int8 [2, 3, 4]");
    for wrong in [&[0, 2][..], &[0, 0, 1], &[0, 1, 3], &[0, 1, 2, 3], &[-1, 0, 1]] {
        assert!(call("dense", wrong).contains("is no order of 3 dimensions"), "{wrong:?}");
    }
    assert!(call("sparse", &[0, 1, 2]).starts_with("invalid custom.when"));
}
