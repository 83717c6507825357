//! Arenas: memory for values that die together. A unit of work opens an arena and allocates in it. Dropping the arena
//! frees all its values at once: none is traced, swept or freed by itself. Lifetimes keep references from outliving the
//! arena. Invariant: for the length of its lifetime an [`ArenaRef`] refers to a value of an arena that is open and was
//! not reset.

use crate::mutator::Mutator;
use crate::slice::Slice;
use crate::trace::{NoPointers, Trace, TypeMap, descriptor_of, program_of};
use crate::unbranded::Gc;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use heapwood_gc::AllocError;
use heapwood_heap::{ArenaHeader, ArenaKind, ArenaLayout, GRANULE, MOST_IN_ARENA, NoRoom};
use heapwood_layout::Layout;

/// Memory for values that die together.
///
/// ```
/// use heapwood::{Arena, ArenaRef, Config, Gc, Heap, Trace};
///
/// #[derive(Trace)]
/// struct Node<'a> {
///     name: Gc<u64>,
///     next: Option<ArenaRef<'a, Node<'a>>>,
/// }
///
/// // SAFETY: this program keeps `Gc`s on the stacks of attached threads, in objects and in roots only.
/// let heap = unsafe { Heap::new(Config::default()) }?;
/// let m = heap.attach()?;
/// let arena = Arena::new(&m);
/// let mut list = None;
/// for k in 0..1000 {
///     // The number lives in the heap; the arena keeps it alive.
///     list = Some(arena.alloc(Node { name: m.alloc(k), next: list }));
/// }
/// m.collect();
/// assert_eq!(*list.unwrap().next.unwrap().name, 998);
/// drop(arena); // and the list
/// # Ok::<(), heapwood::HeapError>(())
/// ```
///
/// References do not outlive it:
///
/// ```compile_fail,E0505
/// # use heapwood::{Arena, Config, Heap};
/// # // SAFETY: no `Gc` is kept anywhere.
/// # let heap = unsafe { Heap::new(Config::default()) }.unwrap();
/// # let m = heap.attach().unwrap();
/// let arena = Arena::new(&m);
/// let value = arena.alloc(1u64);
/// drop(arena);
/// println!("{value}");
/// ```
///
/// [`alloc_gc`](Arena::alloc_gc) returns a [`Gc`] instead, which may be stored anywhere. The collector frees an arena
/// that has returned one: when nothing points into it any more. Values longer than 512 KiB, and values whose type has
/// no precise mask (an enum with a `Gc`), live in the heap. The arena keeps them alive and frees them with the others.
///
/// An arena takes no memory before its first value, then 8 KiB. One larger than 1 MiB uses huge pages. Values are never
/// dropped, so types that own memory (`String`, `Vec`) are refused, as in the heap.
pub struct Arena<'m> {
    header: NonNull<ArenaHeader>,
    mutator: &'m Mutator,
}

/// A reference to a value in an [`Arena`]: one word, and `Copy`. Unlike a `&T` it may be stored in values of arenas and
/// of the heap. The collector need not see it: its arena is open as long as it lives.
#[repr(transparent)]
pub struct ArenaRef<'a, T: ?Sized> {
    value: &'a T,
    /// Others may write to the value through a cell. Like a [`Gc`], it is not [`Send`].
    _marker: PhantomData<*const ()>,
}

const NO_LAYOUT: ArenaLayout = match ArenaLayout::new(size_of::<usize>(), [0; 4]) {
    Some(layout) => layout,
    None => unreachable!(),
};

/// How an arena stores the values of a type.
enum Storage {
    /// Without pointers.
    Data,
    /// With pointers, by a mask.
    Masked,
    /// In the heap; a cell of the arena refers to the value.
    External,
}

struct Kind<T>(PhantomData<T>);

