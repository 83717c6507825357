//! Collections in the heap: they grow, as fields of objects or objects of their own. Invariant: elements are copied in and out, so
//! that no reference to one exists and any call may change the collection; places without a value hold zeros.

// | file | content |
// |---|---|
// | `gc_vec` | `GcVec`: a growable array |
// | `gc_string` | `GcString`: text that grows |
// | `gc_map` | `GcMap`: a hash map |
// | `map_table`, `groups` | its arrays, and how they are searched |
// | `root_vec` | `RootVec`: a growable root |
// | `slots` | the arrays of all of them |

mod gc_map;
mod gc_string;
mod gc_vec;
mod groups;
mod map_table;
mod root_vec;
mod slots;

pub use gc_map::{GcMap, GcMapIter};
pub use gc_string::GcString;
pub use gc_vec::{GcVec, GcVecIter};
pub use root_vec::RootVec;
