//! Where all threads of a run meet; who fails lets all others go. Invariant: nobody leaves before all have come, or one has
//! failed.

use super::cluster::Outcome;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::{Condvar, Mutex};

pub(crate) struct Meeting {
    threads: usize,
    /// How many have come, and how many meetings there were.
    come: Mutex<(usize, u64)>,
    change: Condvar,
    failed: AtomicBool,
    what: Mutex<Option<String>>,
}

impl Meeting {
    pub(crate) fn new(threads: usize) -> Self {
        Meeting {
            threads,
            come: Mutex::new((0, 0)),
            change: Condvar::new(),
            failed: AtomicBool::new(false),
            what: Mutex::new(None),
        }
    }

    /// Something went wrong: only the first is remembered.
    pub(crate) fn fail(&self, what: String) {
        self.what.lock().unwrap().get_or_insert(what);
        self.failed.store(true, Ordering::Release);
        self.change.notify_all();
    }

    /// Whether somebody has failed.
    pub(crate) fn check(&self) -> Outcome {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(self.what.lock().unwrap().clone().unwrap_or_default())
    }

    /// Waits for all others.
    pub(crate) fn wait(&self) -> Outcome {
        let mut come = self.come.lock().unwrap();
        let meeting = come.1;
        come.0 += 1;
        if come.0 == self.threads {
            *come = (0, meeting + 1);
            self.change.notify_all();
            return Ok(());
        }
        while come.1 == meeting {
            self.check()?;
            come = self.change.wait_timeout(come, Duration::from_millis(50)).unwrap().0;
        }
        Ok(())
    }
}
