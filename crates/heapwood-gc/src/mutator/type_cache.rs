//! The part of a mutator for the types that its thread allocates: a cache of shapes, so that it asks the table of shapes,
//! which has a lock, once for each scan. A constant scan is known by its address, because a mask alone takes four words
//! to compare. Invariant: the cache gives the table's answer.

use core::cell::Cell;
use heapwood_heap::{Scan, ShapeId};

const PLACES: usize = 64;
/// Few, so that the mutator of an idle thread stays small.
const CONSTANTS: usize = 16;

/// Two direct-mapped caches, and how the thread writes values.
pub(super) struct TypeCache {
    by_scan: [Cell<Recent>; PLACES],
    by_address: [Cell<OfConstant>; CONSTANTS],
    /// The client writes values of masked types whole before it commits them.
    writes_whole: Cell<bool>,
}

/// The shape of a constant scan; the address is 0 in an empty place.
#[derive(Clone, Copy)]
struct OfConstant {
    address: usize,
    shape: ShapeId,
    class: u16,
}

/// A shape that was looked up.
#[derive(Clone, Copy)]
struct Recent {
    scan: Option<Scan>,
    shape: ShapeId,
    class: u16,
}

impl TypeCache {
    pub(super) const fn new() -> Self {
        TypeCache {
            by_scan: [const { Cell::new(Recent { scan: None, shape: ShapeId::no_pointers(None), class: 0 }) };
                PLACES],
            by_address: [const {
                Cell::new(OfConstant { address: 0, shape: ShapeId::no_pointers(None), class: 0 })
            }; CONSTANTS],
            writes_whole: Cell::new(false),
        }
    }

    /// Whether the client writes values of masked types whole.
    #[inline(always)]
    pub(super) fn writes_whole(&self) -> bool {
        self.writes_whole.get()
    }

    /// Says whether it does.
    pub(super) fn set_writes_whole(&self, whole: bool) {
        self.writes_whole.set(whole);
    }

    /// As [`TypeCache::get`], for a constant scan.
    #[inline(always)]
    pub(super) fn get_constant<E>(
        &self,
        class: u16,
        scan: &'static Scan,
        look_up: impl FnOnce() -> Result<ShapeId, E>,
    ) -> Result<ShapeId, E> {
        let address = core::ptr::from_ref(scan) as usize;
        let place = &self.by_address[((address >> 5) ^ (address >> 9) ^ class as usize) % CONSTANTS];
        let recent = place.get();
        if recent.address == address && recent.class == class {
            return Ok(recent.shape);
        }
        let shape = self.get(class, *scan, look_up)?;
        place.set(OfConstant { address, shape, class });
        Ok(shape)
    }

    /// The shape of objects of a size class, or of none, that are scanned as `scan` says; asks `look_up` if it is not
    /// cached.
    pub(super) fn get<E>(
        &self,
        class: u16,
        scan: Scan,
        look_up: impl FnOnce() -> Result<ShapeId, E>,
    ) -> Result<ShapeId, E> {
        let place = &self.by_scan[(scan_hash(&scan) ^ class as usize) % PLACES];
        let recent = place.get();
        if recent.class == class && recent.scan.is_some_and(|s| same_scan(&s, &scan)) {
            return Ok(recent.shape);
        }
        let shape = look_up()?;
        place.set(Recent { scan: Some(scan), shape, class });
        Ok(shape)
    }
}

fn scan_hash(scan: &Scan) -> usize {
    let mix =
        |a: u64, b: usize| (a.wrapping_add(b as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize;
    match scan {
        Scan::Layout(heapwood_layout::Layout::Mask(mask)) => mix(mask.bits()[0], 1),
        Scan::Layout(heapwood_layout::Layout::Trace(f)) => mix(*f as usize as u64, 2),
        Scan::Layout(_) => 3,
        Scan::Trace { function, data } => mix(*function as usize as u64, *data),
        Scan::AmbiguousMask(mask) => mix(mask[0], 7),
        Scan::AmbiguousPrefix(words) => mix(*words as u64, 8),
        Scan::Slice { header, words, mask } => mix(mask[0], words * 4 + *header as usize),
        Scan::HeadedSlice { header, head, words, mask } => mix(mask[0] ^ head, words * 4 + *header as usize),
        Scan::HeadedProgram { header, head, program } => {
            mix(program.index() as u64 ^ head, 6 + *header as usize)
        }
        Scan::Unregistered { header, program } => mix(program.bytes().as_ptr() as u64, 5 + *header as usize),
        Scan::Program { header, program } => mix(program.index() as u64, 4 + *header as usize),
    }
}

fn same_scan(a: &Scan, b: &Scan) -> bool {
    match (a, b) {
        (Scan::Layout(a), Scan::Layout(b)) => a == b,
        (Scan::Slice { header: h, words: w, mask: m }, Scan::Slice { header, words, mask }) => {
            h == header && w == words && m == mask
        }
        (
            Scan::HeadedSlice { header: h, head: d, words: w, mask: m },
            Scan::HeadedSlice { header, head, words, mask },
        ) => h == header && d == head && w == words && m == mask,
        (
            Scan::HeadedProgram { header: h, head: d, program: p },
            Scan::HeadedProgram { header, head, program },
        ) => h == header && d == head && p == program,
        // A constant may lie at several addresses; each is looked up once.
        (Scan::Unregistered { header: h, program: p }, Scan::Unregistered { header, program }) => {
            h == header && core::ptr::eq(p.bytes(), program.bytes()) && p.words() == program.words()
        }
        (Scan::Trace { function: f, data: d }, Scan::Trace { function, data }) => {
            core::ptr::fn_addr_eq(*f, *function) && d == data
        }
        (Scan::AmbiguousMask(a), Scan::AmbiguousMask(b)) => a == b,
        (Scan::AmbiguousPrefix(a), Scan::AmbiguousPrefix(b)) => a == b,
        (Scan::Program { header: h, program: p }, Scan::Program { header, program }) => {
            h == header && p == program
        }
        _ => false,
    }
}
