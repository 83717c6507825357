//! How many processor cores the calling thread may use, by its affinity mask (sched_getaffinity(2)), which taskset, cpuset
//! control groups and containers set. Nothing is allocated. Invariant: the number is at least 1.

/// Bits of the mask that is asked for; a kernel with more cores refuses that, and then all that are online count.
const MASK_WORDS: usize = 128;

/// The number of cores.
pub fn available() -> usize {
    let mut mask = [0u64; MASK_WORDS];
    // SAFETY: the kernel writes at most N bytes of the mask, whose words are those of a cpu_set_t.
    let ok = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) } == 0;
    // SAFETY: sysconf takes a number and returns one; -1 if it does not know.
    let online = || unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as usize;
    match mask.iter().map(|word| word.count_ones() as usize).sum() {
        cores if ok && cores > 0 => cores,
        _ => online(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_that_may_use_one_core_has_one() {
        assert!(super::available() >= 1);
        let pinned = std::thread::spawn(|| {
            let mut mask = [0u64; super::MASK_WORDS];
            // SAFETY: both calls are given the mask and its size; a thread may narrow its own affinity.
            unsafe {
                assert_eq!(libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()), 0);
                let word = mask.iter().position(|&word| word != 0).unwrap();
                let first = mask[word] & mask[word].wrapping_neg();
                mask = [0; super::MASK_WORDS];
                mask[word] = first;
                assert_eq!(libc::sched_setaffinity(0, size_of_val(&mask), mask.as_ptr().cast()), 0);
            }
            super::available()
        });
        assert_eq!(pinned.join().unwrap(), 1);
    }
}
