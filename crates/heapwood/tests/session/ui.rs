//! What does not compile: a pointer that leaves its call, or meets another session's. After a change of wording or compiler:
//! `TRYBUILD=overwrite cargo test -p heapwood --test session ui`, and read the difference.

#[test]
fn what_would_lose_an_object_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/session_fail/*.rs");
}
