// Malloc in Go: objects of seven kinds, each made and dropped at once, with loops
// like those of the benchmarks of the runtime itself (../go-malloc runs those). It
// compares allocation alone, with the collections that it causes.
package main

import "time"

const (
	mallocUnit   = 1000
	mallocWarmUp = 10
)

// escapeSink and never make the compiler take an object for one that escapes, as in
// the runtime's own tests: never is false, but it cannot know.
var (
	escapeSink any
	never      bool
)

func escape[T any](object T) {
	if never {
		escapeSink = object
	}
}

// largeStruct has 16 slices, each a pointer and two numbers.
type largeStruct struct {
	slices [16][]byte
}

// Loops of their own, since a function of a type parameter would not know the size.
var mallocKinds = []struct {
	name         string
	bytes, oneOf uint64
	allocate     func(count uint64)
}{
	{"malloc8", 8, 1, func(count uint64) {
		for range count {
			escape(new(int64))
		}
	}},
	{"malloc16", 16, 1, func(count uint64) {
		for range count {
			escape(new([2]int64))
		}
	}},
	{"malloc32", 32, 1, func(count uint64) {
		for range count {
			escape(new([4]int64))
		}
	}},
	{"typeinfo8", 8, 1, func(count uint64) {
		for range count {
			escape(new([1]*int64))
		}
	}},
	{"typeinfo16", 16, 1, func(count uint64) {
		for range count {
			escape(new([2]*int64))
		}
	}},
	{"typeinfo32", 32, 1, func(count uint64) {
		for range count {
			escape(new([4]*int64))
		}
	}},
	{"largestruct", 768, 8, func(count uint64) {
		for range count {
			escape(make([]largeStruct, 2))
		}
	}},
}

func malloc(n uint64, r *report) {
	for _, kind := range mallocKinds {
		allocations := n * mallocUnit / kind.oneOf
		kind.allocate(allocations / mallocWarmUp)
		start := time.Now()
		kind.allocate(allocations)
		elapsed := time.Since(start)
		r.printf("%s allocations %d bytes %d\n", kind.name, allocations, allocations*kind.bytes)
		r.largest(kind.name+"_ns", float64(elapsed.Nanoseconds())/float64(allocations))
	}
}
