//! Random operations against the model, with the walker after every one.

use crate::common::play::{Step, play, replay};
use heapwood_pages::{Bits32, Bits48, Tiny};
use proptest::prelude::*;

/// Steps over a reservation, mostly of small sizes, sometimes of several chunks.
fn steps(reservation: usize, chunk: usize, len: usize) -> impl Strategy<Value = Vec<Step>> {
    let page = 0..reservation + 2;
    let count = prop_oneof![
        6 => 0..5usize,
        3 => 1..chunk + 2,
        2 => 1..(4 * chunk).min(reservation),
        1 => 1..reservation + 2,
    ];
    let step = prop_oneof![
        2 => (page.clone(), count.clone()).prop_map(|(p, n)| Step::Grow(p, n)),
        5 => count.clone().prop_map(Step::Allocate),
        2 => count.clone().prop_map(Step::Aligned),
        2 => (0..10u32).prop_map(|log| Step::Aligned(1 << log)),
        2 => (page.clone(), count.clone()).prop_map(|(p, n)| Step::Free(p, n)),
        1 => (page.clone(), count).prop_map(|(p, n)| Step::Claim(p, n)),
        4 => page.prop_map(Step::FreeRun),
    ];
    prop::collection::vec(step, 1..len)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_steps_of_a_tiny_geometry_agree_with_the_model(reservation in 1usize..33, steps in steps(32, 4, 120)) {
        play::<Tiny>(reservation, steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// 5 000 pages: ten chunks, two entries of the level above them.
    #[test]
    fn random_steps_of_48_bits_agree_with_the_model(steps in steps(5_000, 512, 40)) {
        play::<Bits48>(5_000, steps);
    }

    #[test]
    fn random_steps_of_32_bits_agree_with_the_model(steps in steps(5_000, 512, 40)) {
        play::<Bits32>(5_000, steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// As the fuzz target `pages` does with its inputs.
    #[test]
    fn steps_from_any_bytes_agree_with_the_model(data in prop::collection::vec(any::<u8>(), 0..300)) {
        replay(&data);
    }
}
