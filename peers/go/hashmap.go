// Map in Go: a hash map with chains, into which entries are inserted and from
// which they are deleted at random, half and half. It is written out, since Go's
// own map has no chains. It compares throughput and memory.
package main

import "time"

// mapValue is what a key has; it has no pointers.
type mapValue [2]uint64

type mapEntry struct {
	key   uint64
	value *mapValue
	next  *mapEntry
}

type hashMap []*mapEntry

func newMapValue(r uint64) *mapValue {
	return &mapValue{r, r + 1}
}

func (e *mapEntry) addTo(checksum uint64) uint64 {
	return checksum*31 + e.value[0] + e.value[1]
}

func (m hashMap) bucket(key uint64) **mapEntry {
	return &m[(key*0x9E3779B97F4A7C15>>32)%uint64(len(m))]
}

// find returns the link that leads to the key's entry, or the last of its chain,
// which is nil.
func (m hashMap) find(key uint64) **mapEntry {
	link := m.bucket(key)
	for *link != nil && (*link).key != key {
		link = &(*link).next
	}
	return link
}

// insert puts a new entry before all others of its chain.
func (m hashMap) insert(key uint64, value *mapValue) {
	bucket := m.bucket(key)
	*bucket = &mapEntry{key, value, *bucket}
}

// operate inserts, if asked to, or deletes; a value that was there is added to
// the checksum.
func (m hashMap) operate(key uint64, inserts bool, r, checksum uint64) uint64 {
	link := m.find(key)
	entry := *link
	if entry == nil {
		if inserts {
			m.insert(key, newMapValue(r))
		}
		return checksum
	}
	checksum = entry.addTo(checksum)
	if inserts {
		entry.value = newMapValue(r)
	} else {
		*link = entry.next
	}
	return checksum
}

func runMap(entries uint64, report *report) {
	rng := random(seed)

	m := make(hashMap, max(entries/2, 1))
	for i := range entries {
		m.insert(2*i, newMapValue(rng.next()))
	}

	checksum := uint64(0)
	longest := time.Duration(0)
	ops := entries * rounds
	// time.Since reads only the monotonic clock, which time.Now would not.
	start := time.Now()
	last := time.Since(start)
	for i := range ops {
		r := rng.next()
		checksum = m.operate((r&0xffffffff)%(2*entries), (r>>32)%2 == 0, r, checksum)
		if i%16 == 15 {
			now := time.Since(start)
			longest = max(longest, now-last)
			last = now
		}
	}
	elapsed := time.Since(start)

	for _, entry := range m {
		for ; entry != nil; entry = entry.next {
			checksum = entry.addTo(checksum) + entry.key
		}
	}
	report.checksum("map", "ops", ops, checksum)
	report.figures(longest.Nanoseconds(), float64(ops)/elapsed.Seconds()/1e6)
}
