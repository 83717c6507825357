//! The interface that a type's trace function has to the marker, to the write barrier, or to verify mode. Invariant: it
//! exists while the function runs, and every word reported to it is an edge of that object.

use super::mode::Mode;
use super::put_off::{Call, PutOff};
use super::queue::Marker;
use super::shading::{ShadeLog, Shading};
use crate::roots::RootFunction;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwood_heap::{ObjectRef, TraceCall};
use heapwood_layout::{TraceContext, TraceWithFn, WORD};
use heapwood_os::SYSTEM;

/// Who calls a trace function, for the length of the call.
pub(super) struct Target<'a> {
    visitor: &'a mut dyn Visit,
    /// The function, if it takes a word, and the calls of it that it has put off.
    function: Option<TraceWithFn>,
    put_off: &'a mut PutOff,
}

/// The receiver of a trace function's reports.
trait Visit {
    /// The word of a slot.
    fn visit(&mut self, word: usize);
    /// A word that may point to or into one.
    fn word(&mut self, word: usize);
    /// Words of memory.
    fn words(&mut self, words: Range<usize>) {
        for at in words.step_by(WORD) {
            // SAFETY: who names words says that they are readable. The program may write them.
            self.word(unsafe { AtomicUsize::from_ptr(at as *mut usize) }.load(Ordering::Relaxed));
        }
    }
    /// Bytes that a root function has looked at.
    fn looked_at(&mut self, _bytes: usize) {}
}

impl<M: Mode> Visit for Marker<'_, M> {
    fn visit(&mut self, word: usize) {
        self.push_slot(word);
    }

    fn word(&mut self, word: usize) {
        self.push_ambiguous_word(word);
    }

    fn words(&mut self, words: Range<usize>) {
        self.scan_ambiguous(words.start, words.end);
    }
}

impl<L: ShadeLog> Visit for Shading<'_, L> {
    fn visit(&mut self, word: usize) {
        self.slot(word);
    }

    fn word(&mut self, word: usize) {
        Shading::word(self, word);
    }
}

/// Somebody who marks nothing: verify mode.
struct Looker<'a> {
    visit: &'a mut dyn FnMut(usize),
    resolve: &'a dyn Fn(usize) -> Option<usize>,
}

impl Visit for Looker<'_> {
    fn visit(&mut self, addr: usize) {
        (self.visit)(addr);
    }

    fn word(&mut self, word: usize) {
        if let Some(object) = (self.resolve)(word) {
            (self.visit)(object);
        }
    }
}

/// Calls a trace function for an object, and then what it puts off.
///
/// # Safety
/// 1. The object exists, has `bytes` bytes, and is of the function's type.
unsafe fn trace_object(
    visitor: &mut dyn Visit,
    put_off: &mut PutOff,
    (object, bytes): (usize, usize),
    trace: TraceCall,
) {
    let mut target = Target { visitor, function: trace.with_word(), put_off };
    // The target is used through this alone as long as the function runs.
    let target = &raw mut target;
    // SAFETY: contract 1; the function reports to the context it is given.
    unsafe { trace.call(object as *mut u8, bytes, target.cast::<TraceContext>()) };
    let Some(function) = trace.with_word() else { return };
    loop {
        // SAFETY: no call goes on, so nobody else uses the target.
        let Some(Call { object, size, data }) = unsafe { &mut *target }.put_off.pop() else { return };
        // SAFETY: the function has asked for this call (`Tracer::again`).
        unsafe { function(object as *mut u8, size, target.cast::<TraceContext>(), data) };
    }
}

impl<M: Mode> Marker<'_, M> {
    /// Finds the edges of an object by its trace function.
    ///
    /// # Safety
    /// 1. The object exists, has `bytes` bytes, and is of the function's type.
    pub(super) unsafe fn trace(&mut self, object: (usize, usize), trace: TraceCall) {
        let mut put_off = self.stacks.take_put_off();
        // SAFETY: contract 1.
        unsafe { trace_object(self, &mut put_off, object, trace) };
        self.stacks.return_put_off(put_off);
    }
}

/// Calls `visit` with each address that an object's trace function reports, and with the object of each ambiguous word that
/// `resolve` knows.
///
/// # Safety
/// 1. The object exists, has `bytes` bytes, and is of the function's type; the heap is stopped.
pub(crate) unsafe fn report_edges(
    object: usize,
    bytes: usize,
    trace: TraceCall,
    visit: &mut dyn FnMut(usize),
    resolve: &dyn Fn(usize) -> Option<usize>,
) {
    let mut looker = Looker { visit, resolve };
    // SAFETY: contract 1.
    unsafe { trace_object(&mut looker, &mut PutOff::new(&SYSTEM), (object, bytes), trace) };
}

