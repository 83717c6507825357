//! The mode of a marking, composed of three parts: who marks ([`Team`]), what is marked ([`Scope`]) and until when
//! ([`Limit`]). The marking loop is compiled for each composition in use. A part that a mode does not need is a
//! constant, so a full marking by one thread pays for no other mode.
//!
//! | file | the parts |
//! |---|---|
//! | `team` | one thread ([`Alone`]), several that share work ([`Together`]), or one beside the program ([`Concurrent`]) |
//! | `scope` | the whole heap, the young objects, the snapshot of a concurrent marking, or what finalisers revive |
//! | `limit` | no limit, a deadline, or until somebody asks for the heap |
//!
//! Invariant: all markers of a marking have the same mode.

mod limit;
mod scope;
mod team;

use super::bits::MarkBits;
pub(super) use limit::{Asked, Deadline, Limit, Unlimited, UntilAsked, turns_away};
pub(super) use scope::{Full, OwnEdges, Revival, Scope, Snapshot, Young, YoungInSnapshot};
pub(super) use team::{Alone, Concurrent, NextWork, Team, Together};

/// A composition of the three parts.
pub(super) struct Composed<T, S, L> {
    pub(super) team: T,
    pub(super) scope: S,
    pub(super) limit: L,
}

/// The mode of a marker.
pub(super) trait Mode {
    type Bits: MarkBits;
    type Team: Team<Bits = Self::Bits>;
    type Scope: Scope;
    type Limit: Limit;

    fn team(&self) -> &Self::Team;
    fn team_mut(&mut self) -> &mut Self::Team;
    fn scope(&self) -> &Self::Scope;
    fn limit(&self) -> &Self::Limit;
    fn limit_mut(&mut self) -> &mut Self::Limit;
}

impl<T: Team, S: Scope, L: Limit> Mode for Composed<T, S, L> {
    type Bits = T::Bits;
    type Team = T;
    type Scope = S;
    type Limit = L;

    #[inline(always)]
    fn team(&self) -> &T {
        &self.team
    }

    #[inline(always)]
    fn team_mut(&mut self) -> &mut T {
        &mut self.team
    }

    #[inline(always)]
    fn scope(&self) -> &S {
        &self.scope
    }

    #[inline(always)]
    fn limit(&self) -> &L {
        &self.limit
    }

    #[inline(always)]
    fn limit_mut(&mut self) -> &mut L {
        &mut self.limit
    }
}
