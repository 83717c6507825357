// Tree1 in Go: binary trees whose nodes hold a number, which wraps at 32 bits.
package main

type numberedTree struct {
	left, right *numberedTree
	item        int32
}

func buildNumbered(item int32, depth int) *numberedTree {
	if depth == 0 {
		return &numberedTree{item: item}
	}
	left := buildNumbered(2*item-1, depth-1)
	right := buildNumbered(2*item, depth-1)
	return &numberedTree{left, right, item}
}

// check adds the left numbers and subtracts the right ones.
func (t *numberedTree) check() int32 {
	if t.left == nil {
		return t.item
	}
	return t.item + t.left.check() - t.right.check()
}

func tree1(n int, r *report) {
	maxDepth := max(n, minDepth+2)
	r.printf("stretch tree of depth %d check %d\n", maxDepth+1, buildNumbered(0, maxDepth+1).check())

	longLived := buildNumbered(0, maxDepth)

	for depth := minDepth; depth <= maxDepth; depth += 2 {
		pairs := uint64(1) << (maxDepth - depth + minDepth)
		sum := int32(0)
		for i := uint64(1); i <= pairs; i++ {
			sum += buildNumbered(int32(i), depth).check() + buildNumbered(-int32(i), depth).check()
		}
		r.printf("%d trees of depth %d check %d\n", 2*pairs, depth, sum)
	}

	r.printf("long lived tree of depth %d check %d\n", maxDepth, longLived.check())
}
