// RandSmall, RandLarge and Conalloc in Go: blocks without pointers, replaced in a
// table. Those of the first two are not touched by the program, but Go clears
// them. It compares the cost of finding room.
package main

const conallocSlots = 4096

func replaceBlocks(name string, slots int, least, most, seed uint32, iterations uint64, r *report) {
	rng := newTwister(seed)
	table := make([][]byte, slots)
	checksum := uint64(0)
	for range iterations {
		for i := range table {
			bytes := rng.within(least, most)
			table[i] = make([]byte, bytes)
			checksum = checksum*31 + uint64(bytes)
		}
	}
	r.checksum(name, "iterations", iterations, checksum)
}

func randSmall(iterations uint64, r *report) {
	replaceBlocks("rand-small", 4096, 8, 2047, 2929088778, iterations, r)
}

func randLarge(iterations uint64, r *report) {
	replaceBlocks("rand-large", 1024, 1024, 131072, 1202387523, iterations, r)
}

func conalloc(blocks uint64, r *report) {
	rng := random(seed)
	hash := uint64(0xcbf29ce484222325) // FNV-1a by words
	table := make([][]uint64, conallocSlots)
	for range blocks {
		x := rng.next()
		slot := (x & 0xffffffff) % conallocSlots
		for _, word := range table[slot] {
			hash = (hash ^ word) * 0x100000001b3
		}
		block := make([]uint64, 2+(x>>32)%31)
		for k := range block {
			block[k] = x + uint64(k)
		}
		table[slot] = block
	}
	r.printf("conalloc blocks %d hash 0x%016x\n", blocks, hash)
}
