//! The heap, as those above see it: a space, the mutators attached to it, its roots, its collector. Everything hangs off it;
//! there is no global state. Invariant: it lives in mapped memory at a fixed address, since mutators point to it, and its
//! first field is what they read of it.

use crate::background::{Background, Scavenger};
use crate::collect::{Collector, Pacer, Room, hold_margin, window};
use crate::error::{HandleError, HeapError, MisuseError, RootError, TypeError};
use crate::mark::{FlaggedSpans, MarkStacks};
use crate::mutator::Mutator;
use crate::mutator::registry::Registry;
use crate::observe::{Stats, Verify};
use crate::options::Config;
use crate::roots::{Handle, MAX_HANDLES, RootKind, RootToken, Roots};
use crate::state::{State, StoreLog};
use crate::types::{self, Described, ObjectType};
use core::mem::{ManuallyDrop, offset_of};
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;
use heapwood_heap::{Address, MIN_WINDOW, Object, ProgramId, Space, SpaceConfig, rounded_window};
use heapwood_layout::{TypeDescriptor, WORD};
use heapwood_os::timed_lock::TickClock;
use heapwood_os::{KernelRef, MOST_KERNEL_PAGE, MappedBox};
#[cfg(feature = "inspect")]
use heapwood_pages::{PAGE_SIZE, PageCount, Snapshot};

/// A small heap has room for fewer handles: one for so many bytes of its window.
const WINDOW_BYTES_A_HANDLE: usize = 256;

/// A garbage-collected heap.
#[repr(C)]
pub struct Heap {
    state: State,
    collector: Collector,
    background: Background,
    config: Config,
    kernel: KernelRef,
    ticks: TickClock,
}

const _: () = assert!(offset_of!(Heap, state) == 0, "Mutator::heap relies on it");

/// A heap that its owner keeps in place. Dropping it releases all its memory at once; but if a thread is attached (whose
/// guard was forgotten) that memory stays, for the thread may use it until it ends.
pub struct HeapBox {
    scavenger: Option<Scavenger>,
    heap: ManuallyDrop<MappedBox<Heap>>,
}

impl Deref for HeapBox {
    type Target = Heap;
    fn deref(&self) -> &Heap {
        &self.heap
    }
}

impl Drop for HeapBox {
    fn drop(&mut self) {
        // The thread uses the heap.
        self.scavenger = None;
        if self.heap.mutators() == 0 {
            // SAFETY: nobody uses the heap any more, and this is the last that is done with it here.
            unsafe { ManuallyDrop::drop(&mut self.heap) };
        }
    }
}

impl Heap {
    /// Makes a heap with memory from `kernel`.
    pub fn create(kernel: KernelRef, config: Config) -> Result<HeapBox, HeapError> {
        config.check()?;
        if kernel.page_size() > MOST_KERNEL_PAGE {
            return Err(HeapError::KernelPages { bytes: kernel.page_size() });
        }
        let room = Room::find(&config)?;
        let mut window = rounded_window(window(&config));
        loop {
            match Self::in_window(kernel, config, room, window) {
                Err(HeapError::Kernel(_)) if window > MIN_WINDOW => window /= 2,
                done => return done,
            }
        }
    }

    /// Makes a heap with a window of this size. All else that it needs addresses for is had with it or not at all, and
    /// something is left for the program.
    fn in_window(kernel: KernelRef, config: Config, room: Room, window: usize) -> Result<HeapBox, HeapError> {
        let margin = hold_margin(kernel)?;
        let space = Space::new(
            kernel,
            SpaceConfig {
                window,
                most: room.most(),
                limit: config.limit,
                huge_pages: config.huge_pages,
                clobber: config.verify,
                single_cells: config.stress,
            },
        )?;
        let window = space.window_bytes();
        let pacer = Pacer::new(&config, room);
        let first = pacer.pace(0, pacer.bounds(0));
        space.set_budget(first.budget);
        let stacks = match config.mark_stack {
            Some(edges) => MarkStacks::new(kernel, edges as usize)?,
            None => MarkStacks::usual(kernel, window)?,
        };
        let flagged = FlaggedSpans::new(kernel, window)?;
        let roots = Roots::new(kernel, MAX_HANDLES.min(window / WINDOW_BYTES_A_HANDLE))?;
        let verify = config.verify.then(|| Verify::new(kernel, &space)).transpose()?;
        let stores = config.verify.then(|| StoreLog::new(kernel, &space)).transpose()?;
        let heap = Heap {
            state: State::new(space, first.goal, config.stress, stores),
            collector: Collector::new(roots, (stacks, flagged), pacer, config.conservative_stacks, verify),
            background: Background::default(),
            config,
            kernel,
            ticks: TickClock::start(),
        };
        let heap = ManuallyDrop::new(MappedBox::new(kernel, heap)?);
        drop(margin);
        let start = || {
            let (space, goal) = (heap.state.space(), heap.state.goal());
            // SAFETY: the box keeps the heap in place, and HeapBox drops the scavenger first.
            unsafe { Scavenger::start(kernel, &heap.background, space, goal) }.ok()
        };
        // Without the thread a heap goes on: it gives memory back when it is asked to.
        let scavenger = config.background_release.then(start).flatten();
        Ok(HeapBox { scavenger, heap })
    }

