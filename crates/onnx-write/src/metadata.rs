//! What a node says of where it comes from, under the keys that torch's own exporter uses.
//!
//! Source: `torch/onnx/_internal/exporter/_core.py` (`_set_node_metadata`). The line of the model's source is
//! `source` beside them.

use super::live::is_assertion;
use indexmap::IndexSet;
use sizewise_check::spec::{Contract, UNCHECKED_MINIMUM};
use sizewise_expr::Expr;
use sizewise_expr::escape::python_string;
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::{print, read};
use sizewise_ir::{Argument, InputSpec, Meta, Node, Operand, Program, Sym, text};
use sizewise_onnx_model::read::CONDITIONS;
use sizewise_onnx_model::read::message::StringStringEntryProto;
use sizewise_solve::{Budget, without_redundant};

/// Of more conditions it is not asked which follow from others.
const MAX_COMPARED: usize = 48;

fn entry(key: &str, value: String) -> StringStringEntryProto {
    StringStringEntryProto { key: key.to_owned(), value }
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| python_string(item)).collect();
    format!("[{}]", items.join(", "))
}

/// The entries for the values of a state: what it is, and of a buffer whether the archive keeps it.
pub(super) fn of_state(spec: &InputSpec) -> Vec<StringStringEntryProto> {
    let of = |field: &str, value: &str| {
        entry(&format!("pkg.torch.export.graph_signature.InputSpec.{field}"), value.to_owned())
    };
    match spec {
        InputSpec::Parameter { .. } => vec![of("kind", "PARAMETER")],
        InputSpec::Buffer { persistent, .. } => {
            vec![of("kind", "BUFFER"), of("persistent", if *persistent { "True" } else { "False" })]
        }
        InputSpec::TensorConstant { .. } => vec![of("kind", "CONSTANT_TENSOR")],
        _ => Vec::new(),
    }
}

/// The conditions that a program asserts on every run.
fn asserted(program: &Program) -> Vec<String> {
    let asserted = |node: &Node| -> Option<String> {
        let Some(Argument::SymBool(Operand::Value(id))) = node.inputs.first().map(|input| input.arg.clone())
        else {
            return None;
        };
        let Meta::SymBool(Sym::Expr(condition)) = program.graph.meta(id) else { return None };
        Some(text::expression_text(&program.exprs.get(*condition)?.text))
    };
    program.graph.nodes().iter().filter(|node| is_assertion(node)).filter_map(asserted).collect()
}

/// The conditions that a program asserts on every run or was exported with: its guards, and the bounds that its module
/// checks; and those that it needs besides. They are over the names that sizes have in the model, without those that
/// follow from others where sizes are at least 1; what cannot be said in these names stays as torch writes it. Conditions
/// of graphs within hold on some runs only.
fn conditions(program: &Program, needed: &[String]) -> Vec<String> {
    let mut texts = asserted(program);
    let Ok(mut contract) = Contract::load(program) else {
        texts.extend(program.guards_code.iter().map(|guard| guard.to_string()));
        return texts.into_iter().collect::<IndexSet<_>>().into_iter().collect();
    };
    let mut unread: IndexSet<String> = contract.unreadable_guards().map(str::to_owned).collect();
    texts.extend_from_slice(needed);
    let sizes = contract.input_symbols();
    let pool = &mut contract.env.pool;
    let mut stated: IndexSet<Expr> = IndexSet::new();
    for text in texts {
        match read::closed(pool, &text) {
            Ok(read) => drop(stated.insert(pool.truth(read.expr))),
            Err(_) => drop(unread.insert(text)),
        }
    }
    for (e, bounds) in &contract.ranges {
        let least = bounds.min.filter(|&min| min > UNCHECKED_MINIMUM).map(|min| {
            let min = pool.int(min);
            pool.ge(*e, min)
        });
        let most = bounds.max.map(|max| {
            let max = pool.int(max);
            pool.le(*e, max)
        });
        stated.extend(least.into_iter().chain(most));
    }
    for guard in &contract.guards {
        stated.insert(guard.condition);
        stated.extend(&guard.requirements);
    }
    // Equal names are equal sizes: some conditions say nothing any more.
    let mut stated: Vec<Expr> = stated.into_iter().filter(|&e| pool.as_bool(e) != Some(true)).collect();
    if stated.len() <= MAX_COMPARED {
        let range = |symbol| {
            (symbol, if sizes.contains(&symbol) { ValueRange::at_least(1.into()) } else { ValueRange::all() })
        };
        let ranges: Vec<_> = pool.free_symbols(&stated).into_iter().map(range).collect();
        stated = without_redundant(pool, &ranges, &stated, &Budget::small());
    }
    stated.into_iter().map(|e| print::expression(pool, e)).chain(unread).collect()
}

/// The entries for a function: the identifier under which `invoke_subgraph` knows its graph.
///
/// Source: `torch/onnx/_internal/exporter/_torchlib/ops/hop.py` (`higher_order_invoke_subgraph`).
pub(super) fn of_function(identifier: Option<&str>) -> Vec<StringStringEntryProto> {
    let key = "pkg.torch.ops.higher_order.invoke_subgraph.identifier";
    identifier.map(|identifier| entry(key, identifier.to_owned())).into_iter().collect()
}

/// The entry for an input or output that was renamed.
pub(super) fn of_renamed(name: &str) -> StringStringEntryProto {
    entry("pkg.torch.onnx.original_node_name", name.to_owned())
}

/// The entries for a model: the version of torch, the signature, the ranges and the conditions of the program. `needed`
/// are further conditions under which it runs.
pub(super) fn of_program(program: &Program, needed: &[String]) -> Vec<StringStringEntryProto> {
    let version = (!program.torch_version.is_empty()).then(|| program.torch_version.to_string());
    let mut entries: Vec<_> = version.map(|version| entry("torch_version", version)).into_iter().collect();
    let text = text::write_signature_and_ranges(program);
    let key = |field: &str| format!("pkg.torch.export.ExportedProgram.{field}");
    let (signature, ranges) = text.split_once("Range constraints: ").unwrap_or((&text, ""));
    let signature = signature.trim_start_matches("Graph signature:").trim_matches('\n');
    entries.push(entry(&key("graph_signature"), signature.to_owned()));
    entries.push(entry(&key("range_constraints"), ranges.trim_end().to_owned()));
    let conditions = conditions(program, needed);
    if !conditions.is_empty() {
        entries.push(entry(CONDITIONS, conditions.join("\n")));
    }
    entries
}

/// The entries for a node, which FX prints as `line`.
pub(super) fn of(node: &Node, line: String) -> Vec<StringStringEntryProto> {
    let target = node.target.to_string();
    let (mut names, mut classes, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
    for module in node.provenance.modules() {
        scopes.push(format!("{}: {}", module.path, module.class));
        names.push(module.path.to_owned());
        classes.push(module.class.to_owned());
    }
    scopes.push(format!("{}: {target}", node.name));
    names.push(node.name.to_string());
    classes.push(target);
    let mut entries = vec![
        entry("namespace", scopes.join("/")),
        entry("pkg.torch.onnx.class_hierarchy", list(&classes)),
        entry("pkg.torch.onnx.name_scopes", list(&names)),
        entry("pkg.torch.onnx.fx_node", line),
    ];
    if let Some(trace) = &node.provenance.stack_trace {
        entries.push(entry("pkg.torch.onnx.stack_trace", trace.to_string()));
    }
    if let Some(location) = node.provenance.location() {
        entries.push(entry("source", format!("{}:{}", location.file, location.line)));
    }
    entries
}
