//! A thread's part in a run: its clusters, and the roots that lead to them. A worker outlives its thread: between two
//! attachments all its roots are registered slots and handles. Invariant: outside of a step every cluster's root holds the
//! address of its head, and every other root holds null.

use super::check::Tally;
use super::cluster::{Cluster, Object, Outcome, Root, fill};
use super::frees::free;
use super::hand::Hand;
use super::weaks::Known;
use super::world::World;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use heapwood_gc::{AllocError, Attached, Frame, Mutator, RootToken};
use heapwood_gc_testing::disturb::Disturber;
use heapwood_gc_testing::model::graph::Masked;
use heapwood_gc_testing::{Rng, words};
use heapwood_heap::{Address, ObjectRef};

/// Registered slots of a worker.
const SLOTS: usize = 80;
/// Slots of its frame.
const FRAME: usize = 6;
/// Slots for what it has read of others' for a while, and behind them two for what it makes.
const KEPT: usize = 4;

/// What a worker, or all, have done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) allocations: usize,
    pub(crate) checks: usize,
    pub(crate) sent: usize,
    pub(crate) freed: usize,
    pub(crate) attached: usize,
    pub(crate) refused: usize,
    pub(crate) meetings: usize,
    /// Collections that stopped a thread where it only computed.
    pub(crate) answered: usize,
}

impl Done {
    pub(crate) fn add(&mut self, other: Done) {
        self.allocations += other.allocations;
        self.checks += other.checks;
        self.sent += other.sent;
        self.freed += other.freed;
        self.attached += other.attached;
        self.refused += other.refused;
        self.meetings += other.meetings;
        self.answered += other.answered;
    }
}

pub(crate) struct Worker<'w> {
    world: &'w World,
    number: usize,
    rng: Rng,
    serials: u64,
    /// Which attachment this is, of all threads'.
    session: u64,
    clusters: Vec<Cluster>,
    slots: Box<[AtomicUsize]>,
    slots_token: RootToken,
    frame: Box<Frame>,
    frame_slots: Box<[AtomicUsize]>,
    hand: Hand<'w>,
    kept: Box<[AtomicUsize]>,
    kept_token: RootToken,
    /// What it has read.
    known: [Option<Known>; KEPT],
    /// The roots that hold null.
    free_roots: Vec<Root>,
    left: usize,
    pub(crate) done: Done,
}

// SAFETY: one thread at a time plays a worker; what its pointers lead to is its own.
unsafe impl Send for Worker<'_> {}

fn zeros(n: usize) -> Box<[AtomicUsize]> {
    (0..n).map(|_| AtomicUsize::new(0)).collect()
}

impl<'w> Worker<'w> {
    pub(crate) fn new(world: &'w World, number: usize, seed: u64, allocations: usize) -> Self {
        let (slots, frame_slots) = (zeros(SLOTS), zeros(FRAME));
        // SAFETY: the slots are in a box of their own until the root is removed.
        let token = unsafe { world.heap.roots().add_slots(slots.as_ptr().cast(), SLOTS) }.unwrap();
        let kept = zeros(KEPT + 2);
        // SAFETY: as above.
        let kept_token = unsafe { world.heap.roots().add_slots(kept.as_ptr().cast(), KEPT + 2) }.unwrap();
        let frame =
            Frame { prev: core::ptr::null_mut(), count: FRAME, slots: frame_slots.as_ptr() as *mut usize };
        Worker {
            world,
            number,
            rng: Rng::new(seed ^ (number as u64) << 32),
            serials: 0,
            session: 0,
            clusters: Vec::new(),
            slots,
            slots_token: token,
            frame: Box::new(frame),
            frame_slots,
            hand: Hand::new(&world.heap),
            kept,
            kept_token,
            known: [None; KEPT],
            free_roots: (0..SLOTS).map(Root::Slot).collect(),
            left: allocations,
            done: Done::default(),
        }
    }

    /// Plays to the end, in this thread and in others.
    pub(crate) fn play(mut self) -> Result<Done, String> {
        while self.left > 0 {
            if self.world.settings.come_and_go && self.rng.one_in(2) {
                let forgets = self.rng.one_in(2);
                let me = &mut self;
                std::thread::scope(|scope| scope.spawn(move || me.attached(forgets)).join())
                    .unwrap_or_else(|_| Err("a thread panicked".into()))?;
            } else {
                self.attached(false)?;
            }
        }
        Ok(self.done)
    }

