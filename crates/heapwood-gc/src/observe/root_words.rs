//! The words of roots one by one, without their tags, for verify mode: those that hold objects, and those that may. Invariant: they are the roots
//! that a full collection scans.

use super::edges::led_to;
use crate::pause::Pause;
use crate::roots::Source;
use heapwood_heap::{Address, Collection};
use heapwood_layout::WORD;

/// Calls `f` with each precise root: its source, its address, and its value.
pub(super) fn for_each_root(pause: &Pause<'_>, mut f: impl FnMut(Source, usize, usize)) {
    pause.for_each_root_but_stacks(|source, words| {
        for at in words.step_by(WORD).filter(|_| source.is_precise()) {
            // SAFETY: registered roots stay readable, and so do handles and linked frames; their threads are stopped.
            f(source, at, led_to(pause.space(), unsafe { (at as *const usize).read_volatile() }));
        }
    });
}

/// Calls `f` with each object that an ambiguous root word points to or into.
pub(super) fn for_each_ambiguous_root(pause: &Pause<'_>, mut f: impl FnMut(usize)) {
    pause.for_each_root(Collection::Full, |source, words| {
        if source.is_precise() || source == Source::Arena {
            return;
        }
        for at in (words.start.next_multiple_of(WORD)..words.end & !(WORD - 1)).step_by(WORD) {
            // SAFETY: the words of roots stay readable during this call; others may write those of a range meanwhile.
            let word = pause.state().ambiguous_address(unsafe { (at as *const usize).read_volatile() });
            let is_stack = matches!(source, Source::Stack | Source::Cell | Source::FunctionWord);
            let rules = pause.state().ambiguous_words();
            if let Some(found) = pause.space().find(Address::new(word))
                && (is_stack || rules.counts_for(word, found.base.get()))
            {
                f(found.base.get());
            }
        }
    });
}
