//! Where the fields and methods of a class are, remembered by class and name, so that few accesses search the class's maps. Invariants:
//! what is remembered of a class is right, because methods come before its first instance, and a field's place never changes. It is plain data,
//! no part of the heap.

use super::value::Class;
use heapwood::Access;
use std::cell::Cell;

/// No place.
pub(super) const NONE: u16 = u16::MAX;

/// The places of one name in one class.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Of the field, or [`NONE`].
    pub(super) field: u16,
    /// Of the method, or [`NONE`].
    pub(super) method: u16,
}

struct Entry {
    /// Of the class and the name. No class has the number 0.
    key: Cell<u64>,
    place: Cell<Place>,
}

/// A power of two.
const ENTRIES: usize = 1024;

/// What is remembered. A new entry takes the place of another.
pub(super) struct Places(Box<[Entry; ENTRIES]>);

impl Places {
    pub(super) fn new() -> Self {
        let entry = |_| Entry { key: Cell::new(0), place: Cell::new(Place { field: NONE, method: NONE }) };
        Places(Box::new(std::array::from_fn(entry)))
    }

    #[inline(always)]
    fn entry(&self, class: &Class<'_>, name: u16) -> (&Entry, u64) {
        let index = class.id.wrapping_mul(37) ^ u32::from(name);
        (&self.0[index as usize % ENTRIES], u64::from(class.id) << 16 | u64::from(name))
    }

    /// The places of a name.
    #[inline(always)]
    pub(super) fn of(&self, class: &Class<'_>, name: u16) -> Place {
        let (entry, key) = self.entry(class, name);
        if entry.key.get() == key { entry.place.get() } else { self.search(class, name) }
    }

    #[cold]
    #[inline(never)]
    fn search(&self, class: &Class<'_>, name: u16) -> Place {
        let field = class.fields.get(&name).unwrap_or(NONE);
        let method = class.method_places.get(&name).unwrap_or(NONE);
        let (entry, key) = self.entry(class, name);
        entry.key.set(key);
        entry.place.set(Place { field, method });
        entry.place.get()
    }

    /// The place of a field, which instances of the class get if they have none.
    #[inline(always)]
    pub(super) fn of_field<'gc>(&self, m: &impl Access<'gc>, class: &Class<'gc>, name: u16) -> u16 {
        match self.of(class, name).field {
            NONE => self.add_field(m, class, name),
            place => place,
        }
    }

    #[cold]
    #[inline(never)]
    fn add_field<'gc>(&self, m: &impl Access<'gc>, class: &Class<'gc>, name: u16) -> u16 {
        // There are fewer names than numbers, so the place is a number, and not `NONE`.
        class.fields.insert(m, name, class.fields.len() as u16);
        self.search(class, name).field
    }
}
