//! The summary of a region: the free pages at its start, in its longest run, and at its end, in one word. Each count
//! has 21 bits. A count of 2^21 means that all three are 2^21, and is stored as the top bit alone, so a region without
//! free pages is zero. Packing and merging are those of the Go page allocator proposal. Invariant: no count exceeds
//! 2^21, and the longest run is at least as long as the other two.

use core::fmt;

/// The logarithm of the largest count.
pub const LOG_MOST: u32 = 21;

const FIELD: u64 = (1 << LOG_MOST) - 1;
const MAX_AT: u32 = LOG_MOST;
const END_AT: u32 = 2 * LOG_MOST;
const TOP: u64 = 1 << 63;

const _: () = assert!(3 * LOG_MOST == 63, "three counts and the top bit fill the word");

/// The free runs of a region, in pages. Regions are ordered by address.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Summary(u64);

impl Summary {
    /// A region without free pages.
    pub const FULL: Summary = Summary(0);

    /// A region of `2^log_pages` pages, all free.
    #[inline]
    pub const fn all_free(log_pages: u32) -> Self {
        let pages = 1 << log_pages;
        Self::new(pages, pages, pages)
    }

    /// Packs the free pages at the start, in the longest run, and at the end. Each is at most 2^21; all three are
    /// equal if one is 2^21.
    #[inline]
    pub const fn new(start: u64, max: u64, end: u64) -> Self {
        debug_assert!(start <= max && end <= max && max <= 1 << LOG_MOST);
        if max == 1 << LOG_MOST {
            return Summary(TOP);
        }
        Summary(start | max << MAX_AT | end << END_AT)
    }

    /// A region whose only free pages are its last ones, and not all.
    #[inline]
    pub(crate) const fn tail(pages: usize) -> Self {
        Self::new(0, pages as u64, pages as u64)
    }

    /// The packed word.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The number of free pages at the start.
    #[inline]
    pub const fn start(self) -> u64 {
        self.0 & FIELD | self.whole()
    }

    /// The number of pages in the longest free run.
    #[inline]
    pub const fn max(self) -> u64 {
        self.0 >> MAX_AT & FIELD | self.whole()
    }

    /// The number of free pages at the end.
    #[inline]
    pub const fn end(self) -> u64 {
        self.0 >> END_AT & FIELD | self.whole()
    }

    /// 2^21 if the top bit is set: the fields are zero then.
    #[inline]
    const fn whole(self) -> u64 {
        self.0 >> 63 << LOG_MOST
    }

    /// Whether two summaries have the same start and end.
    #[inline]
    pub(crate) const fn same_ends(self, other: Summary) -> bool {
        (self.0 ^ other.0) & !(FIELD << MAX_AT) == 0
    }
}

impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.start(), self.max(), self.end())
    }
}

/// The summary of adjacent regions of `2^log_pages` pages each, fewer than 2^21.
#[inline]
pub(crate) fn merge(parts: &[Summary], log_pages: u32) -> Summary {
    debug_assert!(log_pages < LOG_MOST, "so the top bit of a part is clear");
    let pages = 1u64 << log_pages;
    // `run` is the free run that ends at the next part; `start` is known once a part is not all free.
    let (mut start, mut max, mut run) = (u64::MAX, 0, 0);
    for &Summary(part) in parts {
        let joined = run + (part & FIELD);
        if part & FIELD != pages {
            start = if start == u64::MAX { joined } else { start };
            run = part >> END_AT;
        } else {
            run = joined;
        }
        max = max.max(part >> MAX_AT & FIELD).max(joined);
    }
    max = max.max(run);
    Summary::new(start.min(max), max, run)
}

