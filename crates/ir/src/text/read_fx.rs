//! Reads graphs as `str(graph)` writes them, older spellings too.

use super::raw::{Document, Raw, RawGraph, RawKind, RawNode, RawValue, Spot};
use super::scan::{SourceText, Values, is_name, split_top};
use crate::ReadResult;

const VALUES: Values = Values { fx: true };
/// How deep graphs nest.
const MAX_DEPTH: usize = 64;

/// Reads the graph, and those of submodules behind it.
pub(super) fn read(text: &str) -> ReadResult<Document> {
    let source = SourceText::new(text);
    let mut graphs: Vec<(String, RawGraph)> = Vec::new();
    for line in 0..source.lines() {
        let written = source.line(line);
        let content = written.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if let Some(rest) = written.strip_prefix("graph") {
            graphs.push(heading(&source, line, rest)?);
            continue;
        }
        let Some((_, graph)) = graphs.last_mut() else {
            let message = "expected `graph():` or `ExportedProgram:`".to_owned();
            return Err(source.error(line, written.len() - written.trim_start().len(), message));
        };
        graph.nodes.push(node(&source, line)?);
    }
    let mut nested = graphs.into_iter();
    let Some((_, mut graph)) = nested.next() else {
        return Err(source.error(
            0,
            0,
            "expected `graph():` or `ExportedProgram:`, found nothing".to_owned(),
        ));
    };
    for (scope, inner) in nested {
        place(&mut graph, &scope, inner);
    }
    Ok(Document { graph, fx: true, ..Document::default() })
}

/// Puts a submodule's graph where its scope says, as far as that is there.
fn place(graph: &mut RawGraph, scope: &str, mut inner: RawGraph) {
    let mut at = graph;
    let mut path = scope.split('.').peekable();
    while let Some(name) = path.next() {
        if path.peek().is_none() {
            inner.name = name.to_owned();
            break;
        }
        match at.subgraphs.iter().position(|known| known.name == name) {
            Some(index) => at = &mut at.subgraphs[index],
            None => break,
        }
    }
    at.subgraphs.push(inner);
}

/// Reads what follows `graph`: `():`, `(x, y):`, ` true_graph_0():`.
fn heading(source: &SourceText<'_>, line: usize, rest: &str) -> ReadResult<(String, RawGraph)> {
    let wrong = || source.error(line, 5, "expected `graph():`".to_owned());
    let (scope, rest) = rest.split_once('(').ok_or_else(wrong)?;
    let inputs = rest.trim_end().strip_suffix("):").ok_or_else(wrong)?;
    if scope.matches('.').count() >= MAX_DEPTH {
        return Err(source.error(line, 5, format!("graphs nest deeper than {MAX_DEPTH} levels")));
    }
    let mut graph = RawGraph::default();
    for (_, input) in split_top(inputs, ',') {
        let name = input.split(':').next().unwrap_or_default().trim().trim_start_matches('%');
        if !name.is_empty() {
            let spot = Spot { line, column: 5 };
            let name = name.to_owned();
            graph.nodes.push(RawNode { name, spot, kind: RawKind::Placeholder, annotation: None });
        }
    }
    Ok((scope.trim().to_owned(), graph))
}

fn node(source: &SourceText<'_>, line: usize) -> ReadResult<RawNode> {
    let text = source.line(line);
    let indent = text.len() - text.trim_start().len();
    let spot = Spot { line, column: indent };
    if let Some(value) = text.trim().strip_prefix("return") {
        let column = indent + "return".len();
        let value = Values { fx: false }.read(value, Spot { line, column });
        return Ok(RawNode {
            name: "output".to_owned(),
            spot,
            kind: RawKind::Output(value),
            annotation: None,
        });
    }
    let error = |column: usize, message: &str| Err(source.error(line, column, message.to_owned()));
    if text[indent..].starts_with("output[") {
        let kind = output(source, line, indent)?;
        return Ok(RawNode { name: "output".to_owned(), spot, kind, annotation: None });
    }
    let Some(rest) = text[indent..].strip_prefix('%') else {
        return error(
            indent,
            "expected a node such as `%x : [num_users=1] = placeholder[target=x]` or `return`",
        );
    };
    let name_end = rest.find([' ', ':']).unwrap_or(rest.len());
    let name = &rest[..name_end];
    if !is_name(name) {
        return error(indent + 1, "expected a node's name");
    }
    let after_name = indent + 1 + name_end;
    let users = text[after_name..].find("[num_users=").or_else(|| text[after_name..].find("[#users="));
    // The export IR specification leaves the number of users out.
    let (annotated, equals) = match users.map(|at| after_name + at) {
        Some(users) => (users, text[users..].find("] = ").map(|at| users + at + "] = ".len())),
        None => {
            let equals = text[after_name..].find(" = ").map(|at| after_name + at);
            (equals.unwrap_or(after_name), equals.map(|at| at + " = ".len()))
        }
    };
    let Some(equals) = equals else {
        return error(annotated, "expected `: [num_users=..] = ` or ` = `");
    };
    let annotation = annotation(text[after_name..annotated].trim().trim_start_matches(':').trim());
    let call = &text[equals..];
    let Some((op, _)) = call.split_once('[') else {
        return error(equals, "expected an operation such as call_function[target=..]");
    };
    let target_at = equals + op.len() + 1;
    let Some(target) = text[target_at..].strip_prefix("target").map(|rest| rest.trim_start()) else {
        return error(target_at, "expected `target=`");
    };
    let Some(target) = target.strip_prefix('=').map(str::trim_start) else {
        return error(target_at + "target".len(), "expected `=`");
    };
    let target_at = text.len() - target.len();
    let kind = match op {
        "placeholder" => RawKind::Placeholder,
        "get_attr" => match target.split_once(']') {
            Some((target, _)) => RawKind::GetAttr(target.trim().to_owned()),
            None => return error(text.len(), "expected `]`"),
        },
        "call_function" => call_function(source, line, target_at)?,
        "output" => output(source, line, target_at)?,
        "call_method" | "call_module" => match call_function(source, line, target_at)? {
            RawKind::Call { target, args, kwargs } => {
                RawKind::Foreign { op: op.to_owned(), target, args, kwargs }
            }
            other => other,
        },
        _ => {
            let message = "expected placeholder, get_attr, call_function or output";
            return error(equals, message);
        }
    };
    Ok(RawNode { name: name.to_owned(), spot, kind, annotation })
}

