//! The specifications, statement by statement: the tables of `docs/conformance`, and what no other test shows.
mod statements;
mod tables;

use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
