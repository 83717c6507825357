//! A workload on several threads. Each attaches to the heap and does the whole work, and all must have the same
//! results; or they share the work. Invariant: the calling thread, which may be attached, too, waits in a blocking
//! region, so that no collection waits for it.

use crate::threads_error::ThreadsError;
use crate::workload::{Across, Figure, Line, Workload};
use heapwood::{Heap, Mutator};
use serde_json::json;
use std::collections::VecDeque;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, RwLock};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Stack for the deepest workload and the libraries.
const STACK_BYTES: usize = 4 << 20;
/// What a thread takes from malloc before its first line. The C library ends the process if there is none left.
const FIRST_BYTES: usize = 1 << 20;

/// A message of a thread, with its number from 0.
type Message = (u32, Result<Line, ThreadsError>);

impl Workload {
    /// Runs the workload on `threads` threads for an N within its range. Reports each line when all threads have it. A
    /// single thread is the calling one.
    ///
    /// # Errors
    /// A thread could not be started or attached, or its results differ.
    pub fn run_on(
        &self,
        m: &Mutator,
        threads: u32,
        n: u64,
        report: &mut (dyn FnMut(Line) + Send),
    ) -> Result<(), ThreadsError> {
        if let Some(share) = self.shared {
            return share(m, threads, n, report);
        }
        if threads == 1 {
            (self.run)(m, n, report);
            return Ok(());
        }
        let heap = m.heap();
        m.blocking(|| {
            let gate = RwLock::new(true);
            std::thread::scope(|scope| {
                let said = self.start(scope, &gate, &heap, threads, n)?;
                gather(self.figures, threads, said, report)
            })
        })
    }

    /// Starts the threads. None begins its work before all have started.
    fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        gate: &'env RwLock<bool>,
        heap: &'env Heap,
        threads: u32,
        n: u64,
    ) -> Result<Receiver<Message>, ThreadsError> {
        let (send, said) = mpsc::channel();
        let mut closed = gate.write().expect("no other thread has the gate yet");
        for thread in 0..threads {
            let send = send.clone();
            let begin = move || {
                if gate.read().is_ok_and(|may_begin| *may_begin) {
                    self.share(heap, thread, n, &send);
                }
            };
            if let Err(why) = spawn(scope, begin) {
                // The threads that were started end without beginning.
                *closed = false;
                return Err(ThreadsError::Spawn { thread: thread + 1, threads, why });
            }
        }
        Ok(said)
    }

    /// The work of a thread.
    fn share(&self, heap: &Heap, thread: u32, n: u64, send: &Sender<Message>) {
        // The receiver is gone only if another thread's results differ, which is reported.
        let tell = |said| {
            let _ = send.send((thread, said));
        };
        match heap.attach() {
            Ok(m) => (self.run)(&m, n, &mut |line| tell(Ok(line))),
            Err(why) => tell(Err(ThreadsError::Attach { thread: thread + 1, why })),
        }
    }
}

/// Starts a thread where there is memory for its stack and for its first steps.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    begin: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(STACK_BYTES + FIRST_BYTES).map_err(|_| io::ErrorKind::OutOfMemory)?;
    drop(black_box(room));
    Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, begin)
}

/// Does the steps of a work on `threads` threads, including the calling one. Each takes the next free step. Returns the
/// results in the order of the steps.
///
/// # Errors
/// A thread could not be started or attached. Then not all steps were done.
pub(crate) fn share_out<T: Send>(
    m: &Mutator,
    threads: u32,
    steps: usize,
    step: impl Fn(&Mutator, usize) -> T + Sync,
) -> Result<Vec<T>, ThreadsError> {
    let (heap, next) = (m.heap(), AtomicUsize::new(0));
    let done: Vec<Mutex<Option<T>>> = (0..steps).map(|_| Mutex::new(None)).collect();
    let work = |m: &Mutator| {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = done.get(k) else { return };
            *place.lock().expect("no thread has panicked") = Some(step(m, k));
        }
    };
    let join = |thread| {
        let m = heap.attach().map_err(|why| ThreadsError::Attach { thread, why })?;
        work(&m);
        Ok(())
    };
    std::thread::scope(|scope| {
        let (mut started, mut result) = (Vec::new(), Ok(()));
        for thread in 2..=threads.min(steps as u32) {
            match spawn(scope, move || join(thread)) {
                Ok(handle) => started.push(handle),
                Err(why) => {
                    // The threads that were started end after their current step.
                    next.store(steps, Ordering::Relaxed);
                    result = Err(ThreadsError::Spawn { thread, threads, why });
                    break;
                }
            }
        }
        work(m);
        m.blocking(|| {
            let joined = started.into_iter().map(|thread| thread.join().expect("no thread has panicked"));
            joined.fold(result, Result::and)
        })
    })?;
    let done = done.into_iter().map(|place| place.into_inner().expect("no thread has panicked"));
    Ok(done.map(|step| step.expect("every step was done")).collect())
}

