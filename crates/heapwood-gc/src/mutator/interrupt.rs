//! Stops by signal. A signal handler stops a thread between any two instructions, by waiting; the kernel has put the
//! thread's registers on its stack. In a no-preempt region (`no_preempt`) the handler returns at once, and the thread
//! stops when it leaves the region. A signal stops a thread in all its heaps that stop by signals, at once, and in no
//! other: heaps that stop by polls wait for a poll.
//!
//! A cell that the thread was about to take is still its own when it goes on: its allocation buffers keep their runs
//! (`heapwood_heap::Owner::keeping_runs`), and the collector scans what it had written there (`for_each_cell_in_hand`).
//! No request is lost: it is a word that the thread reads whenever it leaves a no-preempt region or enters a heap; the
//! signal only makes it look. Nor is a resume: it is a word, too, on which the handler sleeps.
//!
//! Invariant: an interrupted thread finds its record unchanged, and no request is left.

use super::Mutator;
use super::no_preempt::Deferred;
use super::registry::Member;
use super::stop::ThreadState;
use super::thread_record::{Part, Place, ThreadRecord};
use crate::inject::Fault;
use crate::state::Interruption;
use crate::state::fork_gate::NoFork;
use core::sync::atomic::Ordering;
use heapwood_os::threads::signal::{self, Interrupted, Sent};

/// Its address is the value of the signals that stop threads.
static MARK: u8 = 0;

/// The value of the signals that stop threads; no other signal has it.
pub(crate) fn mark() -> usize {
    &raw const MARK as usize
}

/// A no-preempt region of a thread. No signal stops the thread until the guard goes; if one has asked meanwhile, the
/// thread stops then.
pub(crate) struct NoPreemptGuard<'r> {
    record: &'r ThreadRecord<Mutator>,
    inside: Option<Deferred<'r>>,
}

impl Drop for NoPreemptGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.inside = None;
        self.record.stop_if_asked();
    }
}

impl ThreadRecord<Mutator> {
    /// Begins a no-preempt region, for a change of more than one store.
    #[inline(always)]
    pub(crate) fn no_preempt(&self) -> NoPreemptGuard<'_> {
        NoPreemptGuard { record: self, inside: Some(self.no_preempt.begin()) }
    }

    /// The same during a slice of work that a fork waits for: it does not wait for the fork.
    pub(crate) fn no_preempt_in_slice(&self, _: &NoFork<'_>) -> NoPreemptGuard<'_> {
        NoPreemptGuard { record: self, inside: Some(self.no_preempt.defer()) }
    }

    /// Whether a heap that stops threads by signals asks this one to stop.
    #[inline(always)]
    fn is_asked_by_signal(&self) -> bool {
        self.is_sent_signals()
            && self.iter().any(|m| m.is_asked_to_stop() && m.stops_by_signals() && m.gate().is_running())
    }

    /// Stops here if a signal has asked meanwhile and the thread has left its outermost region.
    #[inline(always)]
    fn stop_if_asked(&self) {
        if self.is_asked_by_signal() && !self.no_preempt.is_inside() {
            self.stop_after_no_preempt();
        }
    }

    #[cold]
    fn stop_after_no_preempt(&self) {
        super::safepoint::with_registers_pushed(|lowest| _ = self.stop_noting(|m| m.note_stack(lowest)));
    }

    /// Called by the handler of a signal that interrupted the thread at `at`; the handler's stack is in use from
    /// `handler` on.
    pub(crate) fn interrupted(&self, at: &Interrupted, handler: usize) {
        let what = match () {
            () if !self.is_asked_by_signal() => Interruption::NotAsked,
            () if self.no_preempt.is_inside() && !self.faults_in_no_preempt() => Interruption::InNoPreempt,
            () if self.stop_noting(|m| m.note_interrupted(at, handler)) => Interruption::Stopped,
            () => Interruption::OnNoStack,
        };
        self.iter().for_each(|m| m.shared().interruptions().note(at.instruction, what));
    }

    /// A planted error: signals stop threads in no-preempt regions.
    fn faults_in_no_preempt(&self) -> bool {
        self.iter().any(|m| m.shared().faults().fails(Fault::StopInSection))
    }

    /// Stops in the heaps that stop threads by signals and for which `note` knows the stack, until none asks. Returns
    /// whether none does.
    fn stop_noting(&self, note: impl Fn(&Mutator) -> bool) -> bool {
        while self.is_asked_by_signal() {
            let left = self.leave(ThreadState::AtSafepoint, |m| m.stops_by_signals() && note(m));
            let some = self.at(left).next().is_some();
            self.enter_once(left);
            if !some {
                // No heap knows this stack, so no collector can scan it: the thread goes on, and another signal will
                // come.
                return false;
            }
        }
        true
    }
}

impl Mutator {
    /// Whether its heap stops threads by signals.
    #[inline(always)]
    pub(crate) fn stops_by_signals(&self) -> bool {
        self.shared().stop_signal().is_some()
    }

    /// Whether its stopped thread may be between any two instructions: then its allocation buffers keep their runs.
    pub(crate) fn keeps_runs(&self) -> bool {
        self.stops_by_signals() && !self.gate().is_blocked()
    }

    fn note_stack(&self, lowest: usize) -> bool {
        self.stack.note(lowest)
    }

    fn note_interrupted(&self, at: &Interrupted, handler: usize) -> bool {
        let handler = match self.shared().faults().fails(Fault::RegistersUnscanned) {
            false => handler,
            true => at.stack_pointer,
        };
        self.stack.note_interrupted(at, handler)
    }

    /// Sends its thread the signal that stops it. A thread that has ended without detaching counts as stopped from now
    /// on; the end of the collection detaches it.
    pub(super) fn send_signal(&self) {
        let Some(signal) = self.shared().stop_signal() else { return };
        if signal::send(self.thread(), signal, mark()) == Sent::NoThread {
            self.stack.clear(self.owner.swap(0, Ordering::Relaxed));
            self.frames.clear();
            self.gate().leave(ThreadState::InNative);
        }
    }
}

impl Part for Mutator {
    fn place(&self) -> &Place<Mutator> {
        &self.place
    }

    fn goes_on(&self) {
        self.stack.go_on();
    }

    fn is_sent_signals(&self) -> bool {
        self.stops_by_signals()
    }

    fn answer_late(record: &ThreadRecord<Mutator>) {
        record.stop_if_asked();
    }
}
