//! Clusters that are reached by way of arenas: a root leads to a value of an arena, and that to the cluster's head. So the heap
//! refers to what lies in arenas, that to what lies in the heap, and threads get what lies in arenas that others opened,
//! and closed or left since. Invariant: an arena is known as long as its thread has it open or a cluster is reached by it.

use super::cluster::{Outcome, pattern};
use super::world::World;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_gc::{AllocError, Mutator};
use heapwood_gc_testing::Rng;
use heapwood_gc_testing::model::graph::Masked;
use heapwood_gc_testing::model::kinds::WORD;
use heapwood_gc_testing::{Arena, Values, words};
use heapwood_heap::{Address, ArenaKind, ObjectRef};
use std::collections::HashMap;
use std::sync::Mutex;

/// How many arenas a thread has open at most.
const MOST_OPEN: usize = 3;
/// The word of each value that is a pointer.
const SLOT: usize = 1;
/// The words of values, of which some fill a piece soon.
const SIZES: [usize; 4] = [2, 5, 40, 250];

/// The arenas that there are, for all threads.
#[derive(Default)]
pub(crate) struct Arenas {
    /// By number: how many clusters are reached by it, and one while it is open.
    known: Mutex<HashMap<u64, usize>>,
    open: AtomicUsize,
    serials: AtomicUsize,
}

/// The value that lies between a cluster's root and its head.
#[derive(Clone, Copy)]
pub(crate) struct Via {
    pub(crate) at: Masked,
    words: usize,
    serial: u64,
    arena: u64,
}

/// How many arenas were opened, how many clusters went into them, and how many were closed or emptied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    opened: usize,
    pub(crate) housed: usize,
    pub(crate) closed: usize,
    emptied: usize,
}

impl Done {
    pub(crate) fn add(&mut self, other: Done) {
        self.opened += other.opened;
        self.housed += other.housed;
        self.closed += other.closed;
        self.emptied += other.emptied;
    }
}

impl Arenas {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.known.lock().unwrap().len()
    }

    /// How many are open, which have a header among the heap's objects.
    pub(crate) fn headers(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Whether there is one of this number.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.known.lock().unwrap().contains_key(&number)
    }

    fn begin(&self, world: &World, arena: Arena) -> Outcome {
        let (at, number) = (arena.0.as_ptr() as usize, arena.header().number());
        if !world.granules.claim(at, header_bytes(world)) {
            return Err(format!("the header of arena {number} at {at:#x} lies where an object lives"));
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        match self.known.lock().unwrap().insert(number, 1) {
            None => Ok(()),
            Some(_) => Err(format!("there is an arena {number} already")),
        }
    }

    /// It is about to be open no more; as soon as it is its header may be another's.
    fn end(&self, world: &World, arena: Arena) -> Outcome {
        let (at, number) = (arena.0.as_ptr() as usize, arena.header().number());
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.let_go(number);
        match world.granules.release(at, header_bytes(world)) {
            true => Ok(()),
            false => Err(format!("the header of arena {number} at {at:#x} was not alive")),
        }
    }

    fn refer(&self, number: u64) {
        *self.known.lock().unwrap().get_mut(&number).expect("it is open") += 1;
    }

    /// One reason less for it to live.
    fn let_go(&self, number: u64) {
        let mut known = self.known.lock().unwrap();
        let reasons = known.get_mut(&number).expect("it lives");
        *reasons -= 1;
        if *reasons == 0 {
            known.remove(&number);
        }
    }

    /// Whether nothing but its thread has it; then nobody else will.
    fn is_unused(&self, number: u64) -> bool {
        self.known.lock().unwrap()[&number] == 1
    }
}

fn header_bytes(world: &World) -> usize {
    world.kinds.all[world.kinds.header].reach()
}

impl Via {
    fn slot(&self) -> *mut usize {
        (self.at.addr() + SLOT * WORD) as *mut usize
    }

    /// It leads to another head, or to none (0).
    pub(crate) fn lead_to(&self, m: &Mutator, head: usize) {
        // SAFETY: the value lives, since a root leads to it or its arena is open; the word is its slot.
        unsafe { m.barrier().write(ObjectRef::new(self.at.addr()), self.slot(), Address::new(head)) };
    }

