//! Strides that the example decided: what needs them is promised only where they are the same.
use serde_json::Value as Json;
use sizewise::check::{Checker, Shapes};
use sizewise::expr::{Int, Value};
use sizewise::ir::{Argument, Dtype, Operand, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::{Proxy, Tracer};
use sizewise::report::{GuardVerdict, Outcome};
use sizewise::solve::Budget;
use sizewise::spec::{Contract, Shape, Spec, Width};

/// What becomes of `x.transpose(0, 2).reshape(8, -1)`, which is copied unless the first size is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Nothing,
    /// `.view(-1)`, which takes only the copy.
    View,
    /// The same is copied twice more, and the last copy is viewed.
    ViewOfAnother,
    /// A tensor as long as the distance between rows.
    Stride,
    /// `.add_(1)`, which gives back what it writes.
    Write,
}

fn transposed(least: i64, then: Then) -> Checker {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", least, Some(100), 6).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "4", "8"]).expect("an input");
    let ints = |list: &[i64]| Argument::Ints(list.to_vec());
    let dims = [("self", x.into()), ("dim0", Argument::Int(0)), ("dim1", Argument::Int(2))];
    let turned = tracer.call("aten.transpose.int", dims).expect("a view")[0];
    let mut call = |target: &str, of: Proxy, rest: Vec<(&'static str, Argument)>| {
        let given = std::iter::once(("self", Argument::from(of))).chain(rest);
        tracer.call(target, given).expect("a call that the operator takes")[0]
    };
    let mut copy = || call("aten.reshape.default", turned, vec![("shape", ints(&[8, -1]))]);
    let mut copied = copy();
    if then == Then::ViewOfAnother {
        copy();
        copied = copy();
    }
    let last = match then {
        Then::Nothing => copied,
        Then::View | Then::ViewOfAnother => call("aten.view.default", copied, vec![("size", ints(&[-1]))]),
        Then::Write => call("aten.add_.Scalar", copied, vec![("other", Argument::Int(1))]),
        Then::Stride => {
            let apart = call("aten.sym_stride.int", copied, vec![("dim", Argument::Int(0))]);
            let Argument::SymInt(Operand::Value(apart)) = apart.into() else { panic!("a number") };
            let size = Argument::SymInts(vec![Operand::Value(apart)]);
            tracer.call("aten.empty.memory_format", [("size", size)]).expect("a tensor")[0]
        }
    };
    let archive = pt2::write(&tracer.finish(&[last]).program).expect("an archive");
    Checker::read("transposed", &archive).expect("a program")
}

#[test]
fn what_needs_strides_of_the_example_is_promised_where_they_are_those() {
    let operators = Operators::new();
    for (then, needs) in [
        (Then::Nothing, false),
        (Then::View, true),
        (Then::ViewOfAnother, true),
        (Then::Stride, true),
        (Then::Write, false),
    ] {
        for least in [1, 2] {
            let checker = transposed(least, then);
            let report = checker.check(None, &operators, &Budget::default()).expect("a report");
            let verdict = if needs && least == 1 { Outcome::Violated } else { Outcome::Ok };
            assert_eq!(report.verdict, verdict, "from {least}, then {then:?}: {:?}", report.guards);
            for guard in report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated) {
                let inputs = guard.inputs.as_ref().expect("inputs");
                assert_eq!(inputs["x"], serde_json::json!([1, 4, 8]), "{then:?}");
            }
            let session = checker.session(&operators).expect("a session");
            let set = session.guard_set().expect("a guard set");
            let takes = |size: i64| {
                let value = |_| Some(Value::Int(Int::from(size)));
                set.conditions.iter().all(|&c| set.pool.eval(c, value) == Ok(Value::Bool(true)))
            };
            // A minimum of 2 is not checked by the exported module, so neither is it by the set.
            assert_eq!(takes(1), !needs, "from {least}, then {then:?}");
            assert!(takes(2) && takes(100));
        }
    }
}

/// torch records the strides of a contiguous input as products of sizes. Where a size is 0 they are others.
#[test]
fn a_contiguous_input_has_its_own_strides_where_a_size_is_0() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 0, Some(9), 4).expect("a size");
    tracer.size("s1", 0, Some(9), 2).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "4*s1"]).expect("an input");
    let given = [("self", x.into()), ("dtype", Argument::Dtype(Dtype::Float64))];
    let viewed = tracer.call("aten.view.dtype", given).expect("a view")[0];
    let written = pt2::write_json(&tracer.finish(&[viewed]).program).expect("JSON");
    let recorded = written.replace("Max(1, 4*s1)", "4*s1");
    assert_ne!(recorded, written);
    let checker = Checker::read("viewed", recorded.as_bytes()).expect("a program");
    let session = checker.session(&operators).expect("a session");
    for report in [
        checker.check(None, &operators, &Budget::default()).expect("a report"),
        session.check(None, &Budget::default()).expect("a report"),
    ] {
        assert_eq!(report.verdict, Outcome::Violated);
        let broken: Vec<_> = report.guards.iter().filter_map(|guard| guard.clause.as_deref()).collect();
        assert_eq!(broken, ["view.dtype.C4"]);
    }
    let set = session.guard_set().expect("a guard set");
    let evaluator = checker.evaluator(&operators).expect("an evaluator");
    for (s0, s1, runs) in [(4, 2, true), (3, 0, false), (0, 2, true), (1, 0, false), (0, 0, false)] {
        let shape = Shape::Tensor(vec![Int::from(s0), Int::from(4 * s1)]);
        let shapes: Shapes = [("x".into(), shape)].into_iter().collect();
        assert_eq!(evaluator.evaluate(&shapes).is_ok(), runs, "{s0}, {s1}");
        let value = |s| Some(Value::Int(Int::from(if set.pool.symbol_name(s) == "s0" { s0 } else { s1 })));
        let taken = set.conditions.iter().all(|&c| set.pool.eval(c, value) == Ok(Value::Bool(true)));
        assert_eq!(taken, runs, "{s0}, {s1}: {:?}", set.conditions);
    }
}

