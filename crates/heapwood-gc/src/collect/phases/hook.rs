//! The program's hook is called in the pause (`collect/hook.rs`), and a client's part is at its beginning and end
//! (`roots/client.rs`). Invariant: what has begun ends, on the same thread.

use super::super::collector::Collector;
use super::super::hook::{CollectionHook, CollectionKind, CollectionMoment};
use super::super::plan::PauseKind;
use crate::pause::Pause;
use crate::process::record;
use crate::roots::CollectionPhases;
use crate::state::State;

impl Collector {
    /// Calls a hook of a pause, if there is one.
    pub(in crate::collect) fn call_hook(
        &self,
        hook: Option<CollectionHook>,
        pause: &Pause<'_>,
        moment: CollectionMoment,
        kind: PauseKind,
    ) {
        let Some(CollectionHook { function, argument }) = hook else { return };
        // SAFETY: whoever set it lets any thread call it with this, in a stop.
        record()
            .call_program(pause.state(), || unsafe { function(argument, moment, CollectionKind::of(kind)) });
    }
}

/// A client's part in one collection.
#[derive(Clone, Copy)]
pub(in crate::collect) struct ClientPart<'c> {
    state: &'c State,
    phases: Option<&'static dyn CollectionPhases>,
}

impl<'c> ClientPart<'c> {
    /// The part of this client, if there is one.
    pub(in crate::collect) fn of(state: &'c State, phases: Option<&'static dyn CollectionPhases>) -> Self {
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

    pub(in crate::collect) fn before(self) {
        self.call(|phases| phases.before());
    }

    pub(super) fn lock(self) {
        self.call(|phases| phases.lock());
    }

    pub(in crate::collect) fn unlock(self) {
        self.call(|phases| phases.unlock());
    }

    pub(in crate::collect) fn after(self) {
        self.call(|phases| phases.after());
    }
}
