use heapwood::Gc;

fn on_another_thread<F: FnOnce() + Send + 'static>(_work: F) {}

fn cross(node: Gc<u64>) {
    on_another_thread(move || {
        let _value = *node;
    });
}

fn main() {}
