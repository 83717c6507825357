//! Weak tables: maps whose entries live as long as something else leads to their keys; sets of such keys; and tables in which equal
//! objects are one (intern tables). A table is an ordinary object with an array of ephemerons, and dies like others. Threads share
//! it: each call takes its lock for a moment. What finds the keys of a table without a lock is the collector, which clears
//! them. Invariant: a call that fails changes nothing.

mod entries;
mod hash;

use crate::error::{AllocError, Refusal};
use crate::mutator::Mutator;
use crate::weak::ephemerons::Ephemeron;
use crate::weak::references::shade_found;
use core::ptr::NonNull;
use entries::{Locked, Place, Table};
use hash::mixed;
use heapwood_heap::{Address, Scan, ShapeId, SizeClass, publication};

const SHAPE: ShapeId = match ShapeId::well_known(Table::BYTES, &Table::MASK) {
    Some(shape) => shape,
    None => unreachable!(),
};
const CELL: usize = match SizeClass::of(Table::BYTES) {
    Some(class) => class.cell_size(),
    None => unreachable!(),
};
/// The places of a table's array: a hash, and an ephemeron.
const ARRAY: Scan = Scan::Slice { header: 0, words: 2, mask: [0b10, 0, 0, 0] };

/// A key and its value, null if it has none.
pub type WeakEntry = (NonNull<u8>, Option<NonNull<u8>>);

impl Mutator {
    /// Makes an empty weak table. May collect.
    ///
    /// # Errors
    /// There is no memory, or the mutator cannot be used now ([`Mutator::check`]).
    pub fn weak_table(&self) -> Result<NonNull<u8>, AllocError> {
        self.check()?;
        let made = self.reserve(SHAPE, CELL)?;
        // SAFETY: a cell for four words that is not yet an object, and is one from the commit on.
        unsafe {
            Table::at(made.as_ptr() as usize).init();
            self.buffer(SHAPE).commit(made, CELL);
        }
        Ok(made)
    }

    /// The value of a key; `None` if the table has no such key. A key has the value `None` if it was given none.
    ///
    /// # Errors
    /// No weak table of this heap begins there, or the mutator cannot be used now.
    pub fn weak_table_get(
        &self,
        table: NonNull<u8>,
        key: NonNull<u8>,
    ) -> Result<Option<Option<NonNull<u8>>>, Refusal> {
        let key = key.as_ptr() as usize;
        self.known_table(table)?.locked(self, |table| {
            Ok(find(table, key).map(|ephemeron| {
                let value = ephemeron.value();
                shade_found(self, key, value);
                NonNull::new(value as *mut u8)
            }))
        })
    }