/// Reads what an `output` returns, somewhere behind `from`: `output[target=output](args = ((%x,),), kwargs = {})`, or
/// as the export IR specification writes it, `output[](args = (%x, %y))`.
fn output(source: &SourceText<'_>, line: usize, from: usize) -> ReadResult<RawKind> {
    let text = source.line(line);
    let error = |column: usize, message: &str| Err(source.error(line, column, message.to_owned()));
    let Some(column) = text[from..].find("(args = ").map(|at| from + at + "(args = ".len()) else {
        return error(from, "expected `(args = ..`");
    };
    let arguments = text[column..].trim_end();
    let arguments = match arguments.rsplit_once(", kwargs = ") {
        Some((arguments, _)) => arguments,
        None => arguments.strip_suffix(')').unwrap_or(arguments),
    };
    let raw = VALUES.read(arguments, Spot { line, column });
    match raw.kind {
        RawValue::Tuple(mut items) if items.len() == 1 => Ok(RawKind::Output(items.remove(0))),
        RawValue::Tuple(items) if !items.is_empty() => {
            Ok(RawKind::Output(Raw { kind: RawValue::Tuple(items), ..raw }))
        }
        _ => error(column, "expected the value that is returned"),
    }
}

/// The annotation before the users: `Tensor "f32[3]"` or `"Sym(s0)"`; types without quotes say nothing of shapes.
fn annotation(text: &str) -> Option<String> {
    let quote = text.find(['"', '\''])?;
    super::scan::string_literal(&text[quote..]).ok().map(|(value, _)| value)
}

/// Reads `T](args = (..), kwargs = {..})`, from the target on. Strings stand there without quotes and may hold
/// anything but a new line, so the keyword arguments are sought from the end.
fn call_function(source: &SourceText<'_>, line: usize, at: usize) -> ReadResult<RawKind> {
    let text = source.line(line);
    let error = |column: usize, message: &str| Err(source.error(line, column, message.to_owned()));
    let Some((target, _)) = text[at..].split_once("](args = (") else {
        return error(at, "expected `target](args = (..), kwargs = {..})`");
    };
    let args_at = at + target.len() + "](args = (".len();
    let Some(kwargs) = text[args_at..].rfind("), kwargs = {").map(|found| args_at + found) else {
        return error(args_at, "expected `), kwargs = {..})` behind the arguments");
    };
    let kwargs_at = kwargs + "), kwargs = {".len();
    let Some(inside) = text[kwargs_at..].trim_end().strip_suffix("})") else {
        return error(text.len(), "expected `})` at the end");
    };
    let args = split_top(&text[args_at..kwargs], ',')
        .into_iter()
        .filter(|(_, part)| !part.trim().is_empty())
        .map(|(offset, part)| VALUES.read(part, Spot { line, column: args_at + offset }))
        .collect();
    let mut named = Vec::new();
    for (offset, part) in split_top(inside, ',') {
        if part.trim().is_empty() {
            continue;
        }
        let column = kwargs_at + offset;
        let Some((name, value)) = part.split_once(':') else {
            return error(column, "expected `name: value`");
        };
        let spot = Spot { line, column: column + name.len() + 1 };
        named.push((name.trim().to_owned(), VALUES.read(value, spot)));
    }
    Ok(RawKind::Call { target: target.trim().to_owned(), args, kwargs: named })
}