impl<T: Trace> Kind<T> {
    /// Unused for a type without a mask.
    const LAYOUT: ArenaLayout = match Self::MASKED {
        Some(layout) => layout,
        None => NO_LAYOUT,
    };
    const MASKED: Option<ArenaLayout> = match descriptor_of::<T>().layout() {
        Layout::Mask(mask) => ArenaLayout::new(size_of::<T>(), mask.bits()),
        _ => None,
    };
    /// Its address is the key of the run.
    const KEY: &'static ArenaLayout = &Self::LAYOUT;
    const STORAGE: Storage = {
        assert!(align_of::<T>() <= GRANULE, "a type with an alignment above 16 cannot live in an arena");
        match descriptor_of::<T>().layout() {
            _ if program_of::<T>().is_some() || size_of::<T>() > MOST_IN_ARENA => Storage::External,
            Layout::NoPointers => Storage::Data,
            _ => match Self::MASKED {
                Some(_) => Storage::Masked,
                None => Storage::External,
            },
        }
    };
}

impl<'m> Arena<'m> {
    /// An arena without a value.
    ///
    /// # Panics
    /// If there is no memory for its header, after calling the hook of
    /// [`Heap::on_alloc_error`](crate::Heap::on_alloc_error).
    pub fn new(mutator: &'m Mutator) -> Self {
        match Self::try_new(mutator) {
            Ok(arena) => arena,
            Err(error) => mutator.fail(error),
        }
    }

    /// An arena without a value.
    ///
    /// # Errors
    /// There is no memory for its header.
    pub fn try_new(mutator: &'m Mutator) -> Result<Self, AllocError> {
        Ok(Arena { header: mutator.raw().arenas().open(ArenaKind::Borrowed, false)?, mutator })
    }

    #[inline(always)]
    fn header(&self) -> &ArenaHeader {
        // SAFETY: its mutator's list keeps the header alive as long as the arena is open.
        unsafe { self.header.as_ref() }
    }