/// The spec of a program's own contract, every named or inferred dimension from 1 on.
fn from_one(spec: Json) -> Json {
    match spec {
        Json::Array(items) => items.into_iter().map(from_one).collect(),
        Json::Object(mut fields) if fields.get("dim").is_some_and(Json::is_string) => {
            fields.insert("min".to_string(), 1.into());
            fields.into()
        }
        Json::Object(fields) => {
            Json::Object(fields.into_iter().map(|(name, spec)| (name, from_one(spec))).collect())
        }
        other => other,
    }
}

#[test]
fn programs_that_run_at_a_batch_of_1_are_proved_there() {
    let operators = Operators::new();
    for name in ["op_transformer_fastpath", "op_sdpa_mask__core", "permute_view"] {
        let path = format!("{}/tests/data/programs/{name}.pt2", env!("CARGO_MANIFEST_DIR"));
        let checker = Checker::read(name, &std::fs::read(path).expect("the program")).expect("a program");
        let session = checker.session(&operators).expect("a session");
        let contract = Contract::load(checker.program()).expect("a contract");
        let spec = from_one(Spec::initial(&contract, Width::Recorded).to_json());
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        for report in [
            checker.check(Some(&spec), &operators, &Budget::default()).expect("a report"),
            session.check(Some(&spec), &Budget::default()).expect("a report"),
        ] {
            let open: Vec<_> = report
                .guards
                .iter()
                .filter(|g| g.verdict != GuardVerdict::Implied)
                .map(|g| &g.shown)
                .collect();
            assert_eq!(report.verdict, Outcome::Ok, "{name}: {open:?}");
        }
    }
}

#[test]
fn a_tensor_without_gaps_is_viewed_in_any_sizes_of_as_many_elements() {
    // Whether its strides count a size of 0 as 1 matters to empty tensors only, and these are viewed in all sizes.
    let question = |stride: Json| {
        serde_json::json!({"id": 1, "op": "aten.view.default", "symbols": {"u0": {"min": 0}, "u1": {"min": 0}},
            "args": [{"tensor": {"shape": ["u0", "u1"], "dtype": "float32", "stride": stride}}, {"ints": ["u0", 4, "u1//4"]}]})
    };
    let asked = |stride: Json| {
        let Json::Object(request) = question(stride) else { unreachable!() };
        let answer = sizewise::query::infer::answer(&Operators::new(), &request);
        answer.map(Json::Object).map_err(|refusal| refusal.kind)
    };
    for stride in [serde_json::json!(["u1", 1]), serde_json::json!(["Max(1, u1)", 1])] {
        let answer = asked(stride.clone()).unwrap_or_else(|kind| panic!("{stride}: {kind}"));
        assert_eq!(answer["returns"][0]["tensor"]["shape"][1], 4, "{stride}: {answer}");
    }
    assert_eq!(asked(serde_json::json!(["2*u1", 1])).err(), Some("data_dependent"));
}

#[test]
fn every_second_column_laid_out_anew_is_viewed_in_one_dimension() {
    let operators = Operators::new();
    for step in [2, 3, 4] {
        for (copy, of) in [("aten.contiguous.default", "self"), ("aten.neg.default", "self")] {
            let mut tracer = Tracer::new(&operators);
            tracer.size("s0", 0, None, 6).expect("a size");
            tracer.size("s1", 0, None, 12).expect("a size");
            let x = tracer.tensor("x", Dtype::Float32, &["s0", "s1"]).expect("an input");
            let number = Argument::Int;
            let columns = [
                ("self", x.into()),
                ("dim", number(1)),
                ("start", number(0)),
                ("end", number(i64::MAX)),
                ("step", number(step)),
            ];
            let columns = tracer.call("aten.slice.Tensor", columns).expect("a view")[0];
            let copied = tracer.call(copy, [(of, columns.into())]).expect("a copy")[0];
            let flat = [("self", copied.into()), ("size", Argument::Ints(vec![-1]))];
            let flat = tracer.call("aten.view.default", flat).expect("a view")[0];
            let archive = pt2::write(&tracer.finish(&[flat]).program).expect("an archive");
            let checker = Checker::read("columns", &archive).expect("a program");
            // Torch runs it at all sizes: where one column is left, its stride does not matter.
            let any =
                Spec::parse(br#"{"x": [{"dim": "a", "min": 0}, {"dim": "b", "min": 0}]}"#).expect("a spec");
            let report = checker.check(Some(&any), &operators, &Budget::default()).expect("a report");
            assert_eq!(report.verdict, Outcome::Ok, "{copy} of every {step}: {:?}", report.guards);
        }
    }
}
