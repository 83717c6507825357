//! The record of collections: the statistics that only they know. Invariant: the times of a collection add up, because
//! each ends where the next begins.

use super::histogram::Histogram;
use super::phases::Times;
use super::second_marking::Floating;
use super::stats::Stats;
use crate::mark::MarkTotals;
use heapwood_heap::{Collection, ReclaimTimes};

/// The record of one heap.
pub(crate) struct Record {
    pauses: Histogram,
    /// The longest stop and marking.
    longest_stop: u64,
    longest_mark: u64,
    /// The sums of the phases that only collecting threads are in.
    prep: u64,
    stop: u64,
    mark: u64,
    live_objects: usize,
    collect_cpu_ns: u64,
    mark_overflows: u64,
    verified: u64,
    /// Young collections: their number and longest pause, promoted bytes, and the number that ended with en-masse promotion.
    young: u64,
    longest_young: u64,
    promoted: u64,
    promoted_en_masse: u64,
    concurrent: ConcurrentRecord,
}

/// The record of markings beside the program.
#[derive(Default)]
struct ConcurrentRecord {
    ended: u64,
    degenerated: u64,
    mark_ns: u64,
    bytes: u64,
    /// Of the last one, in verify mode.
    floating: Floating,
    start: Longest,
    end: Longest,
}

/// The longest pause of a kind, in nanoseconds, and the most words that one has looked at.
#[derive(Default)]
struct Longest {
    ns: u64,
    words: u64,
}

impl Longest {
    fn add(&mut self, times: &Times, words: usize) {
        self.ns = self.ns.max(times.pause());
        self.words = self.words.max(words as u64);
    }
}

/// What a marking beside the program was, when it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConcurrentTotals {
    /// CPU time of the marker, in nanoseconds.
    pub(crate) mark_ns: u64,
    pub(crate) bytes: usize,
    /// What it has kept though nothing leads to it; known in verify mode.
    pub(crate) floating: Option<Floating>,
    /// Another collection ended it in a stop that marked on.
    pub(crate) in_stop: bool,
    /// That collection came because the goal or the limit was met.
    pub(crate) degenerated: bool,
}

impl Record {
    pub(crate) fn new() -> Self {
        Record {
            pauses: Histogram::new(),
            longest_stop: 0,
            longest_mark: 0,
            prep: 0,
            stop: 0,
            mark: 0,
            live_objects: 0,
            collect_cpu_ns: 0,
            mark_overflows: 0,
            verified: 0,
            young: 0,
            longest_young: 0,
            promoted: 0,
            promoted_en_masse: 0,
            concurrent: ConcurrentRecord::default(),
        }
    }

    /// Adds a collection.
    pub(crate) fn add(&mut self, times: &Times, marked: &MarkTotals, kind: Collection, verified: bool) {
        self.pauses.record(times.pause());
        self.longest_stop = self.longest_stop.max(times.stop());
        self.longest_mark = self.longest_mark.max(times.marked.since(times.marking).wall);
        self.prep += times.prep();
        self.stop += times.stop();
        self.mark += times.mark();
        match kind {
            Collection::Full => self.live_objects = marked.objects,
            Collection::Young => {
                self.live_objects += marked.objects;
                self.young += 1;
                self.longest_young = self.longest_young.max(times.pause());
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
        self.concurrent.start.add(times, words);
    }

    /// Adds such a marking, and the pause that ended it.
    pub(crate) fn add_marking_end(&mut self, times: &Times, words: usize, totals: &ConcurrentTotals) {
        let all = &mut self.concurrent;
        all.ended += 1;
        all.degenerated += totals.degenerated as u64;
        all.mark_ns += totals.mark_ns;
        all.bytes += totals.bytes as u64;
        all.floating = totals.floating.unwrap_or_default();
        if !totals.in_stop {
            all.end.add(times, words);
        }
    }

    /// Adds CPU time of a collection.
    pub(crate) fn add_cpu(&mut self, ns: u64) {
        self.collect_cpu_ns += ns;
    }

    /// CPU time of collecting threads.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.collect_cpu_ns
    }

    /// Adds it to the statistics, with these times of sweeping and page recovery.
    pub(crate) fn add_to_stats(&self, stats: &mut Stats, reclaimed: &ReclaimTimes) {
        stats.live_objects = self.live_objects;
        stats.collect_cpu_ns = self.collect_cpu_ns;
        stats.pause_p50_ns = self.pauses.quantile(0.5);
        stats.pause_p99_ns = self.pauses.quantile(0.99);
        stats.pause_max_ns = self.pauses.max;
        stats.pause_total_ns = self.pauses.sum;
        stats.stop_max_ns = self.longest_stop;
        stats.mark_max_ns = self.longest_mark;
        stats.phase_prep_ns = self.prep;
        stats.phase_stop_ns = self.stop;
        stats.phase_mark_ns = self.mark;
        stats.phase_sweep_ns = reclaimed.sweep_ns;
        stats.phase_recovery_ns = reclaimed.recovery_ns;
        stats.phase_total_ns = self.prep + self.mark + reclaimed.sweep_ns + reclaimed.recovery_ns;
        stats.mark_overflows = self.mark_overflows;
        stats.verified = self.verified;
        stats.young_collections = self.young;
        stats.young_pause_max_ns = self.longest_young;
        stats.promoted_bytes = self.promoted;
        stats.promoted_en_masse = self.promoted_en_masse;
        stats.concurrent_markings = self.concurrent.ended;
        stats.concurrent_degenerated = self.concurrent.degenerated;
        stats.concurrent_mark_ns = self.concurrent.mark_ns;
        stats.concurrent_mark_bytes = self.concurrent.bytes;
        stats.mark_start_max_ns = self.concurrent.start.ns;
        stats.mark_end_max_ns = self.concurrent.end.ns;
        stats.mark_start_max_words = self.concurrent.start.words;
        stats.mark_end_max_words = self.concurrent.end.words;
        stats.floating_objects = self.concurrent.floating.objects;
    }
}