    /// Compares it with what it must be.
    pub(crate) fn check(&self, head: usize) -> Outcome {
        for w in 0..self.words {
            // SAFETY: as above, and it has this word.
            let found = unsafe { (self.at.addr() as *const usize).add(w).read() };
            let wanted = if w == SLOT { head } else { pattern(self.serial, w) };
            if found != wanted {
                let at = self.at.addr();
                return Err(format!(
                    "word {w} of the value of {} words at {at:#x} in arena {} is {found:#x} and should be {wanted:#x}",
                    self.words, self.arena
                ));
            }
        }
        Ok(())
    }

    /// Its root leads to it no more. What its arena still holds keeps nothing alive.
    pub(crate) fn leave(self, world: &World) {
        world.arenas.let_go(self.arena);
    }
}

/// A thread's open arenas.
#[derive(Default)]
pub(crate) struct Lodgings {
    open: Vec<Arena>,
    pub(crate) done: Done,
}

impl Lodgings {
    /// A value that leads to `head`, in some arena; none if a limit refuses it. May collect, so `head` is rooted.
    pub(crate) fn house(
        &mut self,
        world: &World,
        m: &Mutator,
        head: Masked,
        rng: &mut Rng,
    ) -> Result<Option<Via>, String> {
        let refused = |e| match e {
            AllocError::Limit { .. } if world.settings.config.limit.is_some() => Ok(None),
            e => Err(format!("an arena got nothing: {e}")),
        };
        if self.open.is_empty() || self.open.len() < MOST_OPEN && rng.one_in(8) {
            let kind = [ArenaKind::Borrowed, ArenaKind::Escaping][rng.below(2)];
            let arena = match m.arenas().open(kind, rng.one_in(2)) {
                Ok(header) => Arena(header),
                Err(e) => return refused(e),
            };
            world.arenas.begin(world, arena)?;
            self.open.push(arena);
            self.done.opened += 1;
        }
        let arena = self.open[rng.below(self.open.len())];
        let size = rng.below(SIZES.len());
        let values = Values::new(1000 + size, SIZES[size], [1 << SLOT, 0, 0, 0]);
        let at = match arena.peek(m, values, 1) {
            Ok(at) => at,
            Err(e) => return refused(e),
        };
        let serial = (world.arenas.serials.fetch_add(1, Ordering::Relaxed) as u64) << 5 | 0x1F;
        for w in 0..SIZES[size] {
            let value = if w == SLOT { head.addr() } else { pattern(serial, w) };
            // SAFETY: there is room for a value.
            unsafe { words::store((at as *mut usize).add(w), value) };
        }
        arena.header().commit(at, values.layout.bytes());
        let number = arena.header().number();
        world.arenas.refer(number);
        self.done.housed += 1;
        Ok(Some(Via { at: Masked::new(at), words: SIZES[size], serial, arena: number }))
    }

    /// Some arena ends: it is closed or emptied if no cluster is reached by it, and else left.
    pub(crate) fn end_one(&mut self, world: &World, m: &Mutator, rng: &mut Rng) -> Outcome {
        if self.open.is_empty() {
            return Ok(());
        }
        let i = rng.below(self.open.len());
        let arena = self.open[i];
        let closes = world.arenas.is_unused(arena.header().number()) && !rng.one_in(4);
        if closes && rng.one_in(3) {
            arena.empty(m);
            self.done.emptied += 1;
            return Ok(());
        }
        self.open.swap_remove(i);
        world.arenas.end(world, arena)?;
        match closes {
            true => arena.close(m),
            false => arena.leave(m),
        }
        self.done.closed += closes as usize;
        Ok(())
    }

    /// The thread leaves the heap: all end, or it leaves them as they are, which verify mode reports.
    pub(crate) fn end_all(&mut self, world: &World, m: &Mutator, forgets: bool, rng: &mut Rng) -> Outcome {
        if forgets && !world.settings.config.verify {
            return self.open.drain(..).try_for_each(|arena| world.arenas.end(world, arena));
        }
        while !self.open.is_empty() {
            self.end_one(world, m, rng)?;
        }
        Ok(())
    }
}
