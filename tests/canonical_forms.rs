//! Texts that are one expression: canonical construction gives them one handle.
use sizewise::expr::{Pool, read};

#[test]
fn operands_of_an_extremum_that_another_one_always_beats_are_left_out() {
    let table = [
        ("Max(s0, s0 + 1)", "s0 + 1"),
        ("Min(s0, s0 + 1)", "s0"),
        ("Max(s0 - 2, s1, s0)", "Max(s0, s1)"),
        ("Min(s0 + s1, s1 + s0 - 3, 7)", "Min(7, s0 + s1 - 3)"),
        ("Max(2, Max(s0, 5))", "Max(5, s0)"),
        ("Max(2*s0, 2*s0)", "2*s0"),
    ];
    let mut pool = Pool::new();
    for (written, canonical) in table {
        let mut of = |text| read::closed(&mut pool, text).expect("an expression").expr;
        assert_eq!(of(written), of(canonical), "{written}");
    }
}
