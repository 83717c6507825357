//! Steps of an allocator and of its model, for the tests and the fuzz target `pages`. The model has a state for each
//! page and searches page by page. Invariant: after each step both are equal, and a step that failed had no effect.

use super::{Model, State, check, new, seen};
use heapwood_pages::{Bits32, Bits48, FreeError, Geometry, PageCount, PageIndex, Tiny};

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
        let all = |first: usize, count: usize, state| {
            count > 0 && first + count <= reservation && model.first_not(first, count, state).is_none()
        };
        let failed = match step {
            Step::Allocate(count) => {
                let run = pages.allocate(PageCount(count)).ok().map(|run| run.first.0);
                assert_eq!(run, if count == 0 { None } else { model.find(count) }, "{step:?}");
                run.inspect(|&first| model.set(first, count, State::Used)).is_none()
            }
            Step::Aligned(count) => {
                let run = pages.allocate_aligned(PageCount(count)).ok().map(|run| run.first.0);
                assert_eq!(run, model.find_aligned(count, G::LOG_CHUNK_PAGES), "{step:?}");
                run.inspect(|&first| model.set(first, count, State::Used)).is_none()
            }
            Step::Grow(first, count) if all(first, count, State::Absent) => {
                pages.grow(PageIndex(first), PageCount(count)).unwrap();
                model.set(first, count, State::Free);
                false
            }
            Step::Claim(first, count) if all(first, count, State::Free) => {
                pages.claim(PageIndex(first), PageCount(count));
                model.set(first, count, State::Used);
                false
            }
            Step::Free(first, count) => match pages.free(PageIndex(first), PageCount(count)) {
                Ok(()) => {
                    assert!(all(first, count, State::Used), "{step:?}");
                    model.set(first, count, State::Free);
                    false
                }
                Err(FreeError { page, .. }) => {
                    let inside = first + count <= reservation;
                    let wrong = if inside { model.first_not(first, count, State::Used) } else { None };
                    assert_eq!(
                        page.0,
                        wrong.unwrap_or(if inside { first } else { first.max(reservation) }),
                        "{step:?}"
                    );
                    assert!(wrong.is_some() || count == 0 || !inside, "{step:?}");
                    true
                }
            },
            Step::FreeRun(page) if page < reservation && model.0[page] == State::Used => {
                let first = (0..=page).rev().take_while(|&p| model.0[p] == State::Used).last().unwrap();
                let count =
                    (page..reservation).take_while(|&p| model.0[p] == State::Used).count() + page - first;
                pages.free(PageIndex(first), PageCount(count)).unwrap();
                model.set(first, count, State::Free);
                false
            }
            Step::Grow(..) | Step::Claim(..) | Step::FreeRun(_) => continue,
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
