//! A client's part in a collection (`roots/client.rs`): functions of libgc's kind, which are called before and after it, and a lock that
//! the client holds while the world is stopped. Invariant: what has begun ends, on the same thread.

use crate::process::record;
use crate::roots::CollectionPhases;
use crate::state::State;

/// A client's part in one collection.
#[derive(Clone, Copy)]
pub(super) struct ClientPart<'c> {
    state: &'c State,
    phases: Option<&'static dyn CollectionPhases>,
}

impl<'c> ClientPart<'c> {
    /// The part of this client, if there is one.
    pub(super) fn of(state: &'c State, phases: Option<&'static dyn CollectionPhases>) -> Self {
        ClientPart { state, phases }
    }

    /// What the client knows of.
    pub(super) fn phases(self) -> Option<&'static dyn CollectionPhases> {
        self.phases
    }

    fn call(self, f: impl FnOnce(&dyn CollectionPhases)) {
        if let Some(phases) = self.phases {
            record().call_program(self.state, || f(phases));
        }
    }

    pub(super) fn before(self) {
        self.call(|phases| phases.before());
    }

    pub(super) fn lock(self) {
        self.call(|phases| phases.lock());
    }

    pub(super) fn unlock(self) {
        self.call(|phases| phases.unlock());
    }

    pub(super) fn after(self) {
        self.call(|phases| phases.after());
    }
}
