//! How many preemptions the models try: two, unless `HEAPWOOD_LONG=1` asks for all that a model takes, since the third makes minutes of
//! seconds. Each order that is left out (`left_out`) is noticed with two.

/// The preemptions of a model that takes so many.
pub(super) fn preemptions(most: usize) -> usize {
    let is_long = std::env::var_os("HEAPWOOD_LONG").is_some_and(|value| value == "1");
    if is_long { most } else { most.min(2) }
}
