//! serde_json with the system's allocator; see [`sizewise_beside::typed`].
fn main() {
    sizewise_beside::typed::main();
}
