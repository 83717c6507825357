//! The C interface's types, roots and handles under whatever calls bytes make, as the fuzz target `c_types` has it.

mod calls;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_calls(data in prop::collection::vec(any::<u8>(), 0..400)) {
        calls::replay(&data);
    }
}
