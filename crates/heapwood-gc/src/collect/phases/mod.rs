//! The phases of a collection, in the order in which `run` calls them.
//!
//! | file | phase |
//! |---|---|
//! | `prepare` | sweeps what is left of the last, starts helpers, asks the kernel: before anyone waits |
//! | `stop` | stops the mutators: the order of locks, and what has to be known |
//! | `publish` | what mutators allocate from becomes visible; the plan is made |
//! | `mark` | marks, or promotes |
//! | `after_closure`, `clear_weak` | what depends on what is dead, before the sides swap |
//! | `account` | what was found; when the next collection is due |
//! | `begin_cycle` | the sides swap, barriers are set |
//! | `hook` | the program's hook is called, at the start and at the end; a client's part |
//! | `check` | verify mode and snapshots of pages, before and after |
//! | `plain` | objects that take plain stores: what does not count is cleared, and the dead are dropped |
//! | `resume` | the mutators go on |
//! | `report` | statistics and trace lines |
//!
//! Invariant: each works on one [`Pause`](crate::pause::Pause), and none calls another.

mod account;
mod after_closure;
mod begin_cycle;
mod check;
mod clear_weak;
mod hook;
mod mark;
mod plain;
mod prepare;
mod publish;
mod report;
mod resume;
mod stop;

pub(super) use hook::ClientPart;
pub(super) use report::Report;
