//! Weak references are cleared between calls.
use crate::common::{Link, Node, assert_list, in_all_modes, list, node};
use heapwood::session::{Gc, GcCell, Mutation, Session, Weak};
use heapwood::{Rootable, Trace};

#[derive(Trace)]
struct Top<'gc> {
    strong: GcCell<Link<'gc>>,
    weak: GcCell<Option<Weak<'gc, Node<'gc>>>>,
}

#[test]
fn weak_references_die_between_calls() {
    in_all_modes(|config| {
        let mut session = Session::<Rootable![Top<'_>]>::new(config, |m| {
            let strong = node(m, 7, None);
            Top { strong: GcCell::new(Some(strong)), weak: GcCell::new(Some(m.weak(strong))) }
        })
        .unwrap();
        fn found<'gc>(m: &Mutation<'gc>, top: &Top<'gc>) -> Link<'gc> {
            top.weak.get().and_then(|weak| weak.get(m))
        }
        for _ in 0..3 {
            session.collect();
            session.mutate(|m, top| assert!(Gc::ptr_eq(found(m, top).unwrap(), top.strong.get().unwrap())));
        }
        session.mutate(|m, top| {
            top.strong.set(m, None);
            // It is still there: nothing is collected in the call.
            assert_list(list(m, 50_000), 50_000);
            assert_eq!(found(m, top).map(|node| node.value), Some(7));
        });
        session.collect();
        session.mutate(|m, top| assert!(found(m, top).is_none() && top.weak.get().is_some()));
        // What a weak reference has given is strong again.
        session.mutate(|m, top| {
            let fresh = node(m, 8, list(m, 10));
            let weak = m.weak(fresh);
            top.weak.set(m, Some(weak));
            assert!(weak.ptr_eq(weak) && !weak.ptr_eq(m.weak(fresh)));
            top.strong.set(m, weak.get(m));
        });
        session.collect();
        session.mutate(|m, top| assert_list(found(m, top).unwrap().left.get(), 10));
        session.mutate(|_, top| assert_eq!(format!("{:?}", top.weak.get()), "Some(Weak(..))"));
    });
}
