//! Declarations of operators.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::kernels::Operators;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Operators::new().declare("fuzzed.toml", text);
    }
});
