//! A map from addresses to numbers, in mapped memory: open addressing with linear probing, removal by shifting back (Knuth 6.4,
//! algorithm R), doubled when half full. Programs change it where no signal stops them, so it may not use the ordinary allocator,
//! whose lock a stopped thread may have. Invariant: no place between an address's first and its own is empty.

use heapwood_os::memory::region::Zeroed;
use heapwood_os::{MappedArray, OsError, SYSTEM};

/// An address, not 0, and its number.
#[derive(Clone, Copy)]
#[repr(C)]
struct Place {
    address: usize,
    number: usize,
}

// SAFETY: plain numbers; zeros are an empty place.
unsafe impl Zeroed for Place {}

/// The map.
pub(crate) struct AddressMap {
    places: Option<MappedArray<Place>>,
    count: usize,
}

const LEAST: usize = 1 << 10;

impl AddressMap {
    pub(crate) const fn new() -> Self {
        AddressMap { places: None, count: 0 }
    }

    fn slots(&mut self) -> &mut [Place] {
        match &mut self.places {
            // SAFETY: all places are committed, and the borrow is exclusive.
            Some(places) => unsafe { core::slice::from_raw_parts_mut(places.as_ptr(), places.len()) },
            None => &mut [],
        }
    }

    fn first(address: usize, slots: usize) -> usize {
        // Fibonacci hashing (Knuth 6.4); objects begin at multiples of 16.
        (address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (64 - slots.trailing_zeros())
    }

    /// The place of an address, or the empty one that it would get.
    fn place(slots: &[Place], address: usize) -> usize {
        let mut at = Self::first(address, slots.len());
        while slots[at].address != 0 && slots[at].address != address {
            at = (at + 1) & (slots.len() - 1);
        }
        at
    }

    /// The number of an address.
    pub(crate) fn get(&mut self, address: usize) -> Option<usize> {
        let slots = self.slots();
        if slots.is_empty() {
            return None;
        }
        let place = slots[Self::place(slots, address)];
        (place.address == address).then_some(place.number)
    }

    /// Sets the number of an address; returns the one before.
    ///
    /// # Errors
    /// The kernel gives no memory.
    pub(crate) fn insert(&mut self, address: usize, number: usize) -> Result<Option<usize>, OsError> {
        if (self.count + 1) * 2 > self.slots().len() {
            self.grow()?;
        }
        let slots = self.slots();
        let place = &mut slots[Self::place(slots, address)];
        let before = (place.address == address).then_some(place.number);
        *place = Place { address, number };
        self.count += usize::from(before.is_none());
        Ok(before)
    }

    /// Removes an address; returns its number.
    pub(crate) fn remove(&mut self, address: usize) -> Option<usize> {
        let slots = self.slots();
        if slots.is_empty() {
            return None;
        }
        let mut hole = Self::place(slots, address);
        if slots[hole].address != address {
            return None;
        }
        let (number, mask) = (slots[hole].number, slots.len() - 1);
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if slots[at].address == 0 {
                break;
            }
            let first = Self::first(slots[at].address, slots.len());
            // It may move back if its first place is not behind the hole.
            if at.wrapping_sub(first) & mask >= at.wrapping_sub(hole) & mask {
                slots[hole] = slots[at];
                hole = at;
            }
        }
        slots[hole] = Place { address: 0, number: 0 };
        self.count -= 1;
        Some(number)
    }

    fn grow(&mut self) -> Result<(), OsError> {
        let len = (self.slots().len() * 2).max(LEAST);
        let places = MappedArray::new(&SYSTEM, len)?;
        places.commit(0..len)?;
        let mut old = AddressMap { places: self.places.replace(places), count: 0 };
        let slots = self.slots();
        for place in old.slots().iter().filter(|place| place.address != 0) {
            slots[Self::place(slots, place.address)] = *place;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_is_a_map() {
        let (mut map, mut model, mut random) = (AddressMap::new(), HashMap::new(), 1u64);
        for step in 0..200_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let address = 16 + (random % 3000) as usize * 16;
            match random >> 60 {
                0..6 => assert_eq!(map.insert(address, step).unwrap(), model.insert(address, step)),
                6..12 => assert_eq!(map.remove(address), model.remove(&address)),
                _ => assert_eq!(map.get(address), model.get(&address).copied()),
            }
            assert_eq!(map.count, model.len());
        }
        assert!(model.iter().all(|(&address, &number)| map.get(address) == Some(number)));
    }
}
