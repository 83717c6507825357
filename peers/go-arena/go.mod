// The Go peer with arenas: a module of its own, since the experiment that gives Go
// its arenas also changes the runtime.
module heapwood-arena-peer

go 1.26
