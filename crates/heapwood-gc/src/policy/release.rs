//! Release: which memory of a heap goes back to the kernel. A heap keeps what it needs until its next collection, and a tenth.
//! One that is half as large again as its goal, as after a spike, has become far larger than it needs: after a second memory
//! that was in use a moment ago goes, too. A heap without a thread of its own gives a part back at each collection. Invariant: what a heap needs until its next collection stays.

use super::tunables::release::*;
use core::time::Duration;

/// What goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    Nothing,
    /// Memory that was not in use for a while; if the heap is far larger than it needs, all after this time.
    Gentle {
        all_after: Option<Duration>,
    },
    All,
}

/// How long a heap has been far larger than it needs.
#[derive(Debug, Default)]
pub(crate) struct ReleasePolicy {
    far_since: Option<Duration>,
}

impl ReleasePolicy {
    /// Whether a heap keeps all of its memory, in bytes, with this goal.
    pub(crate) fn keeps(backed: usize, goal: usize) -> bool {
        Self::too_much(backed, goal) == 0
    }

    /// What it has more than it keeps.
    fn too_much(backed: usize, goal: usize) -> usize {
        backed.saturating_sub(goal.saturating_add(goal / KEPT_PART))
    }

    /// The bytes that a collection gives back of a heap without a thread for it.
    pub(crate) fn at_collection(backed: usize, goal: usize) -> usize {
        let too_much = Self::too_much(backed, goal);
        (too_much / COLLECTION_PART).clamp(LEAST_AT_COLLECTION, MOST_AT_COLLECTION).min(too_much)
    }

    /// What goes back of a heap with so much memory, at the time that `now` tells.
    pub(crate) fn decide(&mut self, backed: usize, goal: usize, now: impl FnOnce() -> Duration) -> Release {
        if Self::keeps(backed, goal) {
            self.far_since = None;
            return Release::Nothing;
        }
        if self.far_since.is_none() && backed <= goal.saturating_add(goal / FAR_PART) {
            return Release::Gentle { all_after: None };
        }
        let now = now();
        let far = now.saturating_sub(*self.far_since.get_or_insert(now));
        match LONG_FAR.checked_sub(far) {
            None | Some(Duration::ZERO) => Release::All,
            all_after => Release::Gentle { all_after },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_give_back_what_is_too_much() {
        const MIB: usize = 1 << 20;
        let mut backed = 700 * MIB;
        let parts: Vec<_> = core::iter::from_fn(|| {
            let part = ReleasePolicy::at_collection(backed, 50 * MIB);
            backed -= part;
            (part > 0).then_some(part / MIB)
        })
        .collect();
        assert_eq!(parts, [161, 120, 90, 68, 51, 38, 28, 21, 16, 16, 16, 16, 0]);
        assert_eq!(backed, 55 * MIB);
        assert_eq!(ReleasePolicy::at_collection(usize::MAX, 0), 256 * MIB);
    }

    #[test]
    fn what_is_far_too_much_goes_after_a_second_until_nothing_is_left_of_it() {
        const MIB: usize = 1 << 20;
        let ms = Duration::from_millis;
        let mut policy = ReleasePolicy::default();
        let mut at = |backed, now| policy.decide(backed * MIB, 100 * MIB, || ms(now));
        assert_eq!(at(110, 0), Release::Nothing);
        assert_eq!(at(140, 0), Release::Gentle { all_after: None });
        assert_eq!(at(151, 500), Release::Gentle { all_after: Some(ms(1000)) });
        assert_eq!(at(140, 1200), Release::Gentle { all_after: Some(ms(300)) });
        assert_eq!(at(120, 1500), Release::All);
        assert_eq!(at(110, 1600), Release::Nothing);
        assert_eq!(at(140, 9000), Release::Gentle { all_after: None }, "it begins anew");
    }
}
