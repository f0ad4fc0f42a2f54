//! The toolkit for programs: tracing, retracing, rewriting by patterns, passes of one's own.
use sizewise::ir::text::{self, Detail};
use sizewise::ir::{Argument, Constant, Dialect, Dtype, InputSpec, Program};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, PassError, Pattern, Pipeline, TraceError, Tracer, retrace, rewrite};
use sizewise::verify::{Level, Options, Profile, verify_program};

const CHAIN: &str = "\
class M(torch.nn.Module):
    def forward(self, x: \"f32[s0, 3]\"):
        y: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)
        z: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(y, x)
        w: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(z, 2)
        return (w,)
";

fn chain() -> Program {
    text::read(CHAIN).expect("a program")
}

fn targets(program: &Program) -> Vec<String> {
    program.graph.nodes().iter().map(|node| node.target.to_string()).collect()
}

fn unary(op: &str, x: impl Into<Argument>) -> (String, [(&'static str, Argument); 1]) {
    (format!("aten.{op}.default"), [("self", x.into())])
}

/// The program keeps the rules of its dialect. It has no lines of a source, of which a warning tells.
fn verify(program: &Program) {
    let found = verify_program(program, Profile::from(program.dialect), &Pipelined, &Options::default());
    let error = found.iter().find(|violation| violation.rule.level() != Level::Warning);
    assert!(error.is_none(), "{}", found[0]);
}

struct Pipelined;

impl sizewise::verify::KnownOperators for Pipelined {
    fn declared(&self, _: &str) -> Option<&sizewise::ir::schema::Schema> {
        None
    }

    fn has_kernel(&self, _: &str) -> bool {
        true
    }
}

#[test]
fn users_are_the_nodes_that_use_what_a_node_makes() {
    let program = chain();
    let graph = &program.graph;
    for (name, users) in [("x", vec!["y", "z"]), ("y", vec!["z"]), ("z", vec!["w"]), ("w", vec![])] {
        let value = graph.find(name).expect("a value");
        let found: Vec<&str> = graph.value_users(value).map(|node| &*node.name).collect();
        assert_eq!(found, users, "{name}");
        if let Some(node) = graph.producer(value) {
            let found: Vec<&str> = graph.users(node).map(|node| &*node.name).collect();
            assert_eq!(found, users, "{name}");
        }
    }
}

#[test]
fn calls_are_put_before_behind_and_in_place_of_others() {
    let operators = Operators::new();
    for (place, expected) in [
        (
            "before",
            ["aten.abs.default", "aten.relu.default", "aten.mul.Tensor", "aten.mul.Tensor"].as_slice(),
        ),
        ("behind", &["aten.relu.default", "aten.abs.default", "aten.mul.Tensor", "aten.mul.Tensor"]),
        ("instead", &["aten.abs.default", "aten.mul.Tensor", "aten.mul.Tensor"]),
        ("nowhere", &["aten.relu.default", "aten.mul.Tensor", "aten.mul.Tensor"]),
    ] {
        let program = chain();
        let traced = retrace(&program, &operators, |tracer, step| {
            if step.node.target.to_string() != "aten.relu.default" || place == "nowhere" {
                return Ok(None);
            }
            let given =
                step.argument("self").cloned().ok_or(TraceError::Malformed("no operand".to_owned()))?;
            if place == "behind" {
                let made = tracer.repeat(step)?;
                let (op, given) = unary("abs", made[0]);
                return tracer.call(&op, given).map(Some);
            }
            let (op, given) = unary("abs", given);
            let made = tracer.call(&op, given)?;
            Ok((place == "instead").then_some(made))
        });
        let traced = traced.expect(place);
        assert_eq!(targets(&traced.program), expected, "{place}");
        assert!(traced.guards.is_empty(), "{place}");
        verify(&traced.program);
    }
}

#[test]
fn what_is_repeated_as_it_was_prints_as_it_did() {
    let operators = Operators::new();
    for name in ["while_basic", "map_rows", "nested_conds", "guards_of_doubles"] {
        let path = format!("{}/tests/data/programs/{name}.pt2", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path).expect("the program");
        let program = sizewise::ir::pt2::read(&bytes, &Default::default()).expect("a program");
        let traced = retrace(&program, &operators, |_, _| Ok(None)).expect(name);
        let print = |program: &Program| text::write_readable(program, Detail::Full);
        assert_eq!(print(&traced.program), print(&program), "{name}");
    }
}

#[test]
fn results_that_do_not_fit_a_call_are_refused() {
    let operators = Operators::new();
    for count in [0, 2] {
        let error = retrace(&chain(), &operators, |tracer, step| {
            if &*step.node.name != "y" {
                return Ok(None);
            }
            let made = tracer.repeat(step)?;
            Ok(Some(made.into_iter().cycle().take(count).collect()))
        });
        let message = format!("`y` gives 1 results, {count} stand for them");
        assert_eq!(error.expect_err(&message).to_string(), message);
    }
}

#[test]
fn an_operator_is_called_once_under_its_name() {
    let error = retrace(&chain(), &Operators::new(), |tracer, step| {
        tracer.repeat(step)?;
        Ok(None)
    });
    let message = "a second value is called `y`; names are unique in a graph";
    assert_eq!(error.expect_err(message).to_string(), message);
}

#[test]
fn patterns_fit_calls_whose_inner_results_nothing_else_uses() {
    let operators = Operators::new();
    let gated = |x: &str| {
        let relu = Pattern::call("aten.relu.default", [("self", Pattern::any("x"))]);
        Pattern::call("aten.mul.Tensor", [("self", relu), ("other", Pattern::any(x))])
    };
    let twice = Pattern::call("aten.mul.Tensor", [("self", Pattern::any("x")), ("other", Pattern::Int(2))]);
    let thrice = Pattern::call("aten.mul.Tensor", [("self", Pattern::any("x")), ("other", Pattern::Int(3))]);
    let shared = CHAIN.replace("return (w,)", "return (w, y)");
    let (relu, mul, square) = ("aten.relu.default", "aten.mul.Tensor", "aten.square.default");
    for (name, source, pattern, expected) in [
        ("the same name twice", CHAIN, gated("x"), vec![square, mul]),
        ("two names for one value", CHAIN, gated("other"), vec![square, mul]),
        ("a number", CHAIN, twice, vec![relu, mul, square]),
        ("another number", CHAIN, thrice, vec![relu, mul, mul]),
        ("a result that is returned", &shared, gated("x"), vec![relu, mul, mul]),
        ("anything", CHAIN, Pattern::any("x"), vec![relu, mul, mul]),
    ] {
        let program = text::read(source).expect("a program");
        let traced = rewrite(&program, &operators, &pattern, |tracer, found| {
            let x = found.argument("x").expect("a name of the pattern");
            assert!(found.argument("nothing").is_none());
            tracer.call("aten.square.default", [("self", x)])
        });
        let traced = traced.expect(name);
        assert_eq!(targets(&traced.program), expected, "{name}");
        verify(&traced.program);
    }
}

#[test]
fn a_replacement_that_fails_fails_the_rewriting() {
    let relu = Pattern::call("aten.relu.default", [("self", Pattern::any("x"))]);
    let error =
        rewrite(&chain(), &Operators::new(), &relu, |tracer, _| tracer.call("aten.nothing.default", []));
    assert_eq!(
        error.expect_err("no operator").to_string(),
        "there is no fake kernel for `aten.nothing.default`"
    );
}

#[test]
fn inputs_are_parameters_buffers_numbers_and_constants() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, None, 4).expect("a size");
    tracer.parameter("p_w", "layer.w", Dtype::Float32, &["3"]).expect("a parameter");
    tracer.buffer("b_c", "layer.c", Dtype::Int64, &[], false).expect("a buffer");
    tracer.constant("flag", Constant::Bool(true)).expect("a constant");
    let n = tracer.int("n", "s0").expect("a number");
    let x = tracer.tensor("x", Dtype::Float32, &["s0"]).expect("a tensor");
    for (made, message) in [
        (tracer.int("n", "s0").err(), "a second value is called `n`; names are unique in a graph"),
        (tracer.int("m", "s9").err(), "the size `s9` is not declared"),
        (tracer.int("m", "0.5").err(), "`0.5` is no integer"),
        (tracer.constant("n", Constant::None).err(), "a second input is called `n`"),
    ] {
        assert_eq!(made.expect(message).to_string(), message);
    }
    let size = [("self", x.into()), ("start", Argument::Int(0)), ("end", n.into())];
    let part = tracer.call("aten.slice.Tensor", size).expect("a part")[0];
    let program = tracer.finish(&[part]).program;
    let kinds: Vec<&str> = program
        .signature
        .inputs
        .iter()
        .map(|spec| match spec {
            InputSpec::Parameter { .. } => "parameter",
            InputSpec::Buffer { persistent, .. } => ["other buffer", "buffer"][usize::from(*persistent)],
            InputSpec::Constant { .. } => "constant",
            _ => "user",
        })
        .collect();
    assert_eq!(kinds, ["parameter", "other buffer", "constant", "user", "user"]);
    verify(&program);
}

