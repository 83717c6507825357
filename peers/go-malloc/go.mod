// The Malloc benchmarks of Go's runtime, alone and side by side.
module heapwood-go-malloc

go 1.26
