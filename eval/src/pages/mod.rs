//! `heapwood-eval pages`: the cost of the page allocator alone, on heaps from one chunk to many tebibytes. Heaps are
//! only tables: none of their pages is touched. Invariant: a round has one pass of everything on every heap, so that a
//! slow moment of the machine affects all alike. Preparing a heap is not timed. The experiments are those of the
//! evaluation in "Proposal: Scaling the Go page allocator" (Knyszek and Clements, 2019).
//!
//! | module | content |
//! |---|---|
//! | `states` | heaps in known states |
//! | `record` | the streams of operations, and their times |
//! | `fresh` | streams of allocations from pages never used |
//! | `frees` | streams of frees from a full heap |
//! | `holes` | streams and pairs on heaps with holes |
//! | `report` | the report, and its JSON |
//! | `tables` | its tables |

mod frees;
mod fresh;
mod holes;
mod record;
mod report;
mod states;
mod tables;

use crate::args::Pages;
use crate::timing::{Clock, rounds};
use frees::Orders;
use heapwood_pages::PageCount;
use heapwood_report::CommandError;
use heapwood_report::Progress;
use heapwood_report::legible::complain;
use heapwood_report::machine::available_memory;
use heapwood_report::size::{exact, show};
use holes::Holes;
use record::{Access, Record, State};
use report::{Report, Skipped};
use states::{Bare, Fresh, Shared, tables_bytes};

/// The heaps of a size at once: two that stay, and one that is made again in every round.
const AT_ONCE: u64 = 3;

pub(crate) fn run(args: &Pages) -> Result<(), CommandError> {
    let bar = Progress::new();
    let clock = Clock::new();
    let (mut heaps, skipped) = make(&args.heaps(), &bar)?;
    rounds(args.runs.k, &bar, heaps.len(), |measuring| {
        for heap in &mut heaps {
            bar.show(heap.name());
            if measuring {
                heap.record.measure();
            }
            heap.round(&clock)?;
            bar.advance();
        }
        Ok(())
    })?;
    bar.finish();

    let measured: Vec<(PageCount, Record)> = heaps.into_iter().map(|heap| (heap.size, heap.record)).collect();
    args.output.show(&Report::new(args, &clock, &measured, skipped))
}

/// The heaps of these sizes, and the sizes whose tables do not fit into memory.
fn make(sizes: &[usize], bar: &Progress) -> Result<(Vec<Heap>, Vec<Skipped>), CommandError> {
    let (mut heaps, mut skipped) = (Vec::new(), Vec::new());
    for &bytes in sizes {
        let size = PageCount::from_bytes(bytes);
        bar.show(format!("making heaps of {}", exact(bytes)));
        let made = match lacking(size, available_memory()) {
            Some(why) => Err(why),
            None => Heap::new(size).map_err(|failure| failure.message),
        };
        match made {
            Ok(heap) => heaps.push(heap),
            Err(why) => {
                complain(format_args!("skipped: a heap of {}: {why}", exact(bytes)));
                skipped.push(Skipped { bytes, why });
            }
        }
    }
    if heaps.is_empty() {
        return Err(CommandError::run("no heap could be made"));
    }
    Ok((heaps, skipped))
}

/// Why this much memory is too little for heaps of this size, if it is. Some memory is left for other processes.
fn lacking(size: PageCount, left: u64) -> Option<String> {
    let tables = tables_bytes(size);
    (tables * AT_ONCE > left / 10 * 9).then(|| {
        format!(
            "its tables take {} and are needed {AT_ONCE} times at once, but there is {} of memory left",
            show(tables),
            show(left)
        )
    })
}

/// A size of heap, in all states.
struct Heap {
    size: PageCount,
    record: Record,
    orders: Orders,
    checkerboard: Holes,
    random: Holes,
}

impl Heap {
    fn new(size: PageCount) -> Result<Heap, CommandError> {
        let (checkerboard, random) = std::thread::scope(|scope| {
            let checkerboard = scope.spawn(|| states::checkerboard(size));
            (checkerboard.join(), states::random_pages(size))
        });
        let checkerboard = checkerboard.map_err(|_| CommandError::run("a thread ended early"))??;
        Ok(Heap {
            size,
            record: Record::default(),
            orders: Orders::new(size),
            checkerboard: Holes::new(State::Checkerboard, checkerboard),
            random: Holes::new(State::RandomPages, random?),
        })
    }

    fn name(&self) -> String {
        format!("heap of {}", exact(self.size.bytes()))
    }

    /// One pass of everything.
    fn round(&mut self, clock: &Clock) -> Result<(), CommandError> {
        let Heap { size, record, orders, checkerboard, random } = self;
        let mut heap = Fresh::<Bare>::new(*size);
        fresh::bare(&mut heap, *size, clock, record)?;
        frees::round(&mut heap.into_full()?, *size, orders, Access::Bare, clock, record)?;
        let mut heap = Fresh::<Shared>::new(*size);
        fresh::shared(&mut heap, *size, clock, record)?;
        frees::round(&mut heap.into_full()?, *size, orders, Access::Lock, clock, record)?;

        for how in [Access::Lock, Access::Cached] {
            checkerboard.allocate(1, how, clock, record)?;
        }
        checkerboard.pair(2, clock, record)?;
        checkerboard.pair(64, clock, record)?;
        for pages in [1, 2] {
            for how in [Access::Lock, Access::Cached] {
                random.allocate(pages, how, clock, record)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_checked_before_tables_are_made() {
        let (small, large) = (PageCount::from_bytes(4 << 20), PageCount::from_bytes(16 << 40));
        assert_eq!(lacking(small, 1 << 20), None);
        assert_eq!(lacking(large, 4 << 30), None);
        let why = lacking(large, 1 << 30).unwrap();
        assert!(why.contains("3 times at once") && why.contains("1.0 GiB of memory left"), "{why}");
    }
}