    /// Plays as an attached thread. One that forgets to detach is detached as it ends.
    fn attached(&mut self, forgets: bool) -> Outcome {
        let mutator =
            Mutator::attach(&self.world.heap, None).map_err(|e| format!("a thread cannot attach: {e}"))?;
        self.session = self.world.sessions.fetch_add(1, Ordering::Relaxed) as u64;
        self.done.attached += 1;
        // SAFETY: the frame and its slots live as long as the worker, which outlives its threads.
        unsafe { mutator.frames().push(NonNull::from(&mut *self.frame)) };
        self.free_roots.extend((0..FRAME).map(Root::Frame));
        self.session(&mutator)?;
        self.forget_kept()?;
        if self.left == 0 {
            self.end(&mutator)?;
        }
        self.leave_frame(&mutator)?;
        if forgets {
            let _ = Attached::into_raw(mutator);
        } else {
            // SAFETY: the frame was pushed above, and is the topmost.
            unsafe { mutator.frames().pop() };
        }
        Ok(())
    }

    /// All roots are registered slots or handles from now on.
    fn leave_frame(&mut self, m: &Mutator) -> Outcome {
        let (_, mut slots): (Vec<_>, Vec<_>) =
            self.free_roots.drain(..).partition(|r| matches!(r, Root::Frame(_)));
        for c in 0..self.clusters.len() {
            if matches!(self.clusters[c].root, Root::Frame(_)) {
                self.move_root(m, c, slots.pop().expect("there are more slots than clusters"))?;
            }
        }
        self.free_roots = slots;
        Ok(())
    }

    fn session(&mut self, m: &Mutator) -> Outcome {
        loop {
            self.world.meeting.check()?;
            let before = self.done.allocations;
            self.step(m)?;
            let round = self.world.settings.round;
            if self.done.allocations != before {
                self.left -= 1;
                if self.left.is_multiple_of(round) {
                    self.meet(m)?;
                }
                if self.left == 0 {
                    return Ok(());
                }
            }
            if self.world.settings.come_and_go && self.rng.one_in(round) {
                return Ok(());
            }
        }
    }

    fn step(&mut self, m: &Mutator) -> Outcome {
        match self.rng.below(1000) {
            0..700 => self.allocate(m),
            700..780 => self.link(m),
            780..800 => self.init(m),
            800..840 => self.unlink(m),
            840..860 => self.look(m),
            860..910 => self.use_weak(m),
            910..955 => self.send(m),
            955..980 => self.receive(m),
            980..984 => self.change_root(m),
            984..987 => self.compute(),
            987..990 if self.rng.one_in(2) => self.leave(m),
            987..990 => self.let_go(m),
            990..994 => {
                if self.world.settings.young {
                    self.world.heap.set_young_time(self.rng.one_in(3).then_some(Duration::ZERO));
                }
                // By themselves markings beside the threads would be rare: most collections are those of meetings.
                if self.world.settings.marks_beside() && self.rng.one_in(4) {
                    m.incremental_marking().ask_marker();
                }
                m.safepoint();
                Ok(())
            }
            994..999 => self.block(m),
            // Others stop for it, so the more there are the rarer.
            _ if self.rng.one_in(10 * self.world.settings.threads) => {
                m.collect().map_err(|e| format!("a collection was refused: {e}"))
            }
            _ if self.world.settings.young && self.rng.one_in(self.world.settings.threads) => {
                m.collect_young().map_err(|e| format!("a young collection was refused: {e}"))
            }
            _ => Ok(()),
        }
    }

    /// Uses no heap while a collection comes.
    fn compute(&mut self) -> Outcome {
        if let Some(disturber) = self.world.disturber.as_ref().filter(|_| self.rng.one_in(3)) {
            disturber.answer_in_handler()?;
            self.done.answered += 1;
        }
        Ok(())
    }

    // Allocation.

    /// A kind, by weight; large ones are rarer, or they would take most of the time.
    fn choose(&mut self) -> usize {
        let kinds = &self.world.kinds;
        loop {
            let kind = kinds.choose(&mut self.rng);
            if kinds.all[kind].ty.size() <= 4096 || self.rng.one_in(20) {
                return kind;
            }
        }
    }

    /// Memory for an object; nothing if a limit refuses it.
    fn obtain(&mut self, m: &Mutator, kind: usize, zeroed: bool) -> Result<Option<usize>, String> {
        let ty = self.world.kinds.all[kind].ty;
        for _ in 0..4 {
            let made = match ty.cell_size() {
                Some(cell) if !zeroed && self.rng.one_in(2) => {
                    m.reserve(ty.shape(), cell).inspect(|&object| {
                        // SAFETY: it was reserved just now, and is zero where it may hold pointers.
                        unsafe { m.buffer(ty.shape()).commit(object, cell) };
                    })
                }
                _ if zeroed => m.allocate_zeroed(ty),
                _ => m.allocate(ty),
            };
            match made {
                Ok(at) => return Ok(Some(at.as_ptr() as usize)),
                Err(AllocError::Limit { .. }) if self.world.settings.config.limit.is_some() => {
                    self.done.refused += 1;
                    for _ in 0..self.clusters.len().div_ceil(2) {
                        self.let_go(m)?;
                    }
                    m.collect().map_err(|e| format!("a collection was refused: {e}"))?;
                }
                Err(e) => return Err(format!("an allocation failed: {e}")),
            }
        }
        Ok(None)
    }

