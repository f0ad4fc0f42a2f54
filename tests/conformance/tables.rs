//! The conformance tables name tests, files and rules that exist.
use crate::conformance::root;
use sizewise::verify::Rule;
use std::fs;
use std::path::PathBuf;

/// The tables: every file of `docs/conformance`.
fn tables() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join("docs/conformance")).expect("the tables");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let named = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (named(path), fs::read_to_string(path).expect("a table"))).collect()
}

/// A row: its number, the statement, whether it holds, how, and the tests.
struct Row<'t> {
    number: &'t str,
    holds: &'t str,
    how: &'t str,
    tests: &'t str,
}

/// The rows of a table, whose numbers begin with a letter; and lines that are none though they look it.
fn rows(table: &str) -> Result<Vec<Row<'_>>, String> {
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> =
            line.trim().trim_start_matches('|').trim_end_matches('|').split('|').map(str::trim).collect();
        match cells.as_slice() {
            ["", ..] | ["no.", ..] | ["---", ..] => {}
            &[number, _, holds, how, tests] => rows.push(Row { number, holds, how, tests }),
            _ => return Err(format!("{} cells, expected 5: {line}", cells.len())),
        }
    }
    Ok(rows)
}

/// What stands between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a file has a function of this name.
fn has_function(file: &str, name: &str) -> bool {
    let source = fs::read_to_string(root().join(file)).unwrap_or_default();
    source.contains(&format!("fn {name}("))
}

/// What is wrong with a row.
fn wrong_with(row: &Row<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut complain = |message: String| wrong.push(format!("{}: {message}", row.number));
    if !["yes", "partly", "n/a"].contains(&row.holds) {
        complain(format!("`{}` is none of yes, partly, n/a", row.holds));
    }
    if row.holds != "yes" && row.how.is_empty() {
        complain("it is not said why".to_owned());
    }
    let mut tests = 0;
    for test in quoted(row.tests) {
        tests += 1;
        match test.split_once("::") {
            Some((file, name)) if has_function(file, name) => {}
            _ => complain(format!("there is no test `{test}`")),
        }
    }
    if row.holds != "n/a" && tests == 0 {
        complain("no test is named".to_owned());
    }
    for name in quoted(row.how) {
        let path =
            ["src/", "crates/", "data/", "docs/", "tests/", "scripts/", "rules/", "operators/", "proptests/"]
                .iter()
                .any(|folder| name.starts_with(folder));
        if path && !root().join(name).exists() {
            complain(format!("there is no file `{name}`"));
        }
        if let Some(code) = name.strip_prefix("rule ")
            && !Rule::ALL.iter().any(|rule| rule.code() == code)
        {
            complain(format!("there is no rule `{code}`"));
        }
    }
    wrong
}

#[test]
fn the_tables_name_tests_files_and_rules_that_exist() {
    let (mut wrong, mut numbers) = (Vec::new(), std::collections::BTreeSet::new());
    let tables = tables();
    for (file, table) in &tables {
        let rows = rows(table).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(rows.len() > 10, "{file}: {} rows", rows.len());
        for row in &rows {
            wrong.extend(wrong_with(row));
            if !numbers.insert(row.number.to_owned()) {
                wrong.push(format!("{} is there twice", row.number));
            }
        }
    }
    assert!(numbers.len() > 200, "{} statements", numbers.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_row_is_seen() {
    let table = |row: &str| {
        format!("| no. | statement | holds | how | tests |\n| --- | --- | --- | --- | --- |\n{row}\n")
    };
    for (row, message) in [
        ("| A1 | s | yes | `src/lib.rs` | `tests/conformance/tables.rs::a_wrong_row_is_seen` |", None),
        ("| A1 | s | n/a | torch's affair | |", None),
        ("| A1 | s | yes | `src/lib.rs` | |", Some("no test is named")),
        ("| A1 | s | perhaps | | `tests/conformance/tables.rs::rows` |", Some("none of yes")),
        ("| A1 | s | n/a | | |", Some("it is not said why")),
        ("| A1 | s | yes | | `tests/conformance/tables.rs::no_such_test` |", Some("there is no test")),
        ("| A1 | s | yes | `src/none.rs` | `tests/conformance/tables.rs::rows` |", Some("there is no file")),
        ("| A1 | s | yes | `rule nothing` | `tests/conformance/tables.rs::rows` |", Some("there is no rule")),
    ] {
        let table = table(row);
        let found: Vec<String> = rows(&table).expect("a row").iter().flat_map(wrong_with).collect();
        assert_eq!(found.is_empty(), message.is_none(), "{row}: {found:?}");
        assert!(message.is_none_or(|message| found[0].contains(message)), "{row}: {found:?}");
    }
    assert!(rows(&table("| A1 | s | yes |")).is_err());
}

#[test]
fn the_index_counts_what_the_tables_hold() {
    let index = fs::read_to_string(root().join("docs/conformance.md")).expect("the index");
    for (file, table) in tables() {
        let rows = rows(&table).expect("a table");
        let count = |holds: &str| rows.iter().filter(|row| row.holds == holds).count();
        let (yes, partly, not) = (count("yes"), count("partly"), count("n/a"));
        let cells = format!("](conformance/{file}) | {yes} | {partly} | {not} |");
        assert!(index.contains(&cells), "docs/conformance.md is to say: {cells}");
    }
}
