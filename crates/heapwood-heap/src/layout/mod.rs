//! The layout of objects: their sizes, and the places of their pointers. Nothing here knows the place of an object.
//!
//! | module | contents |
//! |---|---|
//! | `size_class` | cell sizes, and the class of a size by arithmetic |
//! | `shape_id` | numbers of shapes, and the shapes that every heap knows |
//! | `shape` | a size class with a layout (Go's span class), common to the cells of a span |
//! | `slot_tags` | the tags of pointers in slots |
//! | `trace_call` | trace functions |
//! | `program_id`, `programs` | the layouts of large types |
//! | `shapes` | the registration of shapes and programs |
//! | `pointer_bits` | pointer bits of objects in shared spans |
//! | `per_object` | the write of an object's layout into these bits |
//! | `demand` | the choice between shared and own spans, by a layout's number of objects |

pub(crate) mod demand;
pub(crate) mod per_object;
pub(crate) mod pointer_bits;
pub(crate) mod program_id;
pub(crate) mod programs;
pub(crate) mod shape;
pub(crate) mod shape_id;
pub(crate) mod shapes;
pub(crate) mod size_class;
pub(crate) mod slot_tags;
pub(crate) mod trace_call;
