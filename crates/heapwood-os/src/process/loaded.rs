//! The libraries that the dynamic loader has loaded, by dl_iterate_phdr: the program and each shared library, their
//! addresses, and their writable data. Invariant: the addresses were valid while the loader's lock was held, and may
//! be unmapped when the call returns. So this module reads only headers, and only while the lock is held.
//!
//! The call takes the loader's lock. A thread that has stopped others at arbitrary instructions must not make it,
//! since one of them may hold the lock.

use crate::error::OsError;
use crate::memory::mapped_index::hash;
use crate::memory::page::page_size;
use crate::memory::request::Request;
use core::ffi::{CStr, c_int, c_void};
use core::iter;
use core::marker::PhantomData;
use core::ops::Range;

/// The numbers of libraries ever loaded and unloaded. While neither changes, the same libraries are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Libraries ever loaded; never decreases.
    pub adds: u64,
    /// Libraries ever unloaded.
    pub subs: u64,
}

/// A library, or the program itself, while the loader's lock is held.
#[derive(Clone, Copy)]
pub struct Library<'l> {
    info: *const libc::dl_phdr_info,
    locked: PhantomData<&'l ()>,
}

impl<'l> Library<'l> {
    fn info(&self) -> &'l libc::dl_phdr_info {
        // SAFETY: the loader owns it, and its lock is held as long as this value exists.
        unsafe { &*self.info }
    }

    fn headers(&self) -> impl Iterator<Item = &'l libc::Elf64_Phdr> + Clone + use<'l> {
        let info = self.info();
        // SAFETY: `dlpi_phnum` is the number of headers, which exist as long as the lock is held.
        (0..info.dlpi_phnum as usize).map(move |i| unsafe { &*info.dlpi_phdr.add(i) })
    }

    fn segments(&self) -> impl Iterator<Item = &'l libc::Elf64_Phdr> + Clone + use<'l> {
        self.headers().filter(|header| header.p_type == libc::PT_LOAD)
    }

    /// The addresses of a header's segment.
    fn addresses(&self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let start = (self.info().dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    }

    /// The file it was loaded from, by the loader's name; the program's may be empty.
    pub fn name(&self) -> &'l CStr {
        let name = self.info().dlpi_name;
        // SAFETY: the loader's string, if there is one, which exists as long as its lock is held.
        if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } }
    }

    /// The lowest address of its segments. Libraries that are loaded at the same time have different ones.
    pub fn start(&self) -> usize {
        self.segments().map(|segment| self.addresses(segment).start).min().unwrap_or(0)
    }

    /// An identifier, made of its name and start: after it is unloaded, another library may get the same start. Loaded
    /// again at the same address it has the same identifier.
    pub fn id(&self) -> usize {
        let name = self.name().to_bytes().iter().map(|&byte| u64::from(byte));
        hash(iter::once(self.start() as u64).chain(name)) as usize
    }

    /// Whether an address lies in one of its segments.
    pub fn holds(&self, address: usize) -> bool {
        self.segments().any(|segment| self.addresses(segment).contains(&address))
    }

    /// Its writable data, in whole words, without the part that is writable only during relocation: the loader then
    /// protects whole pages of it.
    pub fn data(&self) -> impl Iterator<Item = Range<usize>> + use<'l> {
        let this = *self;
        let protected = self.headers().find(|header| header.p_type == libc::PT_GNU_RELRO);
        let protected = protected.map_or(0..0, |header| {
            let range = this.addresses(header);
            range.start & !(page_size() - 1)..range.end & !(page_size() - 1)
        });
        let writable = self.segments().filter(|segment| segment.p_flags & libc::PF_W != 0);
        writable.flat_map(move |segment| without(this.addresses(segment), protected.clone()))
    }
}

/// The parts of `range` outside `hole`, in whole words.
fn without(range: Range<usize>, hole: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    const WORD: usize = size_of::<usize>();
    let (before, behind) = match hole.start < range.end && range.start < hole.end && !hole.is_empty() {
        true => (range.start..hole.start.max(range.start), hole.end.min(range.end)..range.end),
        false => (range, 0..0),
    };
    let words = |piece: Range<usize>| piece.start.next_multiple_of(WORD)..piece.end & !(WORD - 1);
    iter::once(before).chain(iter::once(behind)).map(words).filter(|piece| !piece.is_empty())
}

/// Calls `each` with every loaded library, the program first, until it returns false. The loader's lock is held.
/// Returns the loader's counts of that moment.
pub fn for_each_library(mut each: impl FnMut(Library<'_>) -> bool) -> Counts {
    let mut counts = Counts { adds: 0, subs: 0 };
    let mut look = |library: Library<'_>| {
        // Every current C library has these fields: glibc since 2.4, musl since 0.9.
        counts = Counts { adds: library.info().dlpi_adds, subs: library.info().dlpi_subs };
        each(library)
    };
    let mut look: &mut dyn FnMut(Library<'_>) -> bool = &mut look;
    // SAFETY: the callback expects the address of such a reference, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut look).cast()) };
    counts
}

/// Whether the loader's lock can be held by [`with_lock`].
///
/// # Errors
/// It cannot: other C libraries than glibc call back without it.
pub fn has_lock() -> Result<(), OsError> {
    match cfg!(target_env = "gnu") {
        true => Ok(()),
        false => Err(OsError::new(Request::LoaderLock, 0, libc::ENOSYS)),
    }
}

/// Runs `f` with the loader's lock: until it returns no other thread changes what is loaded, nor has that lock. A thread that has it
/// takes it once more. Only where [`has_lock`] says so.
pub fn with_lock<R>(f: impl FnOnce() -> R) -> R {
    let (mut f, mut result) = (Some(f), None);
    for_each_library(|_| {
        result = f.take().map(|f| f());
        false
    });
    result.expect("the program itself is loaded")
}

/// The loader's counts now.
pub fn counts() -> Counts {
    for_each_library(|_| false)
}

unsafe extern "C" fn call(info: *mut libc::dl_phdr_info, _: usize, look: *mut c_void) -> c_int {
    // SAFETY: `for_each_library` passes the address of such a reference, which it does not use meanwhile.
    let look = unsafe { &mut *look.cast::<&mut dyn FnMut(Library<'_>) -> bool>() };
    c_int::from(!look(Library { info, locked: PhantomData }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    static WRITABLE: AtomicUsize = AtomicUsize::new(7);

    #[test]
    fn pointers_that_are_relocated_and_then_protected_are_not_data() {
        // A table of addresses needs relocation in position-independent code.
        static TABLE: [&AtomicUsize; 1] = [&WRITABLE];
        let table = core::hint::black_box(&raw const TABLE) as usize;
        for_each_library(|library| {
            assert!(!library.data().any(|data| data.contains(&table)));
            true
        });
    }

    #[test]
    fn parts_outside_a_hole_are_whole_words() {
        let pieces =
            |range, hole| without(range, hole).map(|piece| (piece.start, piece.end)).collect::<Vec<_>>();
        assert_eq!(pieces(100..200, 0..0), [(104, 200)]);
        assert_eq!(pieces(100..205, 300..400), [(104, 200)]);
        assert_eq!(pieces(104..200, 96..128), [(128, 200)]);
        assert_eq!(pieces(104..200, 128..256), [(104, 128)]);
        assert_eq!(pieces(104..200, 128..136), [(104, 128), (136, 200)]);
        assert_eq!(pieces(104..200, 96..256), []);
        assert_eq!(pieces(105..111, 0..0), []);
    }
}
