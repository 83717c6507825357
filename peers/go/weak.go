// Weak references in Go: weak.Pointer. N objects of two words, all alive until
// every second one is dropped; then a collection, and each reference is read.
package main

import (
	"runtime"
	"time"
	"weak"
)

// weakNode has room for a pointer, here none, and a number.
type weakNode struct {
	pointer *weakNode
	number  uint64
}

func runWeak(n uint64, report *report) {
	kept := make([]*weakNode, n)
	refs := make([]weak.Pointer[weakNode], n)
	gaps := startGaps()
	for i := range n {
		node := &weakNode{number: i}
		kept[i] = node
		refs[i] = weak.Make(node)
		gaps.step(i)
	}
	gaps.report(n, report)

	for i := uint64(1); i < n; i += 2 {
		kept[i] = nil
	}
	start := time.Now()
	runtime.GC()
	report.largest("collect_s", time.Since(start).Seconds())

	alive, stray, checksum := uint64(0), uint64(0), uint64(0)
	for i, ref := range refs {
		node := ref.Value()
		switch {
		case node == nil:
		case i%2 == 0:
			alive++
			checksum = checksum*31 + node.number
		default:
			stray++
		}
	}
	runtime.KeepAlive(kept)
	requireFewStray(stray, n, "weak references of dropped objects were not cleared")
	report.checksum("weak", "alive", alive, checksum)
}
