//! Pipe: one thread makes messages of 32 to 248 bytes without pointers, another reads and drops them, through a ring of 32,768
//! slots. No message dies on the thread that allocated it, and both threads store into one small old array all the time. It
//! asks a heap to hand memory from thread to thread, and for a write barrier that remembers the same array cheaply again and
//! again. Batches of 256 messages are announced in a channel of the standard library, at which a thread waits in a blocking
//! region. Invariant: a batch is being filled, in the channel, or being drained, so the channel holds two fewer than the ring.

use crate::random::Random;
use crate::workload::{Line, N, Threads, Workload};
use heapwood::{Gc, GcCell, Mutator, Slice};
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// This program, to those who run it.
pub const WORKLOAD: Workload = Workload {
    name: "pipe",
    about: "A thread that makes messages and one that drops them; with --threads T, T pairs",
    n: N { unit: "number of messages", usual: 20_000_000, most: 1 << 48 },
    threads: Threads::USUALLY_ONE,
    least_bytes: |_| 8 * SLOTS as u128,
    figures: &[],
    shared: None,
    run: |m, n, report| report(Line::checked("pipe", ("messages", n), run(m, n))),
};

const SLOTS: u64 = 1 << 15;
const BATCH: u64 = 256;

/// A message: word 0 is its size in bytes, the length word of its slice not counted.
type Message = Slice<u64>;

type Ring = Slice<GcCell<Option<Gc<Message>>>>;

fn message(m: &Mutator, r: u64) -> Gc<Message> {
    let words = 4 + (r >> 32) % 28;
    m.alloc_slice(words as usize, |k| if k == 0 { words * 8 } else { r.wrapping_add(k as u64) })
}

/// The numbers of the messages, batch by batch.
fn batches(messages: u64) -> impl Iterator<Item = Range<u64>> {
    (0..messages).step_by(BATCH as usize).map(move |first| first..messages.min(first + BATCH))
}

/// Stops early if the consumer has panicked.
fn produce(m: &Mutator, ring: &Ring, messages: u64, filled: SyncSender<()>) {
    let mut random = Random::new();
    for batch in batches(messages) {
        for number in batch {
            ring[(number % SLOTS) as usize].set(m, Some(message(m, random.next_u64())));
        }
        if m.blocking(|| filled.send(())).is_err() {
            return;
        }
    }
}

/// Returns a checksum of the messages.
fn consume(m: &Mutator, ring: &Ring, messages: u64, mut filled: Receiver<()>) -> u64 {
    let mut checksum = 0u64;
    for batch in batches(messages) {
        let filled = &mut filled;
        m.blocking(move || filled.recv()).expect("the producer fills every batch");
        for number in batch {
            if let Some(message) = ring[(number % SLOTS) as usize].replace(m, None) {
                checksum = checksum.wrapping_mul(31).wrapping_add(message[0]);
                checksum = checksum.wrapping_add(message[message.len() - 1]);
            }
        }
    }
    checksum
}

/// Passes so many messages to another thread. Returns that thread's checksum.
pub fn run(m: &Mutator, messages: u64) -> u64 {
    let ring: Gc<Ring> = m.alloc_slice(SLOTS as usize, |_| GcCell::new(None));
    let (heap, root) = (m.heap(), m.root(ring));
    let (send, receive) = sync_channel((SLOTS / BATCH - 2) as usize);
    std::thread::scope(|scope| {
        let consumer = scope.spawn(|| {
            let m = heap.attach().expect("a thread can be attached");
            consume(&m, &root.get(&m), messages, receive)
        });
        produce(m, &ring, messages, send);
        m.blocking(|| consumer.join().expect("the consumer does not panic"))
    })
}
