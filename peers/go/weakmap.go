// Weak tables in Go. The map is one of weak pointers, whose entries are deleted by
// a cleanup of the key, as the package weak proposes; since cleanups run on other
// goroutines it has a lock. The table of interned names is the package unique.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unique"
	"weak"
)

const (
	weakMapRounds  = 20
	weakMapAbsent  = 4
	weakMapLookups = 2
)

type weakKey [2]uint64

type weakValue [2]uint64

type weakName [2]uint64

// weakMap has values for keys as long as those are alive.
type weakMap struct {
	lock    sync.Mutex
	entries map[weak.Pointer[weakKey]]*weakValue
}

func (m *weakMap) insert(key *weakKey, value *weakValue) {
	ref := weak.Make(key)
	m.lock.Lock()
	_, known := m.entries[ref]
	m.entries[ref] = value
	m.lock.Unlock()
	if !known {
		runtime.AddCleanup(key, m.remove, ref)
	}
}

func (m *weakMap) remove(ref weak.Pointer[weakKey]) {
	m.lock.Lock()
	delete(m.entries, ref)
	m.lock.Unlock()
}

func (m *weakMap) get(key *weakKey) *weakValue {
	ref := weak.Make(key)
	m.lock.Lock()
	value := m.entries[ref]
	m.lock.Unlock()
	return value
}

// weakMapCounts are what both parts have counted.
type weakMapCounts struct {
	found, checksum uint64
}

func (c *weakMapCounts) add(first, second uint64) {
	c.found++
	c.checksum = c.checksum*31 + first + second
}

func churnWeakMap(n, alive uint64, rng *random, gaps *gaps, counts *weakMapCounts) {
	m := &weakMap{entries: make(map[weak.Pointer[weakKey]]*weakValue)}
	keys := make([]*weakKey, alive)
	at := 0
	for i := range n {
		key := &weakKey{i, 0}
		if i%weakMapAbsent != weakMapAbsent-1 {
			m.insert(key, &weakValue{i, i + 1})
		}
		keys[at] = key
		if at++; at == len(keys) {
			at = 0
		}
		made := min(i+1, alive)
		for range weakMapLookups {
			key := keys[(rng.next()&0xffffffff)%made]
			if value := m.get(key); value != nil {
				counts.add(value[0], value[1])
			}
		}
		gaps.step(i)
	}
}

func newWeakName(number uint64) weakName {
	return weakName{number, number * 0x9E3779B97F4A7C15}
}

func internNames(n, alive uint64, rng *random, gaps *gaps, counts *weakMapCounts) {
	names := make([]unique.Handle[weakName], alive)
	var none unique.Handle[weakName]
	for i := range n {
		r := rng.next()
		place := &names[(r&0xffffffff)%alive]
		if *place != none && i%2 == 0 {
			name := place.Value()
			if unique.Make(newWeakName(name[0])) != *place {
				fmt.Fprintln(os.Stderr, "a name has two handles")
				os.Exit(1)
			}
			counts.add(name[0], name[1])
		} else {
			*place = unique.Make(newWeakName((r >> 32) % n))
		}
		gaps.step(i)
	}
	for _, handle := range names {
		if handle != none {
			name := handle.Value()
			counts.add(name[0], name[1])
		}
	}
}

func runWeakMap(n uint64, report *report) {
	rng := random(seed)
	alive := max(n/weakMapRounds, 1)
	var counts weakMapCounts
	gaps := startGaps()
	churnWeakMap(n, alive, &rng, &gaps, &counts)
	internNames(n, alive, &rng, &gaps, &counts)
	gaps.report(n*(weakMapLookups+1), report)
	report.checksum("weakmap", "found", counts.found, counts.checksum)
}
