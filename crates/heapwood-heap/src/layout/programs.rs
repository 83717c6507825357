//! The programs of a heap's types. A heap copies a program when it is registered, with the nest of loops by which
//! objects are scanned from any word on. Invariant: a number names a program that lives as long as the heap and never
//! changes; programs of the same bytes have one number, which an index finds.

use crate::error::Refusal;
use crate::layout::program_id::{MAX_BYTES, MAX_NODES, MAX_PROGRAMS, MOST_NODES, ProgramId};
use crate::lock_order::PROGRAMS;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use heapwood_layout::program::{Nest, NestErrorKind, Node, Program};
use heapwood_os::memory::mapped_index::hash;
use heapwood_os::memory::region::Zeroed;
use heapwood_os::{
    ForkLock, KernelRef, Lock, Mapped, MappedArray, MappedIndex, OsError, for_each_mapping_of,
};

/// Room for a value.
#[repr(transparent)]
struct Uninit<T>(MaybeUninit<T>);

// SAFETY: a slot without a value may have any bytes, and drops nothing.
unsafe impl<T> Zeroed for Uninit<T> {}

/// A registered program. Its references live as long as the tables.
#[derive(Clone, Copy)]
struct RegisteredProgram {
    program: Program<'static>,
    nest: Nest<'static>,
}

/// The used part of the tables.
#[derive(Clone, Copy, Default)]
struct UsedLengths {
    programs: usize,
    bytes: usize,
    nodes: usize,
}

pub(crate) struct Programs {
    known: MappedArray<Uninit<RegisteredProgram>>,
    /// The number of programs.
    count: AtomicU32,
    bytes: MappedArray<u8>,
    nodes: MappedArray<Uninit<Node>>,
    /// Scratch space to unroll a program while it is registered.
    unrolled: MappedArray<u64>,
    registering: Lock<ProgramRegistration, PROGRAMS>,
}

/// State of the registration.
struct ProgramRegistration {
    used: UsedLengths,
    /// Holds each program's number, plus 1.
    index: MappedIndex,
}

fn hash_of(program: Program<'_>) -> u64 {
    let words = program.bytes().chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    hash(words.chain([program.words()]))
}

impl Programs {
    pub(crate) fn new(kernel: KernelRef) -> Result<Self, OsError> {
        Ok(Programs {
            known: MappedArray::new(kernel, MAX_PROGRAMS)?,
            count: AtomicU32::new(0),
            bytes: MappedArray::new(kernel, MAX_BYTES)?,
            nodes: MappedArray::new(kernel, MAX_NODES)?,
            unrolled: MappedArray::new(kernel, MOST_NODES)?,
            registering: Lock::new(ProgramRegistration {
                used: UsedLengths::default(),
                index: MappedIndex::new(kernel, MAX_PROGRAMS)?,
            }),
        })
    }

    /// The lock for registering.
    pub(crate) fn fork_lock(&self) -> &impl ForkLock {
        &self.registering
    }

