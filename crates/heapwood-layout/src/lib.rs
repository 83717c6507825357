//! The pointers of a type: which words of its values are pointers.
//!
//! It is for the crates of Heapwood, and for other precise collectors that accept its changes.
//!
//! A precise collector follows exactly the words of an object that are pointers. This crate describes them, and knows
//! nothing of objects, heaps or garbage: its functions take and return sizes, offsets and words of bits. It has no
//! `unsafe`, allocates nothing, and needs no standard library.
//!
//! | module | contents |
//! |---|---|
//! | [`mask`] | one bit for each word of a small type, and the iterator over set bits |
//! | [`type_map`] | the same, composed field by field at compile time |
//! | [`program`] | the same for large types, as instructions |
//! | [`describe`] | types as a flat list of items or as text, compiled into programs |
//! | [`trace_fn`] | the function that reports the pointers of a type that no mask describes |
//! | [`tags`] | bits of words that say that they are pointers |
//! | [`descriptor`] | a size and a layout that fit together |
//! | [`error`] | errors of descriptions |
//! | `limits` | the size of a word, and the limits of descriptions |
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
pub mod tags;
pub mod trace_fn;
pub mod type_map;

pub use descriptor::{Layout, TypeDescriptor};
pub use error::LayoutError;
pub use limits::{MASK_BLOCKS, MAX_MASK_WORDS, WORD};
pub use mask::{PointerMask, SetWords};
pub use program::{Program, ProgramError};
pub use tags::{MAX_TAGS, Tag, TagError, Tags};
pub use trace_fn::{TraceContext, TraceFn, TraceWithFn};
pub use type_map::TypeMap;
