//! Tests of the tests: errors planted in the collector (`src/inject.rs`) must be caught.

mod oracle;
mod signals;
mod verify;
