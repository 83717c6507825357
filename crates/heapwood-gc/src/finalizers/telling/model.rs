//! Telling under loom: pauses that queue and tell, threads that wait, take, and call a queue's function where they allocate. The table is
//! one of a queue without entries, of which only the number counts; locks, flags, words and descriptors are the product's.
//! Invariants: no thread sleeps beside an entry that nobody takes; an entry is told at least once in each way, and at most once for
//! each pause.

use super::*;
use heapwood_os::threads::lock_order::UNORDERED;
use heapwood_os::threads::sync::wait;
use loom::sync::Arc;

/// A table of one queue.
#[derive(Default)]
struct Table {
    queued: Cell<usize>,
    telling: Telling,
    /// Calls that have ended.
    ended: Cell<usize>,
}

impl Tells for Table {
    fn tell(&self) -> bool {
        self.telling.tell()
    }

    fn take_call(&self, depth: usize) -> Option<(usize, FinalizerCall)> {
        self.telling.take_call(depth).map(|call| (0, call))
    }

    fn is_called(&self) -> bool {
        self.telling.is_called()
    }

    fn end_call(&self, _: usize, is_left: bool) {
        self.telling.end_call(is_left && self.queued.get() != 0);
    }

    fn leave_others(&self, _: &mut dyn Iterator<Item = usize>) {}
}

struct World {
    table: Lock<Option<Table>, UNORDERED>,
    untold: Untold,
}

// SAFETY: the table is used with its lock, and the word by atomic operations.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

unsafe extern "C-unwind" fn take_all(world: *mut c_void) {
    // SAFETY: the world outlives its threads.
    let world = unsafe { &*world.cast::<World>() };
    while world.take() {}
    world.with(|table| table.ended.set(table.ended.get() + 1));
}

/// Takes one, and is left.
unsafe extern "C-unwind" fn take_one(world: *mut c_void) {
    // SAFETY: as above.
    let world = unsafe { &*world.cast::<World>() };
    world.take();
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(World { table: Lock::new(Some(Table::default())), untold: Untold::default() })
    }

    fn with<R>(&self, f: impl FnOnce(&Table) -> R) -> R {
        f(self.table.lock().as_ref().unwrap())
    }

    /// A pause that queues one entry; or a program that queues what it has registered.
    fn pause(&self) {
        self.with(|table| {
            table.queued.set(table.queued.get() + 1);
            table.telling.note();
            self.untold.note();
        });
        self.untold.tell(&self.table);
    }

    /// A pause that queues two, which it tells once.
    fn pause_of_two(&self) {
        self.with(|table| {
            table.queued.set(table.queued.get() + 2);
            table.telling.note();
            self.untold.note();
        });
        self.untold.tell(&self.table);
    }

    /// Takes an entry, if there is one.
    fn take(&self) -> bool {
        self.with(|table| table.queued.replace(table.queued.get().saturating_sub(1)) != 0)
    }

    /// Waits for an entry, and takes it before another does.
    fn wait_and_take(&self) {
        loop {
            let look = || {
                let (queued, word, seen) = self.with(|table| {
                    let (word, seen) = table.telling.news();
                    (table.queued.get(), word, seen)
                });
                // SAFETY: the word stays as long as the table, which is the world's.
                Ok::<_, ()>((queued, unsafe { &*word }, seen))
            };
            let sleep = |word: &Futex, seen| {
                wait(word, seen);
                Ok(true)
            };
            assert_eq!(wait_until_queued(look, sleep), Ok(true));
            if self.take() {
                return;
            }
        }
    }

    /// The slow path of an allocation.
    fn allocate(&self) {
        if self.untold.calls()
            && let Some((at, call)) = self.untold.take_call(&self.table, 0)
        {
            // SAFETY: the function is one of the two above.
            unsafe { (call.function)(call.argument) };
            self.untold.end_call(&self.table, at, call.most_nested == LEFT);
        }
    }
}

