//! The report. `--json` prints it as serialised here; the tables show the same numbers. Invariant: a stream has a cell
//! for each heap that has room for enough operations, and no other.

use super::record::{Access, Record, State, Stream};
use super::states::tables_bytes;
use crate::args::Pages;
use crate::timing::Clock;
use heapwood_pages::PageCount;
use heapwood_report::size::exact;
use heapwood_report::{Header, Spread};
use serde::Serialize;

/// The largest request for which flatness is reported.
const MOST_FLAT: usize = 17;

#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) header: Header,
    /// The cost of the clock, which is subtracted.
    pub(super) clock_ns: f64,
    pub(super) heaps: Vec<HeapRow>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) streams: Vec<Row>,
    pub(super) flatness: Vec<Flatness>,
}

/// A heap that was measured.
#[derive(Serialize)]
pub(super) struct HeapRow {
    pub(super) bytes: usize,
    pub(super) pages: usize,
    /// Approximately.
    pub(super) tables_bytes: u64,
}

/// A heap that was skipped.
#[derive(Serialize)]
pub(super) struct Skipped {
    pub(super) bytes: usize,
    pub(super) why: String,
}

/// A stream on all heaps.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) stream: Stream,
    pub(super) heaps: Vec<Cell>,
}

/// A stream on one heap.
#[derive(Serialize)]
pub(super) struct Cell {
    /// The heap.
    pub(super) bytes: usize,
    /// The operations of one pass over one heap.
    pub(super) operations: usize,
    pub(super) ns: Spread,
}

/// The effect of the heap's size on a stream, by medians.
#[derive(Serialize)]
pub(super) struct Flatness {
    pub(super) pages: usize,
    pub(super) how: Access,
    /// The slowest over the fastest.
    pub(super) ratio: f64,
    pub(super) dearest_bytes: usize,
    pub(super) cheapest_bytes: usize,
}

impl Report {
    pub(super) fn new(
        args: &Pages,
        clock: &Clock,
        measured: &[(PageCount, Record)],
        skipped: Vec<Skipped>,
    ) -> Report {
        let heaps: Vec<String> =
            args.heaps().into_iter().map(|bytes| exact(bytes).replace(' ', "")).collect();
        let command = format!("heapwood-eval pages --heap {} --runs {}", heaps.join(","), args.runs.k);
        let streams = rows(measured);
        Report {
            header: Header::now(command, args.runs.k),
            clock_ns: clock.own_ns(),
            heaps: measured.iter().map(|&(size, _)| HeapRow::of(size)).collect(),
            skipped,
            flatness: streams.iter().filter_map(Flatness::of).collect(),
            streams,
        }
    }
}

impl HeapRow {
    fn of(size: PageCount) -> HeapRow {
        HeapRow { bytes: size.bytes(), pages: size.0, tables_bytes: tables_bytes(size) }
    }
}

impl Flatness {
    /// The flatness of a stream from fresh pages on several heaps.
    fn of(row: &Row) -> Option<Flatness> {
        let Stream { state, pages, how, .. } = row.stream;
        if state != State::Fresh || pages > MOST_FLAT || row.heaps.len() < 2 {
            return None;
        }
        let by_median = |a: &&Cell, b: &&Cell| a.ns.median.total_cmp(&b.ns.median);
        let (dearest, cheapest) = (row.heaps.iter().max_by(by_median)?, row.heaps.iter().min_by(by_median)?);
        Some(Flatness {
            pages,
            how,
            ratio: dearest.ns.median / cheapest.ns.median,
            dearest_bytes: dearest.bytes,
            cheapest_bytes: cheapest.bytes,
        })
    }
}

/// The streams in the order of measurement, which is that of the heap with most streams.
fn rows(measured: &[(PageCount, Record)]) -> Vec<Row> {
    let most = measured.iter().map(|(_, record)| record).max_by_key(|record| record.series().len());
    let streams = most.into_iter().flat_map(|record| record.series().iter().map(|series| series.stream));
    let cell = |(size, record): &(PageCount, Record), stream| {
        let series = record.find(stream)?;
        Some(Cell {
            bytes: size.bytes(),
            operations: series.operations,
            ns: Spread::of(series.ns.iter().copied()),
        })
    };
    let row = |stream| Row { stream, heaps: measured.iter().filter_map(|heap| cell(heap, stream)).collect() };
    streams.map(row).collect()
}
