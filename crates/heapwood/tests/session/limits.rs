//! Nothing is collected inside a call: what is too much there is owed, and is an error at the limit.
use crate::common::{Link, SMALL, assert_list, list, node};
use heapwood::session::{GcCell, Session};
use heapwood::{AllocError, Generational, Rootable};
use heapwood_gc_testing::panic_message;
use std::cell::Cell;
use std::ops::ControlFlow;

const MIB: usize = 1 << 20;

#[test]
fn a_call_goes_beyond_the_budget_and_the_session_pays_afterwards() {
    let config = SMALL.generational(Generational::Off);
    let mut session = Session::<Rootable![u64]>::new(config, |_| 0).unwrap();
    for _ in 0..10 {
        let before = session.stats().collections;
        session.mutate(|m, _| {
            let mut wanted = 0;
            for i in 0..200_000u64 {
                node(m, i, None);
                wanted += u32::from(m.is_leave_wanted());
            }
            // 4.8 MiB are more than the least heap: a collection was due early in the call.
            assert!(wanted > 100_000, "{wanted}");
        });
        assert_eq!(session.debt(), 0);
        assert!(session.stats().collections > before, "what was owed is paid");
        session.mutate(|m, _| assert!(!m.is_leave_wanted()));
    }
    assert!(session.stats().live_bytes < 64 << 10);
}

#[test]
fn the_limit_is_an_error_inside_a_call() {
    let config = SMALL.limit(8 * MIB).verify(true);
    let mut session = Session::<Rootable![Link<'_>]>::new(config, |m| list(m, 100)).unwrap();
    for _ in 0..4 {
        let refused = session.mutate(|m, root| {
            let mut kept = vec![];
            let refused = loop {
                match m.try_alloc([0u64; 128]) {
                    Ok(object) => kept.push(object),
                    Err(refused) => break refused,
                }
            };
            // Nothing was collected.
            assert!(kept.len() > 6 * 1024, "{} objects of a KiB under a limit of 8 MiB", kept.len());
            assert!(kept.iter().all(|object| **object == [0; 128]));
            assert!(m.is_leave_wanted());
            assert_list(*root, 100);
            refused
        });
        let AllocError::NoCollection { bytes: 1024, limit: Some(limit) } = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(limit, 8 * MIB);
        let text = refused.to_string();
        assert!(text.contains("nothing is collected inside `mutate`") && text.contains("8388608"), "{text}");
        // The session has collected, so there is room again, for an object of half the limit, too.
        session.mutate(|m, _| assert_eq!(m.try_alloc_copy(&[7u8; 4 * MIB]).unwrap().len(), 4 * MIB));
        // That is garbage of which no collection is due, and counts in the next call.
        session.collect();
    }
    session.mutate(|m, _| {
        assert!(matches!(m.try_alloc_copy(&[7u8; 9 * MIB]), Err(AllocError::NoCollection { .. })));
        assert!(m.try_alloc_slice(usize::MAX / 16, |_| 0u64).is_err());
        assert!(m.try_alloc_str(&"x".repeat(9 * MIB)).is_err());
        let (error, text) =
            m.try_alloc_owned([7u8; 100]).map(|owned| m.try_alloc_owned(owned.len())).map_or_else(
                |(error, _)| (Some(error), None),
                |second| (second.as_ref().err().map(|e| e.0), second.ok()),
            );
        assert!(error.is_none() && text.is_some());
    });
}

/// What is alive, not garbage, fills the limit: then an error is final, and the session is whole.
#[test]
fn a_full_heap_stays_whole() {
    let config = SMALL.limit(4 * MIB);
    let mut session = Session::<Rootable![GcCell<Link<'_>>]>::new(config, |_| GcCell::default()).unwrap();
    let mut n = 0u64;
    let mut refused = 0;
    while refused < 5 {
        session.mutate(|m, root| {
            for _ in 0..1000 {
                let node =
                    crate::common::Node { value: n, left: GcCell::new(root.get()), right: GcCell::default() };
                match m.try_alloc(node) {
                    Ok(node) => root.set(m, Some(node)),
                    Err(_) => {
                        refused += 1;
                        return;
                    }
                }
                n += 1;
            }
        });
    }
    assert!(n > 80_000, "{n} nodes of 24 bytes");
    session.mutate(|_, root| assert_list(root.get(), n));
    let message = panic_message(|| session.mutate(|m, _| _ = m.alloc_copy(&[0u8; 2 * MIB])));
    assert!(message.contains("no room for"), "{message}");
    session.mutate(|m, root| root.set(m, None));
    session.collect();
    session.mutate(|m, root| {
        root.set(m, list(m, 1000));
        assert_list(root.get(), 1000);
    });
}

/// A root that does not fit is an error of the constructor.
#[test]
fn no_room_for_the_root() {
    let full = Session::<Rootable![u64]>::new(SMALL.limit(1), |_| 0);
    assert!(full.is_err());
    let failed = Session::<Rootable![u64]>::try_new::<heapwood::Error>(SMALL.limit(4 * MIB), |m| {
        m.try_alloc_copy(&[0u8; 5 * MIB])?;
        Ok(0)
    });
    assert!(matches!(failed, Err(heapwood::Error::Alloc(AllocError::NoCollection { .. }))));
}

#[test]
fn fuel_runs_out() {
    let mut session = Session::<Rootable![Cell<u64>]>::new(SMALL, |_| Cell::new(0)).unwrap();
    let calls = Cell::new(0);
    let steps = session.run(10, |m, root, fuel| {
        calls.set(calls.get() + 1);
        assert!(fuel.left() == 10 && format!("{fuel:?}").contains("10"));
        while root.get() < 100 {
            root.set(root.get() + 1);
            if !fuel.spend(1) {
                assert!(fuel.left() == 0 || m.is_leave_wanted());
                return ControlFlow::Continue(());
            }
        }
        ControlFlow::Break(root.get())
    });
    assert!(steps == 100 && calls.get() >= 10);
    // An interpreter with much fuel leaves when a collection is due, and what it makes stays bounded.
    let most = Cell::new(0u64);
    session.run(u64::MAX, |m, root, fuel| {
        let mut made = 0;
        loop {
            node(m, 0, None);
            (made, _) = (made + 1, root.set(root.get() + 1));
            most.set(most.get().max(made));
            match root.get() {
                2_000_000 => return ControlFlow::Break(()),
                _ if !fuel.spend(1) => return ControlFlow::Continue(()),
                _ => {}
            }
        }
    });
    assert!(most.get() < 500_000, "{} nodes in a call", most.get());
    session.run(5, |_, root, fuel| {
        fuel.run_out();
        assert!(!fuel.spend(0));
        if root.replace(root.get() + 1) < 2_000_010 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
}
