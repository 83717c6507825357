//! What the dynamic loader has loaded, as dl_iterate_phdr tells: each library, the program among them, where it lies, and
//! which of its memory it may write to. Invariant: what is told lay there while the loader's lock was held, and may be gone
//! when the call returns; so nothing of it is read here but headers, and these only meanwhile.
//!
//! The call takes the loader's lock. The thread that has stopped threads at any instruction must not make it: one of them may be
//! inside the loader.

use crate::memory::mapped_index::hash;
use crate::memory::page::page_size;
use core::ffi::{CStr, c_int, c_void};
use core::iter;
use core::marker::PhantomData;
use core::ops::Range;

/// How many libraries were ever loaded, and how many of those were unloaded: as long as neither changes, what is loaded is
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Those that were loaded; it never falls.
    pub adds: u64,
    /// Those that were unloaded.
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
        // SAFETY: the loader's, while its lock is held, which is as long as this exists.
        unsafe { &*self.info }
    }

    fn headers(&self) -> impl Iterator<Item = &'l libc::Elf64_Phdr> + Clone + use<'l> {
        let info = self.info();
        // SAFETY: there are so many headers, which stay as long as the lock is held.
        (0..info.dlpi_phnum as usize).map(move |i| unsafe { &*info.dlpi_phdr.add(i) })
    }

    fn segments(&self) -> impl Iterator<Item = &'l libc::Elf64_Phdr> + Clone + use<'l> {
        self.headers().filter(|header| header.p_type == libc::PT_LOAD)
    }

    /// The addresses that a header speaks of.
    fn addresses(&self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let start = (self.info().dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    }

    /// The file that it was loaded from, as the loader calls it; the program's may be empty.
    pub fn name(&self) -> &'l CStr {
        let name = self.info().dlpi_name;
        // SAFETY: a text of the loader's, if there is one, as long as its lock is held.
        if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } }
    }

    /// The lowest address of its segments: no two libraries that are loaded at the same time have the same.
    pub fn start(&self) -> usize {
        self.segments().map(|segment| self.addresses(segment).start).min().unwrap_or(0)
    }

    /// A number that stands for it: made of where it starts, which another may after it was closed, and of its name.
    /// Opened again at the same place it is the same.
    pub fn id(&self) -> usize {
        let name = self.name().to_bytes().iter().map(|&byte| u64::from(byte));
        hash(iter::once(self.start() as u64).chain(name)) as usize
    }

    /// Whether it holds an address.
    pub fn holds(&self, address: usize) -> bool {
        self.segments().any(|segment| self.addresses(segment).contains(&address))
    }

    /// The whole words that it may write to, but for those that it could only while it was relocated: of these the loader
    /// protects whole pages.
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

/// What of `range` lies outside `hole`, in whole words: at most two pieces.
fn without(range: Range<usize>, hole: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    const WORD: usize = size_of::<usize>();
    let (before, behind) = match hole.start < range.end && range.start < hole.end && !hole.is_empty() {
        true => (range.start..hole.start.max(range.start), hole.end.min(range.end)..range.end),
        false => (range, 0..0),
    };
    let words = |piece: Range<usize>| piece.start.next_multiple_of(WORD)..piece.end & !(WORD - 1);
    iter::once(before).chain(iter::once(behind)).map(words).filter(|piece| !piece.is_empty())
}

/// Calls `each` with every library that is loaded, the program first, until it returns false; the loader's lock is held.
/// Returns the loader's counts of that moment.
pub fn for_each_library(mut each: impl FnMut(Library<'_>) -> bool) -> Counts {
    let mut counts = Counts { adds: 0, subs: 0 };
    let mut look = |library: Library<'_>| {
        // All C libraries of today have these: glibc since 2.4, musl since 0.9.
        counts = Counts { adds: library.info().dlpi_adds, subs: library.info().dlpi_subs };
        each(library)
    };
    let mut look: &mut dyn FnMut(Library<'_>) -> bool = &mut look;
    // SAFETY: the callback expects the address of such a reference, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut look).cast()) };
    counts
}

/// The loader's counts now.
pub fn counts() -> Counts {
    for_each_library(|_| false)
}

unsafe extern "C" fn call(info: *mut libc::dl_phdr_info, _: usize, look: *mut c_void) -> c_int {
    // SAFETY: `for_each_library` passes the address of such a reference, which nobody else uses meanwhile.
    let look = unsafe { &mut *look.cast::<&mut dyn FnMut(Library<'_>) -> bool>() };
    c_int::from(!look(Library { info, locked: PhantomData }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    static WRITABLE: AtomicUsize = AtomicUsize::new(7);
    static CONSTANT: usize = 7;

    #[test]
    fn the_program_holds_its_statics_and_writes_to_some() {
        let (writable, constant) = (WRITABLE.as_ptr() as usize, &raw const CONSTANT as usize);
        let mut holders = 0;
        for_each_library(|library| {
            if library.holds(writable) {
                holders += 1;
                assert!(library.holds(constant) && library.start() <= constant.min(writable));
                assert!(library.data().any(|data| data.contains(&writable)), "written to");
                assert!(!library.data().any(|data| data.contains(&constant)), "never written to");
            }
            assert!(!library.holds(&raw const holders as usize), "a stack is no library's");
            for data in library.data() {
                assert!(data.start.is_multiple_of(8) && data.end.is_multiple_of(8) && !data.is_empty());
                assert!(library.holds(data.start) && library.holds(data.end - 1));
            }
            true
        });
        assert_eq!(holders, 1);
    }

    #[test]
    fn pointers_that_are_relocated_and_then_protected_are_not_data() {
        // A table of addresses is relocated where the program may lie anywhere.
        static TABLE: [&AtomicUsize; 1] = [&WRITABLE];
        let table = core::hint::black_box(&raw const TABLE) as usize;
        for_each_library(|library| {
            assert!(!library.data().any(|data| data.contains(&table)));
            true
        });
    }

    #[test]
    fn libraries_come_and_go_and_are_counted() {
        // One that no other test loads, if this system has it.
        let before = counts();
        // SAFETY: the C library's own, which has no constructors that matter.
        let library = unsafe { libc::dlopen(c"libutil.so.1".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            println!("skipped: no libutil.so.1 to load");
            return;
        }
        let find = || {
            let mut found = None;
            let counts = for_each_library(|library| {
                let is_it = library.name().to_bytes().ends_with(b"/libutil.so.1");
                found = is_it.then(|| library.id());
                !is_it
            });
            (found, counts)
        };
        let (found, during) = find();
        assert!(found.is_some() && found == find().0);
        for_each_library(|other| {
            assert!(found != Some(other.id()) || other.name().to_bytes().ends_with(b"/libutil.so.1"));
            true
        });
        assert!(during.adds > before.adds);
        assert_eq!(during, counts(), "nothing has changed");
        // SAFETY: opened above.
        unsafe { libc::dlclose(library) };
        let (found, after) = find();
        assert_ne!(after, during);
        // A C library that never unloads counts that, too.
        assert!(found.is_none() || after.subs == before.subs);
    }

    #[test]
    fn pieces_outside_a_hole_are_whole_words() {
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