    /// The settings it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What injects faults into it, for tests of the tests.
    #[cfg(feature = "inject")]
    pub fn faults(&self) -> &crate::inject::FaultInjector {
        self.collector.faults()
    }

    /// The memory it manages.
    #[inline(always)]
    pub fn space(&self) -> &Space {
        self.state.space()
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn kernel(&self) -> KernelRef {
        self.kernel
    }

    pub(crate) fn registry(&self) -> &Registry {
        self.collector.registry()
    }

    pub(crate) fn pacer(&self) -> &Pacer {
        self.collector.pacer()
    }

    /// Collects if it is still `wanted`, because an allocation needs it or because the program asks for it.
    ///
    /// # Errors
    /// The mutator cannot be used now, or its thread's stack cannot be scanned.
    pub(crate) fn collect_if(
        &self,
        me: &Mutator,
        wanted: impl Fn() -> bool,
        allocating: bool,
    ) -> Result<(), MisuseError> {
        if self.collector.collect_if(&self.state, me, wanted, allocating)? {
            self.background.wake();
        }
        Ok(())
    }

    /// Changes the growth percentage, from the next collection on.
    pub fn set_percent(&self, percent: u32) -> Result<(), HeapError> {
        Config::DEFAULT.percent(percent).check()?;
        self.pacer().set_percent(percent);
        Ok(())
    }

    /// How many threads are attached. If it is none, the last has done all it does here.
    pub fn mutators(&self) -> usize {
        self.registry().attached()
    }

    /// Registers a type. Types of one size class and one layout share a shape.
    pub fn register(&self, descriptor: &TypeDescriptor) -> Result<ObjectType, TypeError> {
        types::register(self.space(), descriptor)
    }

    /// The form in which the heap keeps a type of `size` bytes whose pointers a program describes: by the number of words up
    /// to which a mask is faster ([`Config::mask_words`]). Only programs are registered by this.
    ///
    /// # Errors
    /// As [`Heap::register_program`].
    pub fn describe(&self, size: usize, program: &[u8]) -> Result<Described, TypeError> {
        types::describe(self.space(), self.config.mask_words as usize, size, program)
    }

    /// Registers a type of `size` bytes whose pointers a program describes, one bit a word, as a program however short.
    ///
    /// # Errors
    /// The size is no type's; the program is wrong, with the byte at fault, or no nest of few loops and too large to be
    /// unrolled; or the heap has no room for more.
    pub fn register_program(
        &self,
        size: usize,
        program: &[u8],
    ) -> Result<(ObjectType, ProgramId), TypeError> {
        types::register_program(self.space(), size, program)
    }

    /// The type of `size` bytes, which are those of its program.
    ///
    /// # Errors
    /// The heap has no room for more layouts.
    pub fn program_type(&self, size: usize, program: ProgramId) -> Result<ObjectType, TypeError> {
        types::program_type(self.space(), size, program)
    }

    /// Makes `words` slots from `slots` roots: each holds null, an address outside the heap, or the address of an
    /// object.
    ///
    /// # Errors
    /// The table of roots is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. The slots stay readable, and hold such values whenever a collection may run, until the root is removed.
    pub unsafe fn add_root_slots(&self, slots: *const usize, words: usize) -> Result<RootToken, RootError> {
        self.collector.roots().table().lock().add(RootKind::Slots, slots as usize, words)
    }

    /// Makes the words in `start..end` ambiguous roots.
    ///
    /// # Errors
    /// As [`Heap::add_root_slots`].
    ///
    /// # Safety
    /// 1. The range stays readable until the root is removed.
    pub unsafe fn add_root_range(&self, start: usize, end: usize) -> Result<RootToken, RootError> {
        let start = start.next_multiple_of(WORD);
        self.collector.roots().table().lock().add(RootKind::Range, start, end.saturating_sub(start) / WORD)
    }

    /// Removes a root; false if the token names none.
    pub fn remove_root(&self, token: RootToken) -> bool {
        self.collector.roots().table().lock().remove(token)
    }

    /// Makes a handle that keeps the object at `object` alive (null for none yet).
    ///
    /// # Errors
    /// The table of handles is full, or the kernel gives no memory for more of it.
    ///
    /// # Safety
    /// 1. `object` is null, an address outside the heap, or that of an object that exists.
    pub unsafe fn new_handle(&self, object: Address) -> Result<Handle, HandleError> {
        self.collector.roots().handles().lock().new_handle(object.get())
    }

    /// Frees a handle; false if it is not held.
    pub fn free_handle(&self, handle: Handle) -> bool {
        self.collector.roots().handles().lock().free_handle(handle)
    }

    /// The object that `addr` points to or into. Objects made since the last collection may be missing (see
    /// [`Mutator::find`]).
    pub fn find(&self, addr: usize) -> Option<Object> {
        self.space().find(Address::new(addr))
    }

    /// Gives the memory of all free pages back to the kernel now, and returns how many bytes that may have been. Only
    /// what a collection has found dead is free: collect first. Threads go on meanwhile; what they have set aside (up
    /// to half a MiB each) stays.
    pub fn release_free_memory(&self) -> usize {
        let released = self.space().release_all();
        self.background.count_released(released);
        released
    }

    /// The pages as they are now. Those that mutators have set aside count as in use.
    #[cfg(feature = "inspect")]
    pub fn page_snapshot(&self) -> Snapshot {
        self.space().snapshot()
    }

    /// Keeps the snapshots of [`Heap::peak_page_snapshot`] and [`Heap::collected_page_snapshot`] from now on, while the world
    /// is stopped for collections.
    #[cfg(feature = "inspect")]
    pub fn keep_page_snapshots(&self) {
        self.collector.snapshots().keep(self.kernel, self.space());
    }

    /// The pages when most were in use, of the moments when collections began and this one; `None` if none are kept, or
    /// the kernel gave no memory for them.
    #[cfg(feature = "inspect")]
    pub fn peak_page_snapshot(&self) -> Option<Snapshot> {
        self.collector.snapshots().before_marking(self.space());
        self.collector.snapshots().peak(self.window_pages())
    }

    /// The pages that the collection left that freed most, as if all that it found dead had been swept at once; `None`
    /// if none are kept, or there was no collection, or no memory for them.
    #[cfg(feature = "inspect")]
    pub fn collected_page_snapshot(&self) -> Option<Snapshot> {
        self.collector.snapshots().collected(self.window_pages())
    }

    #[cfg(feature = "inspect")]
    fn window_pages(&self) -> PageCount {
        PageCount(self.space().window_bytes() / PAGE_SIZE)
    }

    /// The figures at this moment.
    pub fn stats(&self) -> Stats {
        let figures = self.space().stats();
        let held = |ticks: u64| self.ticks.ns(ticks);
        let mut stats = Stats {
            collections: self.state.collections(),
            live_bytes: self.state.live(),
            goal_bytes: self.state.goal().load(Ordering::Relaxed),
            allocated_bytes: figures.total_allocated,
            in_use_bytes: figures.in_use,
            committed_bytes: figures.grown,
            backed_bytes: figures.resident,
            released_bytes: self.background.released(),
            spans: figures.spans,
            span_lock_acquisitions: figures.span_lock_acquisitions,
            page_lock_acquisitions: figures.page_lock_acquisitions,
            threads: self.registry().attached_now(),
            hold_spans_max_ns: held(figures.hold_spans),
            hold_pages_max_ns: held(figures.hold_pages),
            hold_types_max_ns: held(figures.hold_types),
            ..Stats::default()
        };
        self.collector.tell(&mut stats, &self.ticks);
        stats
    }
}

impl Mutator {
    /// The heap it is attached to.
    #[inline(always)]
    pub fn heap(&self) -> &Heap {
        let heap: NonNull<Heap> = self.heap_state().cast();
        // SAFETY: what a mutator points to is the first field of its heap, by a pointer to all of that (`attach.rs`), and
        // the heap lives as long as a thread is attached.
        unsafe { heap.as_ref() }
    }
}
