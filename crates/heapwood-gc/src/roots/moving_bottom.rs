//! A stack whose bottom a client moves: a word of the client's holds the end of the stack that its thread is on, and the client
//! writes it before the thread switches to another stack. It says nothing more of the stacks, nor of the moment of the switch.
//! libgc's GC_stackbottom is such a word.
//!
//! The word and the stack pointer are read at the same stop. They agree, unless the stop came between the client's store and its
//! switch. Then the stack pointer is right, and the end of its stack is not known any more. So the kernel copies the words, from
//! the stack pointer up to the word's end, or to the first page that cannot be read, if that comes before it or the end lies below.
//! What a client says of stacks without a thread it names itself. Invariant: every word from the stack pointer to the end of
//! the stack that holds it is among those that are copied.

use core::cell::Cell;
use core::ops::Range;
use core::ptr::null;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_layout::WORD;
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::{LEAST_KERNEL_PAGE, Peek};

/// Words that are copied at once.
const CHUNK: usize = LEAST_KERNEL_PAGE / WORD;
/// A handler's interrupted stack is looked for so far below its end.
const MOST_DEPTH: usize = 8 << 20;

/// The word, and what was read of it.
#[derive(Debug)]
pub(crate) struct MovingBottom {
    /// Null if there is none.
    word: Cell<*const AtomicUsize>,
    /// While the thread is stopped on such a stack: the lowest word in use, and the word's value.
    noted: Cell<Option<(usize, usize)>>,
    /// The same where a handler on the alternate stack may have interrupted the thread.
    below: Cell<Option<(usize, usize)>>,
}

impl Default for MovingBottom {
    fn default() -> Self {
        MovingBottom { word: Cell::new(null()), noted: Cell::new(None), below: Cell::new(None) }
    }
}

impl MovingBottom {
    /// From now on the thread may be on any stack, whose end this word holds; null for none.
    ///
    /// # Safety
    /// 1. The word stays readable until another is set, or the thread is detached.
    pub(crate) unsafe fn follow(&self, word: *const AtomicUsize) {
        self.word.set(word);
    }

    /// The end of the stack that the thread is on, or is about to switch to, or has been on until just now.
    fn end(&self) -> Option<usize> {
        // SAFETY: contract 1 of `follow`.
        unsafe { self.word.get().as_ref() }.map(|word| word.load(Ordering::Relaxed))
    }

    /// Notes the lowest word in use of a stack that is none of the thread's others; false without a word. May be called by a
    /// signal handler.
    pub(super) fn note(&self, lowest: usize) -> bool {
        let end = self.end();
        self.noted.set(end.map(|end| (lowest, end)));
        end.is_some()
    }

    /// Notes where a handler of the program may have interrupted the thread: `lowest` finds the lowest word for which its
    /// argument is true.
    pub(super) fn note_below_alternate(
        &self,
        lowest: impl FnOnce(&dyn Fn(usize) -> bool) -> Option<usize>,
    ) -> bool {
        let Some(end) = self.end() else { return false };
        let found = lowest(&|word| word < end && end - word <= MOST_DEPTH);
        self.below.set(found.map(|lowest| (lowest, end)));
        found.is_some()
    }

    /// The lowest word that was noted.
    pub(super) fn noted(&self) -> Option<usize> {
        self.noted.get().map(|(lowest, _)| lowest)
    }

    /// The thread goes on.
    pub(super) fn go_on(&self) {
        self.noted.set(None);
        self.below.set(None);
    }

    /// The thread is detached.
    pub(super) fn clear(&self) {
        self.go_on();
        self.word.set(null());
    }

    /// Calls `f` with copies of the words in use; the next copy overwrites the last.
    pub(super) fn for_each(&self, mut f: impl FnMut(Range<usize>)) {
        if let Some((lowest, end)) = self.noted.get() {
            // An end below is another stack's.
            let end = if lowest < end { Some(end) } else { None };
            for_each_copy(lowest, end, true, &mut f);
        }
        if let Some((lowest, end)) = self.below.get() {
            for_each_copy(lowest, Some(end), false, &mut f);
        }
    }
}

