//! One error for all, and what a program sees of it that unwraps.

use crate::common::*;
use heapwood::{AllocError, Config, Error, Heap, HeapError, Misuse, Refusal};

/// As a program meets them, with `?`.
fn meet(which: usize, heap: &Heap) -> Result<(), Error> {
    match which {
        0 => drop(heap.attach()?),
        1 => heap.set_percent(0)?,
        2 => heap.with_mutator(|m| m.try_alloc_slice(1 << 50, |_| 0u64).map(drop))??,
        3 => heap.with_mutator(|m| m.blocking(|| heap.on_collection(|_, _| ())))??,
        4 => heap.with_mutator(|m| {
            let arena = heapwood::Arena::new(m);
            m.finalize(arena.alloc_gc(1u64), "the value comes back")
        })??,
        _ => heap.with_mutator(|m| m.external(-1))??,
    }
    Ok(())
}

#[test]
fn every_error_is_converted_into_one() {
    let heap = heap(SMALL);
    let _m = heap.attach().unwrap();
    let met: Vec<Error> = (0..6).map(|which| meet(which, &heap).unwrap_err()).collect();
    assert_eq!(met[0], Error::Heap(HeapError::AttachedAlready));
    assert!(matches!(met[1], Error::Heap(HeapError::OutOfRange { value: 0, .. })));
    assert!(matches!(met[2], Error::Alloc(AllocError::ReservationFull(_))));
    assert_eq!(met[3], Error::Misuse(Misuse::InNative));
    assert!(matches!(met[4], Error::Refused(Refusal::CannotFinalizeInArena { .. })));
    assert!(matches!(met[5], Error::Alloc(_)));
    for error in met {
        assert_eq!(format!("{error:?}"), error.to_string(), "what `unwrap` prints is the sentence");
        assert!(error.to_string().len() > 40);
    }
}

#[test]
fn a_wrong_option_is_shown_without_its_help() {
    // SAFETY: no heap is made.
    let error = unsafe { Heap::new(Config::default().percent(0)) }.unwrap_err();
    assert_eq!(format!("{error:?}"), "OutOfRange { option: percent, value: 0 }");
}

#[test]
fn errors_go_where_errors_go() {
    fn goes<E: std::error::Error + Send + Sync + Copy + 'static>() {}
    goes::<Error>();
    goes::<HeapError>();
    goes::<AllocError>();
    goes::<Misuse>();
    goes::<Refusal>();
}
