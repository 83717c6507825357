//! Heap against model, right after a collection: what can be reached is there with its contents, nothing overlaps,
//! the space is consistent, and where only precise roots count, what cannot be reached is gone. A young collection keeps what
//! is old, and what that leads to; one that is late keeps everything.

use super::collected::{Kept, follow, words_of};
use super::world::World;
use heapwood_gc::QuietHeap;
use heapwood_gc_testing::model::graph::{Id, Masked, Pair, Word};
use heapwood_gc_testing::model::kinds::{Kind, Storage};
use heapwood_heap::Address;

pub(crate) use heapwood_gc_testing::model::Outcome;

/// How thoroughly to look. Finishing the sweep leaves less to lazy sweeping, so it is not always done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What the heap says without being changed.
    Look,
    /// Finish the sweep, and see that the dead are gone.
    Sweep,
    /// No mutator has allocated since the collection: compare every object that exists, and walk the space.
    Whole,
}

/// Checks the heap after a collection that ended before the object at `newest` was made; forgets what has died.
pub(crate) fn after_collection(world: &mut World, depth: Depth, newest: Option<usize>) -> Outcome {
    let stats = world.heap.inspect().stats();
    let exact = world.settings.exact() && !world.is_unsure;
    let exact = exact && (!world.freed_large || world.is_full(&stats));
    let Kept { what, reached, kept, all, alive: order, sure } = follow(world, &stats, exact);
    // What a young collection finds is added to what there was, of which the program may have freed some: then objects are
    // counted anew by a full one, and bytes are an estimate.
    let made = core::mem::take(&mut world.made);
    if !world.freed {
        let frees = core::mem::replace(&mut world.counted_frees, world.frees);
        // What arenas hold is not counted.
        let in_heap = |ids: &[Id]| ids.iter().filter(|&&id| !kind(world, id).is_in_arena()).count();
        let (n, alive, found) = (in_heap(&all), in_heap(&order), stats.live_objects);
        // A marking beside the program does not count what is made meanwhile in cells that the program had freed.
        let reused = if world.is_unsure { world.frees - frees } else { 0 };
        if exact && found != n || found + in_heap(&made) + reused < alive {
            return Err(format!("{what}: {n} objects are kept, {alive} alive, {found} were marked"));
        }
        let bytes = |ids: &[Id]| {
            let in_heap = ids.iter().map(|&id| kind(world, id)).filter(|kind| !kind.is_in_arena());
            in_heap.map(Kind::counted_bytes).sum::<usize>()
        };
        let (all, alive, found) = (bytes(&all), bytes(&order), stats.live_bytes);
        if world.frees == 0 && (exact && found != all || found + bytes(&made) < alive) {
            return Err(format!("{what}: {all} bytes are kept, {alive} alive, {found} were counted"));
        }
    }
    if stats.barrier_violations != 0 {
        return Err(format!("{} stores went around the barrier", stats.barrier_violations));
    }
    world.check_links(sure)?;
    for &id in &order {
        object(world, id)?;
    }
    apart(world, &order)?;
    world.young.clear();
    let mut dead_arenas = world.model.arenas.clone();
    let gone = world.model.forget_all_but(&kept);
    world.model.grow_old(&reached);
    dead_arenas.retain(|number, _| !world.model.arenas.contains_key(number));
    world.collected_arenas += dead_arenas.len();
    let arena_graves = core::mem::take(&mut world.model.arena_graves);
    if depth != Depth::Look {
        world.heap.memory().finish_sweep();
        if exact {
            absent(world, &gone, newest)?;
            for at in &arena_graves {
                let found =
                    world.heap.space().arenas().find(Address::new(at.addr())).filter(|place| place.is_there);
                if let Some(found) = found.filter(|place| dead_arenas.contains_key(&place.arena)) {
                    return Err(format!("the dead arena at {:#x} is still there: {found:x?}", at.addr()));
                }
            }
        }
    }
    if depth == Depth::Whole {
        // SAFETY: the program has one thread, this one.
        if let Err(invalid) = unsafe { world.heap.inspect().is_valid() } {
            return Err(format!("the space is not valid: {invalid}"));
        }
        if exact {
            everything(world, &all)?;
        }
    }
    // Where a young collection may keep more than it must, a dead object may still exist: a stray word of the program would
    // keep it.
    let exists = |at: &Masked| world.heap.objects().find(at.addr()).is_some();
    world.graves.extend(gone.into_iter().filter(|at| exact || !exists(at)));
    let rests = |at: &Masked| {
        let place = world.heap.space().arenas().find(Address::new(at.addr()));
        place.is_some_and(|place| place.is_there)
    };
    world.graves.extend(arena_graves.into_iter().filter(|at| exact || !rests(at)).take(3));
    world.let_go_of_headers();
    let excess = world.graves.len().saturating_sub(64);
    world.graves.drain(..excess);
    world.tables.retain(|id| reached.get(id.0) == Some(&true));
    if core::mem::take(&mut world.is_unsure) {
        // Until the next full collection.
        (world.freed, world.freed_large) = (true, true);
    }
    world.look_at_queues(sure)?;
    world.live = order.len();
    world.seen += order.len();
    world.checked += 1;
    Ok(())
}

