//! The JSON of a program: it is read, checked for its own contract by the verifier, and shown.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::ir::pt2::{self, ReadOptions};

fuzz_target!(|data: &[u8]| {
    let options = ReadOptions { edge: true, ..ReadOptions::default() };
    let _ = pt2::outline(data, &options);
    let Ok(program) = pt2::read(data, &options) else { return };
    let _ = sizewise::spec::Contract::load(&program);
});
