use heapwood::Gc;

#[repr(C, packed)]
struct Hidden(u8, Gc<u64>);

fn main() {}
