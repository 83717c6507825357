//! What collections do to the model: which objects they keep, which ephemerons and links they clear, which finalisers they queue.
//! It follows the phase behind marking: what queues hold keeps things; what is weak and short is cleared; objects with finalisers
//! come back; what is weak and long is cleared, and data of what is dead is due. Invariant: where only precise roots count, what the
//! heap does is known beforehand; elsewhere the model keeps no more than the heap does, and the rest is looked up.

use super::world::World;
use heapwood_gc::Stats;
use heapwood_gc_testing::model::graph::{Id, Pair};

/// What the collections since the last check have kept.
pub(super) struct Kept {
    pub(super) what: &'static str,
    /// By id: what the program's roots lead to, and what was kept.
    pub(super) reached: Vec<bool>,
    pub(super) kept: Vec<bool>,
    pub(super) all: Vec<Id>,
    /// What roots or finalisers lead to: a young collection keeps more.
    pub(super) alive: Vec<Id>,
    /// The model knew what the heap would do.
    pub(super) sure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Young,
    /// Young, but late: it keeps everything.
    Late,
    Full,
}

/// Follows the collections since the last check. Nothing is allocated between them, and young ones come first.
pub(super) fn follow(world: &mut World, stats: &Stats, exact: bool) -> Kept {
    let (young, late) = (stats.young_collections, stats.promoted_en_masse);
    let before = core::mem::replace(&mut world.counts, (stats.collections, young, late));
    let (all, young, late) = (stats.collections - before.0, young - before.1, late - before.2);
    let mut sure = exact;
    let mut kept = Vec::new();
    let mut what = "no";
    if young > 0 || all == 0 {
        // What was remembered of freed objects may keep more than must be.
        sure &= !world.freed;
        (world.young_checked, world.late) = (world.young_checked + 1, world.late + u64::from(late > 0));
        let of = if late > 0 { Of::Late } else { Of::Young };
        what = if late > 0 { "late" } else { "young" };
        kept = collect(world, of, sure);
    }
    let full = all - young;
    // A third finds what the second has left.
    for _ in 0..full.min(2) {
        what = "full";
        kept = collect(world, Of::Full, sure);
    }
    if full > 0 {
        (world.freed, world.freed_large) = (false, false);
    }
    let roots = world.roots();
    let (reached, _) = world.model.reachable(roots.iter().copied());
    let (_, alive) = world.model.reachable(roots.into_iter().chain(world.wills.objects()));
    let all = world.model.all().map(|(id, _)| id).filter(|id| kept[id.0]).collect();
    Kept { what, reached, kept, all, alive, sure }
}

/// One collection. `sure`: the model knows what the heap does.
fn collect(world: &mut World, of: Of, sure: bool) -> Vec<bool> {
    let mut base = world.roots();
    let stays = |old: bool| of == Of::Late || of == Of::Young && old;
    base.extend(world.model.all().filter(|(_, object)| stays(object.old)).map(|(id, _)| id));
    base.extend(world.wills.held());
    let (first, _) = world.model.reachable(base.iter().copied());
    for (id, key) in pairs(world) {
        if first[id.0] && !first[key.0] && (sure || is_cleared(world, id)) {
            world.model.get_mut(id).pair = Some(Pair::Cleared);
        }
    }
    let led = led_to(world, &base, &first);
    base.extend(world.wills.objects());
    let (kept, _) = world.model.reachable(base.into_iter());
    for (id, key) in pairs(world).into_iter().filter(|(id, _)| kept[id.0]) {
        let pair = match (kept[key.0], first[id.0]) {
            (true, true) => continue,
            // Both came back together.
            (true, false) if sure || !is_cleared(world, id) => continue,
            (false, _) if !sure && !is_cleared(world, id) => Pair::Unknown,
            _ => Pair::Cleared,
        };
        world.model.get_mut(id).pair = Some(pair);
    }
    world.settle_links(&first, &kept, sure);
    world.wills.settle((&first, &led, &kept), (of == Of::Full, sure));
    kept
}

/// What roots lead to, or dead ordered objects, but for these themselves: an ordered object among it waits.
fn led_to(world: &World, base: &[Id], first: &[bool]) -> Vec<bool> {
    let dead: Vec<Id> = world.wills.ordered().filter(|id| !first[id.0]).collect();
    let edges = |id: &Id| world.model.get(*id).edges.values().map(|edge| edge.to);
    let below = dead.iter().flat_map(|id| edges(id).filter(move |to| to != id));
    let mut base: Vec<Id> = base.iter().copied().chain(below).collect();
    loop {
        let (led, _) = world.model.reachable(base.iter().copied());
        // One of them may be an ephemeron itself.
        let value = |id: &Id| match world.model.get(*id).pair {
            Some(Pair::Of { key, value: Some(value) }) if led[key.0] && !led[value.0] && value != *id => {
                Some(value)
            }
            _ => None,
        };
        let before = base.len();
        base.extend(dead.iter().filter_map(value));
        if base.len() == before {
            return led;
        }
    }
}

/// Ephemerons that have keys, with those.
fn pairs(world: &World) -> Vec<(Id, Id)> {
    let pairs = world.model.all().filter_map(|(id, object)| match object.pair {
        Some(Pair::Of { key, .. }) => Some((id, key)),
        _ => None,
    });
    pairs.collect()
}

/// The words of an ephemeron that exists.
pub(super) fn words_of(world: &World, id: Id) -> [usize; 2] {
    let at = world.addr(id) as *const usize;
    // SAFETY: it exists, and has four words.
    [0, 1].map(|i| unsafe { at.add(i).read_volatile() })
}

fn is_cleared(world: &World, id: Id) -> bool {
    words_of(world, id) == [0, 0]
}

impl World {
    /// Whether one of the collections since the last check was full.
    pub(super) fn is_full(&self, stats: &Stats) -> bool {
        stats.collections - self.counts.0 > stats.young_collections - self.counts.1
    }

    /// Whether the program uses what is weak, and finalisers: not where collections come unseen, which clear and queue.
    pub(super) fn has_weak(&self) -> bool {
        !self.settings.disturbed()
    }
}
