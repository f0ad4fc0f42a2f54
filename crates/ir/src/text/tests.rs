//! What is written is read back; what torch and its older versions write is read; what is wrong is refused with its
//! place.

use std::path::Path;

use super::annotation;
use super::show::expr_text;
use super::{Detail, read, write_dot, write_functions, write_fx, write_python, write_readable};
use crate::pt2::{self, ReadOptions};
use crate::schema::SchemaTable;
use crate::{Argument, Graph, PassedAs, Program, ReadErrorKind};

/// The exported programs at hand, by name.
fn programs() -> Vec<(String, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the programs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let load = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("a program");
        (name, pt2::read(&bytes, &ReadOptions::default()).expect("a program"))
    };
    paths.into_iter().map(load).collect()
}

/// What text carries of a graph, line by line.
fn outline(program: &Program, graph: &Graph, indent: &str, lines: &mut Vec<String>) {
    lines.push(format!("{indent}inputs {:?}", graph.inputs()));
    for (id, name, value) in graph.values() {
        let meta = annotation::write(&value.meta, &program.exprs, Detail::Full);
        lines.push(format!("{indent}{id:?} {name} {:?} {meta:?}", value.origin));
    }
    for node in graph.nodes() {
        let (name, target, outputs) = (&node.name, &node.target, &node.outputs);
        lines.push(format!("{indent}{name} {target} {outputs:?} {:?}", node.hop_single_tensor));
        for input in &node.inputs {
            match &input.arg {
                Argument::Graph(subgraph) => {
                    lines.push(format!("{indent}  graph {}", subgraph.name));
                    outline(program, &subgraph.graph, &format!("{indent}    "), lines);
                }
                arg => {
                    // Where nothing is known of an operator, the text cannot tell which arguments go by position.
                    let custom = node.target.op().is_some()
                        && SchemaTable::global().find(&node.target.to_string()).is_none();
                    let lost = custom && input.passed_as == PassedAs::Positional;
                    let name = if lost { "" } else { &input.name };
                    lines.push(format!("{indent}  {name} {:?} {arg:?}", input.passed_as));
                }
            }
        }
    }
    lines.push(format!("{indent}outputs {:?} {}", graph.outputs(), graph.single_tensor_return()));
}

fn lines(program: &Program, whole: bool) -> Vec<String> {
    let mut lines = Vec::new();
    outline(program, &program.graph, "", &mut lines);
    if whole {
        lines.extend(program.signature.inputs.iter().map(|spec| format!("{spec:?}")));
        lines.extend(program.signature.outputs.iter().map(|spec| format!("{spec:?}")));
        let ranges = program.range_constraints.iter();
        lines.extend(ranges.map(|(key, bounds)| format!("{} {bounds:?}", expr_text(key))));
    }
    lines
}

fn differences(before: &[String], after: &[String]) -> Vec<String> {
    let mut found: Vec<String> = before
        .iter()
        .zip(after)
        .filter(|(a, b)| a != b)
        .take(2)
        .map(|(a, b)| format!("    {a}\n    {b}"))
        .collect();
    if before.len() != after.len() {
        found.push(format!("    {} and {} lines", before.len(), after.len()));
    }
    found
}

