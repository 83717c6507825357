//! The tables for people, which are valid Markdown, with heaps as columns and streams as rows, and an explanation of
//! each figure.

use super::frees::BATCH;
use super::fresh::LEAST;
use super::record::{Access, Operation, State, Stream};
use super::report::{Report, Row};
use super::states::LARGE;
use heapwood_pages::PageCache;
use heapwood_report::size::exact;
use heapwood_report::tables::{number, show, table};
use std::fmt::{self, Formatter};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self;
        writeln!(f, "{}", report.header)?;
        writeln!(f)?;
        writeln!(
            f,
            "Nanoseconds an operation: median (least-most) of {} passes, one of each kind on each heap in every round, after",
            report.header.runs
        )?;
        writeln!(
            f,
            "a round that only warms up. Heaps are only tables. Preparing a heap is not timed, short passes are"
        )?;
        writeln!(
            f,
            "repeated, and the {:.0} ns of reading the clock are subtracted. -: fewer than {LEAST} operations fit.",
            report.clock_ns
        )?;
        let most = report.heaps.iter().map(|heap| heap.bytes).max().unwrap_or(0);
        let tables = report.heaps.iter().map(|heap| heap.tables_bytes).max().unwrap_or(0);
        writeln!(
            f,
            "The tables of the largest heap, {}, take {}.",
            exact(most),
            heapwood_report::size::show(tables)
        )?;
        if report.heaps.iter().any(|heap| heap.pages >= LARGE.0) {
            writeln!(
                f,
                "From {} on pages never used lie above those of the passes before, in smaller heaps first in it.",
                exact(LARGE.bytes())
            )?;
        }

        let cached = format!(
            "Pages never used, through a page cache, which is filled for requests up to {}; longer ones take the lock:",
            PageCache::MOST
        );
        for (how, title) in [
            (Access::Bare, "Pages never used, allocated without the lock:"),
            (Access::Lock, "Pages never used, with the uncontended lock:"),
            (Access::Cached, cached.as_str()),
        ] {
            section(f, report, title, |stream| stream.state == State::Fresh && stream.how == how)?;
        }
        section(
            f,
            report,
            "Frees, all pages in use before, nanoseconds a page. Random pages are from the whole heap: where its tables are \
         larger than\nthe processor's caches, that is what is seen.",
            |stream| stream.state == State::Full,
        )?;
        section(
            f,
            report,
            "Checkerboard: every other page in use; the only run is in the last 64 pages of the last chunk:",
            |stream| stream.state == State::Checkerboard,
        )?;
        section(f, report, "90 % of the pages in use:", |stream| stream.state == State::RandomPages)?;
        flatness(f, report)?;
        for skipped in &report.skipped {
            writeln!(f)?;
            writeln!(f, "Skipped: a heap of {}: {}", exact(skipped.bytes), skipped.why)?;
        }
        Ok(())
    }
}

fn section(f: &mut Formatter<'_>, report: &Report, title: &str, of: impl Fn(&Stream) -> bool) -> fmt::Result {
    let header = std::iter::once(String::new()).chain(report.heaps.iter().map(|heap| exact(heap.bytes)));
    let header: Vec<String> = header.collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for Row { stream, heaps } in report.streams.iter().filter(|row| of(&row.stream)) {
        let cell = |bytes: usize| {
            heaps.iter().find(|cell| cell.bytes == bytes).map_or("-".into(), |cell| show(cell.ns, 1.0))
        };
        table.add_row(std::iter::once(name(stream)).chain(report.heaps.iter().map(|heap| cell(heap.bytes))));
    }
    writeln!(f)?;
    writeln!(f, "{title}\n\n{table}")
}

fn flatness(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.flatness.is_empty() {
        return Ok(());
    }
    let mut table = table(&["", "x", "dearest", "cheapest"]);
    for flat in &report.flatness {
        table.add_row([
            format!("{}, {}", count(flat.pages), way(flat.how)),
            number(flat.ratio),
            exact(flat.dearest_bytes),
            exact(flat.cheapest_bytes),
        ]);
    }
    writeln!(
        f,
        "\nFlatness: streams from pages never used, the slowest heap over the fastest, by medians:\n"
    )?;
    writeln!(f, "{table}")
}

fn way(how: Access) -> &'static str {
    match how {
        Access::Bare => "bare",
        Access::Lock => "lock",
        Access::Cached => "cached",
    }
}

fn name(stream: &Stream) -> String {
    let way = way(stream.how);
    let pages = count(stream.pages);
    match (stream.state, stream.what) {
        (State::Fresh, _) => pages,
        (_, Operation::Allocate) => format!("allocate {pages}, {way}"),
        (_, Operation::AllocateAndFree) => format!("allocate and free {pages} in the last chunk, {way}"),
        (_, Operation::FreeAscending) => format!("ascending, {way}"),
        (_, Operation::FreeRandom) => format!("random, {way}"),
        (_, Operation::FreeEveryOther) => format!("every other, {way}"),
        (_, Operation::FreeEveryOtherInBatches) => format!("every other, {BATCH} at a time, {way}"),
    }
}

fn count(pages: usize) -> String {
    heapwood_pages::PageCount(pages).to_string()
}