/// The words of an ephemeron that the program may rely on.
fn ephemeron(world: &World, id: Id, pair: Pair) -> Outcome {
    let (at, found) = (world.addr(id), words_of(world, id));
    let wanted = match pair {
        Pair::Of { key, value } => [world.addr(key), value.map_or(0, |value| world.addr(value))],
        Pair::Cleared => [0, 0],
        Pair::Unknown => return Ok(()),
    };
    match found == wanted {
        true => Ok(()),
        false => Err(format!("the ephemeron at {at:#x} holds {found:x?}, and not {wanted:x?} ({pair:?})")),
    }
}

fn kind(world: &World, id: Id) -> &Kind {
    &world.kinds.all[world.model.get(id).kind]
}

/// One object's existence and contents.
pub(crate) fn object(world: &World, id: Id) -> Outcome {
    let (object, kind) = (world.model.get(id), kind(world, id));
    let at = object.at.addr();
    let fail =
        |what: String| Err(format!("the {} of {} bytes at {at:#x}: {what}", kind.name, kind.ty.size()));
    let ends = [at, at + kind.ty.size() - 1];
    if let Some(number) = object.arena {
        for inside in ends {
            match world.heap.space().arenas().find(Address::new(inside)) {
                Some(place) if place.is_there && place.arena == number => {}
                other => return fail(format!("looking up {inside:#x} of arena {number} finds {other:x?}")),
            }
        }
    }
    for inside in ends.into_iter().filter(|_| object.arena.is_none()) {
        match world.mutator().find(inside) {
            Some(found) if found.base.get() == at && found.bytes == kind.reach() => {}
            other => return fail(format!("looking up {inside:#x} finds {other:x?}")),
        }
    }
    if kind.lies == Storage::Header {
        return Ok(());
    }
    if let Some(pair) = object.pair {
        return ephemeron(world, id, pair);
    }
    if kind.is_opaque {
        return opaque(world, id);
    }
    let mut linked = 0;
    for w in 0..kind.words() {
        // A text of an arena lies anywhere.
        // SAFETY: the object was just found.
        let found = unsafe { (at as *const usize).add(w).read_unaligned() };
        let wanted = if kind.is_slot[w] {
            if found == 0 {
                continue;
            }
            linked += 1;
            world.word(id, w as u32)
        } else if kind.counted && w == 0 {
            // Nothing was written there that is no slot if it was emptied.
            object.serial.map_or(0, |_| kind.slots.len())
        } else {
            match object.decoy {
                Some((word, at)) if word as usize == w => at.addr(),
                _ => object.pattern(w as u32),
            }
        };
        if found != wanted {
            return fail(format!("word {w} is {found:#x} and should be {wanted:#x}"));
        }
    }
    let used = object.edges.len() + object.stale.len();
    if linked != used {
        return fail(format!("{linked} slots are in use and should be {used}"));
    }
    Ok(())
}