fn assert_all_come_back(write: fn(&Program, Detail) -> String, whole: bool) {
    let mut wrong = Vec::new();
    for (name, program) in programs() {
        let text = write(&program, Detail::Full);
        match read(&text) {
            Ok(again) => {
                let found = differences(&lines(&program, whole), &lines(&again, whole));
                if !found.is_empty() {
                    wrong.push(format!("{name}:\n{}", found.join("\n")));
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
        let short = write(&program, Detail::Short);
        match read(&short) {
            Ok(again) => {
                let without_comments = |text: &str| -> Vec<String> {
                    text.lines()
                        .filter(|line| !line.trim().starts_with("# File"))
                        .map(str::to_owned)
                        .collect()
                };
                let found =
                    differences(&without_comments(&short), &without_comments(&write(&again, Detail::Short)));
                if !found.is_empty() {
                    wrong.push(format!("{name}, short:\n{}", found.join("\n")));
                }
            }
            Err(error) => wrong.push(format!("{name}, short: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} programs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn programs_come_back_from_readable_text() {
    assert_all_come_back(write_readable, true);
}

#[test]
fn graphs_come_back_from_fx_text() {
    assert_all_come_back(write_fx, false);
}

#[test]
fn every_program_is_drawn_and_written_as_python() {
    for (name, program) in programs() {
        let (dot, python) = (write_dot(&program), write_python(&program));
        assert!(dot.starts_with("digraph") && dot.ends_with("}\n"), "{name}");
        let functions = write_functions(&program);
        assert!(
            functions
                .lines()
                .rfind(|line| line.starts_with("def "))
                .is_some_and(|line| line.starts_with("def main(")),
            "{name}"
        );
        assert!(python.contains("class GraphModule(torch.nn.Module):"), "{name}");
        // Each graph within is an attribute, of which there is a class.
        for made in python.lines().filter_map(|line| line.trim().strip_suffix("_class()")) {
            let class = made.split_once(" = self.").expect("an attribute").1;
            assert!(python.contains(&format!("class {class}_class(torch.nn.Module):")), "{name}");
        }
        let fetched = python.lines().filter(|line| line.contains(" = self.") && !line.contains("_class"));
        assert_eq!(fetched.count() > 0, python.contains("super().__init__()"), "{name}");
        assert_eq!(dot.matches('{').count(), dot.matches('}').count(), "{name}");
    }
}

#[test]
fn what_torch_prints_is_read() {
    let text = "graph():
    %x : [num_users=2] = placeholder[target=x]
    %sym_size : [num_users=1] = call_function[target=torch.ops.aten.sym_size.int](args = (%x, 0), kwargs = {})
    %ge : [num_users=1] = call_function[target=operator.ge](args = (%sym_size, 3), kwargs = {})
    %_assert_scalar : [num_users=0] = call_function[target=torch.ops.aten._assert_scalar.default](args = (%ge, Runtime assertion failed, for expression 'u0 >= 3' on node), kwargs = {})
    %split : [num_users=1] = call_function[target=torch.ops.aten.split.Tensor](args = (%x, 2), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%split, 1), kwargs = {})
    %ones : [num_users=1] = call_function[target=torch.ops.aten.ones.default](args = ([2, 3],), kwargs = {dtype: torch.float32, device: cuda:1, pin_memory: False})
    %einsum : [num_users=1] = call_function[target=torch.ops.aten.einsum.default](args = (bij, bjk -> bik, [%getitem, %ones]), kwargs = {})
    return (einsum,)
";
    let program = read(text).expect("a program");
    let nodes = program.graph.nodes();
    let strings =
        nodes.iter().flat_map(|node| &node.inputs).filter(|input| matches!(input.arg, Argument::Str(_)));
    let texts: Vec<String> = strings.map(|input| format!("{:?}", input.arg)).collect();
    assert_eq!(
        texts,
        [r#"Str("Runtime assertion failed, for expression 'u0 >= 3' on node")"#, r#"Str("bij, bjk -> bik")"#]
    );
    assert_eq!(nodes.len(), 6);
    assert_eq!(program.graph.name(program.graph.outputs()[0].value().expect("a value")).as_ref(), "einsum");
}

#[test]
fn older_spellings_are_read() {
    let text = "graph():
    %x : [#users=1] = placeholder[target=x]
    %add : [#users=1] = call_function[target = torch.op.aten.add.Tensor](args = (%x, 1), kwargs = {})
    return add
";
    let program = read(text).expect("a program");
    assert_eq!(program.graph.nodes()[0].target.to_string(), "aten.add.Tensor");
    assert!(program.graph.single_tensor_return());
    // As the export IR specification writes it.
    let text = "graph():
    %x = placeholder[target = x](args = ())
    %w = placeholder[target = w](args = ())
    %add = call_function[target = torch.ops.aten.add.Tensor](args = (%x, %w), kwargs = {})
    output[](args = (%add, %x))
";
    let program = read(text).expect("a program");
    assert_eq!(program.graph.nodes()[0].target.to_string(), "aten.add.Tensor");
    assert_eq!(program.graph.outputs().len(), 2);
    let readable = "class GraphModule(torch.nn.Module):
    def forward(self, x: f32[s0, 3], n: \"Sym(s1)\"):
        # File: a.py:8 in forward, code: y = x // (2
        floordiv: \"Sym((s1//2))\" = n // 2;  n = None
        trunc: \"Sym(3)\" = math_trunc(2.5)
        add: f32[s0, 3] = torch.ops.aten.add.Tensor(x, floordiv, alpha = 2);  x = floordiv = None
        return (add,)
";
    let program = read(readable).expect("a program");
    let targets: Vec<String> = program.graph.nodes().iter().map(|node| node.target.to_string()).collect();
    assert_eq!(targets, ["_operator.floordiv", "math.trunc", "aten.add.Tensor"]);
}

#[test]
fn what_is_wrong_is_refused_with_line_column_and_caret() {
    use ReadErrorKind::{Expression, Graph, Signature, Syntax};
    let head = "graph():\n    %x : [num_users=1] = placeholder[target=x]\n";
    let class = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[3]\"):\n";
    let call = "call_function[target=torch.ops.aten.abs.default]";
    for (text, kind, place, part) in [
        ("", Syntax, (1, 1), "found nothing"),
        ("hello", Syntax, (1, 1), "expected `graph():`"),
        (&format!("{head}    x = 3\n"), Syntax, (3, 5), "expected a node"),
        (&format!("{head}    %y : call\n"), Syntax, (3, 7), "num_users"),
        (
            &format!("{head}    %y : [num_users=0] = call_method[target=abs](args = (%x,), kwargs = {{}})\n"),
            Graph,
            (3, 5),
            "functions only",
        ),
        (&format!("{head}    %y : [num_users=0] = {call}(args = (%x,)\n"), Syntax, (3, 83), "kwargs"),
        (
            &format!("{head}    %y : [num_users=0] = {call}(args = (%z,), kwargs = {{}})\n"),
            Graph,
            (3, 83),
            "`z` is used",
        ),
        (
            &format!("{head}    %y : [num_users=0] = {call}(args = (%x, %x), kwargs = {{}})\n"),
            Graph,
            (3, 87),
            "at most 1",
        ),
        (
            &format!("{head}    %x : [num_users=0] = {call}(args = (%x,), kwargs = {{}})\n    return x\n"),
            Graph,
            (3, 5),
            "a second value",
        ),
        (head, Graph, (2, 5), "without `return`"),
        (
            &format!("{head}    return x\n    %y : [num_users=0] = placeholder[target=y]\n"),
            Graph,
            (4, 5),
            "nothing stands behind",
        ),
        (&format!("{head}    %t : [num_users=0] = get_attr[target=t]\n"), Graph, (3, 5), "no such submodule"),
        (&format!("{class}        y = torch.ops.aten.abs.default(x\n"), Syntax, (3, 13), "expected a call"),
        (
            &format!("{class}        y: \"q32[3]\" = torch.ops.aten.abs.default(x)\n"),
            Expression,
            (3, 13),
            "no dtype is called `q32`",
        ),
        (
            &format!("{class}        y: \"f32[s0 +]\" = torch.ops.aten.abs.default(x)\n"),
            Expression,
            (3, 13),
            "cannot be read",
        ),
        (
            &format!(
                "{class}        return (x,)\nGraph signature:\n    # inputs\n    y: USER_INPUT\n    # outputs\n    x: USER_OUTPUT\n"
            ),
            Signature,
            (6, 5),
            "names `y`",
        ),
        (
            &format!("{class}        return (x,)\nRange constraints: {{s0: 3}}\n"),
            Syntax,
            (4, 21),
            "expected ranges",
        ),
        ("class M:\n", Syntax, (1, 1), "expected `class GraphModule"),
        ("class M(x):\n    pass\n", Syntax, (2, 5), "expected `def forward"),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!(error.kind, kind, "{text}: {error}");
        assert_eq!(error.place.line_column, Some(place), "{text}: {error}");
        assert!(error.message.contains(part) && error.message.ends_with('^'), "{text}: {error}");
    }
}

#[test]
fn text_of_any_kind_is_read_or_refused() {
    let (_, program) = programs().swap_remove(9);
    for text in [write_readable(&program, Detail::Full), write_fx(&program, Detail::Full)] {
        for cut in (0..text.len()).step_by(7).filter(|cut| text.is_char_boundary(*cut)) {
            let _ = read(&text[..cut]);
            let _ =
                read(&format!("{}{}", &text[..cut], &text[(cut + 3).min(text.len())..].replace('(', "[")));
        }
    }
    let deep = format!("graph():\n    return {}", "[".repeat(100_000));
    assert!(read(&deep).is_err());
}
