//! The `sizewise` program; everything is in the library.
use std::process::ExitCode;

fn main() -> ExitCode {
    sizewise::cli::run()
}
