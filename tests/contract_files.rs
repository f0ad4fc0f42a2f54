//! Contracts: what their checkers say of what torch 2.15 did with inputs of many shapes, what is in them, and C++.
use crate::guard_code::{accepts, answers, checker_of, compile, guard_set, inputs, records};
use serde_json::{Value as Json, json};
use sizewise::contract::{self, Input, Refusal};
use sizewise::expr::Expr;
use sizewise::report::TensorInfo;
use sizewise::report::guard_code::{Contract, GuardSet, Language};
use std::fmt::Write as _;
use std::process::Command;

/// What a contract says of inputs: shapes, or integers.
fn answer(contract: &Contract, given: &[Json]) -> Result<(), Refusal> {
    let sizes: Vec<Option<Vec<i64>>> = given
        .iter()
        .map(|given| given.as_array().map(|sizes| sizes.iter().filter_map(Json::as_i64).collect()))
        .collect();
    let inputs: Vec<Input> = sizes
        .iter()
        .zip(given)
        .map(|(sizes, given)| match (sizes, given) {
            (Some(sizes), _) => Input::Tensor(sizes),
            (None, Json::Bool(value)) => Input::Bool(*value),
            (None, Json::String(text)) => Input::String(text),
            (None, Json::Number(number)) if number.is_f64() => Input::Double(number.as_f64().unwrap_or(0.0)),
            (None, given) => given.as_i64().map_or(Input::Other, Input::Integer),
        })
        .collect();
    contract::Contract::read(&contract.bytes).expect("a contract").check(&inputs)
}

#[test]
fn contracts_say_of_recorded_runs_what_checkers_say() {
    let (mut programs, mut calls) = (0, 0);
    for record in records() {
        let name = record["name"].as_str().expect("a name");
        let Ok(set) = guard_set(name) else { continue };
        let contract = Contract::new(&set, &[], &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let code = set.emit(Language::Json).expect("JSON has everything");
        let document: Json = serde_json::from_str(&code).expect("JSON");
        programs += 1;
        for run in record["runs"].as_array().into_iter().flatten() {
            let Some(given) = inputs(&set, run) else { continue };
            calls += 1;
            assert_eq!(
                answer(&contract, &given).is_ok(),
                accepts(&document, &given),
                "{name} at {}",
                run["shapes"]
            );
        }
    }
    assert!(programs > 120 && calls > 1000, "{programs} programs, {calls} calls");
}

#[test]
fn contracts_of_programs_are_small() {
    let mut sizes: Vec<usize> = records()
        .iter()
        .filter_map(|record| guard_set(record["name"].as_str()?).ok())
        .filter_map(|set| Some(Contract::new(&set, &[], &[]).ok()?.bytes.len()))
        .collect();
    sizes.sort_unstable();
    assert!(sizes[sizes.len() * 95 / 100] < 4096, "{sizes:?}");
}

/// Two integers `a` and `b` with `a <= 2*b` and `a % 3 == 0`.
fn of_two_integers() -> GuardSet {
    checker_of(&["a", "b"], "two", |pool, symbols| {
        let twice = pool.add(symbols[1], symbols[1]);
        let order = pool.le(symbols[0], twice);
        let three = pool.int(3);
        let rest = pool.modulo(symbols[0], three);
        let whole = pool.eq(rest, Expr::ZERO);
        pool.and(&[order, whole])
    })
}

#[test]
fn integers_that_do_not_fit_are_refused_not_wrapped() {
    let contract = Contract::new(&of_two_integers(), &[], &[]).expect("a contract");
    for (a, b, holds) in [
        (3, 2, true),
        (4, 2, false),
        (6, 2, false),
        (-3, -1, true),
        (3, i64::MAX, false),
        (3, i64::MAX / 2, true),
        (i64::MIN, 0, false),
        (i64::MIN + 2, i64::MIN, false),
    ] {
        assert_eq!(answer(&contract, &[json!(a), json!(b)]).is_ok(), holds, "{a} {b}");
    }
}

#[test]
fn a_refusal_names_the_input_or_the_check() {
    let contract = Contract::new(&of_two_integers(), &[], &[]).expect("a contract");
    let read = contract::Contract::read(&contract.bytes).expect("a contract");
    for (given, refusal) in [
        (vec![json!(3)], Refusal::Count),
        (vec![json!(3), json!([3])], Refusal::Input(1)),
        (vec![json!(true), json!(3)], Refusal::Input(0)),
        (vec![json!(4), json!(3)], Refusal::Check(0)),
    ] {
        assert_eq!(answer(&contract, &given), Err(refusal), "{given:?}");
    }
    assert_eq!(read.message(0), contract.json["checks"][0]["message"].as_str());
    assert_eq!(read.message(1), None);
    // `checker_of` leaves something open.
    assert!(!read.is_complete() && contract.json["complete"] == false);
}

#[test]
fn outputs_have_their_greatest_sizes() {
    let info = |name: &str, shape: Json, bound: Json| TensorInfo {
        name: name.to_owned(),
        shape: shape.as_array().cloned(),
        dtype: "float32".to_owned(),
        value: None,
        upper_bound: bound
            .as_array()
            .map(|sizes| sizes.iter().map(|s| Some(s.clone()).filter(|s| !s.is_null())).collect()),
    };
    let outputs = [info("y", json!(["2*a", 4, "b"]), json!([8, 4, null])), info("n", Json::Null, Json::Null)];
    let contract = Contract::new(&of_two_integers(), &[], &outputs).expect("a contract");
    assert_eq!(
        contract.json["outputs"],
        json!([{"name": "y", "dtype": "float32", "sizes": ["2*a", 4, "b"], "max": [8, 4, null]}, {"name": "n", "dtype": "float32"}])
    );
}

#[test]
fn what_the_format_lacks_is_said() {
    let set = checker_of(&["a"], "huge", |pool, symbols| {
        let huge = pool.int(sizewise::expr::Int::from(i64::MAX).pow(2, 200).expect("a number"));
        pool.le(symbols[0], huge)
    });
    let error = Contract::new(&set, &[], &[]).expect_err("it does not fit").to_string();
    assert!(
        error.contains("cannot be written in a contract: a number of it does not fit 64 bits"),
        "{error}"
    );
}

#[test]
fn a_contract_in_cpp_says_why() {
    let set = of_two_integers();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let contract = Contract::new(&set, &[], &[]).expect("a contract");
    std::fs::write(at("two.hpp"), contract.to_cpp(&set)).expect("a file");
    let mut main = String::from("#include \"two.hpp\"\n#include <cstdio>\nint main() {\n");
    let calls = [(3, 2, "1"), (4, 2, "0")];
    for (a, b, _) in calls {
        let _ = writeln!(
            main,
            "    {{ const sizewise_input in[2] = {{sizewise_integer({a}), sizewise_integer({b})}};\n      \
             std::puts(sizewise::check(in, 2) ? \"0\" : \"1\"); }}"
        );
    }
    main.push_str("    const sizewise_input one[1] = {sizewise_integer(3)};\n    std::puts(sizewise::check(one, 1) ? \"0\" : \"1\");\n}\n");
    std::fs::write(at("main.cpp"), main).expect("a file");
    let flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
    compile(Command::new("c++").args(flags).arg(at("main.cpp")).arg("-o").arg(at("main")));
    assert_eq!(answers(&mut Command::new(at("main"))), [true, false, false]);
}
