//! `heapwood pages`: the page allocator alone, on samples of real heaps.
//!
//! | module | what it holds |
//! |---|---|
//! | `sample_file` | samples as files |
//! | `bench` | `heapwood bench pages`: the page allocator without a sample |
//! | `moments` | the samples of the files that were named |
//! | `draw` | random sizes, always the same |
//! | `replay` | `heapwood pages replay`: allocation timed until nothing is left |
//! | `simulate` | `heapwood pages simulate`: orders of release, and what caches add |

pub(crate) mod bench;
mod draw;
mod moments;
mod replay;
pub(crate) mod sample_file;
mod simulate;

use crate::args::Pages;
use crate::failure::Failure;

pub(crate) fn run(command: &Pages) -> Result<(), Failure> {
    match command {
        Pages::Replay(args) => replay::run(args),
        Pages::Simulate(args) => simulate::run(args),
    }
}
