// Treap in Go: an index of byte strings that is never changed, only replaced: each
// insert copies the path it goes down. As in gtreap, which the search engine Bleve
// used, nodes lead to their items by a pointer. It compares the time of inserts, of
// whose nodes nearly all die at once, and of lookups.
package main

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"time"
)

const (
	treapBatch   = 100
	treapRenewal = 10
	shortestKey  = 8
	longestKey   = 24
)

type treapItem struct {
	key   []byte
	value uint32
}

// treapNode is never changed. Of it and those below its priority is the highest.
type treapNode struct {
	item        *treapItem
	left, right *treapNode
	priority    uint32
}

// unite is what is in either of two treaps; of two items with one key the newer one's.
func unite(old, new *treapNode) *treapNode {
	if old == nil {
		return new
	}
	if new == nil {
		return old
	}
	if old.priority > new.priority {
		smaller, equal, larger := new.split(old.item.key)
		item := old.item
		if equal != nil {
			item = equal.item
		}
		return &treapNode{item, unite(old.left, smaller), unite(old.right, larger), old.priority}
	}
	smaller, _, larger := old.split(new.item.key)
	return &treapNode{new.item, unite(smaller, new.left), unite(larger, new.right), new.priority}
}

// split takes a treap apart: a copy of the path to the key, in two.
func (t *treapNode) split(key []byte) (smaller, equal, larger *treapNode) {
	if t == nil {
		return nil, nil, nil
	}
	switch order := bytes.Compare(key, t.item.key); {
	case order == 0:
		return t.left, t, t.right
	case order < 0:
		smaller, equal, larger = t.left.split(key)
		return smaller, equal, &treapNode{t.item, larger, t.right, t.priority}
	default:
		smaller, equal, larger = t.right.split(key)
		return &treapNode{t.item, t.left, smaller, t.priority}, equal, larger
	}
}

func (t *treapNode) find(key []byte) *treapItem {
	for t != nil {
		switch order := bytes.Compare(key, t.item.key); {
		case order == 0:
			return t.item
		case order < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return nil
}

// spell writes the key that a random number stands for.
func spell(r uint64, room *[longestKey]byte) []byte {
	for k := range uint64(longestKey / 8) {
		binary.LittleEndian.PutUint64(room[8*k:], r+k)
	}
	return room[:shortestKey+(r>>32)%(longestKey-shortestKey+1)]
}

// found is what lookups found.
type found struct {
	keys, sum uint64
}

func (f *found) lookUp(t *treapNode, r uint64) {
	var room [longestKey]byte
	if item := t.find(spell(r, &room)); item != nil {
		f.keys++
		f.sum = f.sum*31 + uint64(item.value)
	}
}

// insert is the index with one key more.
func insert(index *treapNode, r, random uint64) *treapNode {
	var room [longestKey]byte
	item := &treapItem{bytes.Clone(spell(r, &room)), uint32(random)}
	return unite(index, &treapNode{item, nil, nil, uint32(random >> 32)})
}

// insertAll inserts the keys in batches, while a reader holds older snapshots.
func insertAll(keys uint64, rng *random, snapshots *found) *treapNode {
	var published, snapshot *treapNode
	var firsts []uint64 // the first key of each batch
	for first := uint64(0); first < keys; first += treapBatch {
		index := published
		for key := first; key < min(keys, first+treapBatch); key++ {
			r := rng.next()
			if key == first {
				firsts = append(firsts, r)
			}
			index = insert(index, r, rng.next())
		}
		// Until the new one is published, the index of before is.
		runtime.KeepAlive(published)
		published = index
		if len(firsts)%treapRenewal == 0 {
			for _, r := range firsts[max(0, len(firsts)-2*treapRenewal):] {
				snapshots.lookUp(snapshot, r)
			}
			snapshot = index
		}
	}
	runtime.KeepAlive(snapshot)
	return published
}

// treapWalk is what is seen on the way through an index in the order of its keys.
type treapWalk struct {
	nodes, depth, checksum uint64
}

func (w *treapWalk) walk(t *treapNode, depth uint64) {
	if t == nil {
		w.depth = max(w.depth, depth)
		return
	}
	w.walk(t.left, depth+1)
	w.nodes++
	w.checksum = w.checksum*31 + uint64(t.item.value)
	w.walk(t.right, depth+1)
}

func treap(keys uint64, report *report) {
	var snapshots, present, absent found
	rng, again := random(seed), random(seed)

	start := time.Now()
	index := insertAll(keys, &rng, &snapshots)
	inserted := time.Since(start)
	for range keys {
		present.lookUp(index, again.next())
		again.next()
	}
	for range keys {
		absent.lookUp(index, rng.next())
	}
	lookedUp := time.Since(start) - inserted

	var w treapWalk
	w.walk(index, 0)
	report.printf("treap keys %d nodes %d depth %d checksum 0x%016x snapshots %d sum 0x%016x found %d sum 0x%016x absent %d\n",
		keys, w.nodes, w.depth, w.checksum, snapshots.keys, snapshots.sum, present.keys, present.sum, absent.keys)
	report.largest("insert_s", inserted.Seconds())
	report.largest("lookup_s", lookedUp.Seconds())
}
