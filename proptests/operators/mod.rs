//! Laws of shape inference, for every operator that has a fake kernel: the operators are those of the schema table,
//! their calls are made from their schemas and from calls recorded with torch.
use crate::campaign;
mod choices;
mod found;
mod law;
mod recorded;
mod schema;

use campaign::Tally;
use choices::Choices;
use law::{Call, Counts, check, points};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use sizewise::ir::schema::{Schema, SchemaTable};
use sizewise::kernels::Operators;
use std::cell::Cell;
use std::sync::Mutex;

/// The overloads that have a kernel.
fn served(operators: &Operators) -> Vec<(String, &'static Schema)> {
    let names = SchemaTable::global().overloads().iter().map(|o| (o.name().to_string(), o));
    names
        .filter(|(op, _)| operators.find(op).is_some())
        .filter_map(|(op, o)| Some((op, o.schema().ok()?)))
        .collect()
}

/// What is left of a test's failure: the smallest case.
fn failure(error: TestError<Vec<u16>>) -> String {
    match error {
        TestError::Abort(reason) => reason.to_string(),
        TestError::Fail(reason, numbers) => format!("{reason} (choices {numbers:?})"),
    }
}

/// Checks calls of one operator that are made from random choices.
fn attack(
    operators: &Operators,
    quick: u32,
    make: impl Fn(&mut Choices) -> Option<Call>,
) -> Result<Counts, String> {
    let config = Config { max_shrink_iters: 2000, ..campaign::config(quick) };
    let total = Cell::new(Counts::default());
    let outcome = TestRunner::new(config).run(&prop::collection::vec(any::<u16>(), 0..80), |numbers| {
        let mut choices = Choices::new(&numbers);
        let Some(call) = make(&mut choices) else { return Ok(()) };
        let points = points(&call.hints, &mut choices);
        let checked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(operators, &call, &points)));
        let checked = checked.unwrap_or_else(|_| Err(format!("{call}: panics")));
        let counts = checked.map_err(TestCaseError::fail)?;
        let sum = total.get();
        total.set(Counts {
            inferences: sum.inferences + counts.inferences,
            accepted: sum.accepted + counts.accepted,
            compared: sum.compared + counts.compared,
        });
        Ok(())
    });
    outcome.map(|()| total.get()).map_err(failure)
}

/// Checks each item in two threads; gives the failures, in order.
fn each<T: Sync>(items: &[T], law: impl Fn(&T) -> Result<(), String> + Sync) -> Vec<String> {
    let (next, failures) = (Mutex::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = {
                        let mut next = next.lock().expect("no panic");
                        *next += 1;
                        *next - 1
                    };
                    let Some(item) = items.get(at) else { return };
                    if let Err(message) = law(item) {
                        failures.lock().expect("no panic").push((at, message));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic");
    failures.sort();
    failures.into_iter().map(|(_, message)| message).collect()
}

#[test]
fn symbolic_inference_at_a_point_is_concrete_inference_there_for_calls_made_from_schemas() {
    let (operators, tally) = (Operators::new(), Tally::new("symbolic = concrete, calls from schemas"));
    let (accepted, compared) = (Mutex::new(0), Mutex::new(0));
    let operators_served = served(&operators);
    let failures = each(&operators_served, |(op, schema)| {
        let counts = attack(&operators, 6, |choices| schema::call(op, schema, choices))?;
        tally.add(counts.inferences);
        *accepted.lock().expect("no panic") += usize::from(counts.accepted > 0);
        *compared.lock().expect("no panic") += usize::from(counts.compared > 0);
        Ok(())
    });
    println!(
        "{} overloads, {} of them accepted a call, {} were compared at another point",
        operators_served.len(),
        accepted.lock().expect("no panic"),
        compared.lock().expect("no panic")
    );
    assert!(failures.is_empty(), "{} operators:\n{}", failures.len(), failures.join("\n"));
    assert!(*compared.lock().expect("no panic") > 0);
}

#[test]
fn symbolic_inference_at_a_point_is_concrete_inference_there_for_recorded_calls() {
    let (operators, tally) = (Operators::new(), Tally::new("symbolic = concrete, recorded calls"));
    let recorded: Vec<_> = recorded::calls().into_iter().collect();
    let (accepted, compared) = (Mutex::new(0), Mutex::new(0));
    let failures = each(&recorded, |(_, calls)| {
        let counts = attack(&operators, 6, |choices| {
            let call = &calls[choices.below(calls.len())];
            Some(recorded::generalise(call, choices))
        })?;
        tally.add(counts.inferences);
        *accepted.lock().expect("no panic") += usize::from(counts.accepted > 0);
        *compared.lock().expect("no panic") += usize::from(counts.compared > 0);
        Ok(())
    });
    println!(
        "{} overloads, {} of them accepted a call, {} were compared at another point",
        recorded.len(),
        accepted.lock().expect("no panic"),
        compared.lock().expect("no panic")
    );
    assert!(failures.is_empty(), "{} operators:\n{}", failures.len(), failures.join("\n"));
}
