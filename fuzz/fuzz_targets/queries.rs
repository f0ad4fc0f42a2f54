//! A line of the commands that reason: the first byte says which one.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::cli::answer_line;

fuzz_target!(|data: &[u8]| {
    let Some((first, line)) = data.split_first() else { return };
    let commands = ["entail", "simplify", "minimize", "bounds"];
    let _ = answer_line(commands[usize::from(*first) % commands.len()], line);
});
