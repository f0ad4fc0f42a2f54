//! Builds a small attention block, shapes inferred call by call, and prints the program.
use sizewise::ir::text::{Detail, write_readable};
use sizewise::ir::{Argument, Dtype};
use sizewise::kernels::Operators;
use sizewise::pass::{Pass, Pipeline, Tracer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("batch", 1, Some(64), 8)?;
    tracer.size("seq", 2, Some(1024), 128)?;
    let query = tracer.tensor("query", Dtype::Float32, &["batch", "seq", "64"])?;
    let key = tracer.tensor("key", Dtype::Float32, &["batch", "seq", "64"])?;
    let value = tracer.tensor("value", Dtype::Float32, &["batch", "seq", "32"])?;
    let dims = [("self", key.into()), ("dim0", Argument::Int(1)), ("dim1", Argument::Int(2))];
    let turned = tracer.call("aten.transpose.int", dims)?[0];
    let scores = tracer.call("aten.bmm.default", [("self", query.into()), ("mat2", turned.into())])?[0];
    let soft =
        [("self", scores.into()), ("dim", Argument::Int(-1)), ("half_to_float", Argument::Bool(false))];
    let weights = tracer.call("aten._softmax.default", soft)?[0];
    let out = tracer.call("aten.bmm.default", [("self", weights.into()), ("mat2", value.into())])?[0];
    println!("{}\n", tracer.shape(out));
    let traced = tracer.finish(&[out]);
    let passes = ["dce", "cse", "fold"].into_iter().filter_map(Pass::find);
    let program = passes.fold(Pipeline::new(), Pipeline::then).run(&traced.program, &operators)?;
    print!("{}", write_readable(&program, Detail::Short));
    for guard in traced.guards {
        println!("needs {guard}");
    }
    Ok(())
}
