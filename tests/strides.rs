//! Strides that the example decided: a view that needs them is promised only where they are the same.
use sizewise::check::Checker;
use sizewise::decide::Budget;
use sizewise::expr::{Int, Value};
use sizewise::fake::Operators;
use sizewise::ir::{Argument, Dtype, pt2};
use sizewise::pass::Tracer;
use sizewise::report::{GuardVerdict, Outcome};

/// `x.transpose(0, 2).reshape(8, -1)`, which is copied unless the first size is 1, and with `viewed` `.view(-1)`, which takes only the copy.
fn transposed(least: i64, viewed: bool) -> Checker {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", least, Some(100), 6).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "4", "8"]).expect("an input");
    let ints = |list: &[i64]| Argument::Ints(list.to_vec());
    let dims = [("self", x.into()), ("dim0", Argument::Int(0)), ("dim1", Argument::Int(2))];
    let turned = tracer.call("aten.transpose.int", dims).expect("a view")[0];
    let rows = [("self", turned.into()), ("shape", ints(&[8, -1]))];
    let mut last = tracer.call("aten.reshape.default", rows).expect("a copy")[0];
    if viewed {
        last = tracer
            .call("aten.view.default", [("self", last.into()), ("size", ints(&[-1]))])
            .expect("a view of a copy")[0];
    }
    let archive = pt2::write(&tracer.finish(&[last]).program).expect("an archive");
    Checker::read("transposed", &archive).expect("a program")
}

#[test]
fn a_view_of_what_is_copied_at_the_example_is_promised_where_it_is_copied() {
    let operators = Operators::new();
    for (least, viewed, verdict) in [
        (2, true, Outcome::Ok),
        (1, true, Outcome::Violated),
        (1, false, Outcome::Ok),
        (2, false, Outcome::Ok),
    ] {
        let checker = transposed(least, viewed);
        let report = checker.check(None, &operators, &Budget::default()).expect("a report");
        assert_eq!(report.verdict, verdict, "from {least}, viewed: {viewed}: {:?}", report.guards);
        for guard in report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated) {
            let inputs = guard.inputs.as_ref().expect("inputs");
            assert_eq!(inputs["x"], serde_json::json!([1, 4, 8]));
        }
        let session = checker.session(&operators).expect("a session");
        let set = session.guard_set().expect("a guard set");
        let takes = |size: i64| {
            let value = |_| Some(Value::Int(Int::from(size)));
            set.conditions.iter().all(|&c| set.pool.eval(c, value) == Ok(Value::Bool(true)))
        };
        // A minimum of 2 is not checked by the exported module, so neither is it by the set.
        assert_eq!(takes(1), !viewed, "from {least}, viewed: {viewed}");
        assert!(takes(2) && takes(100));
    }
}
