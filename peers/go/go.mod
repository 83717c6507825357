// The Go peer of Heapwood: the three workloads as a Go user would write them.
module heapwood-peer

go 1.26
