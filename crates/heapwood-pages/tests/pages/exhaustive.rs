//! Every state of a small reservation under every request. The result is the naive first fit's, failed requests change
//! nothing, and the tree matches the bits. Successive states differ by one page (a Gray code), so each costs one step.

use crate::common::{Model, State, check, fresh, new};
use heapwood_pages::{Geometry, PageAllocator, PageCount, PageIndex, Tiny};

/// Eight chunks of two pages, three levels of fan-out 2.
#[derive(Clone, Copy, Debug)]
struct Pairs;

impl Geometry for Pairs {
    const LOG_CHUNK_PAGES: u32 = 1;
    const LEVEL_BITS: &'static [u32] = &[1, 1, 1];
    type Words = [u64; 1];
}

/// Blocks of four chunks of two pages: a full one can lie between two that are not full.
#[derive(Clone, Copy, Debug)]
struct Wide;

impl Geometry for Wide {
    const LOG_CHUNK_PAGES: u32 = 1;
    const LEVEL_BITS: &'static [u32] = &[1, 2];
    type Words = [u64; 1];
}

/// Eight chunks of two pages, one level: the root is the leaf.
#[derive(Clone, Copy, Debug)]
struct Flat;

impl Geometry for Flat {
    const LOG_CHUNK_PAGES: u32 = 1;
    const LEVEL_BITS: &'static [u32] = &[3];
    type Words = [u64; 1];
}

/// Changes the state of one page in allocator and model.
fn flip<G: Geometry>(pages: &mut PageAllocator<G>, model: &mut Model, page: usize) {
    if model.0[page] == State::Free {
        pages.claim(PageIndex(page), PageCount(1));
        model.0[page] = State::Used;
    } else {
        pages.free(PageIndex(page), PageCount(1)).unwrap();
        model.0[page] = State::Free;
    }
}

/// Tries every size in the present state, and restores it.
fn every_request<G: Geometry>(pages: &mut PageAllocator<G>, model: &Model, walk: bool) {
    let (free, reservation) = (pages.free_pages(), pages.reservation());
    for count in 1..=reservation.0 {
        let hint = pages.hint();
        match (pages.allocate(PageCount(count)), model.find(count)) {
            (Ok(run), Some(expected)) => {
                assert_eq!(run.first.0, expected, "{count} of {model:?}");
                if walk {
                    pages.is_valid().unwrap_or_else(|e| panic!("{count} of {model:?}: {e}"));
                }
                pages.free(run.first, PageCount(count)).unwrap();
            }
            (Err(e), None) => {
                assert_eq!((e.asked, e.free, pages.hint()), (PageCount(count), free, hint));
            }
            (got, expected) => panic!("{count} of {model:?}: {got:?}, {expected:?}"),
        }
        assert_eq!(pages.free_pages(), free);
    }
}

fn every_state<G: Geometry>(reservation: usize, walk_every: usize) {
    let mut pages = fresh::<G>(reservation);
    let mut model = Model(vec![State::Free; reservation]);
    for state in 1usize..=1 << reservation {
        every_request(&mut pages, &model, state % walk_every == 0);
        pages.is_valid().unwrap_or_else(|e| panic!("{model:?}: {e}"));
        flip(&mut pages, &mut model, state.trailing_zeros() as usize % reservation);
    }
}

#[test]
fn every_request_is_right_in_every_state_of_sixteen_pages() {
    every_state::<Pairs>(16, 61);
}

#[test]
fn every_step_is_valid_in_every_state_of_ten_pages() {
    every_state::<Tiny>(10, 1);
}

#[test]
fn every_state_of_wide_blocks_is_right() {
    every_state::<Wide>(14, 61);
}

#[test]
fn every_state_of_a_tree_of_one_level_is_right() {
    every_state::<Flat>(11, 1);
}

#[test]
fn every_range_is_freed_from_every_state() {
    // Whether each range is freed or refused, and that a refusal names the first page at fault.
    let mut pages = fresh::<Pairs>(9);
    let mut model = Model(vec![State::Free; 9]);
    for state in 1usize..=1 << 9 {
        for first in 0..9 {
            for count in 1..=9 - first {
                let range = (PageIndex(first), PageCount(count));
                match (pages.free(range.0, range.1), model.first_not(first, count, State::Used)) {
                    (Ok(()), None) => {
                        pages.is_valid().unwrap();
                        pages.claim(range.0, range.1);
                    }
                    (Err(e), Some(p)) => assert_eq!(e.page.0, p),
                    other => panic!("{range:?} of {model:?}: {other:?}"),
                }
                if model.first_not(first, count, State::Free).is_none() {
                    pages.claim(range.0, range.1);
                    pages.is_valid().unwrap();
                    pages.free(range.0, range.1).unwrap();
                }
            }
        }
        check(&pages, &model);
        flip(&mut pages, &mut model, state.trailing_zeros() as usize % 9);
    }
}

#[test]
fn every_set_of_grown_pages_is_right_in_every_state() {
    // Each page absent, free or used; the reservation ends inside a chunk.
    const RESERVATION: usize = 7;
    for grown in 0usize..1 << RESERVATION {
        let mut pages = new::<Pairs>(RESERVATION);
        let mut model = Model::new(RESERVATION);
        // Grown from the top, so that pieces meet in both directions and the hint moves down.
        for page in (0..RESERVATION).rev().filter(|p| grown >> p & 1 == 1) {
            pages.grow(PageIndex(page), PageCount(1)).unwrap();
            model.0[page] = State::Free;
        }
        check(&pages, &model);
        let there: Vec<usize> = (0..RESERVATION).filter(|p| grown >> p & 1 == 1).collect();
        for state in 1usize..=1 << there.len() {
            every_request(&mut pages, &model, true);
            if !there.is_empty() {
                flip(&mut pages, &mut model, there[state.trailing_zeros() as usize % there.len()]);
            }
        }
        check(&pages, &model);
    }
}
