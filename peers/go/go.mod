// The Go peer of Heapwood: the workloads as a Go user would write them.
module heapwood-peer

go 1.26
