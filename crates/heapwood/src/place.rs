//! Places of values in objects: a word, or several. Invariant: whoever changes a value that is in an object does so here, so that
//! the collector is told before, and reads every word whole: an old one or a new one. Words of one value may be of two stores
//! then; so what a word is must not depend on another word. Either the type's map says of each word alone that it is a pointer, or
//! the map is conservative, as that of an enum, and the words are looked up.
//!
//! A value of one word that is a pointer is stored with a release and loaded with an acquire, for threads that share the object. Of
//! several words none of that is true: their owner is not [`Shared`](crate::Shared).

use crate::mutator::Mutator;
use crate::trace::Trace;
use core::marker::PhantomData;
use core::mem::{MaybeUninit, transmute_copy};
use core::sync::atomic::{AtomicPtr, Ordering};
use heapwood_gc::ValueWords;
use heapwood_heap::Address;
use heapwood_layout::WORD;

/// A type whose values lie in a [`GcCell`](crate::GcCell) or a collection of the heap, where they are copied in and out: any
/// `Copy` type with `#[derive(Trace)]`. For code that is generic over them.
///
/// ```
/// use heapwood::{GcCell, Mutator, Slot};
///
/// fn swap<V: Slot>(m: &Mutator, one: &GcCell<V>, other: &GcCell<V>) {
///     other.set(m, one.replace(m, other.get()));
/// }
/// ```
// All that it needs is in the contract of `Trace`: a `Copy` type has no cells in it and no drop.
#[diagnostic::on_unimplemented(
    message = "values of `{Self}` cannot be copied into and out of an object",
    label = "is not `Copy`, or does not implement `Trace`",
    note = "what a `GcCell` or a collection of the heap holds is copied: `#[derive(Trace, Clone, Copy)]` for a type of your own",
    note = "what is not `Copy` is an object of its own: `Gc<..>` or `Option<Gc<..>>`",
    note = "plain data that changes lies in a `Cell`, or in an atomic"
)]
pub trait Slot: Trace + Copy {}

#[diagnostic::do_not_recommend]
impl<V: Trace + Copy> Slot for V {}

/// What is known of a type's values when the program is compiled.
struct Kind<V>(PhantomData<V>);

impl<V: Slot> Kind<V> {
    const WORDS: usize = size_of::<V>() / WORD;
    const MAY_POINT: bool = V::MAP.has_pointers();
    /// One word, which is a pointer or zero.
    const IS_POINTER: bool = matches!(V::MAP.mask(), [1, 0, 0, 0]) && !V::MAP.is_far() && Self::WORDS == 1;
    const VALUE: ValueWords = {
        assert!(
            !Self::MAY_POINT || size_of::<V>().is_multiple_of(WORD) && align_of::<V>().is_multiple_of(WORD),
            "a type that holds a `Gc` must be aligned to 8 bytes: remove `repr(packed)`"
        );
        let [mask, wide @ ..] = V::MAP.mask();
        let all = if Self::WORDS < 64 { (1 << Self::WORDS) - 1 } else { u64::MAX };
        match wide {
            [0, 0, 0] => ValueWords { words: Self::WORDS, mask, precise: true },
            // An enum, or too many words for a mask: all are looked up.
            _ => ValueWords { words: Self::WORDS, mask: all, precise: false },
        }
    };
}

/// The value at `place`.
///
/// # Safety
/// 1. There is a value of the type, aligned, and no other thread stores there, unless it is one pointer.
#[inline(always)]
pub(crate) unsafe fn load<V: Slot>(place: *mut V) -> V {
    // SAFETY: contract 1; one word holds a whole value.
    unsafe {
        if const { Kind::<V>::IS_POINTER } {
            let word = AtomicPtr::<u8>::from_ptr(place.cast()).load(Ordering::Acquire);
            return transmute_copy(&word);
        }
        place.read()
    }
}

/// The value at `place`, where no other thread stores.
///
/// # Safety
/// 1. There is a value of the type, aligned, and no other thread stores there.
#[inline(always)]
pub(crate) unsafe fn load_own<V: Slot>(place: *mut V) -> V {
    // SAFETY: contract 1.
    unsafe { place.read() }
}

/// Stores a value over the one at `place`, or over zeros.
///
/// # Safety
/// 1. The place is one for such a value, in an object of `m`'s heap or outside it, aligned, and holds one or zeros.
/// 2. No other thread uses it now, unless it is one pointer.
#[inline(always)]
pub(crate) unsafe fn store<V: Slot>(m: &Mutator, place: *mut V, value: V) {
    // SAFETY: contracts 1 and 2; the object's layout has the type's map at the place.
    unsafe {
        if const { !Kind::<V>::MAY_POINT } {
            place.write(value);
        } else if const { Kind::<V>::IS_POINTER } {
            let word = transmute_copy::<V, usize>(&value);
            m.raw().barrier().write_inside(place.cast(), Address::new(word));
        } else {
            if m.raw().barrier().is_active() {
                announce(m, place, value);
            }
            // Padding is zero where the compiler does not copy it: what was on the stack there might look like a pointer.
            // (In place: who is given a whole value copies what he likes of its padding.)
            let mut whole = MaybeUninit::<V>::uninit();
            let from = whole.as_mut_ptr();
            from.write_bytes(0, 1);
            from.write(value);
            write_words(place.cast(), from.cast(), Kind::<V>::WORDS);
        }
    }
}

/// Tells the collector what is about to be stored. Apart, so that a value whose address nobody takes stays in registers.
///
/// # Safety
/// 1. As for [`store`].
#[cold]
#[inline(never)]
unsafe fn announce<V: Slot>(m: &Mutator, place: *mut V, value: V) {
    let value = (&raw const value).cast();
    // SAFETY: contract 1; the object's layout has the type's map at the place.
    unsafe { m.raw().barrier().before_value(place.cast(), value, const { Kind::<V>::VALUE }) };
}

/// Puts zeros in place of the value at `place`, which is none then, so that it keeps nothing alive.
///
/// # Safety
/// 1. As for [`store`].
#[inline(always)]
pub(crate) unsafe fn clear<V: Slot>(m: &Mutator, place: *mut V) {
    // SAFETY: contract 1; zeros are no pointers.
    unsafe {
        if const { Kind::<V>::IS_POINTER } {
            m.raw().barrier().write_inside(place.cast(), Address::new(0));
        } else if const { Kind::<V>::MAY_POINT } {
            let mut zeros = MaybeUninit::<V>::uninit();
            let from = zeros.as_mut_ptr();
            from.write_bytes(0, 1);
            m.raw().barrier().before_value(place.cast(), from.cast(), const { Kind::<V>::VALUE });
            write_words(place.cast(), from.cast(), Kind::<V>::WORDS);
        }
    }
}

/// Each word in one store that the compiler neither splits nor joins. Some may be padding, of which no integer can be made.
#[inline(always)]
unsafe fn write_words(place: *mut MaybeUninit<usize>, from: *const MaybeUninit<usize>, words: usize) {
    for i in 0..words {
        // SAFETY: the caller's place and value have so many words.
        unsafe { place.add(i).write_volatile(from.add(i).read()) };
    }
}
