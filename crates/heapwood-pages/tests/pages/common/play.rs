//! Steps of an allocator and of its model, for the tests and the fuzz target `pages`. The model has a state for each
//! page and searches page by page. Invariant: after each step both are equal, and a step that failed had no effect.

use super::{Model, State, check, new, seen};
use heapwood_pages::{
    AllocateError, Bits32, Bits48, ClaimError, FreeError, Geometry, GrowError, PageCount, PageIndex, Tiny,
};

/// A step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Grow(usize, usize),
    Allocate(usize),
    /// Allocates pages that begin at a multiple of their number.
    Aligned(usize),
    Free(usize, usize),
    Claim(usize, usize),
    /// Frees all used pages around a page.
    FreeRun(usize),
}

/// Does the steps with an allocator and the model, and compares both after each.
pub(crate) fn play<G: Geometry>(reservation: usize, steps: impl IntoIterator<Item = Step>) {
    let mut pages = new::<G>(reservation);
    let mut model = Model::new(reservation);
    for step in steps {
        let before = seen(&pages);
        let failed = match step {
            Step::Allocate(count) => match pages.allocate(PageCount(count)) {
                Ok(run) => {
                    assert_eq!(Some(run.first.0), model.find(count), "{step:?}");
                    model.set(run.first.0, count, State::Used);
                    false
                }
                Err(AllocateError::Zero) => count == 0,
                Err(AllocateError::BeyondReservation { .. }) => count > reservation,
                Err(AllocateError::NoRun { .. }) => count > 0 && model.find(count).is_none(),
                Err(e) => panic!("{step:?}: {e}"),
            },
            Step::Aligned(count) => match pages.allocate_aligned(PageCount(count)) {
                Ok(run) => {
                    assert_eq!(Some(run.first.0), model.find_aligned(count, G::LOG_CHUNK_PAGES), "{step:?}");
                    model.set(run.first.0, count, State::Used);
                    false
                }
                Err(_) => model.find_aligned(count, G::LOG_CHUNK_PAGES).is_none(),
            },
            Step::Grow(first, count) => match pages.grow(PageIndex(first), PageCount(count)) {
                Ok(()) => {
                    assert_eq!(model.first_not(first, count, State::Absent), None, "{step:?}");
                    model.set(first, count, State::Free);
                    false
                }
                Err(GrowError::AlreadyGrown { page }) => {
                    model.first_not(first, count, State::Absent) == Some(page.0)
                }
                Err(GrowError::Zero) => count == 0,
                Err(GrowError::BeyondReservation { page }) => {
                    first + count > reservation && page.0 == first.max(reservation)
                }
                Err(e) => panic!("{step:?}: {e}"),
            },
            Step::Claim(first, count) => match pages.claim(PageIndex(first), PageCount(count)) {
                Ok(_) => {
                    assert_eq!(model.first_not(first, count, State::Free), None, "{step:?}");
                    model.set(first, count, State::Used);
                    false
                }
                Err(ClaimError::Zero) => count == 0,
                Err(ClaimError::BeyondReservation { .. }) => first + count > reservation,
                Err(ClaimError::NotGrown { page }) => {
                    model.first_not(first, count, State::Free) == Some(page.0)
                        && model.0[page.0] == State::Absent
                }
                Err(ClaimError::InUse { page }) => {
                    model.first_not(first, count, State::Free) == Some(page.0)
                        && model.0[page.0] == State::Used
                }
                Err(e) => panic!("{step:?}: {e}"),
            },
            Step::Free(first, count) => match pages.free(PageIndex(first), PageCount(count)) {
                Ok(()) => {
                    assert_eq!(model.first_not(first, count, State::Used), None, "{step:?}");
                    model.set(first, count, State::Free);
                    false
                }
                Err(FreeError::Zero) => count == 0,
                Err(FreeError::BeyondReservation { .. }) => first + count > reservation,
                Err(FreeError::NotGrown { page }) => {
                    model.first_not(first, count, State::Used) == Some(page.0)
                        && model.0[page.0] == State::Absent
                }
                Err(FreeError::AlreadyFree { page }) => {
                    model.first_not(first, count, State::Used) == Some(page.0)
                        && model.0[page.0] == State::Free
                }
                Err(e) => panic!("{step:?}: {e}"),
            },
            Step::FreeRun(page) if page < reservation && model.0[page] == State::Used => {
                let first = (0..=page).rev().take_while(|&p| model.0[p] == State::Used).last().unwrap();
                let count =
                    (page..reservation).take_while(|&p| model.0[p] == State::Used).count() + page - first;
                pages.free(PageIndex(first), PageCount(count)).unwrap();
                model.set(first, count, State::Free);
                false
            }
            Step::FreeRun(_) => continue,
        };
        if failed {
            assert_eq!(seen(&pages), before, "{step:?} failed and changed something");
        } else {
            assert_ne!(seen(&pages), before, "{step:?} succeeded, or failed for a wrong reason");
        }
        check(&pages, &model);
    }
}

/// Does the steps of a byte string. The first byte chooses geometry and reservation; each step takes five bytes.
pub(crate) fn replay(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let number = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]) as usize;
    let steps = |reservation: usize| {
        // Most sizes are small; the top bits of a size enlarge it, sometimes beyond the reservation.
        let count = move |n: usize| if n >> 14 == 3 { n % (reservation + 2) } else { (n & 63) >> (n >> 14) };
        data.chunks_exact(5).map(move |bytes| {
            let (page, count) = (number(&bytes[1..]) % (reservation + 2), count(number(&bytes[3..])));
            match bytes[0] % 8 {
                0 | 1 => Step::Grow(page, count),
                2 | 3 => Step::Allocate(count),
                4 => Step::Aligned(count),
                5 => Step::Free(page, count),
                6 => Step::Claim(page, count),
                _ => Step::FreeRun(page),
            }
        })
    };
    let size = first as usize >> 2;
    match first % 4 {
        0 | 1 => play::<Tiny>(size % 32 + 1, steps(size % 32 + 1)),
        2 => play::<Bits48>(size * 24 + 1, steps(size * 24 + 1)),
        _ => play::<Bits32>(size * 24 + 1, steps(size * 24 + 1)),
    }
}
