//! Random operations against the model, with the walker after every one.

mod common;

use common::{Model, State, check, new, seen};
use heapwood_pages::{
    AllocateError, Bits32, Bits48, ClaimError, FreeError, Geometry, GrowError, PageCount, PageIndex, Tiny,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Grow(usize, usize),
    Allocate(usize),
    Free(usize, usize),
    Claim(usize, usize),
    /// Frees all used pages directly around a page.
    FreeRun(usize),
}

/// Steps over a window whose sizes are mostly small, sometimes several chunks.
fn steps(window: usize, chunk: usize, len: usize) -> impl Strategy<Value = Vec<Step>> {
    let page = 0..window + 2;
    let count = prop_oneof![
        6 => 0..5usize,
        3 => 1..chunk + 2,
        2 => 1..(4 * chunk).min(window),
        1 => 1..window + 2,
    ];
    let step = prop_oneof![
        2 => (page.clone(), count.clone()).prop_map(|(p, n)| Step::Grow(p, n)),
        5 => count.clone().prop_map(Step::Allocate),
        2 => (page.clone(), count.clone()).prop_map(|(p, n)| Step::Free(p, n)),
        1 => (page.clone(), count).prop_map(|(p, n)| Step::Claim(p, n)),
        4 => page.prop_map(Step::FreeRun),
    ];
    prop::collection::vec(step, 1..len)
}

fn run<G: Geometry>(window: usize, steps: Vec<Step>) {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn tiny(window in 1usize..33, steps in steps(32, 4, 120)) {
        run::<Tiny>(window, steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// 5 000 pages: ten chunks, two entries of the level above them.
    #[test]
    fn bits48(steps in steps(5_000, 512, 40)) {
        run::<Bits48>(5_000, steps);
    }

    #[test]
    fn bits32(steps in steps(5_000, 512, 40)) {
        run::<Bits32>(5_000, steps);
    }
}
