//! A stack of free numbers without a lock, whose links lie in what the numbers stand for. Invariant: a number that was taken is its
//! taker's until that pushes it, and the taker sees what the one before has written. A taker may read the link of a number that is
//! another's by now: then the head has changed. It has a count of changes beside the number, so a head that is the same again is not
//! mistaken (Treiber, "Systems Programming: Coping with Parallelism", 1986; the count is IBM's).

use super::sync::{AtomicU64, Ordering};
use core::num::NonZeroU32;

/// Added to the head at each change: one, above the number.
const CHANGE: u64 = 1 << 32;

/// A stack of numbers; zeros are an empty one.
pub struct NumberStack {
    head: AtomicU64,
}

impl NumberStack {
    /// An empty stack.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        NumberStack { head: AtomicU64::new(0) }
    }

    /// An empty stack. Loom's types have no const constructors.
    #[cfg(loom)]
    pub fn new() -> Self {
        NumberStack { head: AtomicU64::new(0) }
    }

    /// Takes the number that was pushed last. `link` reads the link of a number, which may be another's at that moment, by an atomic load.
    #[inline]
    pub fn pop(&self, link: impl Fn(NonZeroU32) -> u32) -> Option<NonZeroU32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let number = NonZeroU32::new(head as u32)?;
            match self.exchange(head, link(number)) {
                Ok(()) => return Some(number),
                Err(now) => head = now,
            }
        }
    }

    /// Pushes a number of the caller's. `set_link` writes its link, by an atomic store.
    #[inline]
    pub fn push(&self, number: NonZeroU32, set_link: impl Fn(u32)) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            set_link(head as u32);
            match self.exchange(head, number.get()) {
                Ok(()) => return,
                Err(now) => head = now,
            }
        }
    }

    fn exchange(&self, head: u64, number: u32) -> Result<(), u64> {
        let new = (head & !(CHANGE - 1)).wrapping_add(CHANGE) | u64::from(number);
        self.head.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire).map(|_| ())
    }
}

impl Default for NumberStack {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::threads::sync::AtomicU32;

    #[test]
    fn the_last_comes_first() {
        let links: [AtomicU32; 4] = core::array::from_fn(|_| AtomicU32::new(0));
        let stack = NumberStack::new();
        let pop = || stack.pop(|n| links[n.get() as usize].load(Ordering::Relaxed)).map(NonZeroU32::get);
        let push = |n: u32| {
            stack.push(NonZeroU32::new(n).unwrap(), |next| links[n as usize].store(next, Ordering::Relaxed));
        };
        assert_eq!(pop(), None);
        (1..=3).for_each(push);
        assert_eq!([pop(), pop()], [Some(3), Some(2)]);
        push(3);
        assert_eq!([pop(), pop(), pop()], [Some(3), Some(1), None]);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::threads::sync::{AtomicU32, UnsafeCell};
    use loom::{sync::Arc, thread};

    /// What numbers stand for. Loom reports two threads that have one at a time, and one that does not see what the last has written.
    struct Places {
        stack: NumberStack,
        links: Vec<AtomicU32>,
        values: Vec<UnsafeCell<u32>>,
    }

    // SAFETY: a value is used by the thread that has taken its number.
    unsafe impl Sync for Places {}
    // SAFETY: as above.
    unsafe impl Send for Places {}

    impl Places {
        fn with(free: u32) -> Arc<Self> {
            let places = Places {
                stack: NumberStack::new(),
                links: (0..=free).map(|_| AtomicU32::new(0)).collect(),
                values: (0..=free).map(|_| UnsafeCell::new(0)).collect(),
            };
            (1..=free).rev().for_each(|number| places.push(NonZeroU32::new(number).unwrap()));
            Arc::new(places)
        }

        fn pop(&self) -> Option<NonZeroU32> {
            let number = self.stack.pop(|n| self.links[n.get() as usize].load(Ordering::Relaxed))?;
            // SAFETY: it is this thread's.
            self.values[number.get() as usize].with_mut(|value| unsafe { *value += 1 });
            Some(number)
        }

        fn push(&self, number: NonZeroU32) {
            let at = number.get() as usize;
            // SAFETY: it is this thread's.
            self.values[at].with_mut(|value| unsafe { *value += 1 });
            self.stack.push(number, |next| self.links[at].store(next, Ordering::Relaxed));
        }
    }

    /// Two threads want the only number.
    #[test]
    fn a_number_is_one_threads() {
        loom::model(|| {
            let places = Places::with(1);
            let theirs = places.clone();
            let other = thread::spawn(move || theirs.pop().map(|number| theirs.push(number)).is_some());
            let mine = places.pop().map(|number| places.push(number)).is_some();
            let other = other.join().unwrap();
            assert!(mine || other);
            assert_eq!([places.pop().is_some(), places.pop().is_some()], [true, false]);
        });
    }

    /// The head is the same number again while a taker has read the link of its first time, and the number behind it is taken.
    #[test]
    fn a_head_that_comes_again_is_not_mistaken() {
        loom::model(|| {
            let places = Places::with(2);
            let theirs = places.clone();
            let other = thread::spawn(move || {
                let (first, second) = (theirs.pop(), theirs.pop());
                first.into_iter().for_each(|number| theirs.push(number));
                second
            });
            let mine = places.pop();
            let second = other.join().unwrap();
            let left = core::iter::from_fn(|| places.pop());
            let mut all: Vec<u32> = mine.into_iter().chain(second).chain(left).map(NonZeroU32::get).collect();
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
        });
    }
}
