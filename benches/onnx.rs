//! Shapes of ONNX models, in process: the bytes of a file in, the shapes of all values out.
//!
//! Arguments: `.onnx` files, and numbers of nodes of models to be made. One JSON object a line on standard output; times
//! are in seconds of CPU time, medians of several runs. Of the first model, `first` is the time of its first run, which
//! is that of a process that answers one question. `benches/onnx_rivals.py` puts them beside what others take.
use cpu_time::ThreadTime;
use prost::Message;
use sizewise::onnx::check::{check, shapes};
use sizewise::onnx_model::read::{Model, message};
use std::hint::black_box;
use std::time::Instant;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long one kind of work is repeated, in seconds, and how often at most.
const SECONDS: f64 = 0.5;
const REPEATS: usize = 25;

/// The median CPU time of some work.
fn median(mut work: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || times.len() < REPEATS && begin.elapsed().as_secs_f64() < SECONDS {
        let start = ThreadTime::now();
        work();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The bytes of a model of about so many nodes: layers that reshape by sizes that the model computes.
fn made(nodes: usize) -> Vec<u8> {
    let mut body = String::from("  c1 = Constant<value_ints = [1]>()\n  w = Constant<value_ints = [-1]>()\n");
    let mut last = "x".to_owned();
    for layer in 0..nodes.saturating_sub(2) / 10 {
        let n = |name: &str| format!("{name}{layer}");
        let (shape, rows, flat) = (n("shape"), n("rows"), n("flat"));
        body +=
            &format!("  {shape} = Shape({last})\n  {rows} = Slice({shape}, {}, {})\n", n("from"), n("to"));
        body += &format!("  {} = Constant<value_ints = [0]>()\n  {} = Identity(c1)\n", n("from"), n("to"));
        body += &format!("  {flat} = Concat<axis = 0>({rows}, w)\n  {} = Reshape({last}, {flat})\n", n("r"));
        body += &format!("  {} = Relu({})\n  {} = Add({}, {})\n", n("a"), n("r"), n("b"), n("a"), n("r"));
        body += &format!(
            "  {} = Softmax<axis = -1>({})\n  {} = Mul({}, {})\n",
            n("s"),
            n("b"),
            n("y"),
            n("s"),
            n("b")
        );
        last = n("y");
    }
    let head = "<ir_version: 8, opset_import: [\"\" : 17]>\n";
    let text =
        format!("{head}g (float[batch, seq] x) => (float[batch, seq] out) {{\n{body}  out = Neg({last})\n}}");
    message(text.into_bytes()).expect("a model").encode_to_vec()
}

fn measure(name: &str, bytes: &[u8]) {
    let (copy, start) = (bytes.to_vec(), ThreadTime::now());
    let read = match Model::read(copy) {
        Ok(model) => model,
        Err(error) => return eprintln!("{name}: {error}"),
    };
    black_box(shapes(&read));
    let first = start.elapsed().as_secs_f64();
    let parse = median(|| drop(black_box(message(black_box(bytes.to_vec())))));
    let whole = median(|| {
        let model = Model::read(black_box(bytes.to_vec())).expect("a model");
        black_box(shapes(&model));
    });
    let checked = median(|| drop(black_box(check(&read))));
    let nodes = read.graph.node.len();
    let name = name.replace('\\', "/").replace('"', "'");
    println!(
        "{{\"file\": \"{name}\", \"bytes\": {}, \"nodes\": {nodes}, \"first\": {first:.9}, \"parse\": {parse:.9}, \
         \"shapes\": {whole:.9}, \"check\": {checked:.9}}}",
        bytes.len()
    );
}

fn main() {
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match argument.parse::<usize>() {
            Ok(nodes) => measure(&argument, &made(nodes)),
            Err(_) => match std::fs::read(&argument) {
                Ok(bytes) => measure(&argument, &bytes),
                Err(error) => eprintln!("{argument}: {error}"),
            },
        }
    }
}
