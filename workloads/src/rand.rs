//! RandSmall and RandLarge, programs by David Simcha that D's collector has been measured with since 2010. They
//! overwrite each pointer of a table in turn with a new block of random size, which has no pointers and is never
//! touched. Neither the program nor the allocator writes to a block, so they measure the search for room, and large
//! blocks take no memory of the system.

use crate::allocator::Allocator;
use crate::twister::Twister;
use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Buffer, Gc, GcCell, Slice};

/// Blocks of a few bytes to two kilobytes.
pub const SMALL: Blocks =
    Blocks { name: "rand-small", slots: 4096, least: 8, most: 2047, seed: 2_929_088_778 };
/// Blocks of 1 to 128 KiB.
pub const LARGE: Blocks =
    Blocks { name: "rand-large", slots: 1024, least: 1024, most: 131_072, seed: 1_202_387_523 };

/// RandSmall, to those who run it.
pub const WORKLOAD_SMALL: Workload = Workload {
    name: SMALL.name,
    about: "A table of 4096 blocks of 8 to 2047 bytes, all replaced in turn and never touched (RandSmall)",
    n: ITERATIONS,
    threads: Threads::USUALLY_ONE,
    least_bytes: |_| SMALL.least_bytes(),
    figures: &[],
    shared: None,
    run: |m, n, report| report(SMALL.run(m, n).into()),
};

/// RandLarge, to those who run it.
pub const WORKLOAD_LARGE: Workload = Workload {
    name: LARGE.name,
    about: "A table of 1024 blocks of 1 to 128 KiB, all replaced in turn and never touched (RandLarge)",
    n: ITERATIONS,
    threads: Threads::USUALLY_ONE,
    least_bytes: |_| LARGE.least_bytes(),
    figures: &[],
    shared: None,
    run: |m, n, report| report(LARGE.run(m, n).into()),
};

const ITERATIONS: N = N { unit: "number of iterations", usual: 10_000, most: 1 << 32 };

/// One of the two programs.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    name: &'static str,
    slots: usize,
    /// The sizes, in bytes.
    least: u32,
    most: u32,
    seed: u32,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The program.
    pub name: &'static str,
    /// The number of times that the table was overwritten.
    pub iterations: u64,
    /// A checksum of the sizes in order.
    pub checksum: u64,
}

impl From<Outcome> for Line {
    fn from(Outcome { name, iterations, checksum }: Outcome) -> Line {
        Line::checked(name, ("iterations", iterations), checksum)
    }
}

impl Blocks {
    /// The minimum of memory: the table. The blocks are never touched, and take none.
    pub fn least_bytes(&self) -> u128 {
        self.slots as u128 * 8
    }

    /// Overwrites the table `iterations` times.
    pub fn run<A: Allocator>(&self, a: &A, iterations: u64) -> Outcome {
        let (m, mut twister, mut checksum) = (a.mutator(), Twister::new(self.seed), 0u64);
        let table: Gc<Slice<GcCell<Option<Gc<Buffer>>>>> = m.alloc_slice(self.slots, |_| GcCell::new(None));
        for _ in 0..iterations {
            for slot in table.iter() {
                let bytes = twister.within(self.least, self.most);
                slot.set(m, Some(a.alloc_buffer(bytes as usize)));
                checksum = checksum.wrapping_mul(31).wrapping_add(bytes.into());
            }
        }
        Outcome { name: self.name, iterations, checksum }
    }
}
