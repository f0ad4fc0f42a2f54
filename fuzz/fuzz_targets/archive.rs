//! A `.pt2` archive, or the JSON of its model alone: what is read is written and read again.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::ir::pt2::{self, ReadOptions};

fuzz_target!(|data: &[u8]| {
    let options = ReadOptions::default();
    let _ = pt2::outline(data, &options);
    let Ok(program) = pt2::read(data, &options) else { return };
    if let Ok(written) = pt2::write(&program) {
        assert!(pt2::read(&written, &options).is_ok(), "what was written cannot be read");
    }
});
