//! serde_json with the allocator of the `sizewise` program; see [`sizewise_beside::typed`].
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    sizewise_beside::typed::main();
}
