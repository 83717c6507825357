//! The types that a mutator's thread allocates: the shapes of its scans, and how it writes their values. Invariant: the
//! cache of shapes is used by the mutator's thread only.

use super::Mutator;
use crate::error::AllocError;
use crate::heap::object_type::ObjectType;
#[cfg(doc)]
use heapwood_heap::AllocBuffer;
use heapwood_heap::{Scan, ShapeId, SizeClass};

/// The types that a mutator's thread allocates.
#[derive(Clone, Copy)]
pub struct MutatorTypes<'m>(&'m Mutator);

impl Mutator {
    /// The types that its thread allocates.
    #[inline(always)]
    pub fn types(&self) -> MutatorTypes<'_> {
        MutatorTypes(self)
    }
}

impl MutatorTypes<'_> {
    /// The shape of objects of `bytes` bytes that are scanned as `scan` says; recent answers are cached.
    #[inline]
    pub fn shape_for(self, bytes: usize, scan: Scan) -> Result<ShapeId, AllocError> {
        let class = SizeClass::of(bytes).map_or(u16::MAX, |c| c.index() as u16);
        self.0.type_cache.get(class, scan, || self.look_up_shape(bytes, scan))
    }

    /// The same for a constant `scan`, which is quicker.
    #[inline(always)]
    pub fn shape_for_constant(self, bytes: usize, scan: &'static Scan) -> Result<ShapeId, AllocError> {
        let class = SizeClass::of(bytes).map_or(u16::MAX, |c| c.index() as u16);
        self.0.type_cache.get_constant(class, scan, || self.look_up_shape(bytes, *scan))
    }

    #[cold]
    fn look_up_shape(self, bytes: usize, scan: Scan) -> Result<ShapeId, AllocError> {
        let _no_preempt = self.0.record().no_preempt();
        Ok(self.0.shared().space().shape_for(bytes, scan)?)
    }

    /// The type of objects of `bytes` bytes (not 0) that are scanned as `scan` says; it uses the same cache.
    ///
    /// # Errors
    /// The heap has no room for another layout, or the mutator cannot be used now: the cache is its thread's.
    #[inline]
    pub fn type_for(self, bytes: usize, scan: Scan) -> Result<ObjectType, AllocError> {
        self.0.check()?;
        Ok(ObjectType::new(bytes, self.shape_for(bytes, scan)?))
    }

    /// From now on, cells of types that a mask or a program describes are not zeroed; cells of slices are.
    ///
    /// # Safety
    /// 1. Every such cell is written in all words of its mask or program between [`Mutator::reserve`] and
    ///    [`AllocBuffer::commit`]; [`Mutator::allocate`] is not called for such types.
    /// 2. A slice of elements described by a program has a header.
    pub unsafe fn write_values_whole(self) {
        self.0.type_cache.set_writes_whole(true);
    }

    /// Whether [`MutatorTypes::write_values_whole`] was called.
    pub(crate) fn writes_values_whole(self) -> bool {
        self.0.type_cache.writes_whole()
    }
}
