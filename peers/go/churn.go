// Churn in Go: objects without pointers, of 64 to 128 bytes, replaced at random
// in a large table. It compares throughput and the longest stall of the program
// while the collector works.
package main

import "time"

const tableSlots = 1_000_000

// newObject allocates an object whose size the random number r decides, and
// writes the whole of it.
func newObject(r uint64) []uint64 {
	size := (64 + (r>>32)%65) &^ 7
	object := make([]uint64, size/8)
	object[0] = size
	for k := 1; k < len(object); k++ {
		object[k] = r + uint64(k)
	}
	return object
}

func churn(ops uint64, report *report) {
	rng := random(seed)

	// What a Go user would write: a slice of slices. Each slot is a slice header
	// of 24 bytes (pointer, length, capacity), where the peers in C have a
	// pointer of 8 bytes and find the length in the object.
	table := make([][]uint64, tableSlots)
	for i := range table {
		table[i] = newObject(rng.next())
	}

	checksum := uint64(0)
	longest := time.Duration(0)
	// time.Since reads only the monotonic clock, which time.Now would not.
	start := time.Now()
	last := time.Since(start)
	for i := range ops {
		r := rng.next()
		slot := (r & 0xffffffff) % tableSlots
		old := table[slot]
		checksum = checksum*31 + old[0] + old[len(old)-1]
		table[slot] = newObject(r)
		if i%16 == 15 {
			now := time.Since(start)
			longest = max(longest, now-last)
			last = now
		}
	}
	elapsed := time.Since(start)

	report.checksum("churn", "ops", ops, checksum)
	report.figures(longest.Nanoseconds(), float64(ops)/elapsed.Seconds()/1e6)
}
