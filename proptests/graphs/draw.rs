//! Random graphs: calls of real operators on whatever tensors there are. A call that its operator refuses at the
//! example is left out.
use proptest::prelude::*;
use sizewise::ir::{Argument, Dtype, Operand, Program};
use sizewise::kernels::Operators;
use sizewise::pass::{Proxy, Tracer};

/// The sizes of the inputs at the example.
pub const EXAMPLE: [i64; 3] = [6, 4, 8];

/// One call, before it is known what there is to call it on.
#[derive(Debug, Clone)]
pub struct Step {
    op: usize,
    first: usize,
    second: usize,
    numbers: [i64; 3],
}

/// A few steps.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    // Mostly a dimension, a position and a count.
    let numbers = [-2..3_i64, -1..6_i64, -1..5_i64];
    // Calls on numbers, without which no argument is symbolic, are drawn more often.
    let op = prop_oneof![8 => 0..OPERATORS, 1 => Just(34_usize), 1 => Just(OPERATORS - 1)];
    let step = (op, any::<usize>(), any::<usize>(), numbers).prop_map(|(op, first, second, numbers)| Step {
        op,
        first,
        second,
        numbers,
    });
    prop::collection::vec(step, 0..most)
}

/// A graph being built.
pub struct Graph<'o> {
    tracer: Tracer<'o>,
    tensors: Vec<Proxy>,
    numbers: Vec<Proxy>,
}

/// What came of the steps.
pub struct Drawn {
    /// The program; it returns every tensor.
    pub program: Program,
    /// The guards, and what strides are as at the example by.
    pub guards: Vec<String>,
    /// The steps that the operators took.
    pub taken: Vec<Step>,
    /// The shape of each tensor.
    pub shapes: Vec<String>,
}

impl<'o> Graph<'o> {
    /// Three matrices, an image and a list of indices, with sizes written as given.
    fn new(operators: &'o Operators, sizes: [&str; 3]) -> Graph<'o> {
        let mut tracer = Tracer::new(operators);
        for ((name, size), example) in ["s0", "s1", "s2"].into_iter().zip(sizes).zip(EXAMPLE) {
            if name == size {
                tracer.size(name, 0, Some(100), example).expect("a size");
            }
        }
        let [a, b, c] = sizes;
        let mut input =
            |name: &str, dtype, sizes: &[&str]| tracer.tensor(name, dtype, sizes).expect("an input");
        let tensors = vec![
            input("x", Dtype::Float32, &[a, b]),
            input("y", Dtype::Float32, &[b, "3"]),
            input("z", Dtype::Float32, &[a, "1"]),
            input("image", Dtype::Float32, &["2", "4", c, b]),
            input("index", Dtype::Int64, &[c]),
        ];
        Graph { tracer, tensors, numbers: Vec::new() }
    }

    /// Makes a call; whether the operator took it.
    fn take(&mut self, step: &Step) -> bool {
        let Some((op, arguments)) = self.call_of(step) else { return false };
        let Ok(made) = self.tracer.call(op, arguments) else { return false };
        for proxy in made {
            match Argument::from(proxy) {
                Argument::Tensor(_) => self.tensors.push(proxy),
                _ => self.numbers.push(proxy),
            }
        }
        true
    }

    fn call_of(&self, step: &Step) -> Option<(&'static str, Vec<(&'static str, Argument)>)> {
        let tensor = |i: usize| Argument::from(self.tensors[i % self.tensors.len()]);
        let (a, b) = (tensor(step.first), tensor(step.second));
        let [i, j, k] = step.numbers;
        let int = Argument::Int;
        let of = |op, rest: Vec<(&'static str, Argument)>| {
            let mut all = vec![("self", a.clone())];
            all.extend(rest);
            Some((op, all))
        };
        let dims = || ("dim", Argument::Ints(vec![i]));
        let (Argument::Tensor(first), Argument::Tensor(second)) = (&a, &b) else { return None };
        let number = self.numbers.get(step.second % self.numbers.len().max(1)).copied().map(Argument::from);
        let symbolic = match number {
            Some(Argument::SymInt(operand)) => operand,
            _ => Operand::Literal(k),
        };
        match step.op {
            0 => of("aten.neg.default", vec![]),
            1 => of("aten.add.Tensor", vec![("other", b)]),
            2 => of("aten.mul.Tensor", vec![("other", b)]),
            3 => of("aten.matmul.default", vec![("other", b)]),
            4 => of("aten.mm.default", vec![("mat2", b)]),
            5 => of("aten.view.default", vec![("size", Argument::Ints(vec![-1]))]),
            6 => of("aten.view.default", vec![("size", Argument::Ints(vec![i, j]))]),
            7 => of("aten.reshape.default", vec![("shape", Argument::Ints(vec![i, j, k]))]),
            8 => of(
                "aten.reshape.default",
                vec![("shape", Argument::SymInts(vec![symbolic, Operand::Literal(-1)]))],
            ),
            9 => of("aten.transpose.int", vec![("dim0", int(i)), ("dim1", int(j))]),
            10 => of("aten.unsqueeze.default", vec![("dim", int(i))]),
            11 => of("aten.squeeze.default", vec![]),
            12 => of("aten.squeeze.dim", vec![("dim", int(i))]),
            13 => of("aten.sum.dim_IntList", vec![dims(), ("keepdim", Argument::Bool(j > 0))]),
            14 => of("aten.amax.default", vec![dims()]),
            15 => of(
                "aten.slice.Tensor",
                vec![
                    ("dim", int(i)),
                    ("start", int(j)),
                    ("end", Argument::SymInt(symbolic)),
                    ("step", int(1 + i.rem_euclid(3))),
                ],
            ),
            16 => of("aten.select.int", vec![("dim", int(i)), ("index", int(j))]),
            17 => of("aten.split.Tensor", vec![("split_size", int(k)), ("dim", int(i))]),
            18 => of("aten.chunk.default", vec![("chunks", int(k)), ("dim", int(i))]),
            19 => of("aten.flatten.using_ints", vec![("start_dim", int(i)), ("end_dim", int(j))]),
            20 => of("aten.max_pool2d.default", pool(k, j)),
            21 => of("aten.avg_pool2d.default", pool(k, j)),
            22 => of("aten.constant_pad_nd.default", vec![("pad", Argument::Ints(vec![i, j]))]),
            23 => of("aten.index_select.default", vec![("dim", int(i)), ("index", tensor(4))]),
            24 => of("aten.cumsum.default", vec![("dim", int(i))]),
            25 => {
                of("aten._softmax.default", vec![("dim", int(i)), ("half_to_float", Argument::Bool(false))])
            }
            26 => of(
                "aten.roll.default",
                vec![("shifts", Argument::Ints(vec![j])), ("dims", Argument::Ints(vec![i]))],
            ),
            27 => of("aten.diagonal.default", vec![("offset", int(k)), ("dim1", int(i)), ("dim2", int(j))]),
            28 => of("aten.pixel_shuffle.default", vec![("upscale_factor", int(k))]),
            29 => of("aten.unfold.default", vec![("dimension", int(i)), ("size", int(j)), ("step", int(k))]),
            30 => of("aten.expand.default", vec![("size", Argument::Ints(vec![i, j, k]))]),
            31 => of("aten.repeat.default", vec![("repeats", Argument::Ints(vec![k, j, i]))]),
            32 => of("aten.narrow.default", vec![("dim", int(i)), ("start", int(j)), ("length", int(k))]),
            33 => of("aten.topk.default", vec![("k", int(k)), ("dim", int(i))]),
            34 => of("aten.sym_size.int", vec![("dim", int(i))]),
            35 => of("aten.unfold.default", vec![("dimension", int(i)), ("size", int(k)), ("step", int(2))]),
            36 => of("aten.t.default", vec![]),
            37 => Some((
                "aten.cat.default",
                vec![("tensors", Argument::Tensors(vec![*first, *second])), ("dim", int(i))],
            )),
            38 => Some((
                "aten.stack.default",
                vec![("tensors", Argument::Tensors(vec![*first, *second])), ("dim", int(i))],
            )),
            39 => of("aten.adaptive_avg_pool2d.default", vec![("output_size", Argument::Ints(vec![j, k]))]),
            40 => of("aten.tensor_split.sections", vec![("sections", int(k)), ("dim", int(i))]),
            41 => of(
                "aten.mul.Scalar",
                vec![("other", Argument::Float([0.5, -1e30, f64::INFINITY][step.second % 3]))],
            ),
            _ => {
                let [n, ..] = self.numbers.as_slice() else { return None };
                let op = ["_operator.mul", "_operator.add", "_operator.floordiv"][step.first % 3];
                Some((op, vec![("a", number.unwrap_or((*n).into())), ("b", int(j))]))
            }
        }
    }

