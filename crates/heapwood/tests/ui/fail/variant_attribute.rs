use heapwood::Trace;

#[derive(Trace)]
enum Token {
    #[trace(skip)]
    Number { value: u64 },
}

fn main() {}
