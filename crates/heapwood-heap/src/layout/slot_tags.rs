//! The tags of a heap's slots. Invariant: they are complete before the first object that has slots, so whoever reads a slot
//! knows all of them.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heapwood_layout::{MAX_TAGS, Tag, TagError, Tags};

/// The tags of a heap, none at first.
#[derive(Default)]
pub struct SlotTags {
    tags: [[AtomicU64; 2]; MAX_TAGS],
    count: AtomicU32,
}

impl SlotTags {
    /// Adds one. The caller holds a lock.
    pub(crate) fn add(&self, tag: Tag) -> Result<(), TagError> {
        let all = self.load();
        all.with(tag)?;
        let [mask, pattern] = &self.tags[all.count()];
        mask.store(tag.mask(), Ordering::Relaxed);
        pattern.store(tag.pattern(), Ordering::Relaxed);
        self.count.store(all.count() as u32 + 1, Ordering::Release);
        Ok(())
    }

    /// Whether there are any.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    /// All of them.
    pub fn load(&self) -> Tags {
        let known = self.tags.iter().take(self.count.load(Ordering::Acquire) as usize);
        known.fold(Tags::NONE, |tags, [mask, pattern]| {
            let tag = Tag::new(mask.load(Ordering::Relaxed), pattern.load(Ordering::Relaxed));
            tag.and_then(|tag| tags.with(tag)).expect("checked when it was added")
        })
    }

    /// Where a word of a slot leads: the address without its tag, or the word as it is; and whether it has a tag.
    #[inline]
    pub fn address(&self, word: usize) -> (usize, bool) {
        let known = self.tags.iter().take(self.count.load(Ordering::Relaxed) as usize);
        for [mask, pattern] in known {
            let mask = mask.load(Ordering::Relaxed) as usize;
            if word & mask == pattern.load(Ordering::Relaxed) as usize {
                return (word & !mask, true);
            }
        }
        (word, false)
    }
}
