//! Programs of any size: as many nodes, symbols and guards as are asked for, as the JSON that a `.pt2` archive holds.
//!
//! Each symbol is the first size of an input of its own, `x0: f32[s0, 16]`. Layers of eight nodes follow, each on one
//! of the tensors in turn: a square, a view by the size that `sym_size` reads, a permutation, a copy, a view back, a
//! residual sum, an activation. Their records are right, so a check finds nothing; guards are conditions on two sizes
//! that the spec implies.
use std::fmt::Write;

/// What every symbol was when the program was traced.
const EXAMPLE: usize = 8;
/// The least size of every dimension in the spec.
const LEAST: usize = 4;
/// The greatest.
const GREATEST: usize = 1000;
/// Nodes of a layer.
const LAYER: usize = 8;

/// How large a program is to be.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Nodes; rounded down to whole layers, but one layer at least.
    pub nodes: usize,
    /// Symbols, each the size of an input.
    pub symbols: usize,
    /// Guards.
    pub guards: usize,
}

/// A program under construction.
#[derive(Default)]
struct Program {
    nodes: Vec<String>,
    tensors: String,
    ints: String,
}

/// The JSON of a program.
pub fn program(sizes: Sizes) -> String {
    let mut program = Program::default();
    let mut tensors: Vec<String> = (0..sizes.symbols).map(|i| format!("x{i}")).collect();
    for (i, name) in tensors.iter().enumerate() {
        program.tensor(name, i, &[16], &[16, 1]);
    }
    for layer in 0..(sizes.nodes / LAYER).max(1) {
        let symbol = layer % sizes.symbols;
        tensors[symbol] = program.layer(layer, symbol, &tensors[symbol]);
    }
    let list = |of: &dyn Fn(usize) -> String, count: usize| (0..count).map(of).collect::<Vec<_>>().join(", ");
    let symbols = sizes.symbols;
    let inputs = list(&|i| format!(r#"{{"as_tensor": {{"name": "x{i}"}}}}"#), symbols);
    let outputs = list(&|i| format!(r#"{{"as_tensor": {{"name": "{}"}}}}"#, tensors[i]), symbols);
    let input_specs =
        list(&|i| format!(r#"{{"user_input": {{"arg": {{"as_tensor": {{"name": "x{i}"}}}}}}}}"#), symbols);
    let output_specs = list(
        &|i| format!(r#"{{"user_output": {{"arg": {{"as_tensor": {{"name": "{}"}}}}}}}}"#, tensors[i]),
        symbols,
    );
    let leaf = r#"{\"type\": null, \"context\": null, \"children_spec\": []}"#;
    let leaves = list(&|_| leaf.to_owned(), symbols);
    let tuple = |of: &str| {
        format!(r#"{{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{of}]}}"#)
    };
    let keywords = r#"{\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}"#;
    let in_spec = format!("[1, {}]", tuple(&format!("{}, {keywords}", tuple(&leaves))));
    let out_spec = format!("[1, {}]", tuple(&leaves));
    let names = list(&|i| format!(r#""x{i}""#), symbols);
    let ranges = list(&|i| format!(r#""s{i}": {{"min_val": 2, "max_val": null}}"#), symbols);
    let guards = list(&|i| format!(r#""{}""#, guard(i, symbols)), sizes.guards);
    format!(
        r#"{{"graph_module": {{"graph": {{"inputs": [{inputs}], "outputs": [{outputs}], "nodes": [{nodes}],
"tensor_values": {{{tensors}}}, "sym_int_values": {{{ints}}}, "sym_bool_values": {{}}, "is_single_tensor_return": false,
"custom_obj_values": {{}}, "sym_float_values": {{}}}}, "signature": {{"input_specs": [{input_specs}], "output_specs": [{output_specs}]}},
"module_call_graph": [{{"fqn": "", "signature": {{"inputs": [], "outputs": [], "in_spec": "{in_spec}", "out_spec": "{out_spec}",
"forward_arg_names": [{names}]}}}}], "metadata": {{}}, "treespec_namedtuple_fields": {{}}}}, "opset_version": {{"aten": 10}},
"range_constraints": {{{ranges}}}, "schema_version": {{"major": 8, "minor": 20}}, "verifiers": ["TRAINING"],
"torch_version": "2.15.0", "guards_code": [{guards}]}}"#,
        nodes = program.nodes.join(", "),
        tensors = program.tensors,
        ints = program.ints,
    )
}

/// The spec that allows sizes of 4 to 1000 for every symbol.
pub fn spec(symbols: usize) -> String {
    let dim = |i| format!(r#""x{i}": [{{"dim": "d{i}", "min": {LEAST}, "max": {GREATEST}}}, null]"#);
    format!("{{{}}}", (0..symbols).map(dim).collect::<Vec<_>>().join(", "))
}

/// A guard that the spec implies; no two are the same.
fn guard(index: usize, symbols: usize) -> String {
    let size = |i: usize| format!("L['x{}'].size()[0]", i % symbols);
    let (a, b) = (size(index), size(index / symbols + index + 1));
    let offset = index / 3;
    match index % 3 {
        0 => format!("{a} + {b} <= {}", 2 * GREATEST + offset),
        1 => format!("{a} != {}", GREATEST + 1 + offset),
        _ => format!("2*{a} + {b} >= {}", (3 * LEAST).saturating_sub(offset % (3 * LEAST))),
    }
}

impl Program {
    /// Records a tensor whose first size is a symbol.
    fn tensor(&mut self, name: &str, symbol: usize, sizes: &[usize], strides: &[usize]) {
        let literals = |list: &[usize]| {
            list.iter().map(|value| format!(r#"{{"as_int": {value}}}"#)).collect::<Vec<_>>().join(", ")
        };
        let separator = if self.tensors.is_empty() { "" } else { ", " };
        let _ = write!(
            self.tensors,
            r#"{separator}"{name}": {{"dtype": 7, "sizes": [{}, {}], "requires_grad": false, "device": {{"type": "cpu", "index": null}}, "strides": [{}], "storage_offset": {{"as_int": 0}}, "layout": 7}}"#,
            size(symbol),
            literals(sizes),
            literals(strides),
        );
    }

    /// Adds a node with these arguments, each a name and a value.
    fn node(&mut self, layer: usize, target: &str, name: &str, kind: &str, inputs: &[(&str, String)]) {
        let inputs: Vec<String> = inputs
            .iter()
            .map(|(name, arg)| {
                let kind = if *name == "memory_format" { 2 } else { 1 };
                format!(r#"{{"name": "{name}", "arg": {arg}, "kind": {kind}}}"#)
            })
            .collect();
        let output = match kind {
            "int" => format!(r#"{{"as_sym_int": {{"as_name": "{name}"}}}}"#),
            _ => tensor(name),
        };
        let (op, line) = (target.split('.').next().unwrap_or(target), 20 + layer % 40);
        self.nodes.push(format!(
            r#"{{"target": "torch.ops.aten.{target}", "inputs": [{}], "outputs": [{output}], "metadata": {{"stack_trace": "File \"model.py\", line 9, in forward\n    x = layer(x)\n  File \"layers.py\", line {line}, in forward\n    return self.activation(x + self.mix(x))", "nn_module_stack": "L__self__,,model.Model;L__self__layers_{layer},layers.{layer},layers.Layer", "torch_fn": "{op}_{layer};method_descriptor.{op}"}}, "is_hop_single_tensor_return": null, "name": "{name}"}}"#,
            inputs.join(", "),
        ));
    }

    /// Adds a layer on a tensor and returns the name of its result.
    fn layer(&mut self, layer: usize, symbol: usize, x: &str) -> String {
        let [square, rows, view, permute, copy, flat, add, relu] =
            ["mul", "sym_size", "view", "permute", "clone", "view_back", "add", "relu"]
                .map(|op| format!("{op}_{layer}"));
        let literals = |list: &str| format!(r#"{{"as_ints": [{list}]}}"#);
        let shape = |rest: &[usize]| {
            let rest: Vec<String> = rest.iter().map(|size| format!(r#"{{"as_int": {size}}}"#)).collect();
            format!(r#"{{"as_sym_ints": [{{"as_name": "{rows}"}}, {}]}}"#, rest.join(", "))
        };
        self.node(layer, "mul.Tensor", &square, "tensor", &[("self", tensor(x)), ("other", tensor(x))]);
        self.tensor(&square, symbol, &[16], &[16, 1]);
        let zero = r#"{"as_int": 0}"#.to_owned();
        self.node(layer, "sym_size.int", &rows, "int", &[("self", tensor(&square)), ("dim", zero)]);
        let separator = if self.ints.is_empty() { "" } else { ", " };
        let _ = write!(self.ints, r#"{separator}"{rows}": {}"#, size(symbol));
        self.node(
            layer,
            "view.default",
            &view,
            "tensor",
            &[("self", tensor(&square)), ("size", shape(&[2, 8]))],
        );
        self.tensor(&view, symbol, &[2, 8], &[16, 8, 1]);
        let order = literals("0, 2, 1");
        self.node(layer, "permute.default", &permute, "tensor", &[("self", tensor(&view)), ("dims", order)]);
        self.tensor(&permute, symbol, &[8, 2], &[16, 1, 8]);
        let contiguous = r#"{"as_memory_format": 1}"#.to_owned();
        self.node(
            layer,
            "clone.default",
            &copy,
            "tensor",
            &[("self", tensor(&permute)), ("memory_format", contiguous)],
        );
        self.tensor(&copy, symbol, &[8, 2], &[16, 2, 1]);
        self.node(layer, "view.default", &flat, "tensor", &[("self", tensor(&copy)), ("size", shape(&[16]))]);
        self.tensor(&flat, symbol, &[16], &[16, 1]);
        self.node(layer, "add.Tensor", &add, "tensor", &[("self", tensor(x)), ("other", tensor(&flat))]);
        self.tensor(&add, symbol, &[16], &[16, 1]);
        self.node(layer, "relu.default", &relu, "tensor", &[("self", tensor(&add))]);
        self.tensor(&relu, symbol, &[16], &[16, 1]);
        relu
    }
}

fn tensor(name: &str) -> String {
    format!(r#"{{"as_tensor": {{"name": "{name}"}}}}"#)
}

fn size(symbol: usize) -> String {
    format!(
        r#"{{"as_expr": {{"expr_str": "Symbol('s{symbol}', positive=True, integer=True)", "hint": {{"as_int": {EXAMPLE}}}}}}}"#
    )
}
