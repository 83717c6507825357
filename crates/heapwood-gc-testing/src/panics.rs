//! Panics that a test expects. They print nothing: the first backtrace of a process leaves megabytes of blocks, which each collection looks at
//! from then on where blocks are watched or scanned.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// What `f` returns, or the panic that ended it.
pub fn caught<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |what| {
            if !EXPECTED.get() {
                usual(what);
            }
        }));
    });
    let outer = EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    EXPECTED.set(outer);
    result
}

/// The words of a panic.
pub fn words_of(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().map_or_else(|_| "?".into(), |text| text.to_string()),
    }
}

/// The message that `f` panics with.
pub fn panic_message(f: impl FnOnce()) -> String {
    words_of(caught(f).expect_err("it should panic"))
}
