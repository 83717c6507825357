//! The compile errors of the derive macros and `Gc`. After a change of wording or compiler: `TRYBUILD=overwrite cargo
//! test -p heapwood --test heapwood ui`, and read the difference.

#[test]
fn compile_errors_are_readable() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
