//! Guard code of torch: conditions on sources such as `L['x'].size()[0]`.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::expr::read::{self, Dialect};
use sizewise::expr::{Int, Pool, Value};

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let mut pool = Pool::new();
    let size = pool.symbol("s0");
    for dialect in [Dialect::Python, Dialect::Formula, Dialect::Sympy] {
        if let Ok(found) = read::expression_in(&mut pool, source, dialect, &mut |_| Some(size)) {
            let _ = pool.eval(found.expr, |_| Some(Value::Int(Int::from(5))));
        }
    }
});
