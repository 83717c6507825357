//! Arenas.

mod at_the_limit;
mod external_values;
mod faults;
mod lifetime;
mod stale;
