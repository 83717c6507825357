//! Tags: bits that a runtime sets in the words of its slots to say that they are pointers. A word `w` is a pointer under a tag
//! if `w & mask == pattern`, and leads to `w & !mask`: so low tags, high ones and NaN boxes are said. The form is that of
//! tagged areas in the Memory Pool System (`mps_scan_area_tagged`). Invariants: a tag leaves the bits of an address alone,
//! and no word has two of a heap's tags.

pub use crate::error::TagError;
pub use crate::limits::MAX_TAGS;

/// The bits that tell objects apart: those of a user address, without the ones below the alignment of objects.
const ADDRESS: u64 = (1 << 47) - 16;

/// A tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    mask: u64,
    pattern: u64,
}

impl Tag {
    /// The tag of words whose bits under `mask` are those of `pattern`.
    ///
    /// # Errors
    /// The mask is 0, or has bits of addresses; or the pattern has bits outside the mask.
    pub const fn new(mask: u64, pattern: u64) -> Result<Self, TagError> {
        if mask == 0 {
            Err(TagError::NoMask)
        } else if mask & ADDRESS != 0 {
            Err(TagError::AddressBits { mask })
        } else if pattern & !mask != 0 {
            Err(TagError::Outside { mask, pattern })
        } else {
            Ok(Tag { mask, pattern })
        }
    }

    /// The bits that it looks at.
    pub const fn mask(self) -> u64 {
        self.mask
    }

    /// What they are.
    pub const fn pattern(self) -> u64 {
        self.pattern
    }

    /// Whether a word can have both tags.
    const fn overlaps(self, other: Tag) -> bool {
        (self.pattern ^ other.pattern) & self.mask & other.mask == 0
    }

    /// The word that leads to an object at an address under this tag.
    pub const fn put(self, address: usize) -> usize {
        address | self.pattern as usize
    }
}

/// The tags of a heap. Unused places have a tag that no word has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags {
    masks: [usize; MAX_TAGS],
    patterns: [usize; MAX_TAGS],
    count: usize,
}

impl Tags {
    /// No tags.
    pub const NONE: Tags = Tags { masks: [0; MAX_TAGS], patterns: [1; MAX_TAGS], count: 0 };

    /// These and one more.
    ///
    /// # Errors
    /// There are [`MAX_TAGS`], or a word can have two of them.
    pub const fn with(mut self, tag: Tag) -> Result<Tags, TagError> {
        let mut i = 0;
        while i < self.count {
            let other = Tag { mask: self.masks[i] as u64, pattern: self.patterns[i] as u64 };
            if tag.overlaps(other) {
                return Err(TagError::Overlap {
                    tag: (tag.mask, tag.pattern),
                    other: (other.mask, other.pattern),
                });
            }
            i += 1;
        }
        if self.count == MAX_TAGS {
            return Err(TagError::Many);
        }
        self.masks[self.count] = tag.mask as usize;
        self.patterns[self.count] = tag.pattern as usize;
        self.count += 1;
        Ok(self)
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Where a word leads, and whether it has one of the tags: the address without the tag, or the word as it is. Without
    /// a branch, for marking loops.
    #[inline(always)]
    pub fn address(&self, word: usize) -> (usize, bool) {
        let (mut address, mut is_tagged) = (word, false);
        for (mask, pattern) in self.masks.iter().zip(&self.patterns) {
            let has = word & mask == *pattern;
            address = if has { word & !mask } else { address };
            is_tagged |= has;
        }
        (address, is_tagged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: u64 = 0xffff << 48;

    #[test]
    fn a_tag_that_hides_the_address_is_refused() {
        assert_eq!(Tag::new(0, 0), Err(TagError::NoMask));
        for bit in 4..47 {
            assert_eq!(Tag::new(1 << bit, 0), Err(TagError::AddressBits { mask: 1 << bit }));
        }
        for bit in (0..4).chain(47..64) {
            assert_eq!(Tag::new(1 << bit, 1 << bit).map(Tag::mask), Ok(1 << bit));
        }
        assert_eq!(Tag::new(7, 8), Err(TagError::Outside { mask: 7, pattern: 8 }));
    }

    #[test]
    fn a_word_has_one_tag_at_most() {
        let tag = |mask, pattern| Tag::new(mask, pattern).unwrap();
        let tags = Tags::NONE.with(tag(7, 1)).unwrap();
        for overlapping in [tag(7, 1), tag(1, 1), tag(3, 1), tag(HIGH, HIGH)] {
            assert_eq!(
                tags.with(overlapping),
                Err(TagError::Overlap { tag: (overlapping.mask, overlapping.pattern), other: (7, 1) }),
                "{overlapping:?}"
            );
        }
        let tags = [2, 3, 4].into_iter().try_fold(tags, |tags, n| tags.with(tag(7, n))).unwrap();
        assert_eq!((tags.count(), tags.with(tag(7, 5))), (4, Err(TagError::Many)));
    }

    #[test]
    fn a_word_leads_where_its_tag_says() {
        let tags = Tags::NONE.with(Tag::new(HIGH, 0xfffc << 48).unwrap()).unwrap();
        let tags = tags.with(Tag::new(HIGH | 15, 5).unwrap()).unwrap();
        let at = 0x7fff_1234_5670;
        assert_eq!(tags.address(at | 0xfffc << 48), (at, true));
        assert_eq!(tags.address(at | 5), (at, true));
        for plain in [at, 0, at | 6, at | 0xfffd << 48, f64::to_bits(1.5) as usize, usize::MAX, 1] {
            assert_eq!(tags.address(plain), (plain, false));
        }
        for word in [0, 1, at, usize::MAX] {
            assert_eq!(Tags::NONE.address(word), (word, false));
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        for (error, says) in [
            (Tag::new(0, 0).unwrap_err(), "always counts"),
            (Tag::new(1 << 20, 0).unwrap_err(), "bits 4 to 46"),
            (Tag::new(1, 2).unwrap_err(), "0x2 has bits outside the mask, 0x1"),
            (TagError::Many, "4 tags"),
            (TagError::Late, "before the first type"),
        ] {
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
