// GCBench in Go, written afresh after the program by John Ellis and Pete Kovac
// that Hans Boehm modified: trees built from the root and from the leaves, beside
// a long-lived tree and a large array without pointers. Beyond trees, it compares
// the cost of storing into objects that were allocated before.
package main

import "math"

const (
	arrayItems = 500_000
	arraySet   = arrayItems / 2
)

// benchNode is a node of 24 bytes. The integers are only there to be allocated.
type benchNode struct {
	left, right *benchNode
	i, j        int32
}

// populate hangs a full tree of the given depth under the node, from the top.
func (n *benchNode) populate(depth int) {
	if depth <= 0 {
		return
	}
	n.left = new(benchNode)
	n.right = new(benchNode)
	n.left.populate(depth - 1)
	n.right.populate(depth - 1)
}

func benchTopDown(depth int) *benchNode {
	n := new(benchNode)
	n.populate(depth)
	return n
}

// benchBottomUp builds a full tree of the given depth, children first.
func benchBottomUp(depth int) *benchNode {
	if depth <= 0 {
		return new(benchNode)
	}
	left := benchBottomUp(depth - 1)
	right := benchBottomUp(depth - 1)
	return &benchNode{left: left, right: right}
}

// count walks the tree and counts its nodes.
func (n *benchNode) count() uint64 {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

// buildMany builds and drops trees, and tells the nodes of the last one.
func buildMany(iterations uint64, depth int, build func(int) *benchNode) uint64 {
	var last *benchNode
	for range iterations {
		last = build(depth)
	}
	return last.count()
}

// treeSize is the number of nodes of a full tree.
func treeSize(depth int) uint64 {
	return 2<<depth - 1
}

func gcbench(n int, report *report) {
	maxDepth := max(n, minDepth)

	stretchDepth := maxDepth + 2
	report.printf("stretch tree of depth %d nodes %d\n", stretchDepth, benchBottomUp(stretchDepth).count())

	longLived := benchTopDown(maxDepth)
	array := make([]float64, arrayItems)
	for i := 1; i < arraySet; i++ {
		array[i] = 1 / float64(i)
	}

	for depth := minDepth; depth <= maxDepth; depth += 2 {
		iterations := 2 * treeSize(stretchDepth) / treeSize(depth)
		report.printf("top down %d trees of depth %d nodes %d\n",
			iterations, depth, buildMany(iterations, depth, benchTopDown))
		report.printf("bottom up %d trees of depth %d nodes %d\n",
			iterations, depth, buildMany(iterations, depth, benchBottomUp))
	}

	sum := 0.0
	for _, item := range array[1:arraySet] {
		sum += item
	}
	report.printf("long lived tree of depth %d nodes %d array sum 0x%016x\n",
		maxDepth, longLived.count(), math.Float64bits(sum))
}
