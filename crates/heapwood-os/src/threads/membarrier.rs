//! A fence for all threads at once: the thread that asks for it lets the kernel interrupt those that run, so that they need no fence
//! where they store and look (Linux's membarrier, as in the userspace RCU of Desnoyers and others, 2012). Invariant: what says
//! that it was passed was passed by every thread of the process.

use core::ffi::c_int;

/// Of linux/membarrier.h; Linux 4.14 has both.
const PRIVATE_EXPEDITED: c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// Says that this process will ask for barriers; whether it may. Once is enough, and more does no harm.
pub fn register() -> bool {
    ask(REGISTER_PRIVATE_EXPEDITED)
}

/// Between the call and the return of this each thread of the process has passed a full fence, or does not run and passes one
/// before it does. False, and no such thing, where the kernel has none, or the process has not registered.
#[must_use = "without a barrier nothing is ordered"]
pub fn barrier() -> bool {
    ask(PRIVATE_EXPEDITED)
}

fn ask(command: c_int) -> bool {
    // SAFETY: the commands take no memory; flags and the processor are not used by them.
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
            // The two must meet; but they may have one processor.
            if spins % 10_000 == 9_999 {
                std::thread::yield_now();
            }
        }
    }

    /// Each of two threads stores its word and loads the other's: with a full fence in both, at least one sees the other's
    /// store. Here one has the barrier instead of both.
    #[test]
    fn a_barrier_is_a_fence_in_the_other_thread() {
        if !register() {
            println!("skipped: this kernel has no membarrier");
            return;
        }
        const ROUNDS: u32 = 20_000;
        let [mine, yours, told, done] = [const { CachePadded(AtomicU32::new(0)) }; 4];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    await_at_least(&done, round - 1);
                    yours.store(round, Ordering::Relaxed);
                    compiler_fence(Ordering::SeqCst);
                    // Of the round that it is told for.
                    let seen = mine.load(Ordering::Relaxed) >= round;
                    told.store(round << 1 | u32::from(seen), Ordering::Release);
                }
            });
            for round in 1..=ROUNDS {
                // The other needs a moment to see that the round has begun.
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
