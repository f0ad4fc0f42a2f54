//! Rows that data select: the result is contiguous, however many there are.
use crate::text_checked::checked;
use sizewise::report::Outcome;

const INPUTS: &str = "x: \"f32[s0, 4]\", m: \"b8[s0]\"";
const SELECTED: &str = "i: \"f32[u0, 4]\" = torch.ops.aten.index.Tensor(x, [m])";
const SPEC: &str =
    r#"{"x": [{"dim": "a", "min": 3, "max": 60}, 4], "m": [{"dim": "a", "min": 3, "max": 60}]}"#;

#[test]
fn selected_rows_are_viewed_in_any_sizes_of_as_many_elements() {
    for view in [
        "v: \"f32[2*u0, 2]\" = torch.ops.aten.view.default(i, [-1, 2])",
        "v: \"f32[4*u0]\" = torch.ops.aten.view.default(i, [-1])",
        "v: \"f32[u0, 2, 2]\" = torch.ops.aten.view.default(i, [-1, 2, 2])",
    ] {
        let report = checked(INPUTS, &[SELECTED, view, "return (v,)"], SPEC);
        assert_eq!(report.verdict, Outcome::Ok, "{view}: {:?}", report.guards);
    }
}

#[test]
fn a_view_of_selected_rows_keeps_no_fix_from_being_found() {
    let body = [
        SELECTED,
        "v: \"f32[u0, 2, 2]\" = torch.ops.aten.view.default(i, [-1, 2, 2])",
        "w: \"f32[4*s0//3, 3]\" = torch.ops.aten.view.default(x, [-1, 3])",
        "return (v, w)",
    ];
    let report = checked(INPUTS, &body, SPEC);
    assert_eq!(report.verdict, Outcome::Violated, "{:?}", report.guards);
    let fix = report.fixes.first().expect("a fix");
    assert!(fix.proved && fix.text.ends_with("a = 3*_a"), "{}", fix.text);
}
