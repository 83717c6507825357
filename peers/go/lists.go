// Mark's lists in Go: singly linked lists of 16-byte nodes, side by side, the graph
// with the fewest edges to follow at a time.
package main

import (
	"fmt"
	"runtime"
)

type listNode struct {
	next  *listNode
	index uint64
}

// buildLists allocates nodes in index order and links them: list k has order[k],
// order[k+lists] and so on. Only the heads are returned: the table of all nodes is
// garbage when this returns.
func buildLists(order []uint32, lists int) []*listNode {
	table := make([]*listNode, len(order))
	for i := range table {
		table[i] = &listNode{index: uint64(i)}
	}
	for i := 0; i+lists < len(order); i++ {
		table[order[i]].next = table[order[i+lists]]
	}
	heads := make([]*listNode, min(lists, len(order)))
	for k := range heads {
		heads[k] = table[order[k]]
	}
	return heads
}

// walkLists counts the nodes and sums up their words, list by list.
func walkLists(heads []*listNode) (count int, checksum uint64) {
	for _, head := range heads {
		for node := head; node != nil; node = node.next {
			count++
			checksum = checksum*31 + node.index
		}
	}
	return count, checksum
}

// markLists measures n nodes in so many lists. The order is made in here and dead
// before the measuring begins.
func markLists(name, figure string, n, lists int, makeOrder func(int) []uint32) bool {
	heads := func() []*listNode { return buildLists(makeOrder(n), lists) }()
	best := collectInFull()
	walked, checksum := walkLists(heads)
	runtime.KeepAlive(heads)
	fmt.Printf("mark %s objects %d reached %d checksum 0x%016x\n", name, n, walked, checksum)
	fmt.Printf("figure %s %.3f\n", figure, float64(best.Nanoseconds())/float64(n))
	return walked == n
}
