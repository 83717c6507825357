//! An asymmetric fence: one thread asks the kernel to interrupt all others, which then need no fence between a store
//! and a load (Linux's membarrier, as in the userspace RCU of Desnoyers and others, 2012). Invariant: if [`barrier`]
//! returns true, every thread of the process has passed the fence.

use core::ffi::c_int;

/// From linux/membarrier.h; Linux 4.14 has both.
const PRIVATE_EXPEDITED: c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// Registers this process for barriers; returns whether the kernel supports them. Repeated calls do no harm.
pub fn register() -> bool {
    ask(REGISTER_PRIVATE_EXPEDITED)
}

/// Returns true if every thread of the process has passed a full fence during the call, or passes one before it runs
/// again. Returns false if the kernel has no such barrier, or the process has not registered.
#[must_use = "without a barrier nothing is ordered"]
pub fn barrier() -> bool {
    ask(PRIVATE_EXPEDITED)
}

fn ask(command: c_int) -> bool {
    // SAFETY: the commands access no memory; they ignore flags and processor.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CachePadded;
    use core::sync::atomic::{AtomicU32, Ordering, compiler_fence};

    fn await_at_least(word: &AtomicU32, least: u32) {
        for spins in 0.. {
            if word.load(Ordering::Acquire) >= least {
                return;
            }
            // The threads must run at the same time, but may share one processor.
            if spins % 10_000 == 9_999 {
                std::thread::yield_now();
            }
        }
    }

    /// The store buffering test: each of two threads stores its word and loads the other's. With full fences in both,
    /// at least one sees the other's store. Here one thread has the barrier and the other no fence.
    #[test]
    fn a_barrier_is_a_fence_in_the_other_thread() {
        if !register() {
            println!("skipped: this kernel has no membarrier");
            return;
        }
        const ROUNDS: u32 = 2_000;
        let [mine, yours, told, done] = [const { CachePadded(AtomicU32::new(0)) }; 4];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    await_at_least(&done, round - 1);
                    yours.store(round, Ordering::Relaxed);
                    compiler_fence(Ordering::SeqCst);
                    // Whether the store of this round was seen.
                    let seen = mine.load(Ordering::Relaxed) >= round;
                    told.store(round << 1 | u32::from(seen), Ordering::Release);
                }
            });
            for round in 1..=ROUNDS {
                // The other thread needs a moment to see that the round has begun.
                (0..round % 128).for_each(|_| core::hint::spin_loop());
                mine.store(round, Ordering::Relaxed);
                assert!(barrier());
                let seen = yours.load(Ordering::Relaxed) >= round;
                await_at_least(&told, round << 1);
                assert!(seen || told.load(Ordering::Relaxed) & 1 != 0, "round {round}");
                done.store(round, Ordering::Release);
            }
        });
    }
}
