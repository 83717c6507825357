//! Steps done to an allocator and to its model, by the tests and by the fuzz target `pages`: a page has a state in the
//! model, and everything is found by looking at pages one by one. Invariant: after each step both are the same, and one
//! that failed has changed nothing.

use super::{Model, State, check, new, seen};
use heapwood_pages::{
    AllocateError, Bits32, Bits48, ClaimError, FreeError, Geometry, GrowError, PageCount, PageIndex, Tiny,
};

/// What is done to an allocator.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Grow(usize, usize),
    Allocate(usize),
    /// Pages that begin at a multiple of their number.
    Aligned(usize),
    Free(usize, usize),
    Claim(usize, usize),
    /// Frees all used pages directly around a page.
    FreeRun(usize),
}

/// Does the steps to an allocator and to the model, and compares both after each.
pub(crate) fn play<G: Geometry>(window: usize, steps: impl IntoIterator<Item = Step>) {
    let mut pages = new::<G>(window);
    let mut model = Model::new(window);
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
                Err(AllocateError::BeyondWindow { .. }) => count > window,
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
                Err(GrowError::BeyondWindow { page }) => {
                    first + count > window && page.0 == first.max(window)
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
                Err(ClaimError::BeyondWindow { .. }) => first + count > window,
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
                Err(FreeError::BeyondWindow { .. }) => first + count > window,
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
            Step::FreeRun(page) if page < window && model.0[page] == State::Used => {
                let first = (0..=page).rev().take_while(|&p| model.0[p] == State::Used).last().unwrap();
                let count = (page..window).take_while(|&p| model.0[p] == State::Used).count() + page - first;
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

/// Does what bytes say: the first chooses the geometry and the window; then each step takes five.
pub(crate) fn replay(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let number = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]) as usize;
    let steps = |window: usize| {
        // Most sizes are small; the top bits of a size make it larger, and one step in a window's reach too large.
        let count = move |n: usize| if n >> 14 == 3 { n % (window + 2) } else { (n & 63) >> (n >> 14) };
        data.chunks_exact(5).map(move |bytes| {
            let (page, count) = (number(&bytes[1..]) % (window + 2), count(number(&bytes[3..])));
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
