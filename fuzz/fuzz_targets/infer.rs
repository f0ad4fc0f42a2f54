//! A line of `sizewise infer`.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::cli::answer_line;

fuzz_target!(|data: &[u8]| {
    let _ = answer_line("infer", data);
});
