//! Blocks as roots: a root function of each heap that names the words of blocks which lead into the heap. Blocks may be allocated and freed
//! meanwhile, by threads that are not attached or in blocking regions; they do not use a `Gc` then. So a look at whole pages is enough, whatever
//! cells exist there: what is free holds zeros, and memory that was given back reads as zeros.
//! Invariant: it takes no lock and allocates nothing.

use super::blocks::Blocks;
use crate::words::first_in;
use core::ffi::c_void;
use heapwood_gc::{Heap, HeapError, RootError, RootFunction, Tracer};
use heapwood_layout::TraceContext;
use heapwood_pages::PAGE_SIZE as PAGE;

const WORD: usize = size_of::<usize>();

/// Has a heap's collections look at all blocks, if there are any.
///
/// # Errors
/// There is no memory for a root.
pub(crate) fn scan_blocks_for(heap: &Heap) -> Result<(), HeapError> {
    if Blocks::get().is_some() {
        let argument = core::ptr::from_ref(heap).cast_mut().cast::<c_void>();
        super::fork::register_behind_the_heaps();
        // SAFETY: the heap is where it is as long as its root; the function may be called on any thread.
        let added = unsafe { heap.roots().add_function(RootFunction { function: name_blocks, argument }) };
        match added {
            Ok(_) => {}
            Err(RootError::Kernel(error)) => return Err(error.into()),
            Err(error) => unreachable!("a new heap has room for a root: {error}"),
        }
    }
    Ok(())
}

/// Names what blocks lead to.
unsafe extern "C" fn name_blocks(heap: *mut c_void, context: *mut TraceContext) {
    // SAFETY: the heap that has called this.
    let heap = unsafe { &*heap.cast::<Heap>() };
    // SAFETY: the context is this call's.
    let mut tracer = unsafe { Tracer::from_context(context) };
    let Some(blocks) = Blocks::get() else { return };
    let wanted = heap.space().base().get()..heap.space().base().get() + heap.space().committed_end();
    let mut looked = 0;
    for page in blocks.space().pages_with_pointers() {
        looked += PAGE;
        let mut words = page..page + PAGE;
        // SAFETY: the page is below the committed end, and readable whatever is there.
        while let Some(at) = unsafe { first_in(words.clone(), WORD, &wanted) } {
            // SAFETY: as above; it may have changed meanwhile.
            tracer.visit_ambiguous(unsafe { (at as *const usize).read_volatile() });
            words.start = at + WORD;
        }
    }
    tracer.looked_at(looked);
}
