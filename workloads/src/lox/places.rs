//! Where the fields and methods of a class are, remembered by class and name, so that few accesses search the class's maps. It is plain data,
//! no part of a heap, and so serves a machine over any memory manager. Invariant: what is remembered of a class is right, because methods
//! come before its first instance, and a field's place never changes.

use std::cell::Cell;

/// No place.
pub const NONE: u16 = u16::MAX;

/// The places of one name in one class.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Of the field, or [`NONE`].
    pub field: u16,
    /// Of the method, or [`NONE`].
    pub method: u16,
}

/// A class of a machine.
pub trait PlacedClass {
    /// Its number, which no other class has, and which is not 0.
    fn id(&self) -> u32;
    /// Searches its maps for the places of a name.
    fn search(&self, name: u16) -> Place;
}

struct Entry {
    /// Of the class and the name.
    key: Cell<u64>,
    place: Cell<Place>,
}

/// A power of two.
const ENTRIES: usize = 1024;

/// What is remembered. A new entry takes the place of another.
pub struct Places(Box<[Entry; ENTRIES]>);

impl Places {
    /// Nothing yet.
    #[allow(clippy::new_without_default, reason = "a machine makes one")]
    pub fn new() -> Self {
        let entry = |_| Entry { key: Cell::new(0), place: Cell::new(Place { field: NONE, method: NONE }) };
        Places(Box::new(std::array::from_fn(entry)))
    }

    #[inline(always)]
    fn entry(&self, class: &impl PlacedClass, name: u16) -> (&Entry, u64) {
        let index = class.id().wrapping_mul(37) ^ u32::from(name);
        (&self.0[index as usize % ENTRIES], u64::from(class.id()) << 16 | u64::from(name))
    }

    /// The places of a name.
    #[inline(always)]
    pub fn of(&self, class: &impl PlacedClass, name: u16) -> Place {
        let (entry, key) = self.entry(class, name);
        if entry.key.get() == key { entry.place.get() } else { self.search(class, name) }
    }

    #[cold]
    #[inline(never)]
    fn search(&self, class: &impl PlacedClass, name: u16) -> Place {
        let (entry, key) = self.entry(class, name);
        entry.key.set(key);
        entry.place.set(class.search(name));
        entry.place.get()
    }

    /// The place of a field, which `add` gives to the class if it has none.
    #[inline(always)]
    pub fn of_field(&self, class: &impl PlacedClass, name: u16, add: impl FnOnce()) -> u16 {
        match self.of(class, name).field {
            NONE => self.add_field(class, name, add),
            place => place,
        }
    }

    #[cold]
    #[inline(never)]
    fn add_field(&self, class: &impl PlacedClass, name: u16, add: impl FnOnce()) -> u16 {
        add();
        self.search(class, name).field
    }
}