/// Reports each line when all threads have it, until all have ended.
fn gather(
    figures: &[Figure],
    threads: u32,
    said: Receiver<Message>,
    report: &mut dyn FnMut(Line),
) -> Result<(), ThreadsError> {
    let mut lines: Vec<VecDeque<Line>> = (0..threads).map(|_| VecDeque::new()).collect();
    let mut reported = 0;
    let mut take = |lines: &mut [VecDeque<Line>]| {
        let each: Vec<Option<Line>> = lines.iter_mut().map(VecDeque::pop_front).collect();
        reported += 1;
        report(combine(figures, reported, each)?);
        Ok(())
    };
    for (thread, line) in said {
        lines[thread as usize].push_back(line?);
        while lines.iter().all(|of_thread| !of_thread.is_empty()) {
            take(&mut lines)?;
        }
    }
    // The lines that only some threads have.
    match lines.iter().any(|of_thread| !of_thread.is_empty()) {
        true => take(&mut lines),
        false => Ok(()),
    }
}

/// The line that all threads have, with the figures of all.
fn combine(figures: &[Figure], number: usize, each: Vec<Option<Line>>) -> Result<Line, ThreadsError> {
    let check = |line: &Option<Line>| line.as_ref().map(|line| line.check.clone());
    let first = check(&each[0]);
    if let Some(k) = each.iter().position(|line| check(line) != first) {
        let here = check(&each[k]);
        return Err(ThreadsError::Differs { thread: k as u32 + 1, line: number, here, first });
    }
    let each: Vec<Line> = each.into_iter().flatten().collect();
    let mut line = each[0].clone();
    for (name, value) in &mut line.figures {
        let across = figures.iter().find(|figure| figure.name == *name).map_or(Across::Largest, |f| f.across);
        let values = each.iter().flat_map(|line| &line.figures).filter(|(n, _)| n == name).map(|(_, v)| *v);
        *value = match across {
            Across::Sum => values.sum(),
            Across::Largest => values.fold(f64::MIN, f64::max),
        };
        line.fields[*name] = json!(value);
    }
    if !line.figures.is_empty() {
        let figures = line.figures.iter().map(|(name, value)| format!("\n{name} of all threads {value:.3}"));
        line.text = line.check.clone() + &figures.collect::<String>();
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &[Figure] = &[
        Figure { name: "mops", label: "", headline: false, across: Across::Sum },
        Figure { name: "gap", label: "", headline: false, across: Across::Largest },
    ];

    fn line(check: &str, figures: &[(&'static str, f64)]) -> Line {
        let fields = json!({"check": check, "mops": 0, "gap": 0});
        Line { text: "of one thread".into(), check: check.into(), figures: figures.to_vec(), fields }
    }

    /// The report for lines that threads sent in some order.
    fn gathered(threads: u32, said: &[(u32, &Line)]) -> (Vec<Line>, Result<(), String>) {
        let (send, receive) = mpsc::channel();
        for (thread, line) in said {
            send.send((*thread, Ok((*line).clone()))).unwrap();
        }
        drop(send);
        let mut lines = Vec::new();
        let result = gather(FIGURES, threads, receive, &mut |line| lines.push(line));
        (lines, result.map_err(|e| e.to_string()))
    }

    #[test]
    fn figures_of_all_threads_are_combined() {
        let (a, b) = (line("x", &[("mops", 2.0), ("gap", 7.0)]), line("x", &[("mops", 3.0), ("gap", 5.0)]));
        let (lines, result) = gathered(2, &[(1, &a), (0, &b)]);
        assert_eq!(result, Ok(()));
        assert_eq!(lines[0].figures, [("mops", 5.0), ("gap", 7.0)]);
        assert_eq!((&lines[0].fields["mops"], &lines[0].fields["gap"]), (&json!(5.0), &json!(7.0)));
        assert_eq!(lines[0].text, "x\nmops of all threads 5.000\ngap of all threads 7.000");
        let (lines, _) = gathered(1, &[(0, &line("y", &[]))]);
        assert_eq!((lines.len(), lines[0].text.as_str()), (1, "of one thread"));
    }

    #[test]
    fn threads_that_differ_are_an_error() {
        let [a, b, c] = ["a", "b", "c"].map(|check| line(check, &[]));
        let (lines, result) = gathered(2, &[(0, &a), (0, &b), (1, &a), (1, &c)]);
        assert_eq!(lines.len(), 1);
        assert!(result.unwrap_err().contains("in check value 2 thread 2 has \"c\", but thread 1 \"b\""));
        for (said, words) in [
            (&[(0, &a), (1, &a), (1, &b)][..], "value 2 thread 2 has \"b\", but thread 1 nothing"),
            (&[(0, &a), (1, &a), (0, &b)], "value 2 thread 2 has nothing, but thread 1 \"b\""),
        ] {
            let message = gathered(2, said).1.unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
