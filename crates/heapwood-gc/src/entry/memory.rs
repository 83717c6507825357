//! An account of a heap's memory, on any thread; and memory outside the heap that its objects own. Of the latter a program tells how
//! much comes and goes, so that collections come in time: an addition is an allocation without cells, and near a limit it is refused
//! after a full collection that could have helped. Invariants: an account changes nothing but the time at which threads go on; a
//! call that fails changes nothing.

use crate::collect::{CollectorTurn, HeapTable};
use crate::error::{AllocError, Misuse};
use crate::heap::Heap;
use crate::mutator::{Mutator, ThreadState};
use crate::observe::MemoryAccount;
use crate::observe::memory_parts::MemoryParts;
use crate::process::record;
use core::ops::Range;
use heapwood_heap::SpaceTable;
use heapwood_os::MappedBox;
use heapwood_os::threads::stack::thread_pointer;

impl Heap {
    /// Where the heap's memory is. It waits for a collection or marking that is under way, stops the other threads, and
    /// looks at each span; the kernel is asked when they run again. Together that takes about two milliseconds for a
    /// hundred megabytes of small objects. It counts as no collection and no pause.
    ///
    /// # Errors
    /// The thread is attached, and its mutator cannot be used now ([`Mutator::check`]); or the call comes from a trace
    /// function.
    pub fn memory_account(&self) -> Result<MemoryAccount, Misuse> {
        self.memory_account_with(&[])
    }

    /// The same; mappings of its client count as `layouts`.
    ///
    /// # Errors
    /// As [`memory_account`](Self::memory_account).
    pub fn memory_account_with(&self, client: &[Range<usize>]) -> Result<MemoryAccount, Misuse> {
        match Mutator::here(self) {
            Some(mutator) => {
                // SAFETY: it is this thread's, and stays attached during the call.
                let mutator = unsafe { mutator.as_ref() };
                mutator.check()?;
                mutator.away(ThreadState::AtSafepoint, || self.take_account(client))
            }
            None if self.state().marking_threads().is_helping(thread_pointer()) => Err(Misuse::Tracing),
            None => Ok(record().elsewhere(None, |_| self.take_account(client))),
        }
    }

    /// Calls `f` with each mapping of the heap, that of its objects first: for tests of the account.
    #[doc(hidden)]
    pub fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        let turn = record().elsewhere(None, |_| self.collector().turn());
        self.space().memory().for_each_mapping(f);
        self.for_each_table(&turn, &mut |_, mapping| f(mapping));
    }

    /// Calls `f` with the mapping of each table, and the part of memory that it belongs to.
    fn for_each_table(&self, turn: &CollectorTurn<'_>, f: &mut dyn FnMut(Part, Range<usize>)) {
        self.space().name_tables(&mut |table, mapping| f(part_of_space(table), mapping));
        self.collector().for_each_table(self.state(), turn, &mut |table, mapping| f(part_of(table), mapping));
        // SAFETY: every heap lies in a box (`HeapBox`).
        unsafe {
            MappedBox::for_each_mapping_around(self, &mut |mapping| f(|parts| &mut parts.heap, mapping))
        };
    }

    /// The account on a thread without a running mutator.
    fn take_account(&self, client: &[Range<usize>]) -> MemoryAccount {
        let (state, collector) = (self.state(), self.collector());
        let turn = collector.turn();
        let mut account = collector.account_of_pages(state, &turn);
        state.fork_gate().without_fork(|| {
            account.add_kernel(state, |add| {
                client.iter().for_each(|mapping| add(|parts| &mut parts.layouts, mapping.clone()));
                self.for_each_table(&turn, add);
            });
        });
        account
    }
}

/// A part of the memory.
type Part = fn(&mut MemoryParts) -> &mut usize;

fn part_of_space(table: SpaceTable) -> Part {
    match table {
        SpaceTable::PageBitmaps => |parts| &mut parts.page_bitmaps,
        SpaceTable::PageTable => |parts| &mut parts.page_table,
        SpaceTable::Spans => |parts| &mut parts.span_descriptors,
        SpaceTable::Marks => |parts| &mut parts.mark_bits,
        SpaceTable::ObjectRecords => |parts| &mut parts.pointer_bits,
        SpaceTable::Freed => |parts| &mut parts.freed_bits,
        SpaceTable::PageSets => |parts| &mut parts.page_sets,
        SpaceTable::Types => |parts| &mut parts.layouts,
    }
}

fn part_of(table: HeapTable) -> Part {
    match table {
        HeapTable::MarkStacks => |parts| &mut parts.mark_stacks,
        HeapTable::Remembered => |parts| &mut parts.remembered,
        HeapTable::MarkingLog => |parts| &mut parts.marking_log,
        HeapTable::Roots => |parts| &mut parts.roots,
        HeapTable::Mutators => |parts| &mut parts.mutators,
        HeapTable::Checks => |parts| &mut parts.checks,
    }
}

impl Mutator {
    /// Counts `change` more bytes outside the heap that its objects own, or fewer if it is negative. Adding may collect.
    ///
    /// Add before the memory is allocated; then a refusal leaves nothing to undo. Give back as much as was added, on any
    /// attached thread, when the memory has been freed. What comes and goes between two collections makes none due.
    ///
    /// # Errors
    /// Adding: as an allocation of so many bytes, and if they are more than memory can hold. Giving back: if more is given
    /// back than was added, or the mutator cannot be used now ([`Mutator::check`]).
    pub fn external(&self, change: isize) -> Result<(), AllocError> {
        let (space, bytes) = (self.shared().space(), change.unsigned_abs());
        if change > 0 {
            return Ok(self.retry(bytes, || space.take_external(bytes))??);
        }
        self.check()?;
        Ok(space.external().give_back(bytes)?)
    }
}
