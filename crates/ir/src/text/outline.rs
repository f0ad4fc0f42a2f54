//! The outline of a text: its names as they are written.

use super::lower::references;
use super::raw::{Document, RawGraph, RawKind, RawValue};
use crate::outline::{GraphOutline, Outline, OutlineStep, StepKind, ValueKind};

/// The outline of a text. Its signature is left to reading, and values have no kind.
pub(super) fn outline(document: &Document) -> Outline {
    Outline { graph: graph(&document.graph), ..Outline::default() }
}

fn graph(raw: &RawGraph) -> GraphOutline {
    let mut outline = GraphOutline::default();
    for node in &raw.nodes {
        let mut used = rustc_hash::FxHashSet::default();
        let mut subgraphs = Vec::new();
        let kind = match &node.kind {
            RawKind::Placeholder => StepKind::Input,
            RawKind::GetAttr(target) => {
                let inner = raw.subgraphs.iter().find(|graph| graph.name == *target);
                subgraphs.extend(inner.map(|inner| (inner.name.clone(), graph(inner))));
                if inner.is_some() { StepKind::Call } else { StepKind::Attribute }
            }
            RawKind::Call { args, kwargs, .. } | RawKind::Foreign { args, kwargs, .. } => {
                let values = args.iter().chain(kwargs.iter().map(|(_, value)| value));
                values.for_each(|value| references(value, &mut used));
                match &node.kind {
                    RawKind::Foreign { op, .. } if op == "call_module" => StepKind::ModuleCall,
                    RawKind::Foreign { .. } => StepKind::MethodCall,
                    _ => StepKind::Call,
                }
            }
            RawKind::Output(value) => {
                references(value, &mut used);
                if let RawValue::List(items) | RawValue::Tuple(items) = &value.kind {
                    outline.returns = vec![None; items.len()];
                }
                StepKind::Output
            }
        };
        let mut uses: Vec<String> = used.into_iter().map(str::to_owned).collect();
        uses.sort_unstable();
        let makes = match kind {
            StepKind::Output => Vec::new(),
            _ => vec![(node.name.clone(), ValueKind::Unknown)],
        };
        outline.steps.push(OutlineStep {
            name: node.name.clone(),
            named: true,
            kind,
            uses,
            makes,
            subgraphs,
        });
    }
    outline
}
