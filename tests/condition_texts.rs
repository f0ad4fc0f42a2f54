//! What the conditions of operators say: `data/conditions.txt` has the sentences that the kernels list, for `explain`.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources, in order.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["crates/kernels/src", "crates/onnx-model/src/shape", "crates/onnx-model/src/walk"]
            .map(PathBuf::from)
            .into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !is_test(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn is_test(path: &Path) -> bool {
    path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"))
}

/// The sentences behind each number in a comment: `(C2) The sizes agree.` A text behind `(C1) to (C3)` is that of each.
fn sentences(comment: &str) -> BTreeMap<u32, String> {
    let comment = comment.split("# Errors").next().unwrap_or_default();
    let mut found: BTreeMap<u32, String> = BTreeMap::new();
    let mut waiting: Vec<u32> = Vec::new();
    for part in comment.split("(C").skip(1) {
        let Some((number, text)) = part.split_once(')') else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        let text = text.trim();
        waiting.push(number);
        if ["to", ",", "and"].contains(&text) {
            continue;
        }
        let first = waiting.iter().copied().min().unwrap_or(number);
        for number in first..=number {
            found.entry(number).or_insert_with(|| plain(text));
        }
        waiting.clear();
    }
    found
}

/// A text without links to items, and without a comma that leads to the next condition.
fn plain(text: &str) -> String {
    let text = text.replace("[`", "`").replace("`]", "`");
    text.trim_end_matches([',', ' ']).trim_end_matches(" and").to_owned()
}

/// The codes in a line: `"mm.C2"`, as the name and the number.
fn codes(line: &str) -> impl Iterator<Item = (&str, u32)> {
    let texts = line.split('"').skip(1).step_by(2);
    texts.filter_map(|text| {
        let (name, number) = text.rsplit_once(".C")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
        Some((name, number.parse().ok().filter(|_| is_name)?))
    })
}

/// The sentences behind codes in a comment, whatever function requires them: `(If.C2, Loop.C2) One element.`
fn named(comment: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<String> = Vec::new();
    for part in comment.split("# Errors").next().unwrap_or_default().split('(') {
        let (inside, text) = part.split_once(')').unwrap_or(("", part));
        let quoted = format!("\"{}\"", inside.replace(", ", "\" \""));
        let own: Vec<String> = codes(&quoted).map(|(name, number)| format!("{name}.C{number}")).collect();
        if own.is_empty() || own.len() != inside.split(", ").count() {
            // A bracket within a sentence.
            for code in &waiting {
                found.entry(code.clone()).and_modify(|known: &mut String| *known += &format!("({part}"));
            }
            continue;
        }
        found.extend(own.iter().map(|code| (code.clone(), text.to_owned())));
        waiting = own;
    }
    found.into_iter().map(|(code, text)| (code, plain(text.trim()))).collect()
}

/// A function: its name, what its comment says of each condition, and the codes of those that it requires.
#[derive(Default)]
struct Function {
    name: String,
    says: BTreeMap<u32, String>,
    named: BTreeMap<String, String>,
    requires: Vec<(String, u32)>,
}

/// The functions of a source file.
fn functions(text: &str) -> Vec<Function> {
    let (mut all, mut comment, mut inside) = (Vec::new(), String::new(), Function::default());
    for line in text.lines() {
        let code = line.trim_start();
        if let Some(text) = code.strip_prefix("///") {
            comment.extend([text.trim(), " "]);
            continue;
        }
        let starts = ["fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn "];
        if let Some(after) = starts.iter().find_map(|start| code.strip_prefix(start)) {
            let name = after.split(['(', '<']).next().unwrap_or_default().to_owned();
            let says = sentences(&comment);
            let begun = Function { name, says, named: named(&comment), requires: Vec::new() };
            all.push(std::mem::replace(&mut inside, begun));
        } else if line.starts_with('}') {
            all.push(std::mem::take(&mut inside));
        }
        if !code.starts_with("#[") {
            comment.clear();
        }
        inside.requires.extend(codes(line).map(|(name, number)| (name.to_owned(), number)));
    }
    all
}

/// Whether a text refers to what is said elsewhere.
fn refers(says: &str) -> bool {
    ["As ", "as ", "of "].iter().any(|start| says.starts_with(start))
}

/// Each code with what the comment of a function says of it that requires it, or of the one to which it refers. What is said
/// of a code by its name counts first.
fn conditions() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for path in sources() {
        for function in functions(&fs::read_to_string(&path).expect("a source file")) {
            function.named.into_iter().for_each(|(code, says)| {
                all.entry(code).or_insert(says);
            });
        }
    }
    for path in sources() {
        let functions = functions(&fs::read_to_string(&path).expect("a source file"));
        let said_by = |name: &str, number: &u32| {
            let name = name.rsplit("::").next()?;
            let named = functions
                .iter()
                .find(|function| function.name == name && function.says.contains_key(number))?;
            named.says.get(number)
        };
        // What a part of an operator requires is said where the operator is: `Gemm.C1` by `gemm`.
        let said_by_operator = |code: &str, number: &u32| {
            let is_same = |name: &str| name.replace('_', "") == code.to_lowercase();
            functions.iter().filter(|function| is_same(&function.name)).find_map(|f| f.says.get(number))
        };
        for function in &functions {
            for (name, number) in &function.requires {
                let says = function.says.get(number);
                let other =
                    says.and_then(|says| says.strip_prefix("of `")?.trim_end_matches('.').strip_suffix('`'));
                let says = other.map_or(says, |other| said_by(other, number));
                let says = says.or_else(|| said_by_operator(name, number));
                if let Some(says) = says.filter(|says| !refers(says)) {
                    all.entry(format!("{name}.C{number}")).or_insert_with(|| says.clone());
                }
            }
        }
        // A function that is given a code speaks of it: `matrix_transpose(cx, x, "mT.C1")`.
        let given = |line: &str, number: &u32| {
            let is_called = |function: &&Function| {
                !function.name.is_empty() && line.contains(&format!(" {}(cx", function.name))
            };
            functions.iter().filter(is_called).find_map(|function| function.says.get(number).cloned())
        };
        for line in fs::read_to_string(&path).expect("a source file").lines() {
            for (name, number) in codes(line) {
                if let Some(says) = given(line, &number).filter(|says| !refers(says)) {
                    all.entry(format!("{name}.C{number}")).or_insert(says);
                }
            }
        }
    }
    all
}

