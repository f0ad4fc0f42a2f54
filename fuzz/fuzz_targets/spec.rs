//! A spec of dynamic shapes.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::spec::Spec;

fuzz_target!(|data: &[u8]| {
    if let Ok(spec) = Spec::parse(data) {
        let _ = spec.inlined();
    }
});
