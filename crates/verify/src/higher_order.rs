//! Calls of graphs: that a higher-order operator is given the graphs, operands and results that it is defined on.
//!
//! | operator | arguments | each graph takes | the graphs return |
//! |---|---|---|---|
//! | cond | predicate, two graphs, operands | operands | the results, in both |
//! | switch | index, graphs, operands | operands | the results, in all |
//! | while_loop | condition, body, carried, others | carried, others | a truth value; carried |
//! | map | graph, mapped, others | slices of mapped, others | slices of the results |
//! | scan | graph, initial, scanned, others | initial, slices of scanned, others | carried, slices of the others |
//! | associative_scan | graph, scanned, others | two slices of scanned each, others | slices of scanned |
//! | wrap and the like | .., graph, operands | operands | the results |
use super::graphs::{Checks, ScopedGraph};
use super::rule::Rule;
use sizewise_ir::{
    Argument, Constant, Dtype, Graph, GraphInput, Meta, Node, Operand, Output, Subgraph, Sym, ValueId,
};
use std::fmt;

/// What is passed, as far as its form is known.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// A tensor, with the sizes that are numbers.
    Tensor(Dtype, Vec<Option<i64>>),
    Int,
    Float,
    Bool,
    None,
    /// Something that fits everything.
    Other,
}

impl Form {
    fn of_meta(meta: &Meta) -> Form {
        match meta {
            Meta::Tensor(tensor) => {
                let size = |size: &Sym<i64>| match size {
                    Sym::Literal(size) => Some(*size),
                    Sym::Expr(_) => None,
                };
                Form::Tensor(tensor.dtype, tensor.sizes.iter().map(size).collect())
            }
            Meta::SymInt(_) => Form::Int,
            Meta::SymFloat(_) => Form::Float,
            Meta::SymBool(_) => Form::Bool,
            Meta::CustomObj(_) | Meta::Token | Meta::Unknown => Form::Other,
        }
    }

    fn of_constant(constant: &Constant) -> Form {
        match constant {
            Constant::None => Form::None,
            Constant::Int(_) => Form::Int,
            Constant::Float(_) => Form::Float,
            Constant::Bool(_) => Form::Bool,
            Constant::Str(_) => Form::Other,
        }
    }

    /// A slice along the first dimension; numbers are not sliced.
    fn slice(&self) -> Form {
        match self {
            Form::Tensor(dtype, sizes) => Form::Tensor(*dtype, sizes.iter().skip(1).copied().collect()),
            other => other.clone(),
        }
    }

    /// Slices put together again.
    fn stacked(&self) -> Form {
        match self {
            Form::Tensor(dtype, sizes) => {
                Form::Tensor(*dtype, std::iter::once(None).chain(sizes.iter().copied()).collect())
            }
            other => other.clone(),
        }
    }

    /// The same with all sizes left open.
    fn any_size(&self) -> Form {
        match self {
            Form::Tensor(dtype, sizes) => Form::Tensor(*dtype, vec![None; sizes.len()]),
            other => other.clone(),
        }
    }

    /// Whether one may stand for the other: of one kind and dtype, with as many dimensions, and equal where both are
    /// numbers.
    fn fits(&self, other: &Form) -> bool {
        match (self, other) {
            (Form::Other, _) | (_, Form::Other) => true,
            (Form::Tensor(a, x), Form::Tensor(b, y)) => {
                let agree = |(x, y): (&Option<i64>, &Option<i64>)| x.zip(*y).is_none_or(|(x, y)| x == y);
                a == b && x.len() == y.len() && x.iter().zip(y).all(agree)
            }
            (a, b) => a == b,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Tensor(dtype, sizes) => {
                let sizes: Vec<String> =
                    sizes.iter().map(|size| size.map_or("?".to_owned(), |size| size.to_string())).collect();
                write!(f, "{}[{}]", dtype.short_name(), sizes.join(", "))
            }
            Form::Int => f.write_str("an integer"),
            Form::Float => f.write_str("a float"),
            Form::Bool => f.write_str("a truth value"),
            Form::None => f.write_str("None"),
            Form::Other => f.write_str("something else"),
        }
    }
}

