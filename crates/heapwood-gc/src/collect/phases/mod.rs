//! The phases of a collection, which `run` calls one after the other.
//!
//! | file | phases |
//! |---|---|
//! | `stop` | sweeps what is left of the last cycle, stops the mutators, takes what they hand in, makes the plan; and lets them go on |
//! | `mark` | marks, or promotes; clears what is weak and resolves finalisers; begins and ends concurrent markings |
//! | `account` | what was found; when the next collection is due; the next cycle begins |
//! | `report` | the hook, verify mode and snapshots of pages; statistics and trace lines |
//!
//! Invariant: each works on one [`Pause`](crate::pause::Pause) and one `Cycle`, and none calls another.

mod account;
mod mark;
mod report;
mod stop;
