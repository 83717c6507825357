use heapwood::Trace;

#[derive(Trace)]
struct Owner {
    #[trace(skip)]
    text: String,
}

fn main() {}
