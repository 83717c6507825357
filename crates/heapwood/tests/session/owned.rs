//! Values that are dropped when their objects are dead.
use crate::common::{SMALL, assert_list, in_all_modes, list};
use heapwood::session::{Gc, GcCell, Owned, Session, SessionHeap};
use heapwood::{Rootable, Slice};
use heapwood_gc_testing::caught;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type Counted<'gc> = Gc<'gc, Owned<Rc<()>>>;

#[test]
fn values_are_dropped_once_and_in_time() {
    in_all_modes(|config| {
        let count = Rc::new(());
        type All<'gc> = GcCell<Option<Gc<'gc, Slice<GcCell<Option<Counted<'gc>>>>>>>;
        let mut session = Session::<Rootable![All<'_>]>::new(config, |m| {
            GcCell::new(Some(m.alloc_slice(20, |_| GcCell::new(Some(m.alloc_owned(count.clone()))))))
        })
        .unwrap();
        session.collect();
        assert_eq!(Rc::strong_count(&count), 21, "all are alive");
        for alive in (0..20).rev() {
            session.mutate(|m, all| {
                all.get().unwrap()[alive].set(m, None);
                m.alloc_owned(count.clone());
            });
            session.collect();
            session.collect();
            assert_eq!(Rc::strong_count(&count), alive + 1);
        }
        session.mutate(|m, all| {
            for i in 0..20 {
                all.get().unwrap()[i].set(m, Some(m.alloc_owned(count.clone())));
            }
        });
        drop(session);
        assert_eq!(Rc::strong_count(&count), 1, "with the session at the latest");
    });
}

/// A value may do in its drop what it likes: use other sessions, panic, be large.
#[test]
fn drops_are_ordinary_code() {
    type Lists = Session<Rootable![GcCell<crate::common::Link<'_>>]>;
    struct Other(RefCell<Lists>, Rc<Cell<u64>>);
    impl Drop for Other {
        fn drop(&mut self) {
            self.0.borrow_mut().mutate(|m, root| {
                root.set(m, list(m, 100));
                assert_list(root.get(), 100);
            });
            self.0.borrow_mut().collect();
            self.1.set(self.1.get() + 1);
        }
    }
    struct Loud(Rc<Cell<u64>>);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            if !std::thread::panicking() {
                panic!("in a drop");
            }
        }
    }
    in_all_modes(|config| {
        let (dropped, loud) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let mut session = Session::<Rootable![u64]>::new(config, |_| 0).unwrap();
        session.mutate(|m, _| {
            for _ in 0..3 {
                let other = Session::new(SMALL, |_| GcCell::default()).unwrap();
                m.alloc_owned(Other(RefCell::new(other), dropped.clone()));
                m.alloc_owned([[7u64; 100]; 20]);
                m.alloc_owned(());
            }
        });
        session.collect();
        assert_eq!(dropped.get(), 3);
        let mut panics = 0;
        let mut panics_in = |f: &mut dyn FnMut()| panics += u32::from(caught(f).is_err());
        panics_in(&mut || {
            session.mutate(|m, _| {
                m.alloc_owned(Loud(loud.clone()));
            })
        });
        for _ in 0..3 {
            panics_in(&mut || session.collect());
        }
        assert_eq!((loud.get(), panics), (1, 1), "it is dropped once");
        session.mutate(|m, _| assert_list(list(m, 1000), 1000));
    });
}

/// In a heap of several threads each session drops its own values, on its thread.
#[test]
fn values_stay_with_their_threads() {
    struct Here(std::thread::ThreadId, Rc<Cell<u32>>);
    impl Drop for Here {
        fn drop(&mut self) {
            assert_eq!(std::thread::current().id(), self.0, "dropped on the thread that made it");
            self.1.set(self.1.get() + 1);
        }
    }
    let heap = SessionHeap::new(SMALL.verify(true)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = heap.session::<Rootable![u64]>(|_| 0).unwrap();
                let dropped = Rc::new(Cell::new(0));
                for made in 1..50 {
                    session.mutate(|m, _| {
                        m.alloc_owned(Here(std::thread::current().id(), dropped.clone()));
                    });
                    if made % 10 == 0 {
                        session.collect();
                        assert_eq!(dropped.get(), made);
                    }
                }
                session.collect();
                drop(session);
                assert_eq!(dropped.get(), 49);
            });
        }
    });
}
