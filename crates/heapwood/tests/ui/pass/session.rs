// What a call of `mutate` may do.
#![forbid(unsafe_code)]
#![deny(warnings)]
use heapwood::session::{Gc, GcCell, Mutation, Session, Static, Weak};
use heapwood::{ById, Config, GcStr, NoPointers, Rootable, Shared, Slice, Trace};
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Trace)]
pub struct Node<'gc, T> {
    pub value: T,
    pub next: GcCell<Option<Gc<'gc, Node<'gc, T>>>>,
    pub back: GcCell<Option<Weak<'gc, Node<'gc, T>>>>,
    pub call: fn(&Mutation<'gc>, Gc<'gc, Node<'gc, T>>) -> bool,
}

#[derive(Trace, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value<'gc> {
    Nil,
    Number(u64),
    Text(Gc<'gc, GcStr>),
    List(Gc<'gc, Slice<Value<'gc>>>),
}

#[derive(Trace, NoPointers, Shared, Clone, Copy, Default)]
pub struct Plain(pub Static<Option<char>>);

#[derive(Trace, Shared)]
pub struct Tree<'gc>(pub Option<Gc<'gc, Tree<'gc>>>, pub Option<Gc<'gc, Tree<'gc>>>);

pub type Root<'gc> = (Value<'gc>, Plain, Gc<'gc, Tree<'gc>>);

pub fn sync<T: Sync + Send>(_: T) {}

pub fn depth(tree: &Tree<'_>) -> u32 {
    1 + tree.0.map_or(0, |left| depth(&left)).max(tree.1.map_or(0, |right| depth(&right)))
}

pub trait Shape<'gc>: 'gc {
    fn value(&self, m: &Mutation<'gc>) -> Value<'gc>;
}

impl<'gc> Shape<'gc> for Gc<'gc, Tree<'gc>> {
    fn value(&self, _: &Mutation<'gc>) -> Value<'gc> {
        Value::Number(depth(self).into())
    }
}

fn main() -> Result<(), heapwood::Error> {
    let mut session = Session::<Rootable![Root<'_>]>::new(Config::default(), |m| {
        let leaf = m.alloc(Tree(None, None));
        (Value::Nil, Plain::default(), m.alloc(Tree(Some(leaf), None)))
    })?;
    session.mutate(|m, (_, _, tree)| {
        let text = m.alloc_str("text");
        let mut values = vec![Value::Number(1), Value::Text(text), Value::List(m.alloc_slice(3, |_| Value::Nil))];
        values.extend(values.clone());
        let by_text: HashMap<Gc<GcStr>, usize> = [(text, 1)].into();
        assert_eq!(by_text.get("text"), Some(&1));
        let set: HashSet<Value> = values.iter().copied().collect();
        assert_eq!(set.len(), 3);
        let ids: BTreeMap<ById<Gc<Tree>>, u32> = [(ById(*tree), 1)].into();
        let depths: Box<dyn Fn() -> u32 + '_> = Box::new(|| ids.keys().map(|tree| depth(tree)).sum());
        assert_eq!(depths(), 2);
        let shapes: Vec<Box<dyn Shape>> = vec![Box::new(*tree)];
        assert_eq!(shapes[0].value(m), Value::Number(2));
        sync(*tree);
        let counted = std::thread::scope(|scope| scope.spawn(|| depth(tree)).join().unwrap());
        assert_eq!(counted, 2);
        let node = m.alloc(Node { value: 1, next: GcCell::new(None), back: GcCell::default(), call: |_, _| true });
        node.next.set(m, Some(node));
        node.back.set(m, Some(m.weak(node)));
        assert!((node.call)(m, node) && Gc::ptr_eq(node.back.get().unwrap().get(m).unwrap(), node));
    });
    Ok(())
}