/// The new summary of a parent after its child `index` has got more (`FREED`) or fewer free pages. It reads only the
/// child's neighbours, unless a longest run shrank and another has to be found.
#[inline]
pub(crate) fn revise<const FREED: bool>(
    parent: Summary,
    children: &[Summary],
    log_pages: u32,
    index: usize,
    old: Summary,
    new: Summary,
) -> Summary {
    let pages = 1u64 << log_pages;
    let below = (index as u64) << log_pages;
    let above = ((children.len() - 1 - index) as u64) << log_pages;
    let (from_start, to_end) = (parent.start() >= below, parent.end() >= above);
    // The free runs adjacent to the child.
    let (mut left, mut right) = (0, 0);
    if from_start {
        left = below;
    } else {
        for child in children[..index].iter().rev() {
            left += child.end();
            if child.start() < pages {
                break;
            }
        }
    }
    if to_end {
        right = above;
    } else {
        for child in &children[index + 1..] {
            right += child.start();
            if child.start() < pages {
                break;
            }
        }
    }
    let around = |child: Summary| {
        let all = child.start() == pages;
        let low = left + child.start() + if all { right } else { 0 };
        let high = right + child.end() + if all { left } else { 0 };
        (low, high, child.max().max(low).max(high))
    };
    let (low, high, longest) = around(new);
    let max = if FREED {
        parent.max().max(longest)
    } else if around(old).2 < parent.max() || longest == parent.max() {
        parent.max()
    } else {
        longest_of(children, log_pages, longest)
    };
    let start = if from_start { low } else { parent.start() };
    let end = if to_end { high } else { parent.end() };
    Summary::new(start, max, end)
}

/// The longest run among adjacent regions, known to be at least `least`.
#[inline]
fn longest_of(parts: &[Summary], log_pages: u32, least: u64) -> u64 {
    let pages = 1u64 << log_pages;
    let (mut max, mut run) = (least, 0);
    for &Summary(part) in parts {
        // Most regions around a shrinking run are full.
        if part == 0 {
            run = 0;
            continue;
        }
        let joined = run + (part & FIELD);
        run = if part & FIELD == pages { joined } else { part >> END_AT };
        max = max.max(part >> MAX_AT & FIELD).max(joined);
    }
    max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_equals_writing_the_pages_out() {
        // Every sequence of three regions of four pages, as bits (1 = free), against a scan of the twelve pages.
        let scan = |bits: u32, n: u32| {
            let free = |i: &u32| bits >> i & 1 == 1;
            let start = (0..n).take_while(free).count() as u64;
            let end = (0..n).rev().take_while(free).count() as u64;
            let (mut max, mut run) = (0, 0);
            for i in 0..n {
                run = if free(&i) { run + 1 } else { 0 };
                max = max.max(run);
            }
            Summary::new(start, max, end)
        };
        for bits in 0u32..1 << 12 {
            let parts = [scan(bits & 15, 4), scan(bits >> 4 & 15, 4), scan(bits >> 8, 4)];
            let whole = scan(bits, 12);
            assert_eq!(merge(&parts, 2), whole, "{bits:b}");
            // The same from the previous state, for every page that differs.
            for (child, other) in (0..3).flat_map(|c| (0..16).map(move |o| (c, o))) {
                let (now, before) =
                    (bits >> (4 * child) & 15, bits & !(15 << (4 * child)) | other << (4 * child));
                let (parent, old, i) = (scan(before, 12), scan(other, 4), child as usize);
                if other & now == other {
                    let revised = revise::<true>(parent, &parts, 2, i, old, parts[i]);
                    assert_eq!(revised, whole, "{before:b} {bits:b}");
                }
                if other & now == now {
                    let revised = revise::<false>(parent, &parts, 2, i, old, parts[i]);
                    assert_eq!(revised, whole, "{before:b} {bits:b}");
                }
            }
        }
    }

    #[test]
    fn a_merge_reaches_the_largest_count() {
        assert_eq!(merge(&[Summary::all_free(18); 8], 18), Summary::all_free(21));
        let mut parts = [Summary::all_free(18); 8];
        parts[7] = Summary::new((1 << 18) - 1, (1 << 18) - 1, 0);
        assert_eq!(merge(&parts, 18), Summary::new(FIELD, FIELD, 0));
    }
}