/// Calls `f` with copies of the words from `lowest` on, up to an end, if there is one, and to the first page that cannot be read, if
/// that `stops` it.
fn for_each_copy(lowest: usize, end: Option<usize>, stops: bool, f: &mut impl FnMut(Range<usize>)) {
    let (peek, mut copy) = (Peek::new(), [0usize; CHUNK]);
    let mut at = lowest & !(WORD - 1);
    let end = end.unwrap_or(usize::MAX) & !(WORD - 1);
    while at < end {
        let next = (at + 1).next_multiple_of(CHUNK * WORD).min(end);
        // SAFETY: the words are this function's, and bytes of any value are words.
        let bytes = unsafe { core::slice::from_raw_parts_mut(copy.as_mut_ptr().cast::<u8>(), next - at) };
        let Some(read) = peek.read(at, bytes) else {
            if end < usize::MAX & !(WORD - 1) {
                // On a system that lets nobody ask, the word is trusted.
                return f(at..end);
            }
            corrupt(format_args!(
                "a thread was stopped on the stack of {at:#x}, whose end the program has replaced by another's, and the \
                 system does not say which memory can be read: allow process_vm_readv or /proc/self/mem"
            ));
        };
        if read >= WORD {
            let start = copy.as_ptr() as usize;
            f(start..start + read / WORD * WORD);
        }
        if read < next - at && stops {
            return;
        }
        at = next;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use heapwood_os::Kernel;

    /// The words of what is copied.
    fn copied(bottom: &MovingBottom) -> Vec<usize> {
        let mut words = Vec::new();
        bottom.for_each(|copy| {
            // SAFETY: the copy is there during the call.
            words.extend(copy.step_by(WORD).map(|at| unsafe { (at as *const usize).read() }));
        });
        words
    }

    #[test]
    fn words_are_copied_up_to_the_end_that_is_the_stacks() {
        // Three pages, of which the last cannot be read.
        let page = heapwood_os::SYSTEM.page_size();
        // SAFETY: new memory; its end is protected.
        let low = unsafe {
            let low = libc::mmap(
                core::ptr::null_mut(),
                3 * page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            ) as usize;
            assert_eq!(libc::mprotect((low + 2 * page) as *mut _, page, libc::PROT_NONE), 0);
            (low..low + 2 * page).step_by(WORD).for_each(|at| (at as *mut usize).write(at));
            low
        };
        let (word, bottom) = (AtomicUsize::new(0), MovingBottom::default());
        assert!(!bottom.note(low + 8), "there is no word");
        // SAFETY: it outlives the bottom.
        unsafe { bottom.follow(&raw const word) };
        let whole: Vec<_> = (low + page - 16..low + 2 * page).step_by(WORD).collect();
        for (end, words) in [
            (low + page + 24, whole[..5].to_vec()),
            (low + 2 * page, whole.clone()),
            // Ends of other stacks.
            (low + 3 * page, whole.clone()),
            (usize::MAX, whole.clone()),
            (low + 8, whole.clone()),
            (0, whole.clone()),
        ] {
            word.store(end, Ordering::Relaxed);
            assert!(bottom.note(low + page - 16));
            assert_eq!(copied(&bottom), words, "{end:#x}");
            assert_eq!(bottom.noted(), Some(low + page - 16));
            bottom.go_on();
            assert_eq!(copied(&bottom), []);
        }
        // Below a handler's stack the end is near.
        word.store(low + 3 * page, Ordering::Relaxed);
        assert!(bottom.note_below_alternate(|is_near| {
            assert!(is_near(low) && !is_near(low + 3 * page) && !is_near(low + 3 * page - MOST_DEPTH - 1));
            Some(low + page - 16)
        }));
        assert_eq!(copied(&bottom), whole);
        bottom.clear();
        assert!(!bottom.note(low) && copied(&bottom).is_empty());
        // SAFETY: mapped above.
        assert_eq!(unsafe { libc::munmap(low as *mut _, 3 * page) }, 0);
    }
}
