// A cell of a session takes no mutator of the plain door, nor the other way round.
use heapwood::session::{Mutation, self};
use heapwood::{Gc, GcCell, Mutator};

fn plain(cell: &session::GcCell<Option<session::Gc<'_, u64>>>, m: &Mutator) {
    cell.set(m, None);
}

fn other(cell: &GcCell<Option<Gc<u64>>>, m: &Mutation<'_>) {
    cell.set(m, None);
}

fn main() {}