    /// Sets the value of a key, null for none; whether the key is new. May collect.
    ///
    /// # Errors
    /// As for [`Mutator::weak_table_get`] and [`Mutator::ephemeron`].
    ///
    /// # Safety
    /// 1. Table, key and value are reachable during the call: from a root, or from a stack that is scanned.
    /// 2. The value is what a slot may hold.
    pub unsafe fn weak_table_set(
        &self,
        table: NonNull<u8>,
        key: NonNull<u8>,
        value: usize,
    ) -> Result<bool, AllocError> {
        let (table, address) = (self.known_table(table)?, key.as_ptr() as usize);
        let set = |table: &Locked<'_>| {
            let found = find(table, address);
            // SAFETY: contract 2.
            found.inspect(|ephemeron| unsafe { self.write_value(*ephemeron, value) }).is_some()
        };
        let look = |table: &Locked<'_>| (set(table), table.version(), table.is_full());
        let (is_known, mut version, mut is_full) = table.locked(self, look);
        if is_known {
            return Ok(false);
        }
        loop {
            if is_full {
                self.make_room(table)?;
            }
            // SAFETY: contracts 1 and 2. Nothing polls before it is in the table, or nobody's.
            let made = unsafe { Ephemeron::at(self.ephemeron(key, value)?.as_ptr() as usize) };
            let put = table.locked(self, |table| {
                // Unless the table has changed, it has no such key.
                if core::mem::replace(&mut version, table.version()) != table.version() && set(table) {
                    return Some(false);
                }
                put_if_room(table, mixed(address), made)
            });
            if let Some(is_new) = put {
                return Ok(is_new);
            }
            is_full = true;
        }
    }

    /// Removes a key; whether the table had it.
    ///
    /// # Errors
    /// As for [`Mutator::weak_table_get`].
    pub fn weak_table_remove(&self, table: NonNull<u8>, key: NonNull<u8>) -> Result<bool, Refusal> {
        self.known_table(table)?.locked(self, |table| {
            Ok(find(table, key.as_ptr() as usize).inspect(|&ephemeron| table.remove(ephemeron)).is_some())
        })
    }

    /// Its keys that were not cleared: at least those that are alive.
    ///
    /// # Errors
    /// As for [`Mutator::weak_table_get`].
    pub fn weak_table_len(&self, table: NonNull<u8>) -> Result<usize, Refusal> {
        Ok(self.known_table(table)?.locked(self, |table| table.count()))
    }

    /// The first entry at or behind a position, which moves behind it; `None` behind the last. Entries that come meanwhile may
    /// be missed, and if many come, others be seen twice.
    ///
    /// # Errors
    /// As for [`Mutator::weak_table_get`].
    pub fn weak_table_next(
        &self,
        table: NonNull<u8>,
        position: &mut usize,
    ) -> Result<Option<WeakEntry>, Refusal> {
        self.known_table(table)?.locked(self, |table| {
            while *position < table.places() {
                let entry = table.entry(*position);
                *position += 1;
                if let Some((_, ephemeron)) = entry
                    && let Some(key) = NonNull::new(ephemeron.key() as *mut u8)
                {
                    let value = ephemeron.value();
                    shade_found(self, key.as_ptr() as usize, value);
                    return Ok(Some((key, NonNull::new(value as *mut u8))));
                }
            }
            Ok(None)
        })
    }

    /// The object of the table with this hash that `is_equal` says is wanted. It is called without the table's lock, and uses
    /// the heap for nothing: it allocates and polls not, so that what it is given stays alive.
    ///
    /// # Errors
    /// As for [`Mutator::weak_table_get`].
    pub fn weak_table_find(
        &self,
        table: NonNull<u8>,
        hash: usize,
        mut is_equal: impl FnMut(NonNull<u8>) -> bool,
    ) -> Result<Option<NonNull<u8>>, Refusal> {
        let (table, hash) = (self.known_table(table)?, mixed(hash));
        Ok(self.search(table, hash, &mut is_equal, |_, _| ()).ok())
    }

    /// The same; without such an object `object` comes into the table, and is returned. May collect.
    ///
    /// # Errors
    /// As for [`Mutator::weak_table_set`].
    ///
    /// # Safety
    /// 1. Table and object are reachable during the call: from a root, or from a stack that is scanned.
    pub unsafe fn weak_table_intern(
        &self,
        table: NonNull<u8>,
        hash: usize,
        mut is_equal: impl FnMut(NonNull<u8>) -> bool,
        object: NonNull<u8>,
    ) -> Result<NonNull<u8>, AllocError> {
        let (table, hash) = (self.known_table(table)?, mixed(hash));
        let look = |table: &Locked<'_>, _| (table.version(), table.is_full());
        let (version, mut is_full) = match self.search(table, hash, &mut is_equal, look) {
            Ok(found) => return Ok(found),
            Err(looked) => looked,
        };
        loop {
            if is_full {
                self.make_room(table)?;
            }
            // SAFETY: contract 1. Nothing polls before it is in the table, or nobody's.
            let made = unsafe { Ephemeron::at(self.ephemeron(object, 0)?.as_ptr() as usize) };
            // Unless the table has changed, it has no such object.
            let put =
                |table: &Locked<'_>| table.version() == version && put_if_room(table, hash, made).is_some();
            if table.locked(self, put) {
                return Ok(object);
            }
            match self.search(table, hash, &mut is_equal, |table, index| put_at(table, index, hash, made)) {
                Ok(found) => return Ok(found),
                Err(true) => return Ok(object),
                Err(false) => is_full = true,
            }
        }
    }

    /// Searches by value; if there is none, calls `absent` with the place where one may be put, before anyone changes the table.
    fn search<R>(
        &self,
        table: Table,
        hash: usize,
        is_equal: &mut impl FnMut(NonNull<u8>) -> bool,
        absent: impl Fn(&Locked<'_>, usize) -> R,
    ) -> Result<NonNull<u8>, R> {
        let (mut from, mut version) = (0, None);
        loop {
            let looked = table.locked(self, |table| {
                if table.places() == 0 {
                    return Err(absent(table, 0));
                }
                if version.replace(table.version()) != Some(table.version()) {
                    from = 0;
                }
                match table.search(hash, from, |_| true) {
                    (step, Place::Found(ephemeron)) => {
                        from = step + 1;
                        let key = ephemeron.key();
                        shade_found(self, key, key);
                        Ok(key)
                    }
                    (_, Place::Vacant(index)) => Err(absent(table, index)),
                }
            });
            publication::observe();
            // No poll comes between, so what was read is alive.
            let candidate = NonNull::new(looked? as *mut u8).unwrap_or_else(|| unreachable!("it has a key"));
            let collections = self.shared().cycles().collections();
            if is_equal(candidate)
                && (self.shared().cycles().collections() == collections
                    || table.locked(self, |table| still_has(self, table, hash, candidate)))
            {
                return Ok(candidate);
            }
        }
    }

    /// Gives a table a larger array, or a smaller one, if it has no room for one more. May collect.
    fn make_room(&self, table: Table) -> Result<(), AllocError> {
        let wanted = |table: &Locked<'_>| table.is_full().then(|| (table.wanted_places(), table.version()));
        while let Some((places, version)) = table.locked(self, wanted) {
            let ty = self.types().type_for(Table::array_bytes(places), ARRAY)?;
            let array = self.allocate(ty)?.as_ptr() as usize;
            table.locked(self, |table| {
                // Others may have filled it, or made room, meanwhile. If nobody has, there are no more keys than before.
                if table.version() == version || table.is_full() && table.wanted_places() <= places {
                    table.move_to(array, places);
                }
            });
        }
        Ok(())
    }

    fn known_table(&self, table: NonNull<u8>) -> Result<Table, Refusal> {
        self.check()?;
        publication::observe();
        let (address, space) = (table.as_ptr() as usize, self.heap().space());
        let at = Address::new(address);
        let may_be = space.contains(at)
            && space.entry_at(at).shape() == SHAPE
            && self.heap().objects().may_begin(address);
        // SAFETY: a cell of this layout is there; who gives its address keeps it alive during the call.
        let found = may_be.then(|| unsafe { Table::at(address) }).filter(|table| table.is_one());
        found.ok_or(Refusal::NoTable { address })
    }
}