#[test]
fn control_flow_is_traced_by_closures() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, None, 4).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "3"]).expect("a tensor");
    let loops = tracer.while_loop(
        &[x],
        |inner, given| {
            let (op, arguments) = unary("sum", given[0]);
            let sum = inner.call(&op, arguments)?;
            inner.call("aten.gt.Scalar", [("self", sum[0].into()), ("other", Argument::Int(1))])
        },
        |inner, given| {
            inner.call("aten.mul.Scalar", [("self", given[0].into()), ("other", Argument::Float(0.5))])
        },
    );
    let loops = loops.expect("a loop")[0];
    let rows = tracer.map(&[loops], &[x], |inner, given| {
        let row = [("self", given[1].into()), ("vec", given[0].into())];
        inner.call("aten.mv.default", row)
    });
    let rows = rows.expect("a map")[0];
    assert_eq!((tracer.shape(loops), tracer.shape(rows)), ("f32[s0, 3]".into(), "f32[s0, s0]".into()));
    let differ = tracer.cond(
        x,
        &[x],
        |inner, given| inner.call("aten.t.default", [("self", given[0].into())]),
        |_, given| Ok(given.to_vec()),
    );
    let message = "the two graphs of `cond` give different results at place 0";
    assert_eq!(differ.expect_err("two shapes").to_string(), message);
    let carried = tracer.while_loop(&[x], |_, given| Ok(given.to_vec()), |_, _| Ok(Vec::new()));
    let message = "`while_loop` carries and its body gives 1 and 0 results";
    assert_eq!(carried.expect_err("nothing is carried").to_string(), message);
    let program = tracer.finish(&[rows]).program;
    assert_eq!(targets(&program), ["higher_order.while_loop", "higher_order.map_impl"]);
    assert_eq!(program.dialect, Dialect::Aten);
    verify(&program);
    let printed = text::write_readable(&program, Detail::Full);
    let again = text::read(&printed).expect("what was written");
    assert_eq!(text::write_readable(&again, Detail::Full), printed);
}