    /// Registers a program, or finds it; returns its number.
    pub(crate) fn register(&self, program: Program<'_>) -> Result<ProgramId, Refusal> {
        let ProgramRegistration { used, index } = &mut *self.registering.lock();
        let known = |number: u32| self.program(ProgramId::from_index(number as usize - 1));
        let same = |number| {
            let known = known(number);
            known.words() == program.words() && known.bytes() == program.bytes()
        };
        if let Some(number) = index.find(hash_of(program), same) {
            return Ok(ProgramId::from_index(number as usize - 1));
        }
        let UsedLengths { programs, bytes, nodes } = *used;
        let (len, most) = (program.bytes().len(), MOST_NODES.min(MAX_NODES - nodes));
        if programs >= MAX_PROGRAMS || len > MAX_BYTES - bytes || most == 0 {
            return Err(Refusal::ManyPrograms);
        }
        index.reserve(|number| hash_of(known(number)))?;
        self.unrolled.commit(0..MOST_NODES)?;
        self.known.commit(programs..programs + 1)?;
        self.bytes.commit(bytes..bytes + len)?;
        self.nodes.commit(nodes..nodes + most)?;
        // SAFETY: the bytes were committed just now, no other thread uses them, and they live as long as the tables, in
        // which the reference stays.
        let copy: &'static mut [u8] = unsafe { core::slice::from_raw_parts_mut(self.bytes.at(bytes), len) };
        copy.copy_from_slice(program.bytes());
        let room = self.nodes.at(nodes).cast::<Node>();
        for k in 0..most {
            // SAFETY: the nodes were committed just now.
            unsafe { room.add(k).write(Node::EMPTY) };
        }
        // SAFETY: as for the bytes; each node was written.
        let room: &'static mut [Node] = unsafe { core::slice::from_raw_parts_mut(room, most) };
        let program = Program::check(copy, program.words()).expect("the copy of a program that was checked");
        // SAFETY: committed above, and used only under the lock.
        let unrolled = unsafe { core::slice::from_raw_parts_mut(self.unrolled.as_ptr(), MOST_NODES) };
        let nest = Nest::compile_or_unroll(program, room, unrolled).map_err(|e| match e.kind {
            NestErrorKind::TooManyNodes { .. } if most < MOST_NODES => Refusal::ManyPrograms,
            _ => Refusal::Nest(e),
        })?;
        // SAFETY: committed just now.
        unsafe {
            self.known.at(programs).write(Uninit(MaybeUninit::new(RegisteredProgram { program, nest })))
        };
        index.insert(hash_of(program), programs as u32 + 1);
        self.count.store(programs as u32 + 1, Ordering::Release);
        *used = UsedLengths { programs: programs + 1, bytes: bytes + len, nodes: nodes + nest.nodes().len() };
        Ok(ProgramId::from_index(programs))
    }

    /// The program with a number.
    ///
    /// # Panics
    /// These tables did not give out the number.
    pub(crate) fn program(&self, id: ProgramId) -> Program<'_> {
        self.check(id);
        // SAFETY: just checked.
        unsafe { self.known(id) }.program
    }

    /// The nest of the program with a number.
    ///
    /// # Panics
    /// These tables did not give out the number.
    pub(crate) fn nest(&self, id: ProgramId) -> Nest<'_> {
        self.check(id);
        // SAFETY: just checked.
        unsafe { self.nest_unchecked(id) }
    }

    /// The same without the check.
    ///
    /// # Safety
    /// 1. These tables gave out the number.
    #[inline]
    pub(crate) unsafe fn nest_unchecked(&self, id: ProgramId) -> Nest<'_> {
        // SAFETY: contract 1.
        unsafe { self.known(id) }.nest
    }

    /// The program with a number.
    ///
    /// # Safety
    /// 1. These tables gave out the number.
    #[inline]
    pub(crate) unsafe fn program_unchecked(&self, id: ProgramId) -> Program<'_> {
        // SAFETY: contract 1.
        unsafe { self.known(id) }.program
    }

    fn check(&self, id: ProgramId) {
        let programs = self.count.load(Ordering::Acquire);
        assert!(
            id.index() < programs as usize,
            "program {} is another heap's: this one has {programs}",
            id.index()
        );
    }

    /// # Safety
    /// 1. These tables gave out the number.
    #[inline]
    unsafe fn known(&self, id: ProgramId) -> RegisteredProgram {
        // SAFETY: numbers are given out after the program was written, which never changes (contract 1).
        unsafe { (*self.known.at(id.index())).0.assume_init() }
    }
}