/// Plays these threads, with so many switches that none of them has to make.
fn play(acts: &'static [fn(&World)], begin: fn(&Arc<World>), end: fn(&World)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(if acts.len() > 2 { 2 } else { 3 });
    builder.check(move || {
        let world = World::new();
        begin(&world);
        let (first, rest) = acts.split_first().unwrap();
        let threads: Vec<_> = rest
            .iter()
            .map(|act| {
                let world = world.clone();
                loom::thread::spawn(move || act(&world))
            })
            .collect();
        first(&world);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        end(&world);
    });
}

#[test]
fn a_wait_does_not_sleep_beside_an_entry() {
    play(&[World::wait_and_take, World::pause], |_| (), |world| assert!(!world.take()));
}

#[test]
fn two_waits_have_an_entry_each() {
    play(
        &[World::wait_and_take, World::wait_and_take, |world| (0..2).for_each(|_| world.pause())],
        |_| (),
        |world| {
            assert!(!world.take());
        },
    );
}

#[test]
fn one_pause_wakes_all_that_wait() {
    play(
        &[World::wait_and_take, World::wait_and_take, World::pause_of_two],
        |_| (),
        |world| assert!(!world.take()),
    );
}

#[test]
fn what_two_pauses_queue_is_told_by_one_of_them() {
    play(
        &[World::wait_and_take, World::pause, |world| {
            world.pause();
            world.wait_and_take();
        }],
        |_| (),
        |world| assert!(!world.take()),
    );
}

/// The depth of calls that are left.
const LEFT: u32 = 2;

fn set(world: &Arc<World>, function: unsafe extern "C-unwind" fn(*mut c_void), most_nested: u32) {
    let call = FinalizerCall { function, argument: Arc::as_ptr(world) as *mut c_void, most_nested };
    assert!(world.with(|table| table.telling.set_call(Some(call))));
}

fn set_function(world: &Arc<World>) {
    set(world, take_all, 1);
}

/// Whoever allocates next calls what is left.
fn is_called(world: &World) {
    (0..3).for_each(|_| world.allocate());
    assert!(!world.untold.calls());
    let (queued, ended) = world.with(|table| (table.queued.get(), table.ended.get()));
    assert!(queued == 0 && (1..=3).contains(&ended), "{queued} were not told, after {ended} calls");
}

#[test]
fn a_function_is_called_for_each_entry() {
    let acts: &[fn(&World)] = &[
        World::allocate,
        |world| {
            world.pause();
            world.allocate();
        },
        |world| {
            world.pause();
            world.allocate();
        },
    ];
    play(acts, set_function, is_called);
}

/// Who has told that nothing is to be called says so before another tells of more.
#[test]
fn a_function_is_called_for_what_comes_while_another_thread_tells() {
    let acts: &[fn(&World)] = &[World::pause, |world| {
        world.pause();
        world.allocate();
        world.pause();
    }];
    play(acts, set_function, is_called);
}

/// A function that was left, or is under way, keeps no other thread from the rest of the queue.
#[test]
fn a_function_that_was_left_is_called_again() {
    let acts: &[fn(&World)] = &[World::allocate, |world| {
        world.pause_of_two();
        world.allocate();
    }];
    play(
        acts,
        |world| set(world, take_one, LEFT),
        |world| {
            (0..3).for_each(|_| world.allocate());
            assert!(!world.take() && !world.untold.calls());
        },
    );
}

#[test]
fn an_eventfd_can_be_read_while_something_is_queued_that_nobody_was_told_of() {
    let begin = |world: &Arc<World>| {
        assert!(world.with(|table| table.telling.fd()).is_ok());
    };
    /// Reads it, and then empties the queue, as loops of events do.
    fn read(world: &World) -> u64 {
        let fd = world.with(|table| table.telling.fd()).unwrap();
        let mut events = 0;
        // SAFETY: the call writes eight bytes of the local.
        let read = unsafe { libc::read(fd, (&raw mut events as *mut u64).cast(), 8) };
        if read == 8 {
            while world.take() {}
        }
        events
    }
    play(&[|world| _ = read(world), World::pause, World::pause], begin, |world| {
        // No event is left out: whatever is queued still can be read.
        let events = read(world);
        assert!(events <= 2 && !world.take(), "{events} events");
        world.with(|table| table.telling.end());
    });
}
