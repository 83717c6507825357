// Mark in Go: the time of a full collection of a static graph: a tree in two orders
// in memory, a random graph, and lists. It compares how fast the collectors trace.
// What is timed is runtime.GC(), which returns after it has swept, too.
package main

import (
	"fmt"
	"math"
	"runtime"
	"time"
)

const (
	collections = 3
	rootStride  = 64
	none        = math.MaxUint32
)

// object is a node of the graph, 32 bytes.
type object struct {
	links [2]*object
	id    uint64
	seen  uint64 // set by walk
}

// plan is a graph over indices, from which the objects are built.
type plan struct {
	links [][2]uint32
	roots []uint32
}

// treePlan makes a balanced binary tree of the indices: order is its preorder. So in
// order, objects lie as a program that builds a tree from the root allocates them.
func treePlan(order []uint32) plan {
	links := make([][2]uint32, len(order))
	type part struct{ first, size int }
	stack := []part{{0, len(order)}}
	for len(stack) > 0 {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		left := t.size / 2
		children := [2]part{{t.first + 1, left}, {t.first + 1 + left, t.size - 1 - left}}
		for k, child := range children {
			to := uint32(none)
			if child.size > 0 {
				to = order[child.first]
				stack = append(stack, child)
			}
			links[order[t.first]][k] = to
		}
	}
	return plan{links, order[:1]}
}

func inOrder(n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

// shuffled is a random permutation (Fisher-Yates, from the end).
func shuffled(n int) []uint32 {
	rng := random(seed)
	order := inOrder(n)
	for i := n - 1; i > 0; i-- {
		j := rng.next() % uint64(i+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// randomPlan links every index to two random ones; every 64th is a root.
func randomPlan(n int) plan {
	rng := random(seed)
	links := make([][2]uint32, n)
	for i := range links {
		for k := range 2 {
			links[i][k] = uint32(rng.next() % uint64(n))
		}
	}
	var roots []uint32
	for i := 0; i < n; i += rootStride {
		roots = append(roots, uint32(i))
	}
	return plan{links, roots}
}

// reached counts the indices that can be reached from the roots.
func (p plan) reached() int {
	seen := make([]bool, len(p.links))
	var stack []uint32
	count := 0
	visit := func(i uint32) {
		if i != none && !seen[i] {
			seen[i] = true
			count++
			stack = append(stack, i)
		}
	}
	for _, root := range p.roots {
		visit(root)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			visit(p.links[i][0])
			visit(p.links[i][1])
		}
	}
	return count
}

// build allocates the objects in index order and links them. Only the roots are
// returned: the array of all objects is garbage when this returns.
func (p plan) build() []*object {
	objects := make([]*object, len(p.links))
	for i := range objects {
		objects[i] = &object{id: uint64(i)}
	}
	for i, links := range p.links {
		for k, to := range links {
			if to != none {
				objects[i].links[k] = objects[to]
			}
		}
	}
	roots := make([]*object, len(p.roots))
	for i, root := range p.roots {
		roots[i] = objects[root]
	}
	return roots
}

// walk counts the objects that the program can reach and sums up their ids in
// the order of the walk.
func walk(roots []*object) (count int, checksum uint64) {
	var stack []*object
	visit := func(o *object) {
		if o != nil && o.seen == 0 {
			o.seen = 1
			stack = append(stack, o)
		}
	}
	for _, root := range roots {
		visit(root)
		for len(stack) > 0 {
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			count++
			checksum = checksum*31 + o.id
			visit(o.links[0])
			visit(o.links[1])
		}
	}
	return count, checksum
}

// collectInFull is the time of the fastest of some collections.
func collectInFull() time.Duration {
	best := time.Duration(math.MaxInt64)
	for range collections {
		start := time.Now()
		runtime.GC()
		best = min(best, time.Since(start))
	}
	return best
}

// markGraph measures one graph. The plan is made in here and dead before the
// measuring begins.
func markGraph(name, figure string, n int, makePlan func() plan, countMode bool) bool {
	reached, roots := func() (int, []*object) {
		p := makePlan()
		return p.reached(), p.build()
	}()

	best := collectInFull()
	fmt.Printf("mark %s objects %d reached %d\n", name, n, reached)
	fmt.Printf("figure %s %.3f\n", figure, float64(best.Nanoseconds())/float64(reached))

	ok := true
	if countMode {
		walked, checksum := walk(roots)
		fmt.Printf("mark %s walked %d checksum 0x%016x\n", name, walked, checksum)
		ok = walked == reached
	}
	runtime.KeepAlive(roots)
	return ok
}

func mark(n int, countMode bool) bool {
	graphs := []struct {
		name, figure string
		plan         func() plan
	}{
		{"in-order", "in_order_ns", func() plan { return treePlan(inOrder(n)) }},
		{"shuffled", "shuffled_ns", func() plan { return treePlan(shuffled(n)) }},
		{"random", "random_ns", func() plan { return randomPlan(n) }},
	}
	ok := true
	for _, graph := range graphs {
		ok = markGraph(graph.name, graph.figure, n, graph.plan, countMode) && ok
	}
	for lists := 1; lists <= 64; lists *= 2 {
		ok = markLists(fmt.Sprintf("lists-%d", lists), fmt.Sprintf("lists_%d_ns", lists), n, lists, inOrder) && ok
	}
	for lists := 1; lists <= 64; lists *= 8 {
		name, figure := fmt.Sprintf("shuffled-lists-%d", lists), fmt.Sprintf("shuffled_lists_%d_ns", lists)
		ok = markLists(name, figure, n, lists, shuffled) && ok
	}
	return ok
}
