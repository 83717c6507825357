//! A thread's access to a heap: it allocates, polls and collects. Invariant: it belongs to the thread that attached (it
//! is neither `Send` nor `Sync`), so the fast path needs no lock and no thread-local variable.

#[cfg(doc)]
use crate::attach::Attached;
use crate::checked;
use crate::heap::{Heap, Inner};
use crate::slice::Slice;
use crate::trace::{NoPointers, Trace, descriptor_of, program_of};
use crate::unbranded::Gc;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use heapwood_gc::{AllocError, CollectionTicket, Refusal};
use heapwood_heap::{GRANULE, MAX_TABLED, NoRoom, Scan, ShapeId, SizeClass, prefetch};
use heapwood_layout::Layout;
use std::sync::Arc;

/// A thread's access to a heap, borrowed from an [`Attached`].
///
/// Code that allocates takes it as a parameter:
///
/// ```
/// # use heapwood::{Config, Gc, Heap, Mutator, Trace};
/// #[derive(Trace)]
/// struct Tree(Option<Gc<Tree>>, Option<Gc<Tree>>);
///
/// fn full(m: &Mutator, depth: u32) -> Gc<Tree> {
///     if depth == 0 {
///         return m.alloc(Tree(None, None));
///     }
///     m.alloc(Tree(Some(full(m, depth - 1)), Some(full(m, depth - 1))))
/// }
/// ```
#[repr(transparent)]
pub struct Mutator(Hidden<heapwood_gc::Mutator>, PhantomData<*const ForOneThread>);

/// The name is the compiler's message where a mutator or a session is to cross threads, or to be used inside [`Mutator::blocking`].
pub(crate) struct ForOneThread;

/// Without it that message would list all that a mutator consists of.
#[repr(transparent)]
pub(crate) struct Hidden<T>(pub(crate) T);

// SAFETY: it is a part of a mutator or a session only, which are not `Send`.
unsafe impl<T> Send for Hidden<T> {}
// SAFETY: as above, and not `Sync`.
unsafe impl<T> Sync for Hidden<T> {}

/// The facts about a type's allocation that are known at compile time.
struct Kind<T>(PhantomData<T>);

impl<T: Trace> Kind<T> {
    const BYTES: usize = {
        assert!(
            align_of::<T>() <= GRANULE,
            "a type with an alignment above 16 cannot live in a Heapwood heap"
        );
        descriptor_of::<T>().size()
    };
    /// The size of its cells; 0 if each object has pages of its own.
    const CELL: usize = match SizeClass::of(Self::BYTES) {
        Some(class) => class.cell_size(),
        None => 0,
    };
    const SCAN: Scan = match program_of::<T>() {
        Some(program) => Scan::Unregistered { header: 0, program },
        None => Scan::Layout(descriptor_of::<T>().layout()),
    };
    /// Its shape, if every heap has it under the same number.
    const SHAPE: Option<ShapeId> = match descriptor_of::<T>().layout() {
        _ if T::MAP.is_far() => None,
        Layout::NoPointers => Some(ShapeId::no_pointers(SizeClass::of(Self::BYTES))),
        Layout::Conservative => Some(ShapeId::conservative(SizeClass::of(Self::BYTES))),
        Layout::Mask(mask) => ShapeId::well_known(Self::BYTES, &mask.bits()),
        Layout::Trace(_) => None,
    };
}

impl Mutator {
    #[inline(always)]
    pub(crate) fn raw(&self) -> &heapwood_gc::Mutator {
        &self.0.0
    }

