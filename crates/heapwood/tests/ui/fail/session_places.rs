//! Pointers and references are kept outside of the call, in each of the places where programs keep them.
use heapwood::session::{Gc, Rootable, Session};
use heapwood::Trace;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::mpsc;

#[derive(Trace, Rootable)]
struct Root<'gc>(Gc<'gc, u64>);

thread_local! {
    static KEPT: RefCell<Vec<Gc<'static, u64>>> = const { RefCell::new(Vec::new()) };
}

fn boxes(session: &mut Session<Root<'static>>) {
    let mut kept = Vec::new();
    session.mutate(|_, root| kept.push(Box::new((7u8, Some(root.0)))));
}

fn maps(session: &mut Session<Root<'static>>) {
    let (mut by_hash, mut in_order) = (HashMap::new(), BTreeMap::new());
    session.mutate(|_, root| _ = by_hash.insert(7, root.0));
    session.mutate(|_, root| _ = in_order.insert(7, root.0));
}

fn queues(session: &mut Session<Root<'static>>) {
    let (mut queue, shared) = (VecDeque::new(), Rc::new(RefCell::new(Vec::new())));
    session.mutate(|_, root| queue.push_back(root.0));
    session.mutate(|_, root| shared.borrow_mut().push(root.0));
}

fn closures(session: &mut Session<Root<'static>>) {
    let mut kept: Vec<Box<dyn Fn() -> u64>> = Vec::new();
    session.mutate(|_, root| {
        let object = root.0;
        kept.push(Box::new(move || *object));
    });
}

fn thread_locals(session: &mut Session<Root<'static>>) {
    session.mutate(|_, root| KEPT.with_borrow_mut(|kept| kept.push(root.0)));
}

fn channels(session: &mut Session<Root<'static>>) {
    let (sender, _receiver) = mpsc::channel();
    session.mutate(|_, root| sender.send(root.0).unwrap());
}

/// To a thread that runs already; `&u64` is `Send`.
fn references_by_channels(session: &mut Session<Root<'static>>) {
    let (sender, receiver) = mpsc::channel::<&u64>();
    std::thread::scope(|scope| {
        scope.spawn(move || receiver.iter().sum::<u64>());
        session.mutate(|m, root| sender.send(m.get(root.0)).unwrap());
    });
}

fn main() {}
