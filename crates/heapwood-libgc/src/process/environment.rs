//! The variables of the environment by which programs of libgc are set, and the settings with which the heap is made. Variables that
//! say nothing here (thresholds of libgc's own lists and blocks) are not read. `HEAPWOOD` comes last, and wins. Invariant: a
//! variable counts as a setting that was made before the heap.

use crate::exports::variables;
use crate::process::stress;
use crate::report::log;
use crate::report::printing;
use crate::settings;
use crate::settings::sizes;
use crate::threads;
use core::sync::atomic::Ordering;
use heapwood_gc::Config;
use heapwood_gc::settings::options::Stop;

/// A number with k, m or g behind it, as libgc reads it.
fn bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.as_bytes()[digits.len()..].first().map(u8::to_ascii_lowercase) {
        None => 0,
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        Some(_) => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << unit)
}

fn text(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether a switch is on: it is set, and not to 0.
fn is_on(name: &str) -> bool {
    text(name).is_some_and(|value| value != "0")
}

/// Reads the variables. Called once, when the heap is made.
pub(crate) fn read() {
    let size = |name| text(name).and_then(|value| bytes(&value));
    let number = |name| text(name).and_then(|value| value.parse::<usize>().ok());
    if let Some(file) = std::env::var_os("GC_LOG_FILE") {
        log::log_to(&file);
    }
    if is_on("GC_PRINT_STATS") || is_on("GC_PRINT_VERBOSE_STATS") {
        printing::print_stats(is_on("GC_PRINT_VERBOSE_STATS"));
    }
    if let Some(initial) = size("GC_INITIAL_HEAP_SIZE") {
        sizes::expand(initial);
    }
    if let Some(most) = size("GC_MAXIMUM_HEAP_SIZE") {
        sizes::set_limit(most);
    }
    if let Some(divisor) = number("GC_FREE_SPACE_DIVISOR").filter(|&divisor| divisor > 0) {
        variables::GC_free_space_divisor.store(divisor, Ordering::Relaxed);
    }
    // Both are numbers of threads that mark.
    if let Some(markers) = number("GC_MARKERS").or_else(|| number("GC_NPROCS")) {
        threads::set_markers(markers.try_into().unwrap_or(u32::MAX));
    }
    if is_on("GC_DONT_GC") {
        variables::GC_dont_gc.fetch_add(1, Ordering::Relaxed);
    }
    match text("GC_ALL_INTERIOR_POINTERS").as_deref() {
        None | Some("0") => {}
        Some("strict") => crate::objects::interior::set_strict(),
        Some(_) => variables::GC_all_interior_pointers.store(1, Ordering::Relaxed),
    }
    if is_on("GC_FORCE_UNMAP_ON_GCOLLECT") {
        settings::set_force_unmap(1);
    }
    if let Some(every) = text("HEAPWOOD_LIBGC_STRESS") {
        stress::set(&every);
    }
}

/// The settings of the heap.
pub(crate) fn config() -> Config {
    let mut config = Config::default()
        .stop(Stop::Signals)
        .stop_signal(threads::suspend_signal() as u32)
        .library_roots(variables::GC_no_dls.load(Ordering::Relaxed) == 0)
        // A program with one thread stays one (`threads`).
        .background_release(false)
        .percent(settings::percent())
        .small_heap(settings::SMALL_HEAP)
        // Nobody notes them here, and chains of free cells would have one each.
        .sites(false);
    if let Some(initial) = sizes::initial() {
        config = config.min_heap(initial);
    }
    if let Some(limit) = sizes::limit() {
        config = config.limit(limit.max(Config::MIN_LIMIT));
    }
    config.with_env()
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        for (text, value) in [("16", 16), ("4k", 4 << 10), ("16M", 16 << 20), ("2g", 2 << 30)] {
            assert_eq!(bytes(text), Some(value), "{text}");
        }
        for text in ["", "M", "1x", "99999999999G"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
