//! Tests of the tests: errors planted in the collector (`src/inject.rs`) must be caught.

mod concurrent;
mod finalizers;
mod held;
mod no_collection;
mod oracle;
mod plain;
mod signals;
mod stepped;
mod threads_oracle;
mod verify;
mod weak;
