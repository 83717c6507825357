//! The C interface's types, roots and handles under calls from random bytes, as in the fuzz target `c_types`.

mod calls;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn calls_from_any_bytes_keep_the_heap_intact(data in prop::collection::vec(any::<u8>(), 0..400)) {
        calls::replay(&data);
    }
}
