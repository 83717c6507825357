use heapwood::Trace;

#[derive(Trace)]
struct Unknown {
    #[trace(ignore)]
    value: u64,
}

#[derive(Trace)]
#[trace(skip)]
struct OnType(u64);

#[derive(Trace)]
#[trace(crate = missing::heapwood)]
struct Renamed(u64);

fn main() {}
