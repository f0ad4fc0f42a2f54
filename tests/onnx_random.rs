//! Random ONNX models that compute sizes, and what onnxruntime did with them (`tests/random_models.py` draws and runs
//! them).
use rustc_hash::FxHashMap;
use serde_json::Value;
use sizewise::onnx::check::{ShownSize, check, evaluate};
use sizewise::onnx_model::read::Model;
use sizewise::report::{GuardVerdict, Outcome};

#[test]
fn recorded_models_do_what_onnxruntime_did() {
    let text = std::fs::read_to_string("tests/data/onnx_random.jsonl").expect("the recorded models");
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).expect(line);
        let source = record["model"].as_str().expect("a model");
        let model = Model::read(source.as_bytes().to_vec()).expect(source);
        let report = check(&model);
        for run in record["runs"].as_array().expect("runs") {
            let shape = sizes(&run["shape"]);
            let ran = !run["outputs"].is_null();
            assert!(ran || report.verdict != Outcome::Ok, "ok, but {shape:?} fails: {source}");
            let shows = report.guards.iter().any(|guard| {
                let inputs = guard.inputs.as_ref().filter(|_| guard.verdict == GuardVerdict::Violated);
                inputs.and_then(|inputs| inputs.get("x")) == Some(&shape.clone().into())
            });
            assert!(!(ran && shows), "{shape:?} runs: {source}");
            let given = FxHashMap::from_iter([("x".to_owned(), shape.clone())]);
            match evaluate(&model, &given, &FxHashMap::default()) {
                Err(refused) => assert!(!ran || refused.is_unsupported, "{shape:?}: {refused:?} {source}"),
                Ok(evaluated) => {
                    assert!(ran, "{shape:?} fails: {source}");
                    let made = run["outputs"].as_array().expect("outputs");
                    for (said, made) in evaluated.outputs.iter().zip(made) {
                        let Some(said) = said else { continue };
                        let numbers: Vec<Option<i64>> = said.iter().map(ShownSize::number).collect();
                        let agrees =
                            |(said, made): (&Option<i64>, &i64)| said.is_none_or(|said| said == *made);
                        let made = sizes(made);
                        let is_same = numbers.len() == made.len() && numbers.iter().zip(&made).all(agrees);
                        assert!(is_same, "{shape:?}: {numbers:?} for {made:?}: {source}");
                    }
                }
            }
        }
    }
}

fn sizes(list: &Value) -> Vec<i64> {
    let sizes = list.as_array().expect("sizes");
    sizes.iter().map(|size| size.as_i64().expect("a size")).collect()
}
