//! What a release costs: a call, and something for each page. Measured on this machine at the start, or set on the
//! command line so that results can be repeated.

use crate::args::Simulate;
use heapwood_os::process::clock::monotonic_ns;
use heapwood_os::{HUGE_PAGE, Kernel, OsError, Reservation, SYSTEM};
use heapwood_pages::PAGE_SIZE;
use heapwood_report::CommandError;
use serde::Serialize;

/// How often each size is tried; the median counts.
const TRIES: usize = 25;

/// The sizes tried, in pages: 8 KiB to 2 MiB.
const SIZES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// The cost of a release, as a line over its pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub(crate) base_ns: f64,
    pub(crate) page_ns: f64,
    /// Or else set.
    pub(crate) measured: bool,
}

impl Cost {
    /// As the command line says, or measured.
    pub(crate) fn of(args: &Simulate) -> Result<Cost, CommandError> {
        match (args.cost_base_ns, args.cost_page_ns) {
            (Some(base_ns), Some(page_ns)) => Ok(Cost { base_ns, page_ns, measured: false }),
            _ => Cost::measure(),
        }
    }

    fn measure() -> Result<Cost, CommandError> {
        let mut points = Vec::new();
        for pages in SIZES {
            let mut ns = give_back_ns(pages * PAGE_SIZE, TRIES).map_err(|e| {
                let instead = "set them with --cost-base-ns 1000 --cost-page-ns 200, for example";
                CommandError::run(format!("what a release costs cannot be measured: {e}; {instead}"))
            })?;
            ns.sort_unstable();
            points.push((pages as f64, ns[TRIES / 2] as f64));
        }
        let (base_ns, page_ns) = fit(&points);
        Ok(Cost { base_ns, page_ns, measured: true })
    }

    /// Nanoseconds of CPU that a release of so many pages with memory takes.
    pub(crate) fn of_release(&self, pages: usize) -> f64 {
        self.base_ns + self.page_ns * pages as f64
    }
}

/// How many nanoseconds the kernel takes to be given back `bytes` of memory that was written to, `times` times over. No
/// huge pages are behind it, which go faster.
fn give_back_ns(bytes: usize, times: usize) -> Result<Vec<u64>, OsError> {
    let memory = Reservation::new(&SYSTEM, bytes, HUGE_PAGE)?;
    // SAFETY: advice about memory of this function's own; it changes no contents.
    unsafe { libc::madvise(memory.start() as *mut _, memory.len(), libc::MADV_NOHUGEPAGE) };
    let once = |_| {
        memory.commit(0..memory.len())?;
        for offset in (0..memory.len()).step_by(SYSTEM.page_size()) {
            // SAFETY: committed just above, and nobody else knows it.
            unsafe { ((memory.start() + offset) as *mut u8).write_volatile(7) };
        }
        let begin = monotonic_ns();
        // SAFETY: all of it was committed just above, and what is in it was written to be lost.
        unsafe { memory.decommit(0..memory.len()) }?;
        Ok(monotonic_ns() - begin)
    };
    (0..times).map(once).collect()
}

/// The line nearest to the points by the squares of the relative errors, since large sizes would decide alone
/// otherwise. Neither part is negative.
fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(x, y)| of(x, y) / (y * y).max(1.0)).sum::<f64>();
    let (n, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    let slope = (n * xy - x * y) / (n * xx - x * x);
    match (y - slope * x) / n {
        _ if slope < 0.0 => (y / n, 0.0),
        base if base < 0.0 => (0.0, xy / xx),
        base => (base, slope),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near((base, slope): (f64, f64), expected: (f64, f64)) {
        assert!((base - expected.0).abs() < 1e-6 && (slope - expected.1).abs() < 1e-6, "{base} {slope}");
    }

    #[test]
    fn memory_is_given_back_as_often_as_asked() {
        assert_eq!(give_back_ns(3 * SYSTEM.page_size(), 5).unwrap().len(), 5);
    }

    #[test]
    fn a_line_is_found_again() {
        let line = |base: f64, slope: f64| SIZES.map(|x| (x as f64, base + slope * x as f64));
        near(fit(&line(900.0, 210.0)), (900.0, 210.0));
        near(fit(&line(900.0, 0.0)), (900.0, 0.0));
        near(fit(&line(0.0, 210.0)), (0.0, 210.0));
    }

    #[test]
    fn no_part_is_negative() {
        let (base, slope) = fit(&[(1.0, 100.0), (2.0, 220.0), (4.0, 470.0)]);
        assert!(base == 0.0 && slope > 100.0);
        let (base, slope) = fit(&[(1.0, 100.0), (2.0, 90.0), (4.0, 80.0)]);
        assert!(slope == 0.0 && (80.0..100.0).contains(&base));
    }
}
