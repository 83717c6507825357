//! Stops by signal: a thread is stopped between any two instructions, by a handler that waits, and its registers are on its stack
//! because the kernel has put them there to call it. Where that may not be, in a section (`section`), the handler returns at once
//! and the thread stops as it comes out. Threads are stopped so in all their heaps that stop by signals, at once, and in no
//! other: heaps that stop by polls wait for a poll.
//!
//! Why a cell that the thread was about to take is still its own when it goes on: its allocation buffers keep their runs
//! (`heapwood_heap::Owner::keeping_runs`), and what it had written there kept alive what it refers to
//! (`for_each_cell_in_hand`). Why a signal cannot be missed: the request is a word that the thread looks at whenever it comes out of
//! a section or enters a heap; the signal only makes it look. And a resume: it is a word, too, on which the handler sleeps.
//!
//! Invariant: the thread that was interrupted finds its record as it was, and is asked nothing any more.

use super::Mutator;
use super::no_preempt::Deferred;
use super::registry::Member;
use super::stop::ThreadState;
use super::thread_record::{Part, Place, ThreadRecord};
use crate::inject::Fault;
use crate::state::Interruption;
use crate::state::fork_gate::NoFork;
use core::sync::atomic::Ordering;
use heapwood_os::signal::{self, Interrupted, Sent};

/// Its address is the value of the signals that stop threads.
static MARK: u8 = 0;

/// The value of the signals that stop threads, which nobody else's have.
pub(crate) fn mark() -> usize {
    &raw const MARK as usize
}

/// A no-preempt region of a thread: it is not stopped by signals until this goes, and then if it was asked to meanwhile.
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
    /// The thread begins something that is not one store.
    #[inline(always)]
    pub(crate) fn no_preempt(&self) -> NoPreemptGuard<'_> {
        NoPreemptGuard { record: self, inside: Some(self.no_preempt.begin()) }
    }

    /// The same during a slice of work that a fork waits for: it does not wait for a fork itself.
    pub(crate) fn no_preempt_in_slice(&self, _: &NoFork<'_>) -> NoPreemptGuard<'_> {
        NoPreemptGuard { record: self, inside: Some(self.no_preempt.defer()) }
    }

    /// Whether a heap that stops threads by signals asks this one to stop.
    #[inline(always)]
    fn is_asked_by_signal(&self) -> bool {
        self.is_sent_signals()
            && self.iter().any(|m| m.is_asked_to_stop() && m.stops_by_signals() && m.gate().is_running())
    }

    /// Stops here if it came out of the last section and was asked to.
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

    /// A signal has interrupted the thread there; its handler's stack is in use from `handler` on.
    pub(crate) fn interrupted(&self, at: &Interrupted, handler: usize) {
        let what = match () {
            () if !self.is_asked_by_signal() => Interruption::NotAsked,
            () if self.no_preempt.is_inside() && !self.faults_in_no_preempt() => Interruption::InNoPreempt,
            () if self.stop_noting(|m| m.note_interrupted(at, handler)) => Interruption::Stopped,
            () => Interruption::OnNoStack,
        };
        self.iter().for_each(|m| m.shared().interruptions().note(at.instruction, what));
    }

    /// The fault is injected that a section stops no signal.
    fn faults_in_no_preempt(&self) -> bool {
        self.iter().any(|m| m.shared().faults().fails(Fault::StopInSection))
    }

    /// Stops in the heaps that stop threads by signals and know the stack, which `note` tells, until none asks; whether none does.
    fn stop_noting(&self, note: impl Fn(&Mutator) -> bool) -> bool {
        while self.is_asked_by_signal() {
            let left = self.leave(ThreadState::AtSafepoint, |m| m.stops_by_signals() && note(m));
            let some = self.at(left).next().is_some();
            self.enter_once(left);
            if !some {
                // On a stack that no heap knows it cannot be scanned, and goes on; another signal will come.
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

    /// Whether, being stopped, its thread may have been between any two instructions: then it keeps the runs of its allocation buffers.
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

    /// Sends its thread the signal that stops it. A thread that is no more, and has not told, counts as stopped from now on;
    /// when the collection has ended it is detached.
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