#[test]
fn a_scan_carries_one_form_and_stacks_the_rest() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, None, 4).expect("a size");
    let carried = tracer.tensor("c", Dtype::Float32, &["3"]).expect("a tensor");
    let scanned = tracer.tensor("x", Dtype::Float32, &["s0", "3"]).expect("a tensor");
    let number = tracer.tensor("n", Dtype::Float32, &[]).expect("a tensor");
    let add = |inner: &mut Tracer, a: sizewise::pass::Proxy, b: sizewise::pass::Proxy| {
        inner.call("aten.add.Tensor", [("self", a.into()), ("other", b.into())])
    };
    let made = tracer.scan(&[carried], &[scanned], &[number], |inner, given| {
        let next = add(inner, given[0], given[1])?[0];
        let sum = inner.call("aten.sum.default", [("self", next.into())])?[0];
        Ok(vec![next, add(inner, sum, given[2])?[0]])
    });
    let made = made.expect("a scan");
    let shapes: Vec<String> = made.iter().map(|&result| tracer.shape(result)).collect();
    assert_eq!(shapes, ["f32[3]", "f32[s0]"]);
    let shrinks = tracer.scan(&[carried], &[scanned], &[], |inner, given| {
        inner.call("aten.sum.default", [("self", given[1].into())])
    });
    let message = "`scan` carries and its graph gives different results at place 0";
    assert_eq!(shrinks.expect_err("another form").to_string(), message);
    let number = tracer.scan(&[], &[number], &[], |_, given| Ok(given.to_vec()));
    let message = "`scan` is given something without a dimension";
    assert_eq!(number.expect_err("no dimension").to_string(), message);
    let program = tracer.finish(&made).program;
    assert_eq!(targets(&program), ["higher_order.scan"]);
    verify(&program);
}

#[test]
fn passes_are_closures_that_may_fail() {
    let operators = Operators::new();
    let limit = 2;
    let pass = Pass::new("small", "refuses programs of many nodes", move |program, _| {
        match program.graph.nodes().len() {
            many if many > limit => Err(PassError::failed("small", format!("{many} nodes, at most {limit}"))),
            _ => Ok(program.clone()),
        }
    });
    let error = Pipeline::new().then(pass.clone()).run(&chain(), &operators).expect_err("three nodes");
    assert_eq!(error.to_string(), "small: 3 nodes, at most 2");
    assert_eq!((pass.name, pass.does), ("small", "refuses programs of many nodes"));
}