    /// Allocates an object that holds `value`. May collect.
    ///
    /// # Panics
    /// If there is no memory, after calling the hook of [`Heap::on_alloc_error`]. [`Mutator::try_alloc`] returns an
    /// error instead.
    #[inline(always)]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc<T: Trace>(&self, value: T) -> Gc<T> {
        if const { Kind::<T>::CELL != 0 } {
            let shape = match const { Kind::<T>::SHAPE } {
                Some(shape) => shape,
                None => self.shape_of::<T>(),
            };
            checked::name::<T>(self.raw(), shape);
            let buffer = self.raw().buffer(shape);
            let cell = match buffer.peek(const { Kind::<T>::CELL }) {
                Some(cell) => cell,
                // As a tail call: the value, in registers, need not outlive a call.
                None if const { size_of::<T>() <= 2 * size_of::<usize>() } => {
                    return self.alloc_or_fail(value);
                }
                None => self.reserve_or_fail(shape, const { Kind::<T>::CELL }),
            };
            prefetch::new_object(cell.as_ptr());
            // SAFETY: the cell is free, large enough and aligned for T; it exists from the commit on, with a value.
            unsafe {
                cell.cast::<T>().write(value);
                buffer.commit(cell, const { Kind::<T>::CELL });
                checked::made(self.raw(), cell);
                checked::value::<T>(self.raw(), cell);
                return Gc::from_raw(cell.cast());
            }
        }
        self.alloc_or_fail(value)
    }

    /// The slow path of [`Mutator::alloc`] for small values, and the path of large ones.
    #[cold]
    #[inline(never)]
    #[cfg_attr(debug_assertions, track_caller)]
    fn alloc_or_fail<T: Trace>(&self, value: T) -> Gc<T> {
        match self.try_alloc(value) {
            Ok(object) => object,
            Err(error) => self.fail(error),
        }
    }

    /// Allocates an object that holds `value`. May collect.
    ///
    /// # Errors
    /// The live objects leave no room under the heap's limit or in its reservation, or the kernel has no memory.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_alloc<T: Trace>(&self, value: T) -> Result<Gc<T>, AllocError> {
        let shape = match const { Kind::<T>::SHAPE } {
            Some(shape) => shape,
            None => self.raw().types().shape_for_constant(Kind::<T>::BYTES, const { &Kind::<T>::SCAN })?,
        };
        checked::name::<T>(self.raw(), shape);
        if const { Kind::<T>::CELL != 0 } {
            let cell = self.raw().reserve(shape, const { Kind::<T>::CELL })?;
            // SAFETY: as in `alloc`.
            unsafe {
                cell.cast::<T>().write(value);
                self.raw().buffer(shape).commit(cell, const { Kind::<T>::CELL });
                checked::made(self.raw(), cell);
                checked::value::<T>(self.raw(), cell);
                Ok(Gc::from_raw(cell.cast()))
            }
        } else {
            let object = self.raw().allocate_large(shape, Kind::<T>::BYTES, false)?;
            checked::made(self.raw(), object);
            // SAFETY: the object is new, large enough and aligned; until the value is in it its pointer words are 0.
            unsafe {
                object.cast::<T>().write(value);
                checked::value::<T>(self.raw(), object);
                Ok(Gc::from_raw(object.cast()))
            }
        }
    }

    /// Frees an object now, on any thread. Its memory may be reused at once. No destructor runs: objects have none. Few
    /// programs need this. It saves collections where a program knows that a large object is dead.
    ///
    /// # Errors
    /// No object of this heap begins there, or it was freed already and its memory was not reused yet; it owns a value
    /// ([`Finalized`](crate::Finalized), [`Mutator::finalize`]); in verify mode, something weak refers to it (contract 2).
    ///
    /// # Safety
    /// 1. No [`Gc`] to the object is used afterwards, on any thread. No live object and no [`Root`](crate::Root) holds
    ///    one when a collection runs.
    /// 2. It is no key of a [`Weak`](crate::Weak), an [`Ephemeron`](crate::Ephemeron), a [`WeakMap`](crate::WeakMap) or a
    ///    [`WeakSet`](crate::WeakSet), unless it was removed from the map or a collection has found them dead.
    pub unsafe fn free<T: Trace>(&self, object: Gc<T>) -> Result<(), Refusal> {
        // SAFETY: contract 1.
        unsafe { self.raw().free(Gc::start(object)) }
    }

    /// Allocates a slice of `len` elements; the one at `i` is `element(i)`. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_slice<T: Trace>(&self, len: usize, element: impl FnMut(usize) -> T) -> Gc<Slice<T>> {
        match self.try_alloc_slice(len, element) {
            Ok(slice) => slice,
            Err(error) => self.fail(error),
        }
    }

    /// Allocates a slice of `len` elements; the one at `i` is `element(i)`. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_alloc_slice<T: Trace>(
        &self,
        len: usize,
        mut element: impl FnMut(usize) -> T,
    ) -> Result<Gc<Slice<T>>, AllocError> {
        let slice = self.empty_slice::<T>(len)?;
        checked::made(self.raw(), slice);
        let items = Slice::items(slice);
        for i in 0..len {
            let value = element(i);
            // SAFETY: the slice has room for `len` elements.
            let place = unsafe { items.add(i) };
            if const { !matches!(Slice::<T>::SCAN, Scan::Layout(Layout::NoPointers)) } {
                // The closure may have allocated, so a collection may have seen the slice, on this stack.
                let words = const { size_of::<T>() / size_of::<usize>() };
                self.raw().barrier().note_init(slice.into(), place.cast(), words);
            }
            // SAFETY: as above; the element was zero or without pointers so far.
            unsafe { place.write(value) };
        }
        // SAFETY: all elements are written.
        Ok(unsafe { Gc::from_raw(slice.cast()) })
    }

    /// Allocates a slice with a copy of `elements`, which hold no pointers. May collect.
    ///
    /// # Panics
    /// As [`Mutator::alloc`].
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn alloc_copy<T: NoPointers + Copy>(&self, elements: &[T]) -> Gc<Slice<T>> {
        match self.try_alloc_copy(elements) {
            Ok(slice) => slice,
            Err(error) => self.fail(error),
        }
    }

    /// Allocates a slice with a copy of `elements`, which hold no pointers. May collect.
    ///
    /// # Errors
    /// As [`Mutator::try_alloc`].
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn try_alloc_copy<T: NoPointers + Copy>(&self, elements: &[T]) -> Result<Gc<Slice<T>>, AllocError> {
        let slice = self.empty_slice::<T>(elements.len())?;
        checked::made(self.raw(), slice);
        // SAFETY: the slice is new and has room for as many elements; then all are written.
        unsafe {
            Slice::items(slice).copy_from_nonoverlapping(elements.as_ptr(), elements.len());
            Ok(Gc::from_raw(slice.cast()))
        }
    }

    /// A slice with its length. Elements are zero if they may hold pointers, and uninitialised otherwise.
    #[inline(always)]
    pub(crate) fn empty_slice<T: Trace>(&self, len: usize) -> Result<NonNull<Slice<T>>, AllocError> {
        // For sizes this small the bytes need no checks, and the class comes from a table.
        if len <= const { Slice::<T>::len_within(MAX_TABLED) } {
            let class = SizeClass::of_tabled(size_of::<usize>() + len * size_of::<T>());
            let cell = class.cell_size();
            let shape = self.slice_shape::<T>(Some(class), cell)?;
            checked::name::<Slice<T>>(self.raw(), shape);
            let buffer = self.raw().buffer(shape);
            let object = match buffer.peek(cell) {
                Some(object) => object,
                None => self.raw().reserve_slow(shape, cell)?,
            };
            let slice = object.cast::<Slice<T>>();
            // SAFETY: the cell is free and has at least a slice's header; it exists from the commit on, the elements zero if
            // they may hold pointers.
            unsafe {
                Slice::set_len(slice, len);
                buffer.commit(object, cell);
            }
            return Ok(slice);
        }
        self.empty_long_slice(len)
    }

    #[cold]
    #[inline(never)]
    fn empty_long_slice<T: Trace>(&self, len: usize) -> Result<NonNull<Slice<T>>, AllocError> {
        let Some(bytes) = Slice::<T>::bytes(len) else {
            let reservation = self.raw().heap().space().reservation_bytes();
            return Err(AllocError::ReservationFull(NoRoom::new(usize::MAX, reservation)));
        };
        let class = SizeClass::of(bytes);
        let shape = self.slice_shape::<T>(class, bytes)?;
        checked::name::<Slice<T>>(self.raw(), shape);
        let object = match class.map(SizeClass::cell_size) {
            Some(cell) => {
                let object = self.raw().reserve(shape, cell)?;
                // SAFETY: it was reserved just now, and is zero where it may hold pointers.
                unsafe { self.raw().buffer(shape).commit(object, cell) };
                object
            }
            None => self.raw().allocate_large(shape, bytes, false)?,
        };
        let slice = object.cast::<Slice<T>>();
        // SAFETY: the object is new and has at least a slice's header.
        unsafe { Slice::set_len(slice, len) };
        Ok(slice)
    }

    /// The shape of slices of a class, to which the one of `bytes` bytes belongs.
    #[inline(always)]
    fn slice_shape<T: Trace>(&self, class: Option<SizeClass>, bytes: usize) -> Result<ShapeId, AllocError> {
        match const { Slice::<T>::SCAN } {
            Scan::Layout(Layout::NoPointers) => Ok(ShapeId::no_pointers(class)),
            Scan::Layout(Layout::Conservative) => Ok(ShapeId::conservative(class)),
            _ => self.raw().types().shape_for_constant(bytes, const { &Slice::<T>::SCAN }),
        }
    }

    #[inline]
    fn shape_of<T: Trace>(&self) -> ShapeId {
        match self.raw().types().shape_for_constant(Kind::<T>::BYTES, const { &Kind::<T>::SCAN }) {
            Ok(shape) => shape,
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    #[inline(never)]
    fn reserve_or_fail(&self, shape: ShapeId, cell: usize) -> NonNull<u8> {
        match self.raw().reserve_slow(shape, cell) {
            Ok(cell) => cell,
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&self, error: AllocError) -> ! {
        if let Some(hook) = self.inner().hook.get() {
            hook(&error);
        }
        panic!("{error}");
    }

    /// Counts bytes outside the heap that its objects own, such as a mapped file: `change` more, or fewer if it is negative.
    /// They count toward goal and limit, so dead objects that own much are collected in time, whatever their own size.
    /// Adding may collect, like an allocation.
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// # // SAFETY: this program keeps no `Gc`.
    /// # let heap = unsafe { Heap::new(Config::default()) }?;
    /// # let m = heap.attach()?;
    /// m.external(1 << 20)?;           // before the buffer is allocated
    /// let buffer = vec![0u8; 1 << 20];
    /// assert_eq!(heap.stats().external_bytes, 1 << 20);
    /// drop(buffer);
    /// m.external(-(1 << 20))?;        // when it was freed, on any attached thread
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Nothing is counted if the limit leaves no room for so many after a full collection, if more is given back than was
    /// added, or inside [`Mutator::blocking`].
    pub fn external(&self, change: isize) -> Result<(), AllocError> {
        self.raw().external(change)
    }

    /// Stops here if another thread wants to collect. Allocation polls by itself. A long loop that does not allocate
    /// should call this, or other threads wait for it.
    #[inline]
    pub fn safepoint(&self) {
        self.raw().safepoint();
    }

    /// Runs `f` while other threads may collect without waiting for this one, for calls that block or take long, such as taking a lock:
    /// its owner may be stopped by a collection, which waits for this thread. The guard may be held afterwards.
    ///
    /// ```
    /// # use heapwood::{Config, Heap};
    /// # use std::sync::{Mutex, mpsc};
    /// # // SAFETY: this program keeps no `Gc` but on the stack.
    /// # let heap = unsafe { Heap::new(Config::default()) }?;
    /// # let m = heap.attach()?;
    /// # let (lock, (sender, mut receiver)) = (Mutex::new(1), mpsc::channel());
    /// # sender.send(2u64).unwrap();
    /// let mut guard = m.blocking(|| lock.lock().unwrap());
    /// *guard += *m.alloc(1);
    /// // A receiver is for one thread, and so is a borrow of it, unless that is the only one:
    /// let receiver = &mut receiver;
    /// let number = m.blocking(move || receiver.recv());
    /// # assert_eq!((*guard, number), (2, Ok(2)));
    /// # Ok::<(), heapwood::HeapError>(())
    /// ```
    ///
    /// `f` may not use a [`Gc`] (the contract of [`Heap::new`]), nor allocate: it is [`Send`], so that the compiler refuses one that
    /// has a [`Gc`] or the mutator from outside. Both hold for all heaps that the thread is attached to, but `f` may attach it to
    /// another and use that one.
    ///
    /// # Panics
    /// On a stack that is not registered.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R + Send) -> R {
        match self.raw().blocking(f) {
            Ok(result) => result,
            Err(misuse) => panic!("{misuse}"),
        }
    }

    /// Collects now.
    ///
    /// # Panics
    /// Inside [`Mutator::blocking`], and on a stack that is not [registered](Heap::add_stack): the collector cannot
    /// scan it.
    pub fn collect(&self) {
        if let Err(misuse) = self.raw().collect() {
            panic!("{misuse}");
        }
    }

    /// Collects the young objects, those made since the last collection, if the heap has young collections now
    /// ([`Config::generational`]). Otherwise it collects everything. Few programs need this.
    ///
    /// # Panics
    /// As [`Mutator::collect`].
    ///
    /// [`Config::generational`]: crate::Config::generational
    pub fn collect_young(&self) {
        if let Err(misuse) = self.raw().collect_young() {
            panic!("{misuse}");
        }
    }

    /// Asks for a full collection that goes on while the program does, and returns at once. What nothing leads to now is gone when
    /// that collection has ended. Where the option [`Config::concurrent`] allows it marks beside the program, however little is
    /// alive; otherwise an allocation of any thread collects that needs more memory than its thread has at hand, or who waits or asks.
    ///
    /// # Panics
    /// Inside [`Mutator::blocking`].
    ///
    /// [`Config::concurrent`]: crate::Config::concurrent
    pub fn start_collection(&self) -> CollectionTicket {
        match self.raw().start_collection() {
            Ok(ticket) => ticket,
            Err(misuse) => panic!("{misuse}"),
        }
    }

    /// Waits until that collection has ended. It may be waited for by any thread of the heap.
    ///
    /// # Panics
    /// As [`Mutator::collect`]; and if the ticket is another heap's.
    pub fn wait_for(&self, ticket: CollectionTicket) {
        if let Err(misuse) = self.raw().wait_for(ticket) {
            panic!("{misuse}");
        }
    }

    /// Whether that collection has ended. Where no thread of the heap marks beside the program it collects, since a program that
    /// only asks would wait for good.
    ///
    /// # Panics
    /// As [`Mutator::collect`]; and if the ticket is another heap's.
    pub fn is_done(&self, ticket: CollectionTicket) -> bool {
        match self.raw().is_done(ticket) {
            Ok(is_done) => is_done,
            Err(misuse) => panic!("{misuse}"),
        }
    }

    /// The heap this thread is attached to.
    pub fn heap(&self) -> Heap {
        Heap { inner: self.inner() }
    }

    pub(crate) fn inner(&self) -> Arc<Inner> {
        let inner = self.raw().client_word().get() as *const Inner;
        // SAFETY: the pointer came from the Arc that the attachment holds.
        unsafe {
            Arc::increment_strong_count(inner);
            Arc::from_raw(inner)
        }
    }

    /// The number of calls of [`Heap::with_mutator`] that use it, in the second word of the client's room.
    pub(crate) fn users(&self) -> &Cell<usize> {
        // SAFETY: a word of the mutator's own thread, to which the mutator is confined; it is zero at first.
        unsafe { &*self.raw().client().get().cast::<Cell<usize>>().add(1) }
    }

    pub(crate) fn is_of(&self, inner: &Arc<Inner>) -> bool {
        self.raw().client_word().get() == Arc::as_ptr(inner) as usize
    }
}

impl fmt::Debug for Mutator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutator").field("thread", &self.raw().thread()).finish_non_exhaustive()
    }
}
