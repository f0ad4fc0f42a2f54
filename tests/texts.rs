//! What becomes of a text: how the expression that it is read as is written again, for sympy and for Python, or why
//! it is refused.
//!
//! `tests/data/texts/written.txt` has the texts, `read.txt` what becomes of each in the dialects; `SIZEWISE_RECORD=1`
//! writes the latter anew, to be read before it is kept.
use sizewise::expr::read::Dialect;
use sizewise::expr::{Pool, print, read};
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/texts").join(name)
}

fn outcome(text: &str, dialect: Dialect) -> String {
    let mut pool = Pool::new();
    match read::expression_in(&mut pool, text, dialect, &mut |_| None) {
        Ok(read) => {
            let sympy = print::expression(&pool, read.expr);
            let python = print::python(&pool, read.expr, &|s| pool.symbol_name(s).to_uppercase());
            let divisors: Vec<String> = read.divisors.iter().map(|d| print::expression(&pool, *d)).collect();
            format!("{sympy} | {python} | {}", divisors.join(", "))
        }
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn texts_are_read_and_written_as_recorded() {
    let texts = std::fs::read_to_string(file("written.txt")).expect("the texts");
    let dialects = [Dialect::Sympy, Dialect::Python];
    let cases = || texts.lines().flat_map(|text| dialects.map(|dialect| (text, dialect)));
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let all: String = cases().map(|(text, dialect)| outcome(text, dialect) + "\n").collect();
        std::fs::write(file("read.txt"), all).expect("it is written");
    }
    let recorded = std::fs::read_to_string(file("read.txt")).expect("what was recorded");
    assert_eq!(recorded.lines().count(), cases().count());
    for ((text, dialect), recorded) in cases().zip(recorded.lines()) {
        assert_eq!(outcome(text, dialect), recorded, "{text} in {dialect:?}");
    }
}
