//! As plain.rs, in a program whose blocks the collector scans.

#[path = "plain.rs"]
mod plain;

#[global_allocator]
static ALLOCATOR: heapwood::Scanned = heapwood::Scanned::new();

fn main() {
    plain::main();
}
