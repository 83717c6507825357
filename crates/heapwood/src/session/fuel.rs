//! Fuel: how long an interpreter goes on in one call. It ends when so many steps were made, when a collection is due, or when another
//! thread wants to collect. The idea and the name are piccolo's.

use super::calls::Session;
use super::mutation::Mutation;
use super::rootable::{RootOf, Rootable};
use crate::trace::Trace;
use core::fmt;
use core::ops::ControlFlow;

/// What is left for one call; given by [`Session::run`].
pub struct Fuel<'gc> {
    m: &'gc Mutation<'gc>,
    left: u64,
}

impl<'gc> Fuel<'gc> {
    /// Fuel for so many steps in the call of `m`.
    pub fn new(m: &'gc Mutation<'gc>, steps: u64) -> Self {
        Fuel { m, left: steps }
    }

    /// Takes the fuel of `steps` steps, as far as there is any. Returns whether the call is to go on. It costs a load and a subtraction.
    #[inline(always)]
    pub fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left != 0 && !self.m.is_leave_wanted()
    }

    /// Ends the call at the next look: what the interpreter waits for comes from outside.
    pub fn run_out(&mut self) {
        self.left = 0;
    }

    /// Steps that are left.
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl fmt::Debug for Fuel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fuel").field("left", &self.left).finish_non_exhaustive()
    }
}

impl<R: for<'a> Rootable<'a, Root: Trace>> Session<R> {
    /// Calls `f` as [`Session::mutate`] does, with fuel for `steps` steps, until it breaks. Between two calls collections come. What
    /// is to be known in the next call lies in the root.
    ///
    /// ```
    /// #![forbid(unsafe_code)]
    /// use heapwood::session::{Gc, GcCell, Session};
    /// use heapwood::{Config, Rootable, Trace};
    /// use std::cell::Cell;
    /// use std::ops::ControlFlow;
    ///
    /// #[derive(Trace)]
    /// struct Machine<'gc> {
    ///     list: GcCell<Option<Gc<'gc, Pair<'gc>>>>,
    ///     pc: Cell<u64>,
    /// }
    ///
    /// #[derive(Trace)]
    /// struct Pair<'gc>(u64, Option<Gc<'gc, Pair<'gc>>>);
    ///
    /// let mut session = Session::<Rootable![Machine<'_>]>::new(Config::default(), |_| Machine {
    ///     list: GcCell::default(),
    ///     pc: Cell::new(0),
    /// })?;
    /// let sum = session.run(1000, |m, machine, fuel| loop {
    ///     if machine.pc.get() == 100_000 {
    ///         let list = std::iter::successors(machine.list.get(), |pair| pair.1);
    ///         return ControlFlow::Break(list.map(|pair| pair.0).sum::<u64>());
    ///     }
    ///     let list = machine.list.get().filter(|pair| pair.0 % 10 != 9);
    ///     machine.list.set(m, Some(m.alloc(Pair(machine.pc.get(), list))));
    ///     machine.pc.set(machine.pc.get() + 1);
    ///     if !fuel.spend(1) {
    ///         return ControlFlow::Continue(());
    ///     }
    /// });
    /// assert_eq!(sum, (99_990..100_000).sum());
    /// # Ok::<(), heapwood::Error>(())
    /// ```
    pub fn run<B>(
        &mut self,
        steps: u64,
        mut f: impl for<'gc> FnMut(&'gc Mutation<'gc>, &'gc RootOf<'gc, R>, &mut Fuel<'gc>) -> ControlFlow<B>,
    ) -> B {
        loop {
            if let ControlFlow::Break(out) = self.mutate(|m, root| f(m, root, &mut Fuel::new(m, steps))) {
                return out;
            }
        }
    }
}