    fn drawn(self, taken: Vec<Step>) -> Drawn {
        let shapes = self.tensors.iter().map(|&proxy| self.tracer.shape(proxy)).collect();
        let traced = self.tracer.finish(&self.tensors);
        let guards = [traced.guards, traced.layout_choices].concat();
        Drawn { program: traced.program, guards, taken, shapes }
    }
}

/// How many kinds of calls there are.
const OPERATORS: usize = 43;

fn pool(kernel: i64, stride: i64) -> Vec<(&'static str, Argument)> {
    vec![
        ("kernel_size", Argument::Ints(vec![kernel, 2])),
        ("stride", Argument::Ints(vec![stride, 2])),
        ("padding", Argument::Ints(vec![i64::from(kernel > 2), 0])),
        ("ceil_mode", Argument::Bool(stride == kernel)),
    ]
}

/// The graph that steps make with symbolic sizes, followed at the example.
pub fn draw(operators: &Operators, steps: &[Step]) -> Drawn {
    let mut graph = Graph::new(operators, ["s0", "s1", "s2"]);
    let mut taken = Vec::new();
    for step in steps {
        // Few tensors are enough, and every call is called on one of them.
        if graph.tensors.len() < 40 && graph.take(step) {
            taken.push(step.clone());
        }
    }
    graph.drawn(taken)
}

/// The same calls with sizes that are numbers: the shape of each tensor, or the step that is refused.
pub fn replay(operators: &Operators, taken: &[Step], sizes: [i64; 3]) -> Result<Vec<String>, usize> {
    let texts = sizes.map(|size| size.to_string());
    let mut graph = Graph::new(operators, [&texts[0], &texts[1], &texts[2]]);
    for (at, step) in taken.iter().enumerate() {
        if !graph.take(step) {
            return Err(at);
        }
    }
    Ok(graph.drawn(Vec::new()).shapes)
}
