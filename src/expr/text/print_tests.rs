//! Tests of the printer.
use super::{print, read};
use crate::expr::{Pool, Symbol};

fn shown(text: &str) -> String {
    let mut pool = Pool::new();
    match read::closed(&mut pool, text) {
        Ok(read) => {
            let out = print::expression(&pool, read.expr);
            let again = read::closed(&mut pool, &out).map(|r| r.expr);
            assert_eq!(again, Ok(read.expr), "{text} is written {out}");
            out
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn comparisons_are_written_as_people_write_them() {
    let table = [
        ("2*s1 - s0 == 0", "Eq(s0, 2*s1)"),
        ("2 - s0 <= 0", "s0 >= 2"),
        ("s0 < 5", "s0 <= 4"),
        ("s0 != 1", "Ne(s0, 1)"),
        ("s0 % 8 == 0", "Eq(Mod(s0, 8), 0)"),
        ("s0 < s1", "s0 < s1"),
        ("s1 > s0", "s0 < s1"),
        ("s0 + 3 <= s1", "s0 <= s1 - 3"),
        ("s10 + s2 > 3*s1", "s2 + s10 > 3*s1"),
        ("a*b > 100", "a*b >= 101"),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected);
    }
    assert_eq!(print::python(&Pool::new(), 3.into(), &|_: Symbol| String::new()), "3");
}
