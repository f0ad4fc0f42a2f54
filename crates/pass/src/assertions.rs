//! Runtime assertions: of every size that only data decides and whose range the program records, that it lies there.
//!
//! `u0 in [2, 50]` gives `_assert_scalar(u0 >= 2)` and `_assert_scalar(u0 <= 50)` behind the node that makes `u0`, as
//! torch's own pass does. What is asserted already is not asserted again. Source: `torch.fx.passes.runtime_assert`.
use super::error::PassError;
use super::rewrite::{New, Rewriter, with_graph};
use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use sizewise_ir::{
    Argument, ExprTable, Graph, Input, Meta, Node, Operand, PassedAs, Program, Sym, Target, ValueId,
};
use sizewise_kernels::Operators;
use std::sync::Arc;

pub(super) fn run(program: &Program, _: &Operators) -> Result<Program, PassError> {
    let mut exprs = program.exprs.clone();
    let mut bounds = IndexMap::new();
    for (name, range) in &program.range_constraints {
        let number = name.strip_prefix('u');
        if number.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())) {
            bounds.insert(name.to_string(), *range);
        }
    }
    let mut asserted = present(&program.graph, &exprs);
    let mut rewriter = Rewriter::new(&program.graph);
    for node in program.graph.nodes() {
        rewriter.keep(node, &mut |inner| inner.graph.clone());
        for id in node.output_values() {
            let Meta::SymInt(Sym::Expr(e)) = program.graph.meta(id) else { continue };
            let Some(symbol) = exprs.get(*e).map(|known| sizewise_ir::text::expression_text(&known.text))
            else {
                continue;
            };
            let Some(range) = bounds.get(&symbol) else { continue };
            let Some(New::Value(value)) = rewriter.now(id) else { continue };
            for (op, base, sign, limit) in [("ge", "ge", ">=", range.min), ("le", "le", "<=", range.max)] {
                let Some(limit) = limit else { continue };
                let condition = format!("{symbol} {sign} {limit}");
                if asserted.insert(condition.clone()) {
                    assertion(&mut rewriter, &mut exprs, value, (op, base), &condition, limit);
                }
            }
        }
    }
    let graph = rewriter.finish();
    let mut program = with_graph(program, graph);
    program.exprs = exprs;
    Ok(program)
}

/// The conditions that the graph asserts already.
fn present(graph: &Graph, exprs: &ExprTable) -> FxHashSet<String> {
    let mut conditions = FxHashSet::default();
    for node in graph.nodes() {
        let asserts = node.target.op().is_some_and(|(_, op, _)| op == "_assert_scalar");
        let Some(Argument::SymBool(Operand::Value(id))) = node.inputs.first().map(|input| &input.arg) else {
            continue;
        };
        if let (true, Meta::SymBool(Sym::Expr(e))) = (asserts, graph.meta(*id)) {
            conditions.extend(exprs.get(*e).map(|known| sizewise_ir::text::expression_text(&known.text)));
        }
    }
    conditions
}

fn assertion(
    rewriter: &mut Rewriter,
    exprs: &mut ExprTable,
    value: ValueId,
    (op, base): (&str, &str),
    condition: &str,
    limit: i64,
) {
    let input = |name: &str, arg| Input { name: name.into(), arg, passed_as: PassedAs::Positional };
    let meta = Meta::SymBool(Sym::Expr(exprs.intern(condition, None)));
    let target = Target::parse(&format!("_operator.{op}"));
    let inputs = vec![input("a", Argument::SymInt(Operand::Value(value))), input("b", Argument::Int(limit))];
    let mut made = None;
    let truth = rewriter.add(base, meta, |name| {
        made = Some(name.clone());
        Node::new(name, target, inputs, Vec::new())
    });
    let Some(truth) = truth else { return };
    let message: Arc<str> = format!(
        "Runtime assertion failed for expression {condition} on node '{}'",
        made.as_deref().unwrap_or(base)
    )
    .into();
    let inputs = vec![
        input("self", Argument::SymBool(Operand::Value(truth))),
        input("assert_msg", Argument::Str(message)),
    ];
    let target = Target::parse("torch.ops.aten._assert_scalar.default");
    rewriter.add_effect("_assert_scalar_default", |name| Node::new(name, target, inputs, Vec::new()));
}
