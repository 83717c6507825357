//! Where objects were made, as far as programs say so, for the reports of verify mode. Invariant: a word is that of the object whose
//! cell begins there, or had it last before it was kept; and it never changes while that is so.

use crate::lock_order::SITES;
use core::ffi::{CStr, c_char};
use core::fmt;
use core::ops::Range;
use core::panic::Location;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use heapwood_heap::{GRANULE, Space};
use heapwood_os::diagnose::message::corrupt;
use heapwood_os::{ForkLock, KernelRef, Lock, Mapped, MappedArray, OsError};

/// A place in the source of a program; 0 if it is unknown. Twice the address of a text, or of a `Location` and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site(usize);

impl Site {
    /// A place in a Rust program.
    pub fn of(place: &'static Location<'static>) -> Self {
        Site(core::ptr::from_ref(place) as usize * 2 + 1)
    }

    /// A place in words.
    ///
    /// # Safety
    /// 1. The text ends with a zero byte, and stays as it is as long as the process lives.
    pub unsafe fn called(text: *const c_char) -> Self {
        Site(text as usize * 2)
    }

    pub(super) fn is_known(self) -> bool {
        self.0 != 0
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.0 / 2;
        match self.0 % 2 {
            0 if at == 0 => f.write_str("an unknown place"),
            // SAFETY: such a site is a text (contract 1 of `called`).
            0 => f.write_str(unsafe { CStr::from_ptr(at as *const c_char) }.to_str().unwrap_or("?")),
            _ => {
                // SAFETY: such a site is a location.
                let place = unsafe { &*(at as *const Location<'static>) };
                write!(f, "{}:{}", place.file(), place.line())
            }
        }
    }
}

/// The sites of a heap's objects.
pub(crate) struct Sites {
    base: usize,
    /// One for each granule.
    words: MappedArray<AtomicUsize>,
    /// How many have memory.
    committed: AtomicUsize,
    growing: Lock<(), SITES>,
}

impl Sites {
    pub(super) fn new(kernel: KernelRef, space: &Space) -> Result<Self, OsError> {
        Ok(Sites {
            base: space.base().get(),
            words: MappedArray::new(kernel, space.reservation_bytes() / GRANULE)?,
            committed: AtomicUsize::new(0),
            growing: Lock::new(()),
        })
    }

    /// The lock of its memory, for a fork.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.growing
    }

    /// The word of an object, if it has memory.
    fn word(&self, object: usize) -> Option<&AtomicUsize> {
        let index = object.checked_sub(self.base)? / GRANULE;
        // SAFETY: it has.
        (index < self.committed.load(Acquire)).then(|| unsafe { &*self.words.at(index) })
    }

    /// Notes where an object was made. No signal may stop the thread meanwhile.
    pub(crate) fn note(&self, space: &Space, object: usize, site: Site) {
        if self.word(object).is_none() {
            let _one = self.growing.lock();
            let (committed, end) = (self.committed.load(Relaxed), space.committed_end() / GRANULE);
            if committed < end {
                if let Err(e) = self.words.commit(committed..end) {
                    corrupt(format_args!("no memory for the tables of verify mode: {e}"));
                }
                self.committed.store(end, Release);
            }
        }
        if let Some(word) = self.word(object) {
            word.store(site.0, Relaxed);
        }
    }

    /// Where the object at an address was made.
    pub(super) fn of(&self, object: usize) -> Site {
        Site(self.word(object).map_or(0, |word| word.load(Relaxed)))
    }

    /// The cell may be another object's from now on.
    pub(super) fn forget(&self, object: usize) {
        if self.of(object).is_known() {
            self.word(object).inspect(|word| word.store(0, Relaxed));
        }
    }
}

impl Mapped for Sites {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        self.words.for_each_mapping(f);
    }
}
