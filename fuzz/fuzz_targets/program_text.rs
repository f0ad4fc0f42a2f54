//! A program as text: FX or `print_readable`.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::ir::text;

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let _ = text::outline(source);
    let _ = text::read(source);
});
