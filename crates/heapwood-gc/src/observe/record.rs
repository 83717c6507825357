//! The record of collections: the statistics that only they know. Invariant: the times of a collection add up, because
//! each ends where the next begins.

use super::histogram::Histogram;
use super::phases::{Elapsed, Times};
use super::second_marking::Floating;
use super::stats::Stats;
use crate::mark::MarkTotals;
use heapwood_heap::Collection;

/// The record of one heap.
pub(crate) struct Record {
    pauses: Histogram,
    /// Times until all mutators had stopped.
    stops: Histogram,
    marks: Histogram,
    /// Times in which the collecting thread swept the rest of the last cycle, before the others had to stop.
    sweeps: Histogram,
    live_objects: usize,
    collect_cpu_ns: u64,
    mark_overflows: u64,
    verified: u64,
    /// Young collections: their pauses, promoted bytes, and the number that ended with en-masse promotion.
    young: Histogram,
    promoted: u64,
    promoted_en_masse: u64,
    concurrent: ConcurrentRecord,
}

/// The record of markings beside the program.
struct ConcurrentRecord {
    ended: u64,
    degenerated: u64,
    mark_ns: u64,
    bytes: u64,
    assists: u64,
    shaded: u64,
    /// Of the last one, in verify mode.
    floating: Floating,
    start: Longest,
    end: Longest,
    /// The most threads that marked at once.
    markers: u64,
}

/// The longest pauses of a kind, in nanoseconds, and the most words that one has looked at.
struct Longest {
    wall: u64,
    cpu: u64,
    words: u64,
}

impl Longest {
    const NONE: Longest = Longest { wall: 0, cpu: 0, words: 0 };

    fn add(&mut self, pause: Elapsed, words: usize) {
        (self.wall, self.cpu) = (self.wall.max(pause.wall), self.cpu.max(pause.cpu));
        self.words = self.words.max(words as u64);
    }
}

/// What a marking beside the program was, when it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrentTotals {
    /// CPU time of the marker, in nanoseconds.
    pub(crate) mark_ns: u64,
    pub(crate) bytes: usize,
    /// Turns in which others helped with it.
    pub(crate) assists: u64,
    /// Objects that barriers have noted.
    pub(crate) shaded: u64,
    /// What it has kept though nothing leads to it; known in verify mode.
    pub(crate) floating: Option<Floating>,
    /// Another collection ended it in a stop that marked on.
    pub(crate) in_stop: bool,
    /// That collection came because the goal or the limit was met.
    pub(crate) degenerated: bool,
}

impl Record {
    pub(crate) const fn new() -> Self {
        Record {
            pauses: Histogram::new(),
            stops: Histogram::new(),
            marks: Histogram::new(),
            sweeps: Histogram::new(),
            live_objects: 0,
            collect_cpu_ns: 0,
            mark_overflows: 0,
            verified: 0,
            young: Histogram::new(),
            promoted: 0,
            promoted_en_masse: 0,
            concurrent: ConcurrentRecord {
                ended: 0,
                degenerated: 0,
                mark_ns: 0,
                bytes: 0,
                assists: 0,
                shaded: 0,
                floating: Floating { objects: 0, bytes: 0 },
                start: Longest::NONE,
                end: Longest::NONE,
                markers: 0,
            },
        }
    }

    /// Adds a collection.
    pub(crate) fn add(&mut self, times: &Times, marked: &MarkTotals, kind: Collection, verified: bool) {
        let pause = times.ended.since(times.requested).wall;
        self.pauses.record(pause);
        self.stops.record(times.stop().wall);
        self.marks.record(times.marked.since(times.marking).wall);
        self.sweeps.record(times.requested.since(times.began).wall);
        match kind {
            Collection::Full => self.live_objects = marked.objects,
            Collection::Young => {
                self.live_objects += marked.objects;
                self.young.record(pause);
                self.promoted += marked.bytes as u64;
                self.promoted_en_masse += marked.late as u64;
            }
        }
        self.mark_overflows += marked.overflows;
        self.verified += verified as u64;
        self.add_cpu(marked.helpers_cpu_ns);
    }