    /// Allocates a value in the arena. May collect.
    ///
    /// # Panics
    /// If there is no memory, after calling the hook of [`Heap::on_alloc_error`](crate::Heap::on_alloc_error).
    #[inline(always)]
    pub fn alloc<T: Trace>(&self, value: T) -> ArenaRef<'_, T> {
        match const { Kind::<T>::STORAGE } {
            Storage::External => self.pass(value),
            _ => {
                let place = self.place::<T>();
                // SAFETY: the place is this value's, large enough and aligned; it exists from the commit on.
                unsafe {
                    place.write(value);
                    self.commit(place, 1);
                    ArenaRef::new(place.as_ref())
                }
            }
        }
    }

    /// Allocates a value without pointers in the arena, and lends it mutably. May collect.
    ///
    /// # Panics
    /// As [`Arena::alloc`].
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "each value is lent once")]
    pub fn alloc_mut<T: NoPointers>(&self, value: T) -> &mut T {
        let place = match const { Kind::<T>::STORAGE } {
            Storage::External => NonNull::from(self.pass(value).value),
            _ => {
                let place = self.place::<T>();
                // SAFETY: the place is this value's, large enough and aligned.
                unsafe { place.write(value) };
                place
            }
        };
        // SAFETY: a new value, which nobody else has and no collector reads.
        unsafe { &mut *place.as_ptr() }
    }

    /// Allocates a value in the arena and returns a [`Gc`] to it, which keeps the whole arena alive. May collect.
    ///
    /// # Panics
    /// As [`Arena::alloc`].
    pub fn alloc_gc<T: Trace>(&self, value: T) -> Gc<T> {
        self.header().let_escape();
        let value = NonNull::from(self.alloc(value).value);
        // SAFETY: the address of a value of this type. The arena keeps it alive, and later the `Gc` does. Nobody
        // borrows it mutably.
        unsafe { Gc::from_raw(value) }
    }

    /// Allocates `len` values in the arena; the one at `i` is `element(i)`. May collect.
    ///
    /// # Panics
    /// As [`Arena::alloc`].
    pub fn alloc_slice<T: Trace>(&self, len: usize, element: impl FnMut(usize) -> T) -> ArenaRef<'_, [T]> {
        let items = self.slice(len, element);
        // SAFETY: all are written, and stay as long as the arena is borrowed.
        ArenaRef::new(unsafe { core::slice::from_raw_parts(items.as_ptr(), len) })
    }

    /// Copies values without pointers into the arena, and lends them mutably. May collect.
    ///
    /// # Panics
    /// As [`Arena::alloc`].
    #[expect(clippy::mut_from_ref, reason = "each value is lent once")]
    pub fn alloc_copy<T: NoPointers + Copy>(&self, elements: &[T]) -> &mut [T] {
        let items = self.slice(elements.len(), |i| elements[i]);
        // SAFETY: all are written, nobody else has them, and no collector reads them.
        unsafe { core::slice::from_raw_parts_mut(items.as_ptr(), elements.len()) }
    }

    /// Copies a text into the arena. May collect.
    ///
    /// # Panics
    /// As [`Arena::alloc`].
    pub fn alloc_str(&self, text: &str) -> ArenaRef<'_, str> {
        let bytes = self.alloc_copy(text.as_bytes());
        // SAFETY: a copy of a text.
        ArenaRef::new(unsafe { core::str::from_utf8_unchecked(bytes) })
    }

    /// An empty list whose values will lie in the arena.
    pub fn list<T: Trace>(&self) -> ArenaVec<'_, 'm, T> {
        ArenaVec { arena: self, items: NonNull::dangling(), len: 0, capacity: 0 }
    }

    /// The bytes of the arena's pages.
    pub fn bytes(&self) -> usize {
        self.header().bytes()
    }

    /// Frees all values. The arena keeps its memory for new ones.
    pub fn reset(&mut self) {
        // SAFETY: the arena is open and belongs to this thread. Nothing borrows its values any more. If a `Gc` of one
        // may be left, its addresses are not used again.
        let done = unsafe {
            match self.header().kind() {
                ArenaKind::Borrowed => self.mutator.raw().arenas().empty(self.header()),
                // The thread that has one may go on using it.
                _ => self.mutator.raw().arenas().open(ArenaKind::Borrowed, false).and_then(|new| {
                    let old = core::mem::replace(&mut self.header, new);
                    self.mutator.raw().arenas().leave(old.as_ref())
                }),
            }
        };
        if let Err(error) = done {
            self.mutator.fail(error);
        }
    }

    /// Frees the arena now, even if [`Gc`]s of its values are left. Its memory is returned at once. Its addresses are
    /// reused only after a collection has met no pointer to them.
    ///
    /// # Safety
    /// 1. No `Gc` that leads to one of its values is used afterwards.
    pub unsafe fn free(self) {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: it is this thread's and open, and nobody uses its values (contract 1).
        if let Err(error) = unsafe { this.mutator.raw().arenas().close(this.header()) } {
            this.mutator.fail(error);
        }
    }

    /// The address of the next value of a type.
    #[inline(always)]
    fn place<T: Trace>(&self) -> NonNull<T> {
        let (header, bytes) = (self.header(), size_of::<T>());
        if const { size_of::<T>() == 0 } {
            // An arena without a chunk has no address for it.
            return NonNull::dangling();
        }
        let found = match const { Kind::<T>::STORAGE } {
            Storage::Masked => header.peek(Self::key::<T>(), bytes),
            _ => header.take_data(bytes, align_of::<T>()),
        };
        let at = match found {
            Some(at) => at,
            None => self.more::<T>(1),
        };
        // SAFETY: no page lies at address 0.
        unsafe { NonNull::new_unchecked(at as *mut T) }
    }

    /// The `count` values from `place` on are initialised.
    #[inline(always)]
    fn commit<T: Trace>(&self, place: NonNull<T>, count: usize) {
        if const { matches!(Kind::<T>::STORAGE, Storage::Masked) } {
            self.header().commit(place.as_ptr() as usize, size_of::<T>() * count);
        }
    }

    #[inline(always)]
    fn key<T: Trace>() -> usize {
        core::ptr::from_ref(Kind::<T>::KEY) as usize
    }

    #[cold]
    #[inline(never)]
    fn more<T: Trace>(&self, count: usize) -> usize {
        let raw = self.mutator.raw();
        // SAFETY: the header belongs to this heap, which the mutator's borrow keeps alive.
        let found = unsafe {
            match const { Kind::<T>::STORAGE } {
                Storage::Masked => {
                    raw.arenas().reserve(self.header(), (Self::key::<T>(), Kind::<T>::LAYOUT), count)
                }
                _ => raw.arenas().take_data(self.header(), size_of::<T>() * count, align_of::<T>()),
            }
        };
        match found {
            Ok(at) => at,
            Err(error) => self.mutator.fail(error),
        }
    }

    /// A value that lives in the heap.
    #[cold]
    #[inline(never)]
    fn pass<T: Trace>(&self, value: T) -> ArenaRef<'_, T> {
        let allocate = || Ok(NonNull::from(&*self.mutator.try_alloc(value)?).cast());
        // SAFETY: the header is one of this heap, which the mutator's borrow keeps.
        match unsafe { self.mutator.raw().arenas().allocate_external(self.header(), allocate) } {
            // SAFETY: the arena keeps it, as long as it is borrowed.
            Ok(value) => ArenaRef::new(unsafe { value.cast::<T>().as_ref() }),
            Err(error) => self.mutator.fail(error),
        }
    }

    fn slice<T: Trace>(&self, len: usize, mut element: impl FnMut(usize) -> T) -> NonNull<T> {
        let items = self.room_for::<T>(len);
        for i in 0..len {
            let value = element(i);
            // SAFETY: there is room for `len`.
            unsafe { self.put(items, i, value) };
        }
        items
    }

    /// Writes the value at an index. The cell holds zeros, or the type has no pointers.
    ///
    /// # Safety
    /// 1. The items have room for it.
    unsafe fn put<T: Trace>(&self, items: NonNull<T>, index: usize, value: T) {
        // SAFETY: contract 1.
        unsafe {
            let place = items.add(index);
            if const { !matches!(Kind::<T>::STORAGE, Storage::Data) } {
                // A collection may have seen the slice since it was made.
                let words = const { size_of::<T>() / size_of::<usize>() };
                // Of a slice in the heap only the mutator knows where it starts.
                self.mutator.raw().barrier().note_init_inside(place.as_ptr().cast(), words);
            }
            place.write(value);
        }
    }

    /// Room for `len` values. Words that may hold pointers are zero.
    fn room_for<T: Trace>(&self, len: usize) -> NonNull<T> {
        let bytes = size_of::<T>().checked_mul(len);
        if bytes == Some(0) {
            return NonNull::dangling();
        }
        if matches!(const { Kind::<T>::STORAGE }, Storage::External)
            || bytes.is_none_or(|bytes| bytes > MOST_IN_ARENA)
        {
            return self.long_room(len);
        }
        let bytes = bytes.unwrap_or(0);
        let at = match const { Kind::<T>::STORAGE } {
            Storage::Masked => {
                let at = match self.header().peek(Self::key::<T>(), bytes) {
                    Some(at) => at,
                    None => self.more::<T>(len),
                };
                // SAFETY: the room is this slice's.
                unsafe { (at as *mut u8).write_bytes(0, bytes) };
                self.header().commit(at, bytes);
                at
            }
            _ => match self.header().take_data(bytes, align_of::<T>()) {
                Some(at) => at,
                None => self.more::<T>(len),
            },
        };
        // SAFETY: no page lies at address 0.
        unsafe { NonNull::new_unchecked(at as *mut T) }
    }

    /// The same in the heap.
    #[cold]
    #[inline(never)]
    fn long_room<T: Trace>(&self, len: usize) -> NonNull<T> {
        let mutator = self.mutator;
        let no_room = || {
            AllocError::ReservationFull(NoRoom::new(
                usize::MAX,
                mutator.raw().heap().space().reservation_bytes(),
            ))
        };
        let allocate = || match Slice::<T>::bytes(len) {
            Some(_) => Ok(mutator.empty_slice::<T>(len)?.cast()),
            None => Err(no_room()),
        };
        // SAFETY: the header is one of this heap, which the mutator's borrow keeps.
        match unsafe { mutator.raw().arenas().allocate_external(self.header(), allocate) } {
            // SAFETY: the slice's items are not null.
            Ok(slice) => unsafe { NonNull::new_unchecked(Slice::<T>::items(slice.cast())) },
            Err(error) => mutator.fail(error),
        }
    }
}

