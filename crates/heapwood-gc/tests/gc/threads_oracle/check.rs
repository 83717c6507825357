//! Heap against model while all other threads are blocked: nothing is lost, and where only precise roots count, nothing
//! dead is left.

use super::cluster::Outcome;
use super::world::World;
use heapwood_gc::Mutator;

/// Collects and compares. No other thread is attached and not blocked, and none has stepped since it told its tally.
pub(crate) fn everything(world: &World, m: &Mutator) -> Outcome {
    let (mut objects, mut bytes) = (0, 0);
    for &(o, b) in world.tallies.lock().unwrap().iter() {
        objects += o;
        bytes += b;
    }
    for mailbox in &world.mailboxes {
        mailbox.each(|parcel| {
            for object in parcel.all() {
                objects += 1;
                bytes += world.kinds.all[object.kind].counted_bytes();
            }
        });
    }
    world.estates.each(|cluster| {
        for object in cluster.all() {
            objects += 1;
            bytes += world.kinds.all[object.kind].counted_bytes();
        }
    });
    for (_, _, counted) in world.exchange.objects() {
        objects += 1;
        bytes += counted;
    }
    let header = world.kinds.all[world.kinds.header].counted_bytes();
    let arenas = world.arenas.headers();
    compare(world, m, objects + arenas, bytes + arenas * header)
}

/// Collects, and compares what is alive with what should be.
pub(crate) fn compare(world: &World, m: &Mutator, objects: usize, bytes: usize) -> Outcome {
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
        if let Some(place) = world.heap.space().arenas().find(object.into()) {
            if !world.arenas.has(place.arena) {
                odd = odd.or(Some((object.get(), bytes)));
            }
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
