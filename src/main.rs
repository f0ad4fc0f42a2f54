//! The `sizewise` program.
fn main() {}