    fn allocate(&mut self, m: &Mutator) -> Outcome {
        let (kind, zeroed) = (self.choose(), self.rng.one_in(6));
        let Some(at) = self.obtain(m, kind, zeroed)? else { return Ok(()) };
        // Until something refers to it this thread does not stop, or the object is in its hand.
        self.hand.hold(at);
        let made = self.settle(m, kind, at, zeroed);
        self.hand.hold(0);
        made
    }

    /// A new object gets its contents and its place.
    fn settle(&mut self, m: &Mutator, kind: usize, at: usize, zeroed: bool) -> Outcome {
        self.done.allocations += 1;
        let (world, k) = (self.world, &self.world.kinds.all[kind]);
        if !world.granules.claim(at, k.reach()) {
            return Err(format!("a new {} at {at:#x} lies where another object lives", k.name));
        }
        k.newborn(at, zeroed)?;
        self.serials += 1;
        let serial = self.serials << 5 | self.number as u64;
        fill(k, serial, at);
        let object = Object {
            at: Masked::new(at),
            kind,
            serial,
            maker: self.session,
            edges: Vec::new(),
            ties: Default::default(),
        };
        if self.rng.one_in(4) {
            // Garbage from the first.
            let frees = self.rng.one_in(2);
            return self.bury(m, vec![object], frees);
        }
        if self.clusters.is_empty() || self.clusters.len() < world.settings.clusters && self.rng.one_in(40) {
            return self.found(object);
        }
        let c = self.rng.below(self.clusters.len());
        if self.clusters[c].len() >= world.settings.objects {
            let frees = self.clusters[c].frees;
            let gone = self.take_apart(m, c)?;
            self.bury(m, gone, frees)?;
            return self.found(object);
        }
        self.adopt(m, c, object)
    }

    /// A new cluster of one object.
    fn found(&mut self, object: Object) -> Outcome {
        let root = match self.rng.one_in(4) {
            true => self.new_handle()?,
            false => {
                let at = self.rng.below(self.free_roots.len());
                self.free_roots.swap_remove(at)
            }
        };
        let mut cluster = Cluster::new(root, self.rng.one_in(2));
        cluster.head = cluster.add(object);
        self.set_root(root, cluster.head_addr());
        self.clusters.push(cluster);
        Ok(())
    }

    /// A new object becomes a part of a cluster.
    fn adopt(&mut self, m: &Mutator, c: usize, object: Object) -> Outcome {
        let (kinds, kind) = (&self.world.kinds, &self.world.kinds.all[object.kind]);
        let (cluster, rng) = (&mut self.clusters[c], &mut self.rng);
        let id = cluster.add(object);
        // Stores that initialise need no barrier.
        for _ in 0..rng.below(4).min(kind.slots.len()) {
            let word = kind.slots[rng.below(kind.slots.len())];
            let to = cluster.any(rng);
            let edge = cluster.edge_to(kinds, id, word, to, rng);
            // SAFETY: the object is new, and the word one of its slots.
            unsafe {
                let slot = (cluster.get(id).at.addr() as *mut usize).add(word as usize);
                words::store(slot, cluster.value(Some(&edge)));
            }
            cluster.get_mut(id).set_edge(word, Some(edge));
        }
        for _ in 0..6 {
            let parent = cluster.any(rng);
            let slots = &kinds.all[cluster.get(parent).kind].slots;
            if parent == id || slots.is_empty() {
                continue;
            }
            let word = slots[rng.below(slots.len())];
            if cluster.get(parent).edge(word).is_none() && rng.one_in(4) {
                // An array that is filled as what is put into it is made.
                let edge = cluster.edge_to(kinds, parent, word, id, rng);
                let at = cluster.get(parent).at.addr();
                let slot = (at + word as usize * heapwood_gc_testing::model::kinds::WORD) as *mut usize;
                m.barrier().note_init(ObjectRef::new(at), slot, 1);
                // SAFETY: the parent lives, and the word is a slot of it.
                unsafe { words::store(slot, cluster.value(Some(&edge))) };
                cluster.get_mut(parent).set_edge(word, Some(edge));
                return Ok(());
            }
            if cluster.get(parent).edge(word).is_none() {
                return self.store(m, c, parent, word, Some(id));
            }
        }
        // There is no place below the head: it goes above, if it can refer to it.
        let gone = match kind.slots.first() {
            Some(&word) => {
                let head = cluster.head;
                self.store(m, c, id, word, Some(head))?;
                let cluster = &mut self.clusters[c];
                cluster.head = id;
                let (root, at) = (cluster.root, cluster.head_addr());
                self.set_root(root, at);
                Vec::new()
            }
            None => self.clusters[c].take_unreachable(),
        };
        let frees = self.clusters[c].frees;
        self.bury(m, gone, frees)
    }