    /// Adds the pause that started a marking beside the program.
    pub(crate) fn add_marking_start(&mut self, times: &Times, words: usize) {
        self.concurrent.start.add(times.ended.since(times.requested), words);
    }

    /// Adds such a marking, and the pause that ended it.
    pub(crate) fn add_marking_end(&mut self, times: &Times, words: usize, totals: &ConcurrentTotals) {
        let all = &mut self.concurrent;
        all.ended += 1;
        all.degenerated += totals.degenerated as u64;
        all.mark_ns += totals.mark_ns;
        all.bytes += totals.bytes as u64;
        all.assists += totals.assists;
        all.shaded += totals.shaded;
        all.floating = totals.floating.unwrap_or_default();
        if !totals.in_stop {
            all.end.add(times.ended.since(times.requested), words);
        }
    }

    /// Adds CPU time of a collection.
    pub(crate) fn add_cpu(&mut self, ns: u64) {
        self.collect_cpu_ns += ns;
    }

    /// Adds CPU time and the number of threads that marked beside the program.
    pub(crate) fn add_beside(&mut self, ns: u64, markers: usize) {
        self.add_cpu(ns);
        self.concurrent.markers = self.concurrent.markers.max(markers as u64);
    }

    /// Adds it to the statistics.
    pub(crate) fn add_to_stats(&self, stats: &mut Stats) {
        stats.live_objects = self.live_objects;
        stats.collect_cpu_ns = self.collect_cpu_ns;
        stats.pause_p50_ns = self.pauses.quantile(0.5);
        stats.pause_p99_ns = self.pauses.quantile(0.99);
        stats.pause_max_ns = self.pauses.max;
        stats.pause_total_ns = self.pauses.sum;
        stats.stops = self.stops.count();
        stats.stop_p50_ns = self.stops.quantile(0.5);
        stats.stop_p99_ns = self.stops.quantile(0.99);
        stats.stop_max_ns = self.stops.max;
        stats.stop_total_ns = self.stops.sum;
        stats.mark_p99_ns = self.marks.quantile(0.99);
        stats.mark_max_ns = self.marks.max;
        stats.mark_total_ns = self.marks.sum;
        stats.sweep_p99_ns = self.sweeps.quantile(0.99);
        stats.sweep_max_ns = self.sweeps.max;
        stats.sweep_total_ns = self.sweeps.sum;
        stats.mark_overflows = self.mark_overflows;
        stats.verified = self.verified;
        stats.young_collections = self.young.count();
        stats.young_pause_p50_ns = self.young.quantile(0.5);
        stats.young_pause_p99_ns = self.young.quantile(0.99);
        stats.young_pause_max_ns = self.young.max;
        stats.young_pause_total_ns = self.young.sum;
        stats.promoted_bytes = self.promoted;
        stats.promoted_en_masse = self.promoted_en_masse;
        stats.concurrent_markings = self.concurrent.ended;
        stats.concurrent_degenerated = self.concurrent.degenerated;
        stats.concurrent_mark_ns = self.concurrent.mark_ns;
        stats.concurrent_mark_bytes = self.concurrent.bytes;
        stats.mark_start_max_ns = self.concurrent.start.wall;
        stats.mark_start_cpu_max_ns = self.concurrent.start.cpu;
        stats.mark_end_max_ns = self.concurrent.end.wall;
        stats.mark_end_cpu_max_ns = self.concurrent.end.cpu;
        stats.mark_start_max_words = self.concurrent.start.words;
        stats.mark_end_max_words = self.concurrent.end.words;
        stats.mark_assists = self.concurrent.assists;
        stats.concurrent_markers = self.concurrent.markers;
        stats.shaded_objects = self.concurrent.shaded;
        stats.floating_objects = self.concurrent.floating.objects;
        stats.floating_bytes = self.concurrent.floating.bytes;
    }
}
