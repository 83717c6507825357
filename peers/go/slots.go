// Slots in Go: an old array of pointers, 2 N / 5 of them, into which new pairs are
// stored at random.
package main

// slotPair has room for two pointers, here none, and a number twice.
type slotPair struct {
	pointers [2]*slotPair
	numbers  [2]uint64
}

func slots(stores uint64, report *report) {
	rng := random(seed)
	array := make([]*slotPair, max(stores*2/5, 1))
	replaced := uint64(0)
	for range stores {
		r := rng.next()
		slot := (r & 0xffffffff) % uint64(len(array))
		if array[slot] != nil {
			replaced++
		}
		array[slot] = &slotPair{numbers: [2]uint64{r, r + 1}}
	}
	checksum := replaced
	for _, pair := range array {
		if pair != nil {
			checksum = checksum*31 + pair.numbers[0] + pair.numbers[1]
		}
	}
	report.checksum("slots", "stores", stores, checksum)
}
