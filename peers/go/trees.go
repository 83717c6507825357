// Binary trees in Go: many short-lived trees beside one long-lived one. It
// compares the cost of allocating small objects with pointers, and of
// collecting them.
package main

const minDepth = 4 // in gcbench, too

type tree struct {
	left, right *tree
}

// bottomUp builds a full tree of the given depth, children first.
func bottomUp(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	left := bottomUp(depth - 1)
	right := bottomUp(depth - 1)
	return &tree{left, right}
}

// count walks the tree and counts its nodes.
func (t *tree) count() uint64 {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

func trees(n int, report *report) {
	maxDepth := max(n, minDepth+2)

	stretchDepth := maxDepth + 1
	report.printf("stretch tree of depth %d trees 1 nodes %d\n", stretchDepth, bottomUp(stretchDepth).count())

	longLived := bottomUp(maxDepth)

	for depth := minDepth; depth <= maxDepth; depth += 2 {
		iterations := uint64(1) << (maxDepth - depth + minDepth)
		nodes := uint64(0)
		for range iterations {
			nodes += bottomUp(depth).count()
		}
		report.printf("%d trees of depth %d nodes %d\n", iterations, depth, nodes)
	}

	report.printf("long lived tree of depth %d nodes %d\n", maxDepth, longLived.count())
}
