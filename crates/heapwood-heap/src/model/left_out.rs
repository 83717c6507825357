//! What shows that the models can fail: a model without one of its orders, in a process of its own, which loom must end.
//! Invariant: a process has one such model, or none.

use super::preemptions::preemptions;
use super::spawn;
use crate::publication::mutant;
use core::sync::atomic::Ordering::Relaxed;

const LEFT_OUT: &str = "HEAPWOOD_TEST_LEFT_OUT";

/// Runs a model in a thread of its own: loom's stack is too small to make a heap.
pub(super) fn model(f: impl Fn() + Clone + Send + Sync + 'static) {
    model_preempted(3, f);
}

/// The same with at most so many preemptions, for a model of many steps.
pub(super) fn model_preempted(most: usize, f: impl Fn() + Clone + Send + Sync + 'static) {
    model_here(most, move || spawn(f.clone()).join().unwrap());
}

/// The same on loom's stack, for a model without a heap: without a thread the fewer orders of starts and ends.
pub(super) fn model_here(most: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions(most));
    builder.max_branches = 10_000;
    builder.check(f);
}

/// Runs the ignored test `child` with this order left out, and checks that it fails, saying so.
pub(super) fn is_missed(child: &str, left_out: u8, saying: &str) {
    let run = std::process::Command::new(std::env::current_exe().unwrap())
        .args([&format!("model::{child}"), "--exact", "--ignored"])
        .env(LEFT_OUT, left_out.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success() && said.contains(saying), "{child}: {said}");
}

/// Leaves out what the parent said; false if there is none, and the test is to do nothing.
pub(super) fn leaves_out() -> bool {
    let Some(what) = std::env::var(LEFT_OUT).ok() else { return false };
    mutant::LEFT_OUT.store(what.parse().unwrap(), Relaxed);
    true
}
