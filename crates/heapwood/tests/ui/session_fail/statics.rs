// A pointer of a call lies in no static and no thread-local variable, nor in a thread that the call does not wait for.
use heapwood::session::{Gc, Session};
use heapwood::{Config, Rootable};
use std::cell::RefCell;
use std::sync::Mutex;

static ALL: Mutex<Vec<Gc<'static, u64>>> = Mutex::new(Vec::new());

thread_local! {
    static MINE: RefCell<Vec<Gc<'static, u64>>> = const { RefCell::new(Vec::new()) };
}

fn main() {
    let mut session = Session::<Rootable![Gc<'_, u64>]>::new(Config::default(), |m| m.alloc(7)).unwrap();
    session.mutate(|_, root| ALL.lock().unwrap().push(*root));
    session.mutate(|m, _| MINE.with_borrow_mut(|mine| mine.push(m.alloc(8))));
    session.mutate(|_, root| {
        let root = *root;
        std::thread::spawn(move || println!("{root}"));
    });
}
