//! The program's hook is called in the pause (`collect/hook.rs`). Invariant: during the call its thread is refused in all heaps, and
//! inline allocation of this one takes the slow path, where it is refused, too.

use super::super::collector::Collector;
use super::super::hook::{CollectionHook, CollectionKind, CollectionMoment};
use super::super::plan::PauseKind;
use crate::pause::Pause;
use crate::process::record;
use heapwood_heap::Owner;

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
        let mine = || pause.members().iter().find(|member| member.is_mine()).map(|member| member.owned());
        mine().inspect(Owner::close_buffers);
        // SAFETY: whoever set it lets any thread call it with this, in a stop.
        record().in_hook(|| unsafe { function(argument, moment, CollectionKind::of(kind)) });
        mine().inspect(Owner::open_buffers);
    }
}