    // Edges.

    /// Stores through the barrier.
    fn store(&mut self, m: &Mutator, c: usize, from: u32, word: u32, to: Option<u32>) -> Outcome {
        let (kinds, cluster) = (&self.world.kinds, &mut self.clusters[c]);
        let edge = to.map(|to| cluster.edge_to(kinds, from, word, to, &mut self.rng));
        let base = cluster.get(from).at.addr();
        let (object, slot) = (
            ObjectRef::new(base),
            (base + word as usize * heapwood_gc_testing::model::kinds::WORD) as *mut usize,
        );
        let old = cluster.value(cluster.get(from).edge(word));
        let new = cluster.value(edge.as_ref());
        match self.rng.below(4) {
            0 => {
                // SAFETY: the object can be reached, the word is a slot of it, the value an object's address.
                let done = unsafe { m.barrier().cas(object, slot, Address::new(old), Address::new(new)) };
                if done != Ok(()) {
                    return Err(format!("a compare-and-swap found {done:x?} and not {old:#x}"));
                }
            }
            1 => {
                // SAFETY: as above; the source is a local.
                unsafe { m.barrier().copy(object, slot, &raw const new, 1) };
            }
            _ => {
                // SAFETY: as above.
                unsafe { m.barrier().write(object, slot, Address::new(new)) };
            }
        }
        cluster.get_mut(from).set_edge(word, edge);
        Ok(())
    }

    /// A cluster and a slot in it.
    fn place(&mut self) -> Option<(usize, u32, u32)> {
        let c = self.rng.below(self.clusters.len().max(1));
        let cluster = self.clusters.get(c)?;
        let object = cluster.any(&mut self.rng);
        let slots = &self.world.kinds.all[cluster.get(object).kind].slots;
        let word = *slots.get(self.rng.below(slots.len().max(1)))?;
        Some((c, object, word))
    }

    /// One edge more, where none is.
    fn link(&mut self, m: &Mutator) -> Outcome {
        let Some((c, from, word)) = self.place() else { return Ok(()) };
        if self.clusters[c].get(from).edge(word).is_some() {
            return Ok(());
        }
        let to = self.clusters[c].any(&mut self.rng);
        self.store(m, c, from, word, Some(to))
    }

    /// Fills slots that are empty, with plain stores that are told before.
    fn init(&mut self, m: &Mutator) -> Outcome {
        let Some((c, from, word)) = self.place() else { return Ok(()) };
        let (kinds, cluster) = (&self.world.kinds, &mut self.clusters[c]);
        let kind = &kinds.all[cluster.get(from).kind];
        let most = 1 + self.rng.below(6);
        let is_empty = |&w: &usize| kind.is_slot[w] && cluster.get(from).edge(w as u32).is_none();
        let n = (word as usize..kind.words()).take(most).take_while(is_empty).count();
        let at = cluster.get(from).at.addr();
        let slot = |w: usize| (at + w * heapwood_gc_testing::model::kinds::WORD) as *mut usize;
        m.barrier().note_init(ObjectRef::new(at), slot(word as usize), n);
        for w in word as usize..word as usize + n {
            let to = cluster.any(&mut self.rng);
            let edge = cluster.edge_to(kinds, from, w as u32, to, &mut self.rng);
            // SAFETY: the word is a slot of an object of this thread's.
            unsafe { words::store(slot(w), cluster.value(Some(&edge))) };
            cluster.get_mut(from).set_edge(w as u32, Some(edge));
        }
        Ok(())
    }

    /// One less, or one that leads elsewhere.
    fn unlink(&mut self, m: &Mutator) -> Outcome {
        let Some((c, from, word)) = self.place() else { return Ok(()) };
        // A slot in use is found more often so.
        let edges = &self.clusters[c].get(from).edges;
        let Some(word) = edges.get(self.rng.below(edges.len().max(1))).map_or(Some(word), |e| Some(e.word))
        else {
            return Ok(());
        };
        if self.clusters[c].get(from).edge(word).is_none() {
            return Ok(());
        }
        let to = self.rng.one_in(2).then(|| self.clusters[c].any(&mut self.rng));
        // This leads to all that is cut off.
        self.hand.hold(self.clusters[c].value(self.clusters[c].get(from).edge(word)));
        self.store(m, c, from, word, to)?;
        let (gone, frees) = (self.clusters[c].take_unreachable(), self.clusters[c].frees);
        self.hand.hold_all(gone.iter());
        self.hand.hold(0);
        self.bury(m, gone, frees)
    }

    // Looking.

