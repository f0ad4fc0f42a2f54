//! A cache and its mask: the mask is as long as the cache and what is new, which two guards say, one for each side.
use serde_json::json;
use sizewise::check::Checker;
use sizewise::kernels::Operators;
use sizewise::report::{GuardVerdict, Outcome};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::path::PathBuf;

fn checker() -> Checker {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs/cache_and_mask.pt2");
    Checker::read("cache", &std::fs::read(path).expect("a program")).expect("a program")
}

/// New positions and those of the cache from such numbers on, with this entry for the mask's length.
fn spec(new: i64, past: i64, mask: serde_json::Value) -> Spec {
    let dim = |name: &str, min: i64, max: i64| json!({"dim": name, "min": min, "max": max});
    let (batch, past) = (dim("b", 1, 8), dim("p", past, 128));
    let spec = json!({
        "x": {"0": batch, "1": dim("q", new, 64)}, "mask": {"0": batch, "1": mask},
        "k": {"0": batch, "1": past}, "v": {"0": batch, "1": past},
    });
    Spec::parse(spec.to_string().as_bytes()).expect("a spec")
}

#[test]
fn a_mask_that_is_left_to_the_module_asks_for_sums_that_it_takes() {
    // The module takes no mask below 4, as torch takes each of the two to be 2 or more.
    for (new, past, verdict, needed) in [
        (2, 2, Outcome::Ok, vec![]),
        (1, 3, Outcome::Ok, vec![]),
        (1, 1, Outcome::Violated, vec!["p + q >= 4"]),
    ] {
        let report = checker()
            .check(Some(&spec(new, past, json!("AUTO"))), &Operators::new(), &Budget::default())
            .expect("a report");
        assert_eq!(report.verdict, verdict, "from {new} and {past} on: {:?}", report.guards);
        let broken = report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated);
        assert_eq!(broken.map(|guard| guard.shown.as_str()).collect::<Vec<_>>(), needed);
        if verdict == Outcome::Violated {
            assert!(report.fixes[0].proved && report.fixes[0].text.contains("min=3"), "{:?}", report.fixes);
        }
    }
}

#[test]
fn a_mask_of_its_own_has_to_be_the_sum() {
    let mask = json!({"dim": "t", "min": 4, "max": 192});
    let report =
        checker().check(Some(&spec(2, 2, mask)), &Operators::new(), &Budget::default()).expect("a report");
    let broken = report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated);
    assert_eq!(broken.map(|guard| guard.shown.as_str()).collect::<Vec<_>>(), ["t == p + q"]);
}

#[test]
fn the_widest_spec_leaves_the_cache_free() {
    let widest = checker()
        .widest_spec(None, &Operators::new(), &Budget::default())
        .expect("an answer")
        .expect("a spec");
    assert!(widest.is_proved);
    let spec = widest.spec.to_json();
    for input in ["k", "v", "mask", "x"] {
        let size = spec[input].get(1).unwrap_or(&spec[input]["1"]);
        assert!(size == "AUTO" || size.get("dim").is_some(), "{input}: {spec}");
        assert!(size.get("max").is_none_or(serde_json::Value::is_null), "{input}: {spec}");
    }
}
