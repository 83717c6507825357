//! The parts of a process's memory that are a heap's: one list is the source of [`MemoryParts`], of the C interface's
//! `hw_memory`, of the keys of `heapwood run --json` and of tables in docs/guide/memory.md. Invariants: each byte is in
//! one part, and the sums say which parts add up to what; the list has the order of `hw_memory`, with which programs are
//! compiled, so a new part comes last.

/// What a part belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartGroup {
    /// A sum of other parts.
    Sum,
    /// Objects. These and the three groups that follow add up to `backed`.
    Objects,
    /// Cells and ends of spans without objects.
    Cells,
    /// Pages without spans.
    Pages,
    /// Memory of arenas.
    Arenas,
    /// The difference between the pages that may be resident and those that are, as the kernel says.
    Kernel,
    /// Tables beside the objects, as far as the kernel has memory for them.
    Tables,
}

/// One line of the list: a part, its group, its meaning, and what makes it smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartInfo {
    /// Its name, as a field of [`MemoryParts`] and of `hw_memory`.
    pub name: &'static str,
    /// Its group.
    pub group: PartGroup,
    /// What it holds.
    pub help: &'static str,
    /// What its size depends on, and what to do if it is large.
    pub advice: &'static str,
}

macro_rules! memory_parts {
    ($($(#[doc = $help:literal])+ $name:ident: $group:ident, $advice:literal;)*) => {
        /// Where the memory of a heap is, in bytes. docs/guide/memory.md explains the parts.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct MemoryParts {
            $($(#[doc = $help])+ pub $name: usize,)*
        }

        /// All parts, in the order of the C interface's `hw_memory`.
        pub const MEMORY_PARTS: [PartInfo; [$(stringify!($name)),*].len()] = [$(PartInfo {
            name: stringify!($name),
            group: PartGroup::$group,
            help: concat!($($help),+).trim_ascii_start(),
            advice: $advice,
        }),*];

        impl MemoryParts {
            /// The bytes of each part, in the order of [`MEMORY_PARTS`].
            pub fn values(&self) -> [u64; MEMORY_PARTS.len()] {
                [$(self.$name as u64),*]
            }
        }
    };
}

memory_parts! {
    /// Pages that may be resident, as `backed_bytes` counts them: the sum of objects, cells, pages and arenas.
    backed: Sum, "";
    /// All tables.
    tables: Sum, "";
    /// Memory of the heap by the kernel's account: `backed` and `tables`, less `untouched`, with `surplus`. 0 if the
    /// kernel does not tell.
    resident: Sum, "";
    /// Memory of the whole process, by the kernel's account. The rest is the program's and its libraries', other heaps', and
    /// stacks.
    process: Sum, "";
    /// Objects that the last full collection found alive, and that the program has not freed. Some may be dead by now.
    survived: Objects, "The program keeps them: drop what is no longer needed.";
    /// Objects that young collections have promoted since. Some may be dead.
    promoted: Objects, "A full collection tells: lower `percent`, or collect.";
    /// Objects made since the last collection. Some may be dead.
    young: Objects, "The same.";
    /// Cells of objects that the program has freed itself, and that it has not used again.
    freed: Cells, "The next objects of the type take them; a full collection makes them free for others of the size and layout.";
    /// Dead cells and large objects that no sweep has visited since the last collection.
    unswept: Cells, "Threads sweep as they allocate, and the heap's own thread does. `release_free_memory` sweeps at once.";
    /// Free cells of partly used spans.
    partial: Cells, "Fragmentation: a few long-lived objects keep pages. Allocate them together, or in an arena; the table by size class names the sizes.";
    /// Free cells of spans that threads keep for later.
    cached: Cells, "Bounded, with `open` and `cached_pages`, by a twentieth of the goal, or 256 KiB a thread, and a span each: fewer threads, fewer types. A thread in a blocking region gives them back after a while.";
    /// Free cells of the spans that threads allocate from: one span for each thread and layout.
    open: Cells, "The same.";
    /// Ends of spans that no cell fits into, and of the last pages of large objects.
    tails: Cells, "At most an eighth of a span, and less than 8 KiB an object above 32 KiB: sizes just below a class, or a multiple of 8 KiB, waste least.";
    /// Pages of large objects that threads are zeroing.
    unfinished: Pages, "They are objects soon.";
    /// Free pages that threads keep for later.
    cached_pages: Pages, "As for `cached`.";
    /// Free pages whose memory was not given back.
    free_pages: Pages, "`release_free_memory` gives all back at once; the heap's own thread, within seconds, what is above the next goal and a tenth.";
    /// Memory of arenas that are open or referred to.
    arenas: Arenas, "Close arenas, or do not let pointers to their values live longer.";
    /// Memory of closed arenas for the next ones.
    free_arenas: Arenas, "It goes back when no arena has needed it for a second.";
    /// Memory of arenas that were closed while pointers may be left, as far as the kernel has not taken it back.
    quarantined: Arenas, "The kernel declined; a full collection ends the quarantine.";
    /// The part of `backed` that was never touched, and takes no memory.
    untouched: Kernel, "Large arrays that are hardly used, fresh pages. It costs nothing.";
    /// Memory of pages that the heap does not use: parts of huge pages.
    surplus: Kernel, "The heap touches one huge page of each piece by which it grows, and others reach beyond what is used. Switch `huge_pages` off.";
    /// The page allocator's bitmaps and summaries.
    page_bitmaps: Tables, "By the size of the heap: a quarter of a byte a page of 8 KiB.";
    /// The span of each page.
    page_table: Tables, "By the size of the heap: 8 bytes a page.";
    /// Descriptors of spans.
    span_descriptors: Tables, "By the size of the heap: 64 bytes a page. From 256 MiB on in whole huge pages.";
    /// Mark bits and allocation bits.
    mark_bits: Tables, "By the size of the heap: 1/64. From 256 MiB on in whole huge pages.";
    /// Layouts of objects in shared spans and in arenas.
    pointer_bits: Tables, "Rare layouts and arenas: at most 1/64 of their memory.";
    /// Bits of cells that the program has freed.
    freed_bits: Tables, "From the first free on, and where objects are freed: at most 1/128 of the heap.";
    /// Sets of pages: those of young objects, starts of large ones.
    page_sets: Tables, "By the size of the heap: a byte a page.";
    /// Shapes and programs of types, and the central lists of each shape.
    layouts: Tables, "By the number of types.";
    /// Stacks and helpers of markings.
    mark_stacks: Tables, "By the depth of the object graph; up to 256 KiB a marking thread stay.";
    /// Slots of old objects that refer to young ones.
    remembered: Tables, "By stores of pointers between two young collections.";
    /// Messages of threads to a marking beside the program.
    marking_log: Tables, "By stores of pointers during such a marking; 256 KiB stay.";
    /// Handles, slots, ranges, stacks and libraries; and finalisers.
    roots: Tables, "By the number of roots.";
    /// The threads' own parts: buffers, caches.
    mutators: Tables, "By the number of threads, also of those that have left, and of the types that each uses.";
    /// The heap's own record.
    heap: Tables, "It is the same for every heap.";
    /// Copies and logs of verify mode, and snapshots of pages.
    checks: Tables, "Verify mode takes as much as the heap, and more.";
}

impl MemoryParts {
    /// The sum of all parts of a group, as they are now.
    pub fn of_group(&self, group: PartGroup) -> usize {
        let parts = MEMORY_PARTS.iter().zip(self.values());
        parts.filter(|(part, _)| part.group == group).map(|(_, bytes)| bytes as usize).sum()
    }

    /// The sum of the parts that add up to `backed`.
    pub fn backed_parts(&self) -> usize {
        let groups = [PartGroup::Objects, PartGroup::Cells, PartGroup::Pages, PartGroup::Arenas];
        groups.into_iter().map(|group| self.of_group(group)).sum()
    }
}
