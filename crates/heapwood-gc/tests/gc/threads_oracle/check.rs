//! Heap against model while all other threads are blocked: nothing is lost, and where only precise roots count, nothing
//! dead is left.

use super::cluster::{Cluster, Outcome};
use super::world::World;
use heapwood_gc::Mutator;

/// Objects and bytes, and keys in the weak table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    objects: usize,
    bytes: usize,
    in_table: usize,
}

impl Tally {
    /// Adds a cluster's objects, and what only they keep.
    pub(super) fn add(&mut self, world: &World, cluster: &Cluster) {
        for object in cluster.all() {
            let kinds = object.ties.values().map(|value| value.kind);
            for kind in kinds.chain([object.kind]) {
                self.objects += 1;
                self.bytes += world.kinds.all[kind].counted_bytes();
            }
            self.in_table += usize::from(object.ties.in_table);
        }
    }
}

/// Collects and compares. No other thread is attached and not blocked, and none has stepped since it told its tally.
pub(crate) fn everything(world: &World, m: &Mutator) -> Outcome {
    let mut all = Tally::default();
    for tally in world.tallies.lock().unwrap().iter() {
        all.objects += tally.objects;
        all.bytes += tally.bytes;
        all.in_table += tally.in_table;
    }
    world.mailboxes.iter().for_each(|mailbox| mailbox.each(|parcel| all.add(world, parcel)));
    world.estates.each(|cluster| all.add(world, cluster));
    let others = world.exchange.objects().map(|(_, _, counted)| counted);
    for bytes in others.chain(world.weaks.objects().into_iter().map(|(_, bytes)| bytes)) {
        all.objects += 1;
        all.bytes += bytes;
    }
    compare(world, m, (all.objects, all.bytes), Some(all.in_table))
}

/// Collects, and compares what is alive with what should be; of what is weak, so many keys are in the table.
pub(crate) fn compare(
    world: &World,
    m: &Mutator,
    (objects, bytes): (usize, usize),
    in_table: Option<usize>,
) -> Outcome {
    // The first may find the headers of arenas that were left since the one before.
    for _ in 0..2 {
        m.collect().map_err(|e| format!("a collection was refused: {e}"))?;
    }
    let (stats, exact) = (world.heap.inspect().stats(), world.settings.exact());
    world.estates.check(&world.heap, exact)?;
    if exact && stats.live_objects != objects || stats.live_objects < objects {
        return Err(format!("{objects} objects are alive, {} were marked", stats.live_objects));
    }
    if exact && stats.live_bytes != bytes || stats.live_bytes < bytes {
        return Err(format!("{bytes} bytes are alive, {} were counted", stats.live_bytes));
    }
    in_table.map_or(Ok(()), |keys| world.weaks.check(m, keys, exact))?;
    let weak = in_table.map_or_else(Default::default, |_| world.weaks.objects());
    if stats.barrier_violations != 0 {
        return Err(format!("{} stores went around the barrier", stats.barrier_violations));
    }
    world.heap.memory().finish_sweep();
    // SAFETY: all other threads are blocked, as the caller says.
    if let Err(invalid) = unsafe { world.heap.inspect().is_valid() } {
        return Err(format!("the space is not valid: {invalid}"));
    }
    // SAFETY: as above, and the token is dropped at the end of this.
    let stopped = unsafe { world.heap.inspect().stopped() };
    let (mut found, mut odd) = (0, None);
    stopped.for_each_object(|object, bytes| {
        if weak.contains(&(object.get(), bytes)) {
            // Board, table and ephemerons are all threads' own.
        } else if world.granules.hold(object.get(), bytes) {
            found += bytes.next_multiple_of(heapwood_heap::GRANULE);
        } else {
            odd = odd.or(Some((object.get(), bytes)));
        }
    });
    let known = world.granules.bytes();
    if found != known {
        return Err(format!("{known} bytes are alive, and objects of {found} of them exist"));
    }
    match odd {
        Some((at, bytes)) if exact => {
            Err(format!("an object of {bytes} bytes at {at:#x} exists that is dead"))
        }
        _ => Ok(()),
    }
}
