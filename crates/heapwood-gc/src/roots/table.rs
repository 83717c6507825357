//! Registered roots: slots that hold an object's address or null, and ranges of words that may be anything.

use heapwood_os::region::Zeroed;
use heapwood_os::{KernelRef, MappedArray, OsError};

const CAPACITY: usize = 1 << 16;

/// Names a registered root until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootToken(u64);

impl RootToken {
    /// The token as a number, for clients that cannot keep the type. Never 0.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The token that `to_bits` gave this number for.
    pub fn from_bits(bits: u64) -> Self {
        RootToken(bits)
    }
}

/// What kind of words a root covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RootKind {
    /// Each word is the address of an object, or null, or outside the heap.
    Slots = 1,
    /// Any word may or may not be a pointer.
    Range = 2,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    start: usize,
    words: usize,
    /// 0 free, otherwise a [`RootKind`].
    kind: u32,
    /// Counts the uses of this entry, so that an old token is recognised.
    generation: u32,
}

// SAFETY: all-zero bytes are a free entry; it holds plain numbers.
unsafe impl Zeroed for Entry {}

/// The registered roots of one heap.
pub struct Roots {
    entries: MappedArray<Entry>,
    used: usize,
}

impl Roots {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        let entries = MappedArray::new(kernel, CAPACITY)?;
        entries.commit(0..CAPACITY)?;
        Ok(Roots { entries, used: 0 })
    }

    fn entry(&mut self, index: usize) -> &mut Entry {
        // SAFETY: all entries are committed, and the borrow is exclusive.
        unsafe { &mut *self.entries.at(index) }
    }

    /// Registers `words` words from `start`; `None` if the table is full.
    pub(crate) fn add(&mut self, kind: RootKind, start: usize, words: usize) -> Option<RootToken> {
        let used = self.used;
        let index = (0..used).find(|&i| self.entry(i).kind == 0).unwrap_or(used);
        if index >= CAPACITY {
            return None;
        }
        self.used = used.max(index + 1);
        let e = self.entry(index);
        let generation = e.generation.wrapping_add(1).max(1);
        *e = Entry { start, words, kind: kind as u32, generation };
        Some(RootToken((generation as u64) << 32 | index as u64))
    }

    /// Removes a root; false if the token names none.
    pub(crate) fn remove(&mut self, token: RootToken) -> bool {
        let index = (token.0 & 0xffff_ffff) as usize;
        if index >= self.used {
            return false;
        }
        let e = self.entry(index);
        let known = e.kind != 0 && e.generation as u64 == token.0 >> 32;
        if known {
            e.kind = 0;
        }
        known
    }

    pub(crate) fn for_each(&self, mut f: impl FnMut(RootKind, usize, usize)) {
        for index in 0..self.used {
            // SAFETY: all entries are committed; shared access only reads.
            let e = unsafe { &*self.entries.at(index) };
            match e.kind {
                1 => f(RootKind::Slots, e.start, e.words),
                2 => f(RootKind::Range, e.start, e.words),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_token_removes_nothing() {
        let mut roots = Roots::new(&heapwood_os::SYSTEM).unwrap();
        let a = roots.add(RootKind::Slots, 8, 1).unwrap();
        assert!(roots.remove(a));
        assert!(!roots.remove(a));
        let b = roots.add(RootKind::Range, 16, 2).unwrap();
        assert_ne!(a, b);
        assert!(!roots.remove(a), "the entry has a new owner");
        let mut seen = Vec::new();
        roots.for_each(|k, s, n| seen.push((k, s, n)));
        assert_eq!(seen, [(RootKind::Range, 16, 2)]);
        assert!(roots.remove(b) && !roots.remove(RootToken::from_bits(u64::MAX)));
    }
}