/// The forms of what an argument passes, lists taken apart.
fn forms(graph: &Graph, argument: &Argument) -> Vec<Form> {
    let value = |id: &ValueId| Form::of_meta(graph.meta(*id));
    fn operands<T>(list: &[Operand<T>], literal: Form, value: impl Fn(&ValueId) -> Form) -> Vec<Form> {
        let form = |operand: &Operand<T>| match operand {
            Operand::Value(id) => value(id),
            Operand::Literal(_) => literal.clone(),
        };
        list.iter().map(form).collect()
    }
    match argument {
        Argument::None | Argument::OptionalTensor(None) => vec![Form::None],
        Argument::Tensor(id) | Argument::OptionalTensor(Some(id)) | Argument::CustomObj(id) => {
            vec![value(id)]
        }
        Argument::Tensors(ids) => ids.iter().map(value).collect(),
        Argument::OptionalTensors(ids) => {
            ids.iter().map(|id| id.as_ref().map_or(Form::None, value)).collect()
        }
        Argument::Int(_) => vec![Form::Int],
        Argument::Ints(list) => vec![Form::Int; list.len()],
        Argument::Float(_) => vec![Form::Float],
        Argument::Floats(list) => vec![Form::Float; list.len()],
        Argument::Bool(_) => vec![Form::Bool],
        Argument::Bools(list) => vec![Form::Bool; list.len()],
        Argument::SymInt(operand) => operands(std::slice::from_ref(operand), Form::Int, value),
        Argument::SymInts(list) => operands(list, Form::Int, value),
        Argument::SymFloat(operand) => operands(std::slice::from_ref(operand), Form::Float, value),
        Argument::SymFloats(list) => operands(list, Form::Float, value),
        Argument::SymBool(operand) => operands(std::slice::from_ref(operand), Form::Bool, value),
        Argument::SymBools(list) => operands(list, Form::Bool, value),
        Argument::Map(map) => map.values().flat_map(|argument| forms(graph, argument)).collect(),
        Argument::List(items) => items.iter().flat_map(|argument| forms(graph, argument)).collect(),
        Argument::Graph(_) | Argument::Str(_) => Vec::new(),
        _ => vec![Form::Other],
    }
}

fn inputs(graph: &Graph) -> Vec<Form> {
    let form = |input: &GraphInput| match input {
        GraphInput::Value(id) => Form::of_meta(graph.meta(*id)),
        GraphInput::Constant(constant) => Form::of_constant(constant),
    };
    graph.inputs().iter().map(form).collect()
}

fn returned(graph: &Graph) -> Vec<Form> {
    graph.outputs().iter().flat_map(|argument| forms(graph, argument)).collect()
}

/// What a node makes.
fn made(graph: &Graph, node: &Node) -> Vec<Form> {
    let form = |output: &Output| match output {
        Output::Value(id) => vec![Form::of_meta(graph.meta(*id))],
        Output::List(ids) => {
            ids.iter().map(|id| id.map_or(Form::Other, |id| Form::of_meta(graph.meta(id)))).collect()
        }
        Output::None => vec![Form::None],
        Output::Constant(constant) => vec![Form::of_constant(constant)],
    };
    node.outputs.iter().flat_map(form).collect()
}

/// What a call is to be like: what each graph takes and what comes out.
struct Expected {
    takes: Vec<Form>,
    /// What the graphs return, where that is given by the operands.
    carried: Vec<Form>,
    /// Whether the other results are slices.
    sliced: bool,
}

/// Checks every call of a higher-order operator.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        if let Some(name) = node.target.higher_order() {
            call(checks, graph, node, name);
        }
    });
}

fn call(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, name: &str) {
    let subgraphs = node.subgraphs();
    let wanted = match name {
        "cond" | "while_loop" | "while_loop_stack_output" => Some(2),
        "map" | "map_impl" | "scan" | "associative_scan" => Some(1),
        "switch" => None,
        _ if node.target.is_wrapper() => Some(1),
        _ => return,
    };
    let right = wanted.map_or(!subgraphs.is_empty(), |wanted| subgraphs.len() == wanted);
    if !right {
        let wanted = wanted.map_or("at least one".to_owned(), |wanted| wanted.to_string());
        let message = format!("`{name}` is given {} graphs, expected {wanted}", subgraphs.len());
        checks.report(Rule::GraphCount, graph, node, message);
        return;
    }
    let holds_graph = |argument: &Argument| {
        let mut found = false;
        argument.for_each_graph(&mut |_| found = true);
        found
    };
    let last = node.inputs.iter().rposition(|input| holds_graph(&input.arg)).unwrap_or(0);
    let operands: Vec<Vec<Form>> = node.inputs[last + 1..]
        .iter()
        .filter(|input| input.name.is_empty())
        .map(|input| forms(graph.graph, &input.arg))
        .collect();
    let list = |index: usize| operands.get(index).cloned().unwrap_or_default();
    let rest = |from: usize| operands.iter().skip(from).flatten().cloned().collect::<Vec<Form>>();
    let slices = |list: Vec<Form>| list.iter().map(Form::slice).collect::<Vec<Form>>();
    let expected = match name {
        "while_loop" | "while_loop_stack_output" => {
            Expected { takes: rest(0), carried: list(0), sliced: false }
        }
        "map" | "map_impl" => {
            Expected { takes: [slices(list(0)), rest(1)].concat(), carried: Vec::new(), sliced: true }
        }
        "scan" => {
            Expected { takes: [list(0), slices(list(1)), rest(2)].concat(), carried: list(0), sliced: true }
        }
        "associative_scan" => {
            let slices = slices(list(0));
            let takes = [slices.clone(), slices.clone(), rest(1)].concat();
            Expected { takes, carried: slices, sliced: false }
        }
        _ => Expected { takes: rest(0), carried: Vec::new(), sliced: false },
    };
    for subgraph in &subgraphs {
        operands_fit(checks, graph, node, subgraph, &expected.takes);
    }
    match name {
        "cond" | "switch" => branches(checks, graph, node, &subgraphs),
        "while_loop" | "while_loop_stack_output" => {
            condition(checks, graph, node, subgraphs[0]);
            carried(checks, graph, node, subgraphs[1], &expected.carried, true);
        }
        "scan" => carried(checks, graph, node, subgraphs[0], &expected.carried, false),
        "associative_scan" => carried(checks, graph, node, subgraphs[0], &expected.carried, true),
        _ => {}
    }
    results(checks, graph, node, name, subgraphs[subgraphs.len() - 1], &expected);
}

