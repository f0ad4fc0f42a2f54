//! How inputs are passed, and what refuses its own example.
use super::{AREA, BRANCH, bytes, compared, compared_models, model};
use crate::command::with_input;
use sizewise::check::Checker;
use sizewise::diff::{Verdict, diff};
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use sizewise::ir::{ModuleSignature, TreeKey, TreeKind, TreeSpec};
use sizewise::kernels::Operators;

/// A container of values.
fn container(kind: TreeKind, children: Vec<TreeSpec>) -> TreeSpec {
    TreeSpec { kind, children, written: None }
}

/// The example, called in another way: positional arguments, those that are passed by name, and the names of all.
fn called(positional: Vec<TreeSpec>, keyword: &[&str], names: &[&str]) -> Checker {
    let mut program = read(&bytes(AREA), &ReadOptions::default()).expect("a program");
    let key = |name: &&str| TreeKey::Str((*name).into());
    let call: &mut ModuleSignature =
        program.module_calls.iter_mut().find_map(|call| call.signature.as_mut()).expect("a call");
    let by_name =
        container(TreeKind::Dict(keyword.iter().map(key).collect()), vec![TreeSpec::LEAF; keyword.len()]);
    call.in_spec.children = vec![container(TreeKind::Tuple, positional), by_name];
    call.forward_arg_names = Some(names.iter().map(|name| (*name).into()).collect());
    Checker::read("program", write_json(&program).expect("JSON").as_bytes()).expect("a program")
}

#[test]
fn a_call_that_no_longer_fits_is_a_difference() {
    const LEAF: TreeSpec = TreeSpec::LEAF;
    let both = |kind| vec![container(kind, vec![LEAF, LEAF])];
    let plain = || called(vec![LEAF, LEAF], &[], &["x", "y"]);
    let list = || called(both(TreeKind::List), &[], &["xs"]);
    let keys = || TreeKind::Dict(vec![TreeKey::Str("a".into()), TreeKey::Str("b".into())]);
    let dict = || called(both(keys()), &[], &["xs"]);
    let by_name = || called(vec![LEAF], &["y"], &["x", "y"]);
    let names = || called(vec![], &["x", "y"], &["x", "y"]);
    for (old, new, says) in [
        (list(), called(both(TreeKind::Tuple), &[], &["xs"]), "the input xs was a list and is a tuple"),
        (called(both(TreeKind::Tuple), &[], &["xs"]), list(), "the input xs was a tuple and is a list"),
        (list(), called(both(TreeKind::Deque), &[], &["xs"]), "the input xs was a list and is a deque"),
        // Also where the argument has another name.
        (list(), called(both(TreeKind::Tuple), &[], &["ys"]), "the input number 0 was a list and is a tuple"),
        (list(), dict(), "the input xs was a list and is a dictionary"),
        (dict(), list(), "the input xs was a dictionary and is a list"),
        (plain(), by_name(), "the input y was passed by position and is by name"),
        (by_name(), plain(), "the input y was passed by name and is by position"),
        (plain(), called(vec![LEAF, LEAF], &[], &["y", "x"]), "the inputs are in another order: y, x"),
        (
            plain(),
            called(vec![container(TreeKind::List, vec![LEAF]), LEAF], &[], &["x", "y"]),
            "the input x is passed as x[0]",
        ),
    ] {
        let found = diff(&old, &new, &Operators::new()).expect("a difference");
        assert_eq!(found.verdict, Verdict::Different, "{says}: {found:?}");
        assert!(found.interface.iter().any(|change| change == says), "{says}: {found:?}");
    }
    // Names have no order.
    let turned = called(vec![], &["y", "x"], &["y", "x"]);
    for (old, new) in
        [(plain(), plain()), (list(), list()), (dict(), dict()), (by_name(), by_name()), (names(), turned)]
    {
        let found = diff(&old, &new, &Operators::new()).expect("a difference");
        let fits = found.notes.iter().all(|note| !note.contains("do not fit"));
        assert!(fits && found.interface.iter().all(|change| change.contains("order")), "{found:?}");
    }
}

#[test]
fn what_cannot_be_followed_is_equal_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.onnx").to_string_lossy().into_owned();
    let never = model("float[N, 3] x, float[4, L] w", "z = MatMul(x, w)");
    let other = model("float[N, 3] x, float[5, L] w", "z = MatMul(x, w)");
    assert_eq!(compared_models(&never, &never), ("equal".to_owned(), 0, 0));
    assert_ne!(compared_models(&never, &other).0, "equal");
    std::fs::write(&path, never).expect("a file");
    let (status, text, _) = with_input(&["diff", &path, &path], "");
    assert!(status == 0 && text.contains("both are the same"), "{text}");
    let never = [("[0] > 5", "[0] > 500")];
    assert_eq!(compared(BRANCH, &never, &never).verdict, Verdict::Equal);
}