impl Mapped for Programs {
    fn for_each_mapping(&self, f: &mut dyn FnMut(Range<usize>)) {
        let index = &self.registering.lock().index;
        for_each_mapping_of(&[&self.known, &self.bytes, &self.nodes, &self.unrolled, index], f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::program_id::MOST_UNROLLED;
    use heapwood_layout::program::{Builder, ProgramBuf};

    /// An even number of nodes: runs of scalars of different lengths, each followed by a pointer.
    fn runs(nodes: usize, first: u64) -> ProgramBuf<32768> {
        let mut all = Builder::new();
        for k in 0..nodes as u64 / 2 {
            all.push_scalars(1000 + first + k).unwrap();
            all.push_pointers(1).unwrap();
        }
        all.finish()
    }

    #[test]
    fn programs_are_kept_and_found_again() {
        let programs = Programs::new(&heapwood_os::SYSTEM).unwrap();
        let mut given = Vec::new();
        for n in 1..300u64 {
            let program = Builder::<64>::new().pointers(n).scalars(1000).finish();
            let id = programs.register(program.program()).unwrap();
            assert_eq!(id.index(), given.len());
            given.push((id, program));
        }
        for (id, program) in &given {
            assert_eq!(programs.register(program.program()), Ok(*id));
            assert_eq!(programs.program(*id), program.program());
            assert_eq!(programs.nest(*id).words(), program.program().words());
            assert_eq!(programs.nest(*id).first_pointer_at_or_after(1), (id.index() > 0).then_some(1));
        }
    }

    #[test]
    fn the_last_node_is_used_and_no_more() {
        let programs = Programs::new(&heapwood_os::SYSTEM).unwrap();
        for k in 0..MAX_NODES / MOST_NODES {
            let id = programs.register(runs(MOST_NODES, k as u64).program()).unwrap();
            assert_eq!(programs.nest(id).nodes().len(), MOST_NODES);
        }
        assert_eq!(programs.register(runs(2, 1 << 20).program()), Err(Refusal::ManyPrograms));
        assert!(programs.register(runs(MOST_NODES, 0).program()).is_ok(), "known already");
    }

    /// A program of `levels` levels. It starts with two words; each level adds one word, then repeats all so far
    /// `times` times more. Returns the number of words, too.
    fn deep(levels: usize, times: u8) -> (Vec<u8>, u64) {
        let (mut bytes, mut words) = (vec![0x02, 0x01], 2);
        for _ in 0..levels {
            bytes.extend([0x01, 0x00, 0x80]);
            words += 1;
            let mut n = words;
            while n >= 0x80 {
                bytes.push(n as u8 | 0x80);
                n >>= 7;
            }
            bytes.extend([n as u8, times]);
            words *= u64::from(times) + 1;
        }
        bytes.push(0);
        (bytes, words)
    }

    #[test]
    fn a_large_type_of_too_many_loops_is_refused_and_leaves_nothing() {
        let programs = Programs::new(&heapwood_os::SYSTEM).unwrap();
        let (bytes, words) = deep(16, 2);
        assert!(words > MOST_UNROLLED as u64);
        let refused = programs.register(Program::check(&bytes, words).unwrap()).unwrap_err();
        assert!(matches!(refused, Refusal::Nest(e) if e.kind == NestErrorKind::TooDeep), "{refused}");
        let one = Builder::<8>::new().pointer().finish();
        assert_eq!(programs.register(one.program()).unwrap().index(), 0);
    }

    #[test]
    fn a_smaller_type_of_too_many_loops_is_unrolled() {
        let programs = Programs::new(&heapwood_os::SYSTEM).unwrap();
        // Repeats of up to 64 words are no loops.
        for (levels, unrolled) in [(13, false), (14, true), (16, true)] {
            let (bytes, words) = deep(levels, 1);
            assert!(words <= MOST_UNROLLED as u64);
            let program = Program::check(&bytes, words).unwrap();
            let nest = programs.nest(programs.register(program).unwrap());
            let loops = nest.nodes().iter().any(|node| matches!(node, Node::Loop { .. }));
            assert_eq!(loops, !unrolled, "{levels}");
            // A prime, so that every place in a block is tested.
            for word in (0..words).step_by(211) {
                let found = nest.first_pointer_at_or_after(word) == Some(word);
                assert_eq!(found, program.is_pointer(word), "word {word} of {levels} levels");
            }
        }
    }
}
