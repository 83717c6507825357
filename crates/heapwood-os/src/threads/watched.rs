//! Atomic words of mapped memory, which a loom model can watch. Tables of a heap lie in memory that the kernel maps, where
//! loom's atomics cannot be: they are objects of loom. So loom's models see plain words there, always the newest. A model
//! that is about the order of some of these words watches them (`Watch`): each has an atomic of loom
//! beside it, which gets the same loads and stores in the same orders, and whose values count. Invariant: without
//! `cfg(loom)` these are the ordinary types.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(loom)]
pub use modelled::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Watch};

#[cfg(loom)]
mod modelled {
    use crate::memory::region::Zeroed;
    use core::cell::RefCell;
    use core::sync::atomic::{self, Ordering};
    use std::rc::Rc;

    /// The atomic of loom beside a word, and a count of its uses.
    struct Beside {
        value: loom::sync::atomic::AtomicU64,
        uses: loom::sync::atomic::AtomicU32,
        /// Stores are swaps.
        in_order: bool,
    }

    impl core::ops::Deref for Beside {
        type Target = loom::sync::atomic::AtomicU64;
        fn deref(&self) -> &Self::Target {
            &self.value
        }
    }

    impl Beside {
        fn store(&self, value: u64, order: Ordering) {
            match self.in_order {
                true => _ = self.value.swap(value, order),
                false => self.value.store(value, order),
            }
        }
    }

    type Twin = Rc<Beside>;

    thread_local! {
        /// The addresses that are watched. All threads of a model run on one thread of the process.
        static WATCHED: RefCell<Vec<(usize, Twin)>> = const { RefCell::new(Vec::new()) };
    }

    /// The atomic of loom beside the word at an address, if that is watched. The table is not in use when it returns: each
    /// use of an atomic may run another of the model's threads.
    fn twin(address: usize) -> Option<Twin> {
        let find = |words: &Vec<(usize, Twin)>| {
            words.iter().find(|(at, _)| *at == address).map(|(_, twin)| twin.clone())
        };
        let twin = WATCHED.with(|words| find(&words.borrow()));
        // loom compares an access with the last one only. Where a thread loads a word and then stores it, it would not try the
        // store before another thread's load. It does try these in every order; they order nothing else.
        twin.inspect(|twin| _ = twin.uses.fetch_add(1, Ordering::Relaxed))
    }

    /// Words that a model watches, until this is dropped. Plain stores into one are not seen.
    pub struct Watch(());

    impl Watch {
        /// Watches nothing yet. A model has one at a time.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            WATCHED.with(|words| words.borrow_mut().clear());
            Watch(())
        }

        /// Watches a word from now on, for which no store by another thread is under way. It must not move.
        pub fn add(&self, word: &impl Word) {
            self.add_as(word, false);
        }

        /// The same for a word that one thread stores and another swaps. loom does not know that a swap follows at once on the
        /// store whose value it gave: it lets a store that comes later end before the swap. So such stores are swaps here, in the
        /// order in which they are made. That hides a store that breaks a chain of releases, and any other order of two
        /// threads' stores.
        pub fn add_in_order(&self, word: &impl Word) {
            self.add_as(word, true);
        }

        fn add_as(&self, word: &impl Word, in_order: bool) {
            let (at, value) = word.place();
            let (value, uses) =
                (loom::sync::atomic::AtomicU64::new(value), loom::sync::atomic::AtomicU32::new(0));
            let twin = Rc::new(Beside { value, uses, in_order });
            WATCHED.with(|words| words.borrow_mut().push((at, twin)));
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            let words = WATCHED.with(|words| core::mem::take(&mut *words.borrow_mut()));
            drop(words);
        }
    }

    /// A word that can be watched.
    pub trait Word {
        /// Its address and its value.
        fn place(&self) -> (usize, u64);
    }

    macro_rules! watched {
        ($name:ident, $value:ty, $to:expr, $from:expr) => {
            /// As the type of this name in the standard library.
            #[repr(transparent)]
            #[derive(Default)]
            pub struct $name(atomic::$name);

            impl Word for $name {
                fn place(&self) -> (usize, u64) {
                    (self.at(), $to(self.0.load(Ordering::Relaxed)))
                }
            }

            // SAFETY: all-zero bytes are such a word.
            unsafe impl Zeroed for $name {}

            impl $name {
                /// As of the standard library.
                pub const fn new(value: $value) -> Self {
                    $name(atomic::$name::new(value))
                }

                /// As of the standard library.
                ///
                /// # Safety
                /// 1. As of the standard library.
                pub const unsafe fn from_ptr<'a>(at: *mut $value) -> &'a Self {
                    // SAFETY: contract 1, and the types have the same layout.
                    unsafe { &*at.cast::<Self>() }
                }

                fn at(&self) -> usize {
                    (&raw const self.0).addr()
                }

                /// As of the standard library.
                pub fn load(&self, order: Ordering) -> $value {
                    match twin(self.at()) {
                        Some(twin) => $from(twin.load(order)),
                        None => self.0.load(order),
                    }
                }

                /// As of the standard library.
                pub fn store(&self, value: $value, order: Ordering) {
                    if let Some(twin) = twin(self.at()) {
                        twin.store($to(value), order);
                    }
                    self.0.store(value, order);
                }

                /// As of the standard library.
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    let twin = twin(self.at()).map(|twin| $from(twin.swap($to(value), order)));
                    let plain = self.0.swap(value, order);
                    twin.unwrap_or(plain)
                }
            }
        };
    }

    macro_rules! watched_number {
        ($name:ident, $value:ty) => {
            watched!($name, $value, |value: $value| value as u64, |value: u64| value as $value);

            impl $name {
                /// As of the standard library.
                pub fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                    let twin = twin(self.at()).map(|twin| twin.fetch_or(bits as u64, order) as $value);
                    let plain = self.0.fetch_or(bits, order);
                    twin.unwrap_or(plain)
                }

                /// As of the standard library.
                pub fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                    let twin = twin(self.at()).map(|twin| twin.fetch_and(bits as u64, order) as $value);
                    let plain = self.0.fetch_and(bits, order);
                    twin.unwrap_or(plain)
                }

                /// As of the standard library.
                pub fn compare_exchange(
                    &self,
                    now: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    let Some(twin) = twin(self.at()) else {
                        return self.0.compare_exchange(now, new, success, failure);
                    };
                    let done = twin.compare_exchange(now as u64, new as u64, success, failure);
                    if done.is_ok() {
                        self.0.store(new, Ordering::Relaxed);
                    }
                    done.map(|was| was as $value).map_err(|was| was as $value)
                }
            }
        };
    }

    watched_number!(AtomicU32, u32);
    watched_number!(AtomicU64, u64);
    watched_number!(AtomicUsize, usize);
    watched!(AtomicBool, bool, u64::from, |value: u64| value != 0);
}
