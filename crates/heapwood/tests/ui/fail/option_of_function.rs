use heapwood::Trace;

struct Option<T>(Box<T>);

#[derive(Trace)]
struct Hook {
    function: Option<fn(&u8)>,
}

fn main() {}