#[test]
fn the_list_of_conditions_has_what_the_kernels_say() {
    let found: String = conditions().iter().map(|(code, says)| format!("{code} {says}\n")).collect();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        fs::write("data/conditions.txt", &found).expect("the list is written");
    }
    let listed = fs::read_to_string("data/conditions.txt").expect("the list");
    let first = found.lines().find(|line| !listed.lines().any(|other| other == *line));
    assert!(
        found == listed,
        "data/conditions.txt is stale at {first:?}: SIZEWISE_RECORD=1 cargo test --test tests condition_texts"
    );
}

#[test]
fn codes_in_comments_are_those_of_what_follows() {
    for (comment, expected) in [
        ("(If.C2, Loop.C2) One element.", &[("If.C2", "One element."), ("Loop.C2", "One element.")][..]),
        (
            "A row. (Scan.C4) Each (of all) once. (Scan.C5) A number.",
            &[("Scan.C4", "Each (of all) once."), ("Scan.C5", "A number.")],
        ),
        ("(C1) A sum (of two).", &[]),
    ] {
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(code, text)| ((*code).to_owned(), (*text).to_owned())).collect();
        assert_eq!(named(comment), expected, "{comment}");
    }
}

#[test]
fn every_condition_of_an_onnx_operator_has_a_text() {
    let listed = fs::read_to_string("data/conditions.txt").expect("the list");
    for path in sources().iter().filter(|path| path.starts_with("crates/onnx-model/src")) {
        for function in functions(&fs::read_to_string(path).expect("a source file")) {
            for (name, number) in function.requires {
                let code = format!("{name}.C{number} ");
                assert!(listed.lines().any(|line| line.starts_with(&code)), "{code}in {}", path.display());
            }
        }
    }
}

#[test]
fn a_code_of_an_onnx_operator_has_one_meaning() {
    let listed = conditions();
    for path in sources().iter().filter(|path| path.starts_with("crates/onnx-model/src")) {
        let functions = functions(&fs::read_to_string(path).expect("a source file"));
        for function in &functions {
            for (number, says) in function.says.iter().filter(|(_, says)| !refers(says)) {
                let own = function.requires.iter().filter(|(_, other)| other == number);
                let codes: Vec<String> = own.map(|(name, number)| format!("{name}.C{number}")).collect();
                let is_listed = codes.iter().any(|code| listed.get(code) == Some(says));
                assert!(codes.is_empty() || is_listed, "{codes:?} in `{}`: {says}", function.name);
            }
        }
    }
}

#[test]
fn sentences_are_read_as_people_read_them() {
    for (comment, expected) in [
        (
            "A sum. (C1) The sizes agree. (C2) So do the dtypes.",
            &[(1, "The sizes agree."), (2, "So do the dtypes.")][..],
        ),
        (
            "(C1) to (C3) As [`mm`]. (C5) More.",
            &[(1, "As `mm`."), (2, "As `mm`."), (3, "As `mm`."), (5, "More.")],
        ),
        (
            "(C1) The depth is one number, (C2) not negative.",
            &[(1, "The depth is one number"), (2, "not negative.")],
        ),
        ("(C1) A. # Errors (C2) fails.", &[(1, "A.")]),
        ("Nothing (see below).", &[]),
    ] {
        let expected: BTreeMap<u32, String> =
            expected.iter().map(|(n, text)| (*n, (*text).to_owned())).collect();
        assert_eq!(sentences(comment), expected, "{comment}");
    }
}

/// The conditions of declared operators are known by their numbers.
#[test]
fn conditions_of_declared_operators_have_texts() {
    let text = sizewise::kernels::condition_text;
    for number in ["C1", "C3", "C16", "C17+", "shape"] {
        assert!(text(&format!("custom.{number}")).is_some(), "{number}");
    }
    for number in ["C0", "C17", "Cx", "", "when"] {
        assert_eq!(text(&format!("custom.{number}")), None, "{number}");
    }
}
