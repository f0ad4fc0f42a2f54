//! A spec of dynamic shapes, in JSON or as Python; what is written of it is read back.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::spec::Spec;

fuzz_target!(|data: &[u8]| {
    if let Ok(spec) = Spec::parse(data) {
        let _ = spec.inlined();
        let _ = Spec::parse(spec.to_python().as_bytes());
    }
});
