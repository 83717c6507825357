// Binary trees in Go's arenas (GOEXPERIMENT=arenas), which a program frees by
// itself, beside the collector. This is the program of golang/go#51667, which
// asked why such arenas are slow. Short lines are shared out among goroutines;
// each line's arenas come one after the other.
package main

import (
	"arena"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	minDepth     = 4
	defaultDepth = 21
	depthLimit   = 40

	// An arena is full when it holds so many bytes.
	arenaBytes = 1 << 20
)

type tree struct {
	left, right *tree
}

const nodeBytes = uint64(unsafe.Sizeof(tree{}))

// bottomUp builds a full tree of the given depth in an arena, children first.
func bottomUp(a *arena.Arena, depth int) *tree {
	var left, right *tree
	if depth > 0 {
		left = bottomUp(a, depth-1)
		right = bottomUp(a, depth-1)
	}
	t := arena.New[tree](a)
	t.left, t.right = left, right
	return t
}

// count walks the tree and counts its nodes.
func (t *tree) count() uint64 {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

type line struct {
	depth                int
	trees, arenas, nodes uint64
}

// fill builds the trees of a line, each counted as soon as it is built.
func (l *line) fill() {
	for left := l.trees; left > 0; {
		a := arena.NewArena()
		nodes := uint64(0)
		for ; left > 0 && nodes*nodeBytes < arenaBytes; left-- {
			nodes += bottomUp(a, l.depth).count()
		}
		l.nodes += nodes
		l.arenas++
		a.Free()
	}
}

func sizes(arenas, nodes uint64) string {
	return fmt.Sprintf("arenas %d nodes %d MB %.1f", arenas, nodes, float64(nodes*nodeBytes)/(1<<20))
}

func treesArena(n, threads int) {
	maxDepth := max(n, minDepth+2)

	a := arena.NewArena()
	stretch := bottomUp(a, maxDepth+1).count()
	a.Free()

	longLivedArena := arena.NewArena()
	longLived := bottomUp(longLivedArena, maxDepth)

	var lines []line
	for depth := minDepth; depth <= maxDepth; depth += 2 {
		lines = append(lines, line{depth: depth, trees: 1 << (maxDepth - depth + minDepth)})
	}
	var next atomic.Int64
	fillLines := func() {
		for i := next.Add(1) - 1; i < int64(len(lines)); i = next.Add(1) - 1 {
			lines[i].fill()
		}
	}
	// This goroutine is one of them. No more than there are lines are of use.
	var others sync.WaitGroup
	for range min(threads, len(lines)) - 1 {
		others.Go(fillLines)
	}
	fillLines()
	others.Wait()

	fmt.Printf("stretch tree of depth %d %s\n", maxDepth+1, sizes(1, stretch))
	for _, l := range lines {
		fmt.Printf("%d trees of depth %d %s\n", l.trees, l.depth, sizes(l.arenas, l.nodes))
	}
	fmt.Printf("long lived tree of depth %d %s\n", maxDepth, sizes(1, longLived.count()))
	longLivedArena.Free()
}

func fail() {
	fmt.Fprintln(os.Stderr, "usage: go-arena-trees [N, 1..40, default 21] [--threads T, 1..1024]\n"+
		"       go-arena-trees --version       what Go it was built with")
	os.Exit(2)
}

// number is a number from 1 to the limit; anything else is refused.
func number(text string, limit int) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 || value > limit {
		fail()
	}
	return value
}

func main() {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println(runtime.Version())
		return
	}
	n, threads, seenNumber := defaultDepth, 1, false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--threads" && len(args) > 0:
			threads = number(args[0], 1024)
			args = args[1:]
		case !seenNumber:
			n, seenNumber = number(arg, depthLimit), true
		default:
			fail()
		}
	}
	treesArena(n, threads)
}
