//! A file of rewrite rules.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::egraph::RuleSet;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = RuleSet::parse(text, "fuzzed.rules");
    }
});