/// Whether a table by value still has an object, though the comparison has collected, which it must not: what it was given may be
/// dead.
#[cold]
fn still_has(mutator: &Mutator, table: &Locked<'_>, hash: usize, object: NonNull<u8>) -> bool {
    let key = object.as_ptr() as usize;
    let is_there =
        table.places() != 0 && matches!(table.search(hash, 0, |e| e.key() == key).1, Place::Found(..));
    if is_there {
        shade_found(mutator, key, key);
    }
    is_there
}

/// The entry of an object.
fn find(table: &Locked<'_>, key: usize) -> Option<Ephemeron> {
    if table.places() == 0 {
        return None;
    }
    match table.search(mixed(key), 0, |ephemeron| ephemeron.key() == key).1 {
        Place::Found(ephemeron) => Some(ephemeron),
        Place::Vacant(_) => None,
    }
}

/// Puts an entry where its hash leads; `None` if there is no room any more.
fn put_if_room(table: &Locked<'_>, hash: usize, made: Ephemeron) -> Option<bool> {
    if table.is_full() {
        return None;
    }
    match table.search(hash, 0, |_| false).1 {
        Place::Vacant(index) => put_at(table, index, hash, made).then_some(true),
        Place::Found(..) => unreachable!("nothing is wanted"),
    }
}

/// Puts an entry into a vacant place; false if there is no room any more.
fn put_at(table: &Locked<'_>, index: usize, hash: usize, made: Ephemeron) -> bool {
    let has_room = !table.is_full();
    if has_room {
        table.put(index, hash, made);
    }
    has_room
}
