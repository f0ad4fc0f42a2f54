//! Checks of programs that are written as text.
use crate::text_programs;
use sizewise::check::Checker;
use sizewise::ir::pt2::write_json;
use sizewise::kernels::Operators;
use sizewise::report::Report;
use sizewise::solve::Budget;
use sizewise::spec::Spec;

/// The report of a program with these inputs and this body under a spec in JSON.
pub fn checked(inputs: &str, body: &[&str], spec: &str) -> Report {
    let source = text_programs::module(inputs, body);
    let json = write_json(&text_programs::program(&source)).expect("JSON");
    let checker = Checker::read("text", json.as_bytes()).expect("a program");
    let spec = Spec::parse(spec.as_bytes()).expect("a spec");
    checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report")
}
