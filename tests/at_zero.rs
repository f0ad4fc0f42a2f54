//! Conditions that only sizes of 0 break: what is recorded inside a program leaves these out, and the program may run there.
use crate::text_checked::checked;
use sizewise::report::Outcome;

#[test]
fn a_wrong_record_of_an_inner_value_at_0_counts_where_something_comes_of_it() {
    for (what, inputs, body, verdict) in [
        (
            "a row of none is none, and so is the sum over it",
            "y: \"f32[s0]\"",
            &[
                "r: \"f32[1]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 1)",
                "s: \"f32[]\" = torch.ops.aten.sum.default(r)",
                "return (s,)",
            ][..],
            Outcome::Ok,
        ),
        (
            "the row itself comes out",
            "y: \"f32[s0]\"",
            &["r: \"f32[1]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 1)", "return (r,)"],
            Outcome::Violated,
        ),
        (
            "what meets the row does not fit",
            "y: \"f32[s0]\"",
            &[
                "r: \"f32[1]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 1)",
                "z: \"f32[7]\" = torch.ops.aten.new_zeros.default(y, [7])",
                "t: \"f32[7]\" = torch.ops.aten.add.Tensor(z, r)",
                "s: \"f32[]\" = torch.ops.aten.sum.default(t)",
                "return (s,)",
            ],
            Outcome::Violated,
        ),
    ] {
        for (least, expected) in [(0, verdict), (1, Outcome::Ok)] {
            let spec = format!(r#"{{"y": [{{"dim": "n", "min": {least}}}]}}"#);
            let report = checked(inputs, body, &spec);
            assert_eq!(report.verdict, expected, "{what}, from {least} on: {:?}", report.guards);
        }
    }
}

#[test]
fn data_that_decide_whether_a_program_runs_at_0_leave_it_open() {
    let body = [
        "k: \"f32[u0]\" = torch.ops.aten.masked_select.default(x, m)",
        "c: \"f32[u0, 1]\" = torch.ops.aten.reshape.default(k, [-1, 1])",
        "r: \"f32[1, s1]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 1)",
        "t: \"f32[u0, s1]\" = torch.ops.aten.mul.Tensor(c, r)",
        "s: \"f32[]\" = torch.ops.aten.sum.default(t)",
        "return (s,)",
    ];
    // Selected elements meet no row: that runs for one or none of them.
    for (least, verdict) in [(0, Outcome::Unknown), (1, Outcome::Ok)] {
        let spec = format!(r#"{{"y": [{{"dim": "n", "min": {least}}}, {{"dim": "k"}}]}}"#);
        let report = checked("x: \"f32[s2]\", m: \"b8[s2]\", y: \"f32[s0, s1]\"", &body, &spec);
        assert_eq!(report.verdict, verdict, "from {least} on: {:?}", report.guards);
    }
}

#[test]
fn a_row_of_none_meets_as_many_rows_as_there_are() {
    let body = [
        "r: \"f32[1]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 1)",
        "t: \"f32[s2]\" = torch.ops.aten.mul.Tensor(x, r)",
        "return (t,)",
    ];
    // Nothing and one element meet nothing as well; any other number does not.
    for (rows, row, verdict) in [(0, 0, Outcome::Violated), (2, 0, Outcome::Violated), (0, 1, Outcome::Ok)] {
        let spec =
            format!(r#"{{"x": [{{"dim": "n", "min": {rows}}}], "y": [{{"dim": "m", "min": {row}}}]}}"#);
        let report = checked("x: \"f32[s2]\", y: \"f32[s0]\"", &body, &spec);
        assert_eq!(report.verdict, verdict, "n from {rows} on, m from {row} on: {:?}", report.guards);
        assert_eq!(report.guards.iter().any(|guard| guard.inputs.is_some()), verdict == Outcome::Violated);
    }
}

#[test]
fn an_empty_tensor_that_comes_back_as_it_is_has_other_sizes_than_are_recorded() {
    let body =
        ["p: \"f32[1, 32, u0//4, u1//4]\" = torch.ops.aten.pixel_unshuffle.default(x, 4)", "return (p,)"];
    for (least, verdict) in [(0, Outcome::Violated), (1, Outcome::Ok)] {
        let size = |name| {
            format!(r#"{{"derived": "4*{name}", "root": {{"dim": "{name}", "min": {least}, "max": 16}}}}"#)
        };
        let spec = format!(r#"{{"x": [1, 2, {}, {}]}}"#, size("h"), size("w"));
        assert_eq!(checked("x: \"f32[1, 2, u0, u1]\"", &body, &spec).verdict, verdict, "from {least}");
    }
}
