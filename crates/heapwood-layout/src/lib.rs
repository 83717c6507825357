//! Where the pointers of a type are.
//!
//! Who may use it: the crates of Heapwood, and precise collectors of others that accept that it changes with them.
//!
//! A collector that knows which words of an object are pointers follows those and no others. This crate describes
//! that, and knows nothing of objects, heaps or garbage: it takes and returns sizes, offsets and words of bits. It
//! has no `unsafe`, allocates nothing, and needs no standard library.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mask`] | one bit per word of a small type, and the walk over the set bits |
//! | [`type_map`] | the same, composed field by field at compile time |
//! | [`program`] | the same for large types, in instructions |
//! | [`describe`] | types as a flat list of items, or as text, made into programs |
//! | [`trace_fn`] | the function that finds the pointers of a type no mask can describe |
//! | [`descriptor`] | a size with a layout, validated: what a heap is told of a type |
//! | [`error`] | why a description was refused |
//! | `limits` | the word, and how far descriptions reach |
//!
//! ```
//! use heapwood_layout::{Layout, TypeDescriptor, TypeMap};
//!
//! // struct Node { value: u64, left: *Node, right: *Node }
//! const NODE: TypeMap = TypeMap::NO_POINTERS.with_field(8, TypeMap::POINTER).with_field(16, TypeMap::POINTER);
//! let node = TypeDescriptor::from_map(24, NODE).unwrap();
//! let Layout::Mask(mask) = node.layout() else { panic!() };
//! assert_eq!(mask.iter().collect::<Vec<_>>(), [1, 2]);
//! ```

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod describe;
pub mod descriptor;
pub mod error;
mod limits;
pub mod mask;
pub mod program;
pub mod trace_fn;
pub mod type_map;

pub use descriptor::{Layout, TypeDescriptor};
pub use error::LayoutError;
pub use limits::{MASK_BLOCKS, MAX_MASK_WORDS, WORD};
pub use mask::{PointerMask, SetWords};
pub use program::{Program, ProgramError};
pub use trace_fn::{TraceContext, TraceFn};
pub use type_map::TypeMap;
