// Latency in Go: a cache of entries of three nodes, replaced at random for a
// chosen time, whose goroutines note the gaps between their own operations (see
// ../../workloads/src/latency.rs). The collector is that of the environment: GOGC.
package main

import (
	"bufio"
	"fmt"
	"math/bits"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	sampleSteps  = 4
	checkedSteps = 200_000
	longGapNs    = 20_000
	mostLongGaps = 1 << 18
	gapSub       = 32
	gapBuckets   = 60 * gapSub
)

type cacheNode struct {
	left, right *cacheNode
	key         uint64
	rest        [5]uint64
}

// notedGaps are the gaps of a goroutine, which record.rs says how to print. Noting
// a gap neither allocates nor touches new memory.
type notedGaps struct {
	began                         time.Time
	last, end                     int64
	steps, longest, dropped, kept uint64
	counts                        [gapBuckets]uint64
	long                          [mostLongGaps][2]int64
}

func gapBucket(ns uint64) uint64 {
	if ns < gapSub {
		return ns
	}
	shift := uint64(63-bits.LeadingZeros64(ns)) - 5
	return shift*gapSub + ns>>shift
}

// note tells whether the time is not over yet.
func (g *notedGaps) note(steps uint64) bool {
	// time.Since reads only the monotonic clock.
	now := time.Since(g.began).Nanoseconds()
	gap := now - g.last
	g.steps += steps
	g.counts[gapBucket(uint64(gap))]++
	g.longest = max(g.longest, uint64(gap))
	if gap >= longGapNs {
		if g.kept < mostLongGaps {
			g.long[g.kept] = [2]int64{g.last, gap}
			g.kept++
		} else {
			g.dropped++
		}
	}
	g.last = now
	return now < g.end
}

func (g *notedGaps) print(out *bufio.Writer) {
	fmt.Fprintf(out, "thread steps=%d ns=%d max_ns=%d dropped=%d hist=", g.steps, g.last, g.longest, g.dropped)
	comma := ""
	for k, count := range g.counts {
		if count > 0 {
			fmt.Fprintf(out, "%s%d:%d", comma, k, count)
			comma = ","
		}
	}
	fmt.Fprint(out, " long=")
	comma = ""
	for _, gap := range g.long[:g.kept] {
		fmt.Fprintf(out, "%s%d:%d", comma, gap[0], gap[1])
		comma = ","
	}
	fmt.Fprintln(out)
}

type entryCache struct {
	table      []*cacheNode
	random     random
	sum, check uint64
	gaps       *notedGaps
	// The CPU time of the process when it began to measure and when it ended.
	cpuBefore, cpuAfter int64
}

func newEntry(r uint64) *cacheNode {
	leaf := func(key uint64) *cacheNode {
		return &cacheNode{key: key, rest: [5]uint64{key, key, key, key, key}}
	}
	root := leaf(r)
	root.left, root.right = leaf(r+1), leaf(r+2)
	return root
}

func (c *entryCache) slot(r uint64) *(*cacheNode) {
	return &c.table[(r>>32)*uint64(len(c.table))>>32]
}

func (c *entryCache) step() {
	r := c.random.next()
	switch r & 3 {
	case 0:
		*c.slot(r) = newEntry(r)
	case 1:
		a, b := *c.slot(r), *c.slot(c.random.next())
		a.left, b.left = b.left, a.left
	default:
		root := *c.slot(r)
		c.sum = c.sum*31 + root.key + root.left.key + root.right.key
	}
}

func (c *entryCache) work(entries, ms uint64, thread int, started, ended *rendezvous) {
	c.random = random(seed)
	// Each goroutine takes other numbers.
	for range thread {
		c.random = random(c.random.next() | 1)
	}
	c.table = make([]*cacheNode, entries)
	for i := range c.table {
		c.table[i] = newEntry(c.random.next())
	}
	for range checkedSteps {
		c.step()
	}
	c.check = c.sum
	c.gaps = new(notedGaps)
	// Touched now, and not in the first gaps.
	for k := range c.gaps.long {
		c.gaps.long[k] = [2]int64{1, 1}
	}
	started.meet()
	c.cpuBefore = cpuNs()
	c.gaps.began, c.gaps.end = time.Now(), int64(ms)*1_000_000
	for {
		for range sampleSteps {
			c.step()
		}
		if !c.gaps.note(sampleSteps) {
			break
		}
	}
	c.cpuAfter = cpuNs()
	ended.meet()
}

// beneath does the work beneath so many frames, each with a node of its own.
//
//go:noinline
func beneath(frames uint64, work func()) uint64 {
	if frames == 0 {
		work()
		return 0
	}
	kept := &cacheNode{key: frames}
	below := beneath(frames-1, work)
	return kept.key + below
}

// rendezvous lets all goroutines go on when the last one has come.
type rendezvous struct {
	all sync.WaitGroup
}

func (r *rendezvous) meet() {
	r.all.Done()
	r.all.Wait()
}

func cpuNs() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// latency takes bytes, milliseconds, threads and frames.
func latency(args []string) {
	if len(args) != 4 {
		fail()
	}
	live, ms, threads := number(args[0], 1<<48), number(args[1], 1<<48), number(args[2], 1024)
	depth, err := strconv.ParseUint(args[3], 10, 48)
	if err != nil {
		fail()
	}
	// The usual bound of a stack is 1 GB.
	debug.SetMaxStack(max(1_000_000_000, int(depth)*256))
	entries := max(live/threads/192, 1)
	var started, ended rendezvous
	started.all.Add(int(threads) + 1)
	ended.all.Add(int(threads) + 1)
	caches := make([]entryCache, threads)
	var all sync.WaitGroup
	for t := range caches {
		all.Go(func() {
			beneath(depth, func() { caches[t].work(entries, ms, t, &started, &ended) })
		})
	}
	started.meet()
	ended.meet()
	all.Wait()
	// From the first goroutine's beginning to the last one's end.
	check, first, last := uint64(0), caches[0].cpuBefore, caches[0].cpuAfter
	for t := range caches {
		check += caches[t].check
		first, last = min(first, caches[t].cpuBefore), max(last, caches[t].cpuAfter)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintf(out, "latency entries=%d check=0x%016x cpu_ns=%d\n", entries, check, last-first)
	for t := range caches {
		caches[t].gaps.print(out)
	}
}