impl Drop for Arena<'_> {
    fn drop(&mut self) {
        let raw = self.mutator.raw();
        // SAFETY: the arena is open and belongs to this thread, and nothing borrows its values. If a `Gc` of one may be
        // left, the collector takes the arena over. In a blocking region it stays open until the thread leaves the
        // heap.
        let _ = unsafe {
            match self.header().kind() {
                ArenaKind::Borrowed => raw.arenas().close(self.header()),
                _ => raw.arenas().leave(self.header()),
            }
        };
    }
}

impl fmt::Debug for Arena<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = self.header();
        f.debug_struct("Arena").field("number", &header.number()).field("bytes", &header.bytes()).finish()
    }
}

impl<'a, T: ?Sized> ArenaRef<'a, T> {
    #[inline(always)]
    fn new(value: &'a T) -> Self {
        ArenaRef { value, _marker: PhantomData }
    }

    /// The value, for as long as the arena is borrowed: `ArenaRef::get(value)`.
    #[inline(always)]
    pub const fn get(this: Self) -> &'a T {
        this.value
    }

    /// Whether both lead to the same value.
    pub fn ptr_eq(this: Self, other: Self) -> bool {
        core::ptr::addr_eq(this.value, other.value)
    }
}

// SAFETY: the arena is open as long as the reference lives, and keeps everything alive that its values refer to. The
// reference holds no `Gc`, and the collector sees the value behind it.
unsafe impl<T: ?Sized> Trace for ArenaRef<'_, T> {
    const MAP: TypeMap = TypeMap::NO_POINTERS;
}