    fn look(&mut self, m: &Mutator) -> Outcome {
        let c = self.rng.below(self.clusters.len().max(1));
        let Some(cluster) = self.clusters.get(c) else { return Ok(()) };
        let id = cluster.any(&mut self.rng);
        cluster.check(&self.world.kinds, id)?;
        self.done.checks += 1;
        let object = cluster.get(id);
        // What others made since the last collection need not be found.
        if object.maker == self.session {
            let (at, kind) = (object.at.addr(), &self.world.kinds.all[object.kind]);
            match m.find(at + self.rng.below(kind.ty.size())) {
                Some(found) if found.base.get() == at && found.bytes == kind.reach() => {}
                other => return Err(format!("looking up the {} at {at:#x} finds {other:x?}", kind.name)),
            }
        }
        Ok(())
    }

    // Roots.

    fn set_root(&self, root: Root, at: usize) {
        match root {
            Root::Slot(i) => self.slots[i].store(at, Ordering::Relaxed),
            Root::Frame(i) => self.frame_slots[i].store(at, Ordering::Relaxed),
            // SAFETY: the handle is held, and an object begins there that can be reached.
            Root::Handle(handle) => unsafe { self.world.heap.roots().set_handle(handle, Address::new(at)) },
            Root::Exchange(_) => unreachable!("only parcels are kept there"),
        }
    }

    /// Takes away the root of a cluster, which must hold `at`.
    fn clear_root(&mut self, m: &Mutator, root: Root, at: usize) -> Outcome {
        let held = match root {
            Root::Slot(i) => self.slots[i].swap(0, Ordering::Relaxed),
            Root::Frame(i) => self.frame_slots[i].swap(0, Ordering::Relaxed),
            Root::Handle(handle) => {
                // SAFETY: the handle is held.
                let held = unsafe { handle.get() };
                if !self.world.heap.roots().free_handle(handle) {
                    return Err("a handle is not held".into());
                }
                held
            }
            Root::Exchange(slot) => return self.world.exchange.clear(m, slot, at),
        };
        if matches!(root, Root::Slot(_) | Root::Frame(_)) {
            self.free_roots.push(root);
        }
        match held == at {
            true => Ok(()),
            false => Err(format!("the root {root:?} holds {held:#x} and not {at:#x}")),
        }
    }

    /// Gives a cluster another root, and then takes away the one it had.
    fn move_root(&mut self, m: &Mutator, c: usize, to: Root) -> Outcome {
        let (at, from) = (self.clusters[c].head_addr(), self.clusters[c].root);
        match to {
            Root::Exchange(slot) => self.world.exchange.put(m, slot, at),
            to => self.set_root(to, at),
        }
        self.clusters[c].root = to;
        self.clear_root(m, from, at)
    }

    fn new_handle(&self) -> Result<Root, String> {
        // SAFETY: null is no object.
        let handle = unsafe { self.world.heap.roots().new_handle(Address::new(0)) };
        handle.map(Root::Handle).map_err(|e| format!("there is no handle: {e}"))
    }

    fn change_root(&mut self, m: &Mutator) -> Outcome {
        if self.clusters.is_empty() {
            return Ok(());
        }
        let c = self.rng.below(self.clusters.len());
        let to = match self.rng.one_in(3) {
            true => self.new_handle()?,
            false => {
                let at = self.rng.below(self.free_roots.len());
                self.free_roots.swap_remove(at)
            }
        };
        self.move_root(m, c, to)
    }

    // What is weak.

    fn use_weak(&mut self, m: &Mutator) -> Outcome {
        self.known.iter().flatten().try_for_each(|known| known.check(&self.world.kinds))?;
        let (n, world) = (self.rng.below(KEPT), self.world);
        if self.rng.one_in(8) {
            return self.forget_kept();
        }
        if self.rng.one_in(2) {
            let (kept, known) = (&self.kept[n], &mut self.known[n]);
            let read = world.weaks.read(m, &mut self.rng, |at, found| {
                kept.store(at, Ordering::Relaxed);
                *known = Some(found);
            });
            return read;
        }
        // Who frees the key of something weak promises that nobody reads it.
        let Some(c) = (0..self.clusters.len()).find(|&c| !self.clusters[c].frees) else { return Ok(()) };
        let c = if self.rng.one_in(2) || self.clusters[self.clusters.len() - 1].frees {
            c
        } else {
            self.clusters.len() - 1
        };
        let id = self.clusters[c].any(&mut self.rng);
        let object = self.clusters[c].get(id);
        let key = Known { at: object.at, kind: object.kind, serial: object.serial };
        match self.rng.below(3) {
            0 => {
                let ties = &mut self.clusters[c].get_mut(id).ties;
                world.weaks.use_table(m, key.at.addr(), ties, &mut self.rng)
            }
            1 => world.weaks.tie(m, key, (None, None), &mut self.clusters[c].get_mut(id).ties, &mut self.rng),
            _ => self.new_ephemeron(m, c, id, key),
        }
    }

