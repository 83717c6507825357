//! What `heapwood bench` is told of peers.

use super::Bench;

pub(crate) const HELP: &str = "\
Peers are built into the target folder first; one whose toolchain is missing is named, with what to install, and \
skipped. All programs run in turn (A B C, A B C, ..) after a round that only warms up. Each must print the same check \
values, or nothing is compared. Times, memory and faults are the operating system's, for each process; shown is the \
median with the least and the most, each program's over Heapwood's in the same round, and a p value: how likely the two \
would lie as far apart by chance (Mann-Whitney U test).

Exit codes: 0 done, 1 a program failed or differs, 2 the command line is wrong, 130 interrupted.";

/// What stands for no peer at all.
pub(crate) const NO_PEER: &str = "none";

impl Bench {
    /// The peers that were asked for, if not all; none of them have a name of their own.
    pub(crate) fn peers(&self) -> Option<Vec<String>> {
        let names = self.peers.as_ref()?.iter().map(|name| name.trim().to_string());
        Some(names.filter(|name| !matches!(name.as_str(), NO_PEER | "")).collect())
    }
}
