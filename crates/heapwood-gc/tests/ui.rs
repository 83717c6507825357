//! What a program without `unsafe` cannot say to a heap: the contracts that are types. After a change of compiler:
//! `TRYBUILD=overwrite cargo test -p heapwood-gc --test ui`, and read the difference.

#[test]
fn contracts_are_types() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