    /// One whose value nothing else leads to, or without.
    fn new_ephemeron(&mut self, m: &Mutator, c: usize, id: u32, key: Known) -> Outcome {
        let world = self.world;
        let kind = world.kinds.all.iter().position(|kind| kind.slots.is_empty()).expect("there is one");
        let (k, mut value, mut address) = (&world.kinds.all[kind], None, 0);
        if self.rng.one_in(2) {
            let Ok(made) = m.allocate(k.ty) else { return Ok(()) };
            address = made.as_ptr() as usize;
            self.kept[KEPT].store(address, Ordering::Relaxed);
            self.serials += 1;
            let serial = self.serials << 5 | self.number as u64;
            fill(k, serial, address);
            value = Some(Known { at: Masked::new(address), kind, serial });
        }
        let at = NonNull::new(key.at.addr() as *mut u8).expect("an object");
        // SAFETY: a cluster keeps the key, and a slot the value.
        if let Ok(made) = unsafe { m.ephemeron(at, address) } {
            let made = made.as_ptr() as usize;
            self.kept[KEPT + 1].store(made, Ordering::Relaxed);
            let ties = &mut self.clusters[c].get_mut(id).ties;
            let before = ties.values().count();
            world.weaks.tie(m, key, (Some(made), value), ties, &mut self.rng)?;
            if ties.values().count() != before && !world.granules.claim(address, k.reach()) {
                return Err(format!("a new value at {address:#x} lies where another object lives"));
            }
        }
        (KEPT..KEPT + 2).for_each(|i| self.kept[i].store(0, Ordering::Relaxed));
        Ok(())
    }

