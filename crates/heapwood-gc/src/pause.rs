//! A pause: a heap whose threads are stopped, as every phase of a collection sees it. Marking, verify mode and the snapshots
//! of pages take this one argument in place of its parts.
//! Invariant: as long as it exists no mutator runs, none attaches or detaches, and no root is removed.

use crate::inject::Fault;
use crate::mutator::Mutator;
use crate::mutator::registry::Members;
use crate::process::record;
use crate::roots::{ClientRoots, CollectionPhases, LockedRoots, ScanRoots, Source};
use crate::state::State;
use crate::state::fork_gate::NoFork;
use core::cell::Cell;
use core::ops::Range;
use heapwood_heap::{Collection, Owner, Space, Stopped};
use heapwood_layout::WORD;

/// A stopped heap.
pub(crate) struct Pause<'h> {
    state: &'h State,
    /// Dropped first: sweeping may go on before the mutators do.
    world: Stopped<'h>,
    roots: LockedRoots<'h>,
    members: Members<'h, Mutator>,
    /// `None` while the process may fork.
    no_fork: Option<NoFork<'h>>,
    scans_stacks: bool,
    /// Whose roots are named, too.
    client: Option<&'h dyn CollectionPhases>,
    /// Bytes of stacks and frames that were last named to a marker.
    stack_bytes: Cell<usize>,
    /// Bytes of roots that were named to a marker, and of objects that it marked.
    scanned_bytes: Cell<usize>,
}

impl<'h> Pause<'h> {
    /// Of a heap in whose stop these are held; stacks are roots if that `scans_stacks`.
    ///
    /// # Safety
    /// 1. All members have stopped, and are resumed by [`Pause::resume`] alone.
    /// 2. One thread collects.
    pub(crate) unsafe fn new(
        state: &'h State,
        roots: LockedRoots<'h>,
        members: Members<'h, Mutator>,
        no_fork: NoFork<'h>,
        scans_stacks: bool,
    ) -> Self {
        // SAFETY: contracts 1 and 2; none attaches while the registry's lock is held.
        let world = unsafe { state.space().stopped() };
        Pause {
            state,
            world,
            roots,
            members,
            no_fork: Some(no_fork),
            scans_stacks,
            client: None,
            stack_bytes: Cell::new(0),
            scanned_bytes: Cell::new(0),
        }
    }

    /// The same with roots of this client's.
    pub(crate) fn with_client(self, client: Option<&'h dyn CollectionPhases>) -> Self {
        Pause { client, ..self }
    }

    pub(crate) fn state(&self) -> &'h State {
        self.state
    }

    pub(crate) fn space(&self) -> &'h Space {
        self.state.space()
    }

    pub(crate) fn world(&self) -> &Stopped<'h> {
        &self.world
    }

    /// The attached mutators.
    pub(crate) fn members(&self) -> &Members<'h, Mutator> {
        &self.members
    }

    /// Their parts in the space.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Owner<'_>> + Clone {
        self.members.owners()
    }

    /// In verify mode: ends the process if some roots can be none.
    pub(crate) fn check_roots(&self) {
        self.roots.check(self.members.iter().map(|m| m.roots(true)));
    }

    /// Calls `f` with each run of words that are roots of a collection, by its addresses.
    pub(crate) fn for_each_root(&self, kind: Collection, f: impl FnMut(Source, Range<usize>)) {
        self.for_each_root_of(kind, self.scans_stacks, f);
    }

    fn for_each_root_of(&self, kind: Collection, stacks: bool, mut f: impl FnMut(Source, Range<usize>)) {
        self.roots.for_each(kind, self.members.iter().map(|m| m.roots(stacks)), &mut f);
        if !self.state.faults().fails(Fault::QueueNoRoot) {
            let is_young = kind == Collection::Young;
            self.state.finalizers().for_each_root(is_young, |at| f(Source::Queue, at..at + WORD));
        }
        self.world.for_each_held(kind, |objects| {
            // Copies of the addresses, which are read before `f` returns: they are short.
            let start = objects.as_ptr() as usize;
            f(Source::Held, start..start + size_of_val(objects));
        });
    }

    /// The same of a full collection, without stacks.
    pub(crate) fn for_each_root_but_stacks(&self, f: impl FnMut(Source, Range<usize>)) {
        self.for_each_root_of(Collection::Full, false, f);
    }

    /// Names the roots of a collection to a marker.
    pub(crate) fn scan_roots(&self, kind: Collection, marker: &mut dyn ScanRoots) {
        let mut stack_bytes = 0;
        self.for_each_root(kind, |source, words| {
            self.add_scanned(words.len());
            if matches!(source, Source::Stack | Source::Frame) {
                stack_bytes += words.len();
            }
            match source {
                Source::Arena => marker.arena(words),
                Source::Stack | Source::Cell => marker.stack(words),
                _ if source.is_precise() => marker.slots(words),
                _ => marker.words(words),
            }
        });
        self.stack_bytes.set(stack_bytes);
        if let Some(client) = self.client {
            let mut roots = ClientRoots::new(marker);
            record().call_program(self.state, || client.roots(&mut roots));
            self.add_scanned(roots.bytes());
        }
    }

    /// Bytes of stacks and frames that the last scan of the roots looked at.
    pub(crate) fn stack_bytes(&self) -> usize {
        self.stack_bytes.get()
    }

    /// Adds bytes of objects that this pause has marked.
    pub(crate) fn add_scanned(&self, bytes: usize) {
        self.scanned_bytes.set(self.scanned_bytes.get() + bytes);
    }

    /// The words that this pause has looked at: of roots, of objects that it has marked, of spans and of tables.
    pub(crate) fn words(&self) -> usize {
        self.world.visited() + self.scanned_bytes.get() / WORD
    }

    /// Notes frames that need not be looked at again as long as they do not change: every object is old now.
    pub(crate) fn note_frames(&self) {
        self.members.iter().for_each(|m| m.frames().note());
    }

    /// Names the remembered set to a marker, until it is late.
    pub(crate) fn scan_remembered(&self, marker: &mut dyn ScanRoots) {
        self.state.remembered().for_each(|entry| match entry {
            Some(entry) => {
                marker.remembered(entry);
                true
            }
            None => !marker.is_late(),
        });
    }

    /// Runs `f`, during which the process may fork: what `f` changes a forked child can forget.
    pub(crate) fn while_forks_may_come<R>(&mut self, f: impl FnOnce(&Self) -> R) -> R {
        self.no_fork = None;
        let result = f(self);
        self.no_fork = Some(self.state.fork_gate().no_fork());
        result
    }

    /// Lets the mutators go on, and calls `after` with their list, in which none has joined or left.
    pub(crate) fn resume(self, after: impl FnOnce(&mut Members<'h, Mutator>)) -> Option<NoFork<'h>> {
        let Pause { state, world, roots, mut members, no_fork, .. } = self;
        drop(world);
        drop(roots);
        members.resume();
        after(&mut members);
        drop(members);
        state.fork_gate().set_held(0);
        no_fork
    }
}