fn operands_fit(
    checks: &mut Checks<'_>,
    graph: &ScopedGraph<'_>,
    node: &Node,
    subgraph: &Subgraph,
    given: &[Form],
) {
    let wanted = inputs(&subgraph.graph);
    if wanted.len() != given.len() {
        let message = format!("`{}` takes {} values, {} are given", subgraph.name, wanted.len(), given.len());
        checks.report(Rule::GraphOperands, graph, node, message);
        return;
    }
    for (i, (wanted, given)) in wanted.iter().zip(given).enumerate() {
        if !wanted.fits(given) {
            let message = format!("input {i} of `{}` is {wanted}, but {given} is given", subgraph.name);
            checks.report(Rule::GraphOperands, graph, node, message);
        }
    }
}

fn branches(
    checks: &mut Checks<'_>,
    graph: &ScopedGraph<'_>,
    node: &Node,
    subgraphs: &[&std::sync::Arc<Subgraph>],
) {
    let first = returned(&subgraphs[0].graph);
    for other in &subgraphs[1..] {
        let results = returned(&other.graph);
        if results.len() != first.len() {
            let message = format!(
                "`{}` returns {} values, `{}` {}",
                subgraphs[0].name,
                first.len(),
                other.name,
                results.len()
            );
            checks.report(Rule::BranchResults, graph, node, message);
            continue;
        }
        for (i, (a, b)) in first.iter().zip(&results).enumerate() {
            if !a.any_size().fits(&b.any_size()) {
                let message = format!("value {i} is {a} in `{}`, {b} in `{}`", subgraphs[0].name, other.name);
                checks.report(Rule::BranchResults, graph, node, message);
            }
        }
    }
}

fn condition(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, subgraph: &Subgraph) {
    let results = returned(&subgraph.graph);
    let truth = |form: &Form| match form {
        Form::Tensor(dtype, sizes) => *dtype == Dtype::Bool && sizes.iter().all(|size| *size == Some(1)),
        other => matches!(other, Form::Bool | Form::Other),
    };
    if !matches!(results.as_slice(), [result] if truth(result)) {
        let shown: Vec<String> = results.iter().map(Form::to_string).collect();
        let message = format!("`{}` returns ({}), expected one truth value", subgraph.name, shown.join(", "));
        checks.report(Rule::LoopCondition, graph, node, message);
    }
}

fn carried(
    checks: &mut Checks<'_>,
    graph: &ScopedGraph<'_>,
    node: &Node,
    subgraph: &Subgraph,
    before: &[Form],
    all: bool,
) {
    let after = returned(&subgraph.graph);
    if after.len() < before.len() || (all && after.len() != before.len()) {
        let message =
            format!("{} values are carried, `{}` returns {}", before.len(), subgraph.name, after.len());
        checks.report(Rule::LoopCarried, graph, node, message);
        return;
    }
    for (i, (before, after)) in before.iter().zip(&after).enumerate() {
        if !before.fits(after) {
            let message = format!("carried value {i} goes from {before} to {after}");
            checks.report(Rule::LoopCarried, graph, node, message);
        }
    }
}

fn results(
    checks: &mut Checks<'_>,
    graph: &ScopedGraph<'_>,
    node: &Node,
    name: &str,
    subgraph: &Subgraph,
    expected: &Expected,
) {
    let from_graph = returned(&subgraph.graph);
    let wanted: Vec<Form> = match name {
        "cond" | "switch" => from_graph.iter().map(Form::any_size).collect(),
        "while_loop_stack_output" | "associative_scan" => from_graph.iter().map(Form::stacked).collect(),
        _ if expected.sliced => {
            let stacked = |(i, form): (usize, &Form)| {
                if i < expected.carried.len() { form.clone() } else { form.stacked() }
            };
            from_graph.iter().enumerate().map(stacked).collect()
        }
        _ => from_graph,
    };
    let found = made(graph.graph, node);
    if found.len() != wanted.len() {
        let message =
            format!("`{}` returns {} values, the call makes {}", subgraph.name, wanted.len(), found.len());
        checks.report(Rule::GraphResults, graph, node, message);
        return;
    }
    for (i, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
        if !wanted.fits(found) {
            let message = format!("result {i} is recorded as {found}, `{}` returns {wanted}", subgraph.name);
            checks.report(Rule::GraphResults, graph, node, message);
        }
    }
}
