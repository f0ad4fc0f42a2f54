//! Which elements can decide a shape or a condition.
//!
//! Most tensors of a model are weights, masks and activations: no shape depends on their elements, and what is computed
//! of them elementwise need not be followed. Nodes are looked at from the last to the first. Which elements an operator
//! reads is declared beside its shape function.
use super::message::{GraphProto, NodeProto, TypeValue};
use super::{Model, Operator, graphs_of};
use crate::shape::{Dtype, Op, Told, Use, operator, told};

/// Which elements are needed, in the main graph.
#[derive(Debug, Clone, Default)]
pub struct Needed {
    /// Those of each initializer.
    pub initializers: Vec<bool>,
    /// Those of a result of each node.
    pub nodes: Vec<bool>,
}

impl Needed {
    /// Those of a model.
    pub fn of(model: &Model) -> Needed {
        let (graph, links) = (&model.graph, &model.links);
        let (operators, types) = operators_and_types(model);
        let mut needed = vec![false; links.count()];
        let mut nodes = vec![true; graph.node.len()];
        for (at_node, node) in graph.node.iter().enumerate().rev() {
            let outputs = links.outputs(at_node);
            let result = needed[outputs..outputs + node.output.len()].contains(&true);
            nodes[at_node] = result;
            for (at, number) in links.inputs(at_node, node.input.len()).enumerate() {
                let Some(number) = number else { continue };
                let of = used(operators[links.operator(at_node)], at, types[number]);
                if of == Use::Reads || result && of == Use::Passes {
                    needed[number] = true;
                }
            }
            if !links.has_graphs(at_node) {
                continue;
            }
            names_within(node, &mut |name| {
                if let Some(number) = model.number(name) {
                    needed[number] = true;
                }
            });
        }
        let initializers = links.before().skip(graph.input.len()).take(graph.initializer.len());
        Needed { initializers: initializers.map(|number| needed[number]).collect(), nodes }
    }
}

/// What an operator does with the elements of an input of this type, if no element of its results is needed.
fn used(op: Option<&Op>, at: usize, dtype: Option<Dtype>) -> Use {
    op.map_or(Use::Reads, |op| op.used(at, dtype))
}

/// The operators by their numbers; and the element types of values by number, as far as they are told without inferring
/// shapes.
fn operators_and_types(model: &Model) -> (Vec<Option<&'static Op>>, Vec<Option<Dtype>>) {
    let (graph, links) = (&model.graph, &model.links);
    let mut types: Vec<Option<Dtype>> = vec![None; links.count()];
    let before: Vec<usize> = links.before().collect();
    let (inputs, others) = before.split_at(graph.input.len());
    for (weight, &number) in graph.initializer.iter().zip(others) {
        types[number] = Dtype::from_number(i64::from(weight.data_type));
    }
    for (input, &number) in graph.input.iter().zip(inputs) {
        if let Some(TypeValue::Tensor(of)) = input.r#type.as_ref().and_then(|of| of.value.as_ref()) {
            types[number] = Dtype::from_number(i64::from(of.elem_type)).or(types[number]);
        }
    }
    let of_operator = |called: &Operator| match model.function(&called.domain, &called.name) {
        Some(_) => (None, Told::Not),
        None => {
            let version = model.imports.get(&called.domain).copied();
            let told = version.map_or(Told::Not, |version| told(&called.domain, &called.name, version));
            (operator(&called.domain, &called.name), told)
        }
    };
    let (operators, told): (Vec<_>, Vec<Told>) = links.operators().iter().map(of_operator).unzip();
    for (at_node, node) in graph.node.iter().enumerate() {
        let dtype = match told[links.operator(at_node)] {
            Told::Not => None,
            Told::Is(dtype) => Some(dtype),
            Told::Like(input) => links.input(at_node, node.input.len(), input).and_then(|of| types[of]),
            Told::By(name) => {
                let to = node.attribute.iter().find(|attribute| attribute.name == name);
                to.filter(|to| to.ref_attr_name.is_empty()).and_then(|to| Dtype::from_number(to.i))
            }
        };
        if !node.output.is_empty() {
            types[links.outputs(at_node)] = dtype;
        }
    }
    (operators, types)
}

/// The names that graphs within a node use, those of graphs within them included.
fn names_within<'m>(node: &'m NodeProto, take: &mut impl FnMut(&'m str)) {
    let mut open: Vec<&'m GraphProto> = graphs_of(node).collect();
    while let Some(graph) = open.pop() {
        for node in &graph.node {
            node.input.iter().for_each(|name| take(name));
            open.extend(graphs_of(node));
        }
        graph.output.iter().for_each(|output| take(&output.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::conditions_on_elements;

    #[test]
    fn elements_with_conditions_are_needed() {
        for (domain, op, input) in conditions_on_elements() {
            assert!(used(operator(domain, op), input, None) == Use::Reads, "{domain} {op} input {input}");
        }
    }

    #[test]
    fn elements_are_needed_where_a_shape_or_a_condition_reads_them() {
        // The operators of a graph `(float[N] x, int64[M] i) => (float[] y)` with `int64[1] c`, and which results are
        // needed.
        let table: &[(&str, &[bool])] = &[
            ("s = Shape(x)  t = Add(s, c)  y = Expand(x, t)", &[true, true, false]),
            ("s = Shape(x)  t = Add(s, c)  f = Cast<to = 1>(t)  y = Mul(x, f)", &[false; 4]),
            ("g = Mul(x, x)  s = Shape(g)  y = Expand(x, s)", &[false, true, false]),
            ("g = Add(i, c)  y = Gather(x, g)", &[true, false]),
            ("g = Add(i, c)  h = Div(g, i)  f = Cast<to = 1>(h)  y = Mul(x, f)", &[false; 4]),
            (
                "g = Add(i, c)  h = Div(i, g)  f = Cast<to = 1>(h)  y = Mul(x, f)",
                &[true, false, false, false],
            ),
            ("g = Mul(x, x)  y = Div(x, g)", &[false, false]),
            ("g = Add(i, c)  y = Range(g, g, g)", &[true, false]),
        ];
        for (nodes, expected) in table {
            let head =
                "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x, int64[M] i) => (float[K] y)\n";
            let lines = nodes.replace("  ", "\n");
            let text = format!("{head}<int64[1] c = {{1}}>\n{{\n{lines}\n}}");
            let model = Model::read(text.into_bytes()).expect("a model");
            assert_eq!(Needed::of(&model).nodes, *expected, "{nodes}");
        }
    }
}
