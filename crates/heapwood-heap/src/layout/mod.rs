//! What objects are made of: sizes, and where their pointers are. Nothing here knows where an object lies.
//!
//! | module | what it holds |
//! |---|---|
//! | `size_class` | cell sizes, and the class of a size by arithmetic |
//! | `shape_id` | numbers of shapes, and those that every heap knows |
//! | `shape` | a class and a layout: what the cells of a span share |
//! | `program_id`, `programs` | where the pointers of large types are |
//! | `shapes` | how types get shapes and programs their numbers |
//! | `pointer_bits` | where the pointers are in objects whose layout shares spans with others |
//! | `per_object` | what is written there for an object |
//! | `demand` | which layouts share spans: those of few objects |

pub(crate) mod demand;
pub(crate) mod per_object;
pub(crate) mod pointer_bits;
pub(crate) mod program_id;
pub(crate) mod programs;
pub(crate) mod shape;
pub(crate) mod shape_id;
pub(crate) mod shapes;
pub(crate) mod size_class;