    /// These are dropped: nothing that is weak need show them any more.
    fn drop_ties<'o>(&self, objects: impl Iterator<Item = &'o mut Object>) -> Outcome {
        let world = self.world;
        for object in objects {
            object.ties.drop_all(|value| {
                match world.granules.release(value.at.addr(), world.kinds.all[value.kind].reach()) {
                    true => Ok(()),
                    false => Err(format!("a value dies that was not alive: {value:x?}")),
                }
            })?;
        }
        Ok(())
    }

    /// Compares what was read for the last time.
    fn forget_kept(&mut self) -> Outcome {
        for known in core::mem::take(&mut self.known).into_iter().flatten() {
            known.check(&self.world.kinds)?;
        }
        self.kept.iter().for_each(|kept| kept.store(0, Ordering::Relaxed));
        Ok(())
    }

    // Ends.

    /// Takes a cluster's root away, having compared all of it. Its objects are in hand.
    fn take_apart(&mut self, m: &Mutator, c: usize) -> Result<Vec<Object>, String> {
        self.clusters[c].check_all(&self.world.kinds)?;
        self.done.checks += self.clusters[c].len();
        let mut cluster = self.clusters.swap_remove(c);
        self.hand.hold_all(cluster.all());
        self.drop_ties(cluster.all_mut())?;
        self.clear_root(m, cluster.root, cluster.head_addr())?;
        Ok(cluster.into_objects().collect())
    }

    /// Objects that nothing refers to any more: they are freed, or some, or are for a collection to find.
    fn bury(&mut self, m: &Mutator, mut gone: Vec<Object>, frees: bool) -> Outcome {
        self.drop_ties(gone.iter_mut())?;
        if gone.is_empty() {
            return Ok(());
        }
        // What waits to be freed, and may be found alive, refers to nothing that was freed.
        if frees && self.hand.is_needed() {
            gone.iter().for_each(|object| self.clear(m, object));
        }
        // Before anybody can have the memory: this thread stops again, or lets go of it.
        for object in &gone {
            let (at, kind) = (object.at.addr(), &self.world.kinds.all[object.kind]);
            if !self.world.granules.release(at, kind.reach()) {
                return Err(format!("a {} at {at:#x} dies that was not alive", kind.name));
            }
        }
        let some = self.world.settings.frees_some() && self.rng.one_in(2);
        for object in gone.iter().filter(|_| frees) {
            if !some || self.rng.one_in(2) {
                // SAFETY: nothing refers to it.
                unsafe { free(m, object.at.addr()) }.map_err(|e| self.refusal(object, &e))?;
                self.done.freed += 1;
            }
        }
        self.hand.let_go();
        Ok(())
    }

    /// An object that is dead refers to nothing any more.
    fn clear(&self, m: &Mutator, object: &Object) {
        let at = object.at.addr();
        for edge in &object.edges {
            let slot = (at + edge.word as usize * heapwood_gc_testing::model::kinds::WORD) as *mut usize;
            // SAFETY: the object is in hand, and the word a slot of it.
            unsafe { m.barrier().write(ObjectRef::new(at), slot, Address::new(0)) };
        }
    }

    fn refusal(&self, object: &Object, e: &str) -> String {
        let kind = &self.world.kinds.all[object.kind];
        format!("the {} at {:#x} cannot be freed: {e}", kind.name, object.at.addr())
    }

    /// Some cluster dies.
    fn let_go(&mut self, m: &Mutator) -> Outcome {
        if self.clusters.is_empty() {
            return Ok(());
        }
        let c = self.rng.below(self.clusters.len());
        let frees = self.clusters[c].frees;
        let gone = self.take_apart(m, c)?;
        self.bury(m, gone, frees)
    }

    /// All do.
    fn end(&mut self, m: &Mutator) -> Outcome {
        while !self.clusters.is_empty() {
            self.let_go(m)?;
        }
        Ok(())
    }

    /// What was sent to anybody and not received arrives, and dies.
    pub(crate) fn receive_the_rest(&mut self, m: &Mutator) -> Outcome {
        for mailbox in &self.world.mailboxes {
            while let Some(parcel) = mailbox.take(Duration::ZERO) {
                self.unpack(m, parcel)?;
            }
        }
        self.end(m)?;
        self.inherit_all(m)
    }

    // Other threads.

    fn send(&mut self, m: &Mutator) -> Outcome {
        let threads = self.world.settings.threads;
        if threads == 1 || self.clusters.is_empty() {
            return Ok(());
        }
        let to = (self.number + 1 + self.rng.below(threads - 1)) % threads;
        let c = self.rng.below(self.clusters.len());
        let slot =
            if self.rng.one_in(2) { self.world.exchange.take_slot().map(Root::Exchange) } else { None };
        let root = slot.map_or_else(|| self.new_handle(), Ok)?;
        self.move_root(m, c, root)?;
        let parcel = self.clusters.swap_remove(c);
        let mailbox = &self.world.mailboxes[to];
        let back = match self.rng.one_in(3) {
            true => m.blocking(|| mailbox.put(parcel)).map_err(|e| format!("no blocking region: {e}"))?,
            false => mailbox.put(parcel),
        };
        match back {
            Some(parcel) => self.unpack(m, parcel),
            None => {
                self.done.sent += 1;
                Ok(())
            }
        }
    }

    /// Some cluster is dropped, and comes back, or leaves data.
    fn leave(&mut self, m: &Mutator) -> Outcome {
        let Some(c) = self.clusters.iter().position(|cluster| !cluster.frees) else { return Ok(()) };
        let (world, head) = (self.world, self.clusters[c].head_addr());
        // What is dead to a young collection alone may keep its values.
        let has_values = self.clusters[c].all().any(|object| object.ties.values().next().is_some());
        if has_values || self.rng.one_in(2) {
            let (tag, _) = world.estates.register_data(m, head)?;
            m.safepoint();
            world.estates.drop_data(tag);
            let gone = self.take_apart(m, c)?;
            return self.bury(m, gone, false);
        }
        let will = world.estates.register(m, &self.clusters[c], &mut self.rng)?;
        m.safepoint();
        let cluster = &self.clusters[c];
        cluster.check_all(&world.kinds)?;
        let (root, held) = (cluster.root, cluster.head_addr());
        let mut cluster = self.clusters.swap_remove(c);
        for object in cluster.all_mut() {
            world.weaks.take_from_table(m, object.at.addr(), &mut object.ties)?;
            object.ties.leave();
        }
        world.estates.add(will, cluster);
        self.clear_root(m, root, held)
    }

    /// A cluster that has come back becomes this thread's.
    fn inherit(&mut self, m: &Mutator) -> Result<bool, String> {
        let Some(mut cluster) = self.world.estates.take(m)? else { return Ok(false) };
        self.hand.hold(cluster.head_addr());
        cluster.check_all(&self.world.kinds)?;
        self.done.checks += cluster.len();
        let at = self.rng.below(self.free_roots.len());
        cluster.root = self.free_roots.swap_remove(at);
        self.set_root(cluster.root, cluster.head_addr());
        self.hand.hold(0);
        self.clusters.push(cluster);
        Ok(true)
    }

    /// All that was dropped comes back.
    fn inherit_all(&mut self, m: &Mutator) -> Outcome {
        for _ in 0..3 {
            m.collect().map_err(|e| format!("a collection was refused: {e}"))?;
            if !self.world.settings.exact() {
                self.world.estates.queue_all(&self.world.heap)?;
            }
            while self.world.heap.finalizers().1 != 0 {
                self.inherit(m)?;
                self.end(m)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, m: &Mutator) -> Outcome {
        if self.rng.one_in(4) && self.clusters.len() < self.world.settings.clusters {
            self.inherit(m)?;
        }
        let mailbox = &self.world.mailboxes[self.number];
        let found = match self.rng.one_in(8) {
            true => m.blocking(|| mailbox.take(Duration::from_micros(300))).map_err(|e| format!("{e}"))?,
            false => mailbox.take(Duration::ZERO),
        };
        found.map_or(Ok(()), |parcel| self.unpack(m, parcel))
    }

    /// A parcel's cluster becomes this thread's.
    fn unpack(&mut self, m: &Mutator, parcel: Cluster) -> Outcome {
        let at = parcel.head_addr();
        let held = match parcel.root {
            // SAFETY: the handle is held.
            Root::Handle(handle) => unsafe { handle.get() },
            Root::Exchange(slot) => self.world.exchange.get(slot),
            other => return Err(format!("a parcel came by {other:?}")),
        };
        if held != at {
            return Err(format!("a parcel's root holds {held:#x} and not {at:#x}"));
        }
        parcel.check_all(&self.world.kinds)?;
        self.done.checks += parcel.len();
        self.clusters.push(parcel);
        // A handle may as well be kept.
        let c = self.clusters.len() - 1;
        if matches!(self.clusters[c].root, Root::Exchange(_)) || self.rng.one_in(2) {
            let i = self.rng.below(self.free_roots.len());
            let root = self.free_roots.swap_remove(i);
            self.move_root(m, c, root)?;
        }
        if self.clusters.len() > self.world.settings.clusters {
            return self.let_go(m);
        }
        Ok(())
    }

    /// Others go on without this thread for a moment.
    fn block(&mut self, m: &Mutator) -> Outcome {
        let pause = self.rng.below(20);
        let answer = m.blocking(|| {
            match pause {
                0 => std::thread::sleep(Duration::from_micros(200)),
                1..10 => std::thread::yield_now(),
                _ => {}
            }
            pause
        });
        if answer == Ok(pause) { Ok(()) } else { Err(format!("a blocking region returned {answer:?}")) }
    }

    // Meetings.

    /// Meets all others; the first worker compares the heap with all that they have.
    fn meet(&mut self, m: &Mutator) -> Outcome {
        let world = self.world;
        self.done.meetings += 1;
        self.forget_kept()?;
        let mut tally = Tally::default();
        self.clusters.iter().for_each(|cluster| tally.add(world, cluster));
        world.tallies.lock().unwrap()[self.number] = tally;
        self.wait(m)?;
        // Until all have met for the last time.
        let first = self.number == 0;
        let _quiet = world.disturber.as_ref().filter(|_| first).map(Disturber::quiet);
        if self.number == 0 {
            super::check::everything(world, m)?;
        }
        self.wait(m)?;
        self.free_twice(m)
    }

    fn wait(&self, m: &Mutator) -> Outcome {
        m.blocking(|| self.world.meeting.wait()).map_err(|e| format!("no blocking region: {e}"))?
    }

    /// While nobody allocates: all threads free what the workers gave up, at once, and of each object one succeeds. What is
    /// no object's first byte is refused.
    fn free_twice(&mut self, m: &Mutator) -> Outcome {
        let world = self.world;
        let mut given: Vec<Object> = Vec::new();
        if let Some(c) = self.clusters.iter().position(|c| c.frees) {
            given = self.take_apart(m, c)?;
        }
        for object in &given {
            let (at, kind) = (object.at.addr(), &world.kinds.all[object.kind]);
            if !world.granules.release(at, kind.reach()) {
                return Err(format!("a {} at {at:#x} dies that was not alive", kind.name));
            }
            for inside in [1, 8, kind.reach() - 1] {
                // SAFETY: no object begins there.
                if inside > 0 && inside < kind.reach() && unsafe { free(m, at + inside) }.is_ok() {
                    return Err(format!(
                        "{inside} bytes inside the {} at {at:#x} something was freed",
                        kind.name
                    ));
                }
            }
        }
        // Nobody collects until all are freed.
        self.hand.let_go();
        world.victims.write().unwrap().extend(given.iter().map(|o| (o.at, AtomicUsize::new(0))));
        self.wait(m)?;
        {
            let victims = world.victims.read().unwrap();
            let from = self.rng.below(victims.len().max(1));
            for (at, freed) in victims[from..].iter().chain(&victims[..from]) {
                // SAFETY: nothing refers to it.
                if unsafe { free(m, at.addr()) }.is_ok() {
                    freed.fetch_add(1, Ordering::Relaxed);
                    self.done.freed += 1;
                }
            }
        }
        self.wait(m)?;
        if self.number == 0 {
            let mut victims = world.victims.write().unwrap();
            // A marking beside the threads may end meanwhile, and find it dead.
            let right = usize::from(!world.settings.marks_beside())..=1;
            if let Some((at, freed)) = victims.iter().find(|v| !right.contains(&v.1.load(Ordering::Relaxed)))
            {
                return Err(format!("the object at {:#x} was freed {freed:?} times", at.addr()));
            }
            victims.clear();
        }
        self.wait(m)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.world.heap.roots().remove(self.slots_token);
        self.world.heap.roots().remove(self.kept_token);
    }
}