/// Who looks at what a root function names: objects, or words if the second argument is false.
struct Roots<'a> {
    f: &'a mut dyn FnMut(usize, bool),
    looked_at: usize,
}

impl Visit for Roots<'_> {
    fn visit(&mut self, addr: usize) {
        (self.f)(addr, true);
    }

    fn word(&mut self, word: usize) {
        (self.f)(word, false);
    }

    fn looked_at(&mut self, bytes: usize) {
        self.looked_at += bytes;
    }
}

/// Calls a root function, and `f` with each address of an object that it names, and with each word that may lead to one: for those
/// the second argument is false. Returns the bytes that it has looked at by itself.
///
/// # Safety
/// 1. The function accepts its argument, and the heap is stopped.
pub(crate) unsafe fn report_roots(function: RootFunction, f: &mut dyn FnMut(usize, bool)) -> usize {
    let (mut visitor, mut put_off) = (Roots { f, looked_at: 0 }, PutOff::new(&SYSTEM));
    let mut target = Target { visitor: &mut visitor, function: None, put_off: &mut put_off };
    let context = (&raw mut target).cast::<TraceContext>();
    // SAFETY: contract 1; the function reports to the context it is given, which nobody else uses meanwhile.
    unsafe { (function.function)(function.argument, context) };
    visitor.looked_at
}

/// Reports the pointers of one object to the collector.
pub struct Tracer<'a>(&'a mut Target<'a>);

impl<'a> Tracer<'a> {
    /// The tracer behind the context that a trace function was given.
    ///
    /// # Safety
    /// 1. `context` is the argument of a trace function that is running, and is used through this tracer alone.
    pub unsafe fn from_context(context: *mut TraceContext) -> Self {
        // SAFETY: the caller of the trace function made the context (contract 1), and its lifetime covers the call.
        // Nothing else uses the marker while the function runs.
        Tracer(unsafe { &mut *context.cast::<Target<'a>>() })
    }

    /// Reports that the object refers to the object at `addr`. Null and addresses outside the heap are ignored. In a heap with
    /// tags it takes the word of a slot.
    ///
    /// # Safety
    /// 1. Inside the heap, `addr` is the first byte of an object that exists.
    #[inline]
    pub unsafe fn visit(&mut self, addr: usize) {
        self.0.visitor.visit(addr);
    }

    /// Reports a word that may point to or into an object.
    #[inline]
    pub fn visit_ambiguous(&mut self, word: usize) {
        self.0.visitor.word(word);
    }

    /// In a root function: says how many bytes it has looked at for what it names, as it does in each pause. They count as bytes of
    /// stacks do: so young collections become rare, or end, where that costs more than they save, and a full one is not due before as much
    /// was allocated.
    pub fn looked_at(&mut self, bytes: usize) {
        self.0.visitor.looked_at(bytes);
    }

    /// Reports words of which any may point to or into an object.
    ///
    /// # Safety
    /// 1. They are readable, and stay so until the function has returned.
    pub unsafe fn visit_words(&mut self, words: Range<usize>) {
        self.0.visitor.words(words.start.next_multiple_of(WORD)..words.end & !(WORD - 1));
    }

    /// Calls the trace function again, when it has returned, for an object or an address in it, with another word. Calls that
    /// are put off take no stack, so a function may call itself so a million times for one object.
    ///
    /// # Panics
    /// The function takes no word.
    ///
    /// # Safety
    /// 1. The function accepts these arguments.
    pub unsafe fn again(&mut self, object: *mut u8, size: usize, data: usize) {
        assert!(self.0.function.is_some(), "a trace function without a word cannot be put off");
        self.0.put_off.push(Call { object: object as usize, size, data });
    }
}

impl<L: ShadeLog> Shading<'_, L> {
    /// Shades all objects that an object refers to, by its trace function.
    ///
    /// # Safety
    /// 1. The object exists, has `bytes` bytes, and is of the function's type.
    pub(crate) unsafe fn all_of(&mut self, object: ObjectRef, bytes: usize, trace: TraceCall) {
        let state = self.state();
        let _turn = state.marking_log().turn();
        state.marking_threads().while_marking(|| {
            // SAFETY: contract 1.
            unsafe { trace_object(self, &mut PutOff::new(&SYSTEM), (object.get(), bytes), trace) };
        });
    }
}