impl<T: ?Sized> Clone for ArenaRef<'_, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for ArenaRef<'_, T> {}

impl<T: ?Sized> Deref for ArenaRef<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ArenaRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for ArenaRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A list that grows in an [`Arena`]. Memory that it outgrows is freed with the arena.
///
/// ```
/// # use heapwood::{Arena, Config, Heap};
/// # // SAFETY: no `Gc` is kept anywhere.
/// # let heap = unsafe { Heap::new(Config::default()) }?;
/// # let m = heap.attach()?;
/// let arena = Arena::new(&m);
/// let mut list = arena.list();
/// for i in 0..100u32 {
///     list.push(i * i);
/// }
/// assert_eq!(list.finish()[99], 9801);
/// # Ok::<(), heapwood::HeapError>(())
/// ```
pub struct ArenaVec<'a, 'm, T: Trace> {
    arena: &'a Arena<'m>,
    items: NonNull<T>,
    len: usize,
    capacity: usize,
}

impl<'a, T: Trace> ArenaVec<'a, '_, T> {
    /// Appends a value. May collect.
    ///
    /// # Panics
    /// As [`Arena::alloc`].
    pub fn push(&mut self, value: T) {
        if self.len == self.capacity {
            self.grow();
        }
        // SAFETY: there is room for it.
        unsafe { self.arena.put(self.items, self.len, value) };
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = if size_of::<T>() == 0 { usize::MAX } else { (self.capacity * 2).max(4) };
        let items = self.arena.room_for::<T>(if size_of::<T>() == 0 { 0 } else { capacity });
        for i in 0..self.len {
            // SAFETY: the values are initialised, and the new room is larger. A value that is never dropped may be
            // copied.
            unsafe { self.arena.put(items, i, self.items.add(i).read()) };
        }
        (self.items, self.capacity) = (items, capacity);
    }

    /// The values, for as long as the arena is borrowed.
    pub fn finish(self) -> ArenaRef<'a, [T]> {
        // SAFETY: the first `len` values are initialised, and nobody changes them any more.
        ArenaRef::new(unsafe { core::slice::from_raw_parts(self.items.as_ptr(), self.len) })
    }
}

impl<T: Trace> Deref for ArenaVec<'_, '_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialised.
        unsafe { core::slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }
}

impl<T: Trace + fmt::Debug> fmt::Debug for ArenaVec<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