/// The pointers of a table, or of its array.
fn opaque(world: &World, id: Id) -> Outcome {
    for (&word, edge) in &world.model.get(id).edges {
        // SAFETY: a word of an object that was just found.
        let found = unsafe { world.slot_ptr(id, word).read_volatile() };
        if found != world.addr(edge.to) {
            let at = world.addr(id);
            return Err(format!(
                "word {word} of what a weak table is at {at:#x} is {found:#x}, and not {edge:?}"
            ));
        }
    }
    Ok(())
}

fn stopped(world: &World) -> QuietHeap<'_> {
    // SAFETY: the program has one thread, this one, and tokens are dropped at once.
    unsafe { world.heap.inspect().stopped() }
}

/// No two live objects overlap, and all are aligned.
fn apart(world: &World, order: &[Id]) -> Outcome {
    let mut places: Vec<(usize, usize)> =
        order.iter().map(|&id| (world.addr(id), kind(world, id).reach())).collect();
    places.sort_unstable();
    if let Some(pair) = places.windows(2).find(|p| p[0].0 + p[0].1 > p[1].0) {
        return Err(format!("objects at {:#x} and {:#x} overlap", pair[0].0, pair[1].0));
    }
    let in_heap = |id: &&Id| !kind(world, **id).is_in_arena();
    match order.iter().filter(in_heap).find(|&&id| !world.addr(id).is_multiple_of(heapwood_heap::GRANULE)) {
        Some(&id) => Err(format!("the object at {:#x} is not aligned", world.addr(id))),
        None => Ok(()),
    }
}

/// What died cannot be found.
fn absent(world: &World, gone: &[Masked], newest: Option<usize>) -> Outcome {
    for at in gone {
        let found = world.heap.objects().find(at.addr()).filter(|o| Some(o.base.get()) != newest);
        // What was made since may be a piece of an arena, whose value is not written yet.
        let found = found.filter(|o| world.heap.space().arenas().find(o.base.into()).is_none());
        if let Some(found) = found {
            return Err(format!("the dead object at {:#x} still exists: {found:x?}", at.addr()));
        }
    }
    Ok(())
}

/// Exactly the objects that are kept exist.
fn everything(world: &World, order: &[Id]) -> Outcome {
    let in_heap = order.iter().filter(|&&id| !kind(world, id).is_in_arena());
    let mut wanted: Vec<(usize, usize)> =
        in_heap.map(|&id| (world.addr(id), kind(world, id).reach())).collect();
    wanted.sort_unstable();
    let (mut found, mut arenas) = (Vec::new(), Vec::new());
    stopped(world).for_each_object(|object, bytes| match world.heap.space().arenas().find(object.into()) {
        Some(place) => arenas.push(place.arena),
        None => found.push((object.get(), bytes)),
    });
    // One that was left without values is kept by its header's handle, and by a word that may point into it.
    // SAFETY: the handles are held.
    let handles = world.left.iter().map(|(handle, _)| unsafe { handle.get() });
    let words = world.ranges.iter().flat_map(|block| &block.means).filter_map(|word| match word {
        Word::Raw(at) => Some(at.addr()),
        Word::Null | Word::To(_) => None,
    });
    let find = |at| world.heap.space().arenas().find(Address::new(at));
    let left: Vec<_> = handles.chain(words).filter_map(find).map(|place| place.arena).collect();
    let is_odd = |number: &&u64| !world.model.arenas.contains_key(number) && !left.contains(number);
    if let Some(odd) = arenas.iter().find(is_odd) {
        return Err(format!("arena {odd} is there, and nothing keeps it"));
    }
    if found == wanted {
        return Ok(());
    }
    let odd = found.iter().find(|f| wanted.binary_search(f).is_err());
    let lost = wanted.iter().find(|w| found.binary_search(w).is_err());
    Err(format!(
        "{} objects exist and {} are kept: {odd:x?} is odd, {lost:x?} is lost",
        found.len(),
        wanted.len()
    ))
}
