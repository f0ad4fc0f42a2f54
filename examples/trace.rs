//! What an exporter does with a shape environment: tracing a small model.
//!
//!     def forward(self, x, n):           # x: f32[batch, 8], n: i64[]
//!         k = n.item()
//!         torch._check(k <= x.shape[0])
//!         if x.shape[0] % 2 == 0:
//!             x = x.reshape(-1, 2, 8).sum(1)
//!         return x[:k]
use sizewise::env::{DimDynamic, EnvError, ShapeEnv};
use sizewise::expr::Int;
use sizewise::range::ValueRange;

fn main() -> Result<(), EnvError> {
    let mut env = ShapeEnv::new();

    // The inputs: batch varies between 2 and 64, 6 in the example; the features are 8.
    let range = ValueRange::between_options(Some(Int::from(2)), Some(Int::from(64)));
    let batch = env.create("L['x'].size()[0]", 6, DimDynamic::Dynamic, range)?;
    env.create("L['x'].size()[1]", 8, DimDynamic::Static, None)?;

    // n.item() makes an unbacked symbol, which the step's result binds.
    let k = env.fresh_unbacked(ValueRange::all());
    env.bind_outputs(&[k])?;

    // Too early: whether x[:k] is shorter than x depends on data, and the error says what settles it.
    let fits = env.pool.le(k, batch);
    if let Err(error) = env.evaluate(fits) {
        println!("error        {error}");
    }
    env.check(fits)?;
    env.check_is_size(k)?;
    assert!(env.evaluate(fits)?);

    // A branch on an input's size follows the example.
    let two = env.pool.int(2);
    let rest = env.pool.modulo(batch, two);
    let even = env.pool.eq(rest, 0.into());
    let rows = if env.evaluate(even)? { env.pool.floor_div(batch, two) } else { batch };
    println!("rows         {}, at most {}", env.text(rows), env.bounds(rows).1.unwrap_or_default());

    // Nothing new may be assumed from here on.
    env.freeze();
    let more = env.pool.gt(rows, two);
    if let Err(error) = env.evaluate(more) {
        println!("error        {error}");
    }
    for guard in env.guards() {
        println!("guard        {}", env.text(guard.condition));
    }
    for assert in env.runtime_asserts() {
        let after = env.placed_after(assert.condition).map_or("the inputs", |s| env.pool.symbol_name(s));
        println!("assertion    {} after {after}", env.text(assert.condition));
    }
    for artefact in env.artefacts() {
        println!("policy       {artefact}: costs {}", artefact.cost());
    }
    Ok(())
}
