//! Reads programs as `ExportedProgram` and `print_readable` write them.

use super::names::{infix, prefix};
use super::raw::{Document, Raw, RawGraph, RawKind, RawNode, Spot};
use super::scan::{SourceText, Values, is_dotted_name, is_name, split_top, string_literal};
use super::sections;
use crate::{ReadError, ReadResult};

const VALUES: Values = Values { fx: false };
/// How deep classes nest.
const MAX_DEPTH: usize = 64;

/// Reads the program.
pub(super) fn read(text: &str) -> ReadResult<Document> {
    let source = SourceText::new(text);
    let mut reader = ReadableReader { source: &source, line: 0 };
    reader.skip_blank();
    if reader.text().trim() == "ExportedProgram:" {
        reader.line += 1;
    }
    let graph = reader.class(0)?;
    let mut document = Document { graph, ..Document::default() };
    document.graph.name.clear();
    sections::read(&source, reader.line, &mut document)?;
    Ok(document)
}

struct ReadableReader<'s, 't> {
    source: &'s SourceText<'t>,
    line: usize,
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

impl<'t> ReadableReader<'_, 't> {
    fn text(&self) -> &'t str {
        self.source.line(self.line)
    }

    fn at_end(&self) -> bool {
        self.line >= self.source.lines()
    }

    /// Skips empty lines and comments.
    fn skip_blank(&mut self) {
        while !self.at_end() && (self.text().trim().is_empty() || self.text().trim_start().starts_with('#')) {
            self.line += 1;
        }
    }

    fn error<T>(&self, column: usize, message: impl Into<String>) -> ReadResult<T> {
        Err(self.source.error(self.line, column, message.into()))
    }

    fn class(&mut self, depth: usize) -> ReadResult<RawGraph> {
        self.skip_blank();
        let text = self.text();
        let own = indent(text);
        if depth > MAX_DEPTH {
            return self.error(own, format!("classes nest deeper than {MAX_DEPTH} levels"));
        }
        let name = text.trim().strip_prefix("class ").and_then(|rest| rest.split_once('('));
        let Some((name, _)) = name else {
            return self.error(own, "expected `class GraphModule(torch.nn.Module):`");
        };
        let mut graph = RawGraph { name: name.trim().to_owned(), ..RawGraph::default() };
        self.line += 1;
        self.skip_blank();
        if indent(self.text()) <= own || !self.text().trim().starts_with("def forward(") {
            return self.error(indent(self.text()), "expected `def forward(self, ..):`");
        }
        let body = indent(self.text());
        self.forward(&mut graph)?;
        loop {
            self.skip_blank();
            let text = self.text();
            if self.at_end() || indent(text) <= own {
                return Ok(graph);
            }
            if text.trim().starts_with("class ") {
                let inner = self.class(depth + 1)?;
                graph.subgraphs.push(inner);
            } else if indent(text) > body {
                let node = self.statement()?;
                graph.nodes.push(node);
                self.line += 1;
            } else {
                return self.error(indent(text), "expected a statement of `forward` or a class within");
            }
        }
    }

    /// Reads `def forward(self, x: "f32[3]", n: "Sym(s0)"):`, on one line or several.
    fn forward(&mut self, graph: &mut RawGraph) -> ReadResult<()> {
        let mut opened = false;
        loop {
            let text = self.text();
            let start = match text.find("def forward(").filter(|_| !opened) {
                Some(at) => at + "def forward(".len(),
                None => indent(text),
            };
            opened = true;
            let rest = &text[start..];
            // What closes the parameters stands at the end, or before the type of the result.
            let end = rest.rfind("):").or_else(|| rest.rfind(") ->"));
            let inside = &rest[..end.unwrap_or(rest.len())];
            for (offset, part) in split_top(inside, ',') {
                if let Some(node) = self.parameter(part, start + offset)? {
                    graph.nodes.push(node);
                }
            }
            self.line += 1;
            if end.is_some() {
                return Ok(());
            }
            if self.at_end() {
                return self.error(0, "expected `):` behind the parameters of `forward`");
            }
        }
    }

    fn parameter(&self, part: &str, column: usize) -> ReadResult<Option<RawNode>> {
        let column = column + indent(part);
        let part = part.trim();
        if part.is_empty() || part == "self" {
            return Ok(None);
        }
        let (name, annotation) = match part.split_once(':') {
            Some((name, annotation)) => (name.trim(), Some(unquoted(annotation.trim()))),
            None => (part.split('=').next().unwrap_or_default().trim(), None),
        };
        if !is_name(name) {
            return self.error(column, "expected the name of a parameter");
        }
        let spot = Spot { line: self.line, column };
        Ok(Some(RawNode { name: name.to_owned(), spot, kind: RawKind::Placeholder, annotation }))
    }

    fn statement(&self) -> ReadResult<RawNode> {
        let text = self.text();
        let start = indent(text);
        let spot = Spot { line: self.line, column: start };
        if let Some(value) = text[start..].strip_prefix("return") {
            let column = text.len() - value.len();
            let value = VALUES.read(value, Spot { line: self.line, column });
            let name = "output".to_owned();
            return Ok(RawNode { name, spot, kind: RawKind::Output(value), annotation: None });
        }
        let end = text[start..].find([':', ' ', '=']).map_or(text.len(), |at| start + at);
        let name = &text[start..end];
        if !is_name(name) {
            return self.error(start, "expected a statement such as `add: \"f32[3]\" = torch.ops...`");
        }
        let (annotation, equals) = self.annotation(end)?;
        let mut value = &text[equals..];
        if let Some((before, freed)) = value.rsplit_once(";  ")
            && freed.trim_end().ends_with("= None")
        {
            value = before;
        }
        let kind = self.expression(value, equals)?;
        Ok(RawNode { name: name.to_owned(), spot, kind, annotation })
    }

    /// Reads `: "f32[3]" = ` or ` = `: the annotation, and where the value begins.
    fn annotation(&self, at: usize) -> ReadResult<(Option<String>, usize)> {
        let text = self.text();
        let expected = || -> ReadError { self.source.error(self.line, at, "expected ` = `".to_owned()) };
        let Some(rest) = text[at..].strip_prefix(':') else {
            let rest = text[at..].trim_start().strip_prefix('=').ok_or_else(expected)?;
            return Ok((None, text.len() - rest.trim_start().len()));
        };
        let trimmed = rest.trim_start();
        if let Ok((value, end)) = string_literal(trimmed) {
            let rest = trimmed[end..].trim_start().strip_prefix('=').ok_or_else(expected)?;
            return Ok((Some(value), text.len() - rest.trim_start().len()));
        }
        let (annotation, rest) = rest.split_once(" = ").ok_or_else(expected)?;
        Ok((Some(annotation.trim().to_owned()), text.len() - rest.len()))
    }

    /// Reads the right side of a statement.
    fn expression(&self, text: &str, at: usize) -> ReadResult<RawKind> {
        let at = at + indent(text);
        let text = text.trim();
        if let Some(name) = text.strip_prefix("self.").filter(|name| is_dotted_name(name)) {
            return Ok(RawKind::GetAttr(name.to_owned()));
        }
        let value =
            |part: &str, offset: usize| VALUES.read(part, Spot { line: self.line, column: at + offset });
        let operator = |function: &str, args: Vec<Raw>| RawKind::Call {
            target: format!("_operator.{function}"),
            args,
            kwargs: Vec::new(),
        };
        if let Some((target, rest)) = text.split_once('(')
            && is_dotted_name(target)
            && let Some(inside) = rest.strip_suffix(')')
        {
            return self.call(target, inside, at + target.len() + 1);
        }
        if let Some((base, index)) = text.split_once('[')
            && is_name(base)
            && let Some(index) = index.strip_suffix(']')
        {
            return Ok(operator("getitem", vec![value(base, 0), value(index, base.len() + 1)]));
        }
        let words: Vec<&str> = text.split(' ').collect();
        if let [left, symbol, right] = words.as_slice()
            && let Some(function) = infix(symbol)
        {
            let right_at = left.len() + symbol.len() + 2;
            return Ok(operator(function, vec![value(left, 0), value(right, right_at)]));
        }
        if let Some(function) = text.get(..1).and_then(prefix) {
            return Ok(operator(function, vec![value(&text[1..], 1)]));
        }
        self.error(at, "expected a call, an operation on two values, an element or `self.` with a name")
    }

    fn call(&self, target: &str, inside: &str, at: usize) -> ReadResult<RawKind> {
        let (mut args, mut kwargs) = (Vec::new(), Vec::new());
        for (offset, part) in split_top(inside, ',') {
            if part.trim().is_empty() {
                continue;
            }
            let column = at + offset;
            match part.split_once(" = ").filter(|(name, _)| is_name(name.trim())) {
                Some((name, value)) => {
                    let spot = Spot { line: self.line, column: column + name.len() + " = ".len() };
                    kwargs.push((name.trim().to_owned(), VALUES.read(value, spot)));
                }
                None if !kwargs.is_empty() => {
                    return self.error(column, "expected `name = value` behind another such argument");
                }
                None => args.push(VALUES.read(part, Spot { line: self.line, column })),
            }
        }
        Ok(RawKind::Call { target: target.to_owned(), args, kwargs })
    }
}

/// An annotation without its quotes.
fn unquoted(text: &str) -> String {
    string_literal(text).map_or_else(|_| text.to_owned(), |(value, _)| value)
}
