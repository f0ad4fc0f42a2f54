//! Operators by standard ones of ONNX, a file for each family.
//!
//! A translation sees the recorded dtypes and ranks; sizes it takes from the tensors themselves, so that it holds for
//! all of them. Types that onnxruntime has no kernels for are computed in a wider one, as torch does on the CPU:
//! halves in `float32`, small integers in `int32`. A result whose dtype is not the recorded one is cast to it.

mod bags;
mod compare;
mod convolution;
mod creation;
mod elementwise;
mod gather;
mod images;
mod linear;
mod normalization;
mod numbers;
mod pointwise;
mod pooling;
mod recurrent;
mod reduction;
mod resize;
mod scatter;
mod selection;
mod shapes;
mod sorting;
mod strided;

use super::body::Body;
use super::call::Call;
use super::value::Made;
use sizewise_ir::Node;

/// The results of a node by standard operators; `None` where it has no counterpart.
pub(super) fn standard(body: &mut Body<'_, '_>, node: &Node) -> Made {
    let graph = body.graph;
    // The node is one of the graph's, whose borrow lasts as long as the body.
    let node = graph.nodes().iter().find(|known| std::ptr::eq(*known, node))?;
    let begin = body.nodes.len();
    let mut families: [fn(&mut Call<'_, '_, '_>, &str) -> Made; 19] = [
        shapes::translate,
        elementwise::translate,
        pointwise::translate,
        compare::translate,
        reduction::translate,
        linear::translate,
        selection::translate,
        creation::translate,
        gather::translate,
        scatter::translate,
        convolution::translate,
        pooling::translate,
        normalization::translate,
        sorting::translate,
        resize::translate,
        recurrent::translate,
        strided::translate,
        images::translate,
        bags::translate,
    ];
    let mut call = Call { body, node };
    if node.target.python().is_some() {
        return numbers::translate(&mut call);
    }
    let (namespace, op, overload) = match node.target.op() {
        Some(op) => op,
        None => {
            let name = node.target.wrapped()?.name;
            (name.namespace, name.name, name.overload)
        }
    };
    if namespace != "aten" || call.nth(0).is_none() && !creation::takes_nothing(op) {
        return None;
    }
    let name = format!("{op}.{overload}");
    for family in &mut families {
        if let Some(made) = family(&mut call, &name) {
            return Some(made);
        }
        call.body.roll_back(begin);
    }
    None
}
