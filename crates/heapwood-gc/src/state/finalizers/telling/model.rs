//! Telling under loom: pauses that queue and tell, threads that wait, take, and call a queue's function where they allocate. The table is
//! one of a queue without entries, of which only the number counts; locks, flags, words and descriptors are the product's.
//! Invariants: no thread sleeps beside an entry that nobody takes; an entry is told at least once in each way, and at most once for
//! each pause; the function runs on one thread at a time.

use super::*;
use heapwood_os::threads::lock_order::UNORDERED;
use heapwood_os::threads::sync::wait;
use loom::sync::Arc;

/// A table of one queue.
#[derive(Default)]
struct Table {
    queued: Cell<usize>,
    telling: Telling,
    /// Calls that run, and those that have ended.
    running: Cell<usize>,
    ended: Cell<usize>,
}

impl Tells for Table {
    fn tell(&self) -> bool {
        self.telling.tell()
    }

    fn take_call(&self) -> Option<(usize, FinalizerCall)> {
        self.telling.take_call().map(|call| (0, call))
    }

    fn end_call(&self, _: usize) -> bool {
        self.telling.end_call()
    }
}

struct World {
    table: Lock<Option<Table>, UNORDERED>,
    untold: Untold,
}

// SAFETY: the table is used with its lock, and the word by atomic operations.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

unsafe extern "C" fn take_all(world: *mut c_void) {
    // SAFETY: the world outlives its threads.
    let world = unsafe { &*world.cast::<World>() };
    world.with(|table| {
        assert_eq!(table.running.replace(1), 0, "the function runs inside itself");
    });
    while world.take() {}
    world.with(|table| {
        table.running.set(0);
        table.ended.set(table.ended.get() + 1);
    });
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
            && let Some((at, call)) = self.untold.take_call(&self.table)
        {
            // SAFETY: the function is `take_all`.
            unsafe { (call.function)(call.argument) };
            self.untold.end_call(&self.table, at);
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

fn set_function(world: &Arc<World>) {
    let argument = Arc::as_ptr(world) as *mut c_void;
    assert!(world.with(|table| table.telling.set_call(Some(FinalizerCall { function: take_all, argument }))));
}

/// Whoever allocates next calls what is left.
fn is_called(world: &World) {
    (0..3).for_each(|_| world.allocate());
    assert!(!world.untold.calls());
    let (queued, ended) = world.with(|table| (table.queued.get(), table.ended.get()));
    assert!(queued == 0 && (1..=3).contains(&ended), "{queued} were not told, after {ended} calls");
}

#[test]
fn a_function_is_called_for_each_entry_and_never_inside_itself() {
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
