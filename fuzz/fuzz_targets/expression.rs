//! An expression: what is read is written, and reads back as the same.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::expr::{Int, Pool, Value, print, read};

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let mut pool = Pool::new();
    let Ok(found) = read::closed(&mut pool, source) else { return };
    let written = print::expression(&pool, found.expr);
    if written.len() < 1 << 16 {
        match read::closed(&mut pool, &written) {
            Ok(again) => assert_eq!(again.expr, found.expr, "{written}"),
            // Writing spells out what was shared, which may go beyond what is read.
            Err(error) => assert!(error.message.contains("nested") || error.message.contains("large") || error.message.contains("longer"), "{written}: {error}"),
        }
    }
    let _ = pool.eval(found.expr, |_| Some(Value::Int(Int::from(3))));
});
