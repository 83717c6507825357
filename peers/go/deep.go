// Deep in Go: a recursion of N calls, each of which holds an object, and at its bottom
// half a million objects that die at once. Each call keeps a few numbers beside its
// object. Go's stack grows by copying, up to a GiB here.
package main

import (
	"math/bits"
	"runtime/debug"
)

const (
	deepObjects   = 1 << 19
	deepMostStack = 1 << 30
)

type deepNode struct {
	number uint64
	above  *deepNode
}

// deepSum is a step of the checksum.
func deepSum(sum, number uint64) uint64 {
	return bits.RotateLeft64(sum, 5)*31 + number
}

func deepBottom() (sum uint64) {
	for i := range uint64(deepObjects) {
		object := &[8]uint64{i, i, i, i, i, i, i, i}
		escape(object)
		sum = deepSum(sum, object[3])
	}
	return sum
}

// descend is a call: its own numbers and object are used after the calls below have
// returned.
//
//go:noinline
func descend(above *deepNode, left uint64) uint64 {
	numbers := [3]uint64{left, left * 3, left ^ 0x55}
	own := &deepNode{left * 0x9E3779B97F4A7C15, above}
	escape(own)
	var sum uint64
	if left == 0 {
		sum = deepBottom()
	} else {
		sum = descend(own, left-1)
	}
	number := own.number ^ numbers[1]
	if own.above != nil {
		number ^= own.above.number
	}
	return deepSum(sum, number)
}

func deep(calls uint64, report *report) {
	debug.SetMaxStack(deepMostStack)
	report.checksum("deep", "calls", calls, descend(nil, calls-1))
}
