// Latency in Go: a cache of entries of three nodes, replaced at random, and the
// gaps between its steps (see ../../workloads/src/latency.rs).
package main

import (
	"math/bits"
	"time"
)

const (
	sampleSteps = 4
	cacheRounds = 16
	leastSteps  = 200_000
	gapSub      = 32
	gapBuckets  = 60 * gapSub
)

type cacheNode struct {
	left, right *cacheNode
	key         uint64
	rest        [5]uint64
}

// gapHistogram counts gaps. Noting one neither allocates nor touches new memory.
type gapHistogram struct {
	longest, all uint64
	counts       [gapBuckets]uint64
}

func gapBucket(ns uint64) uint64 {
	if ns < gapSub {
		return ns
	}
	shift := uint64(63-bits.LeadingZeros64(ns)) - 5
	return shift*gapSub + ns>>shift
}

func (g *gapHistogram) note(ns uint64) {
	g.all++
	g.counts[gapBucket(ns)]++
	g.longest = max(g.longest, ns)
}

// us is the length in microseconds that such a share of all gaps does not exceed.
func (g *gapHistogram) us(share float64) float64 {
	sum, ns := uint64(0), g.longest
	for k, count := range g.counts {
		sum += count
		if float64(sum) < share*float64(g.all) {
			continue
		}
		bucket, shift := uint64(k), uint64(0)
		if bucket >= gapSub {
			shift = bucket/gapSub - 1
		}
		ns = min(ns, (bucket-shift*gapSub+1)<<shift-1)
		break
	}
	return float64(ns) / 1e3
}

type entryCache struct {
	table  []*cacheNode
	random random
	sum    uint64
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

func latency(mib uint64, report *report) {
	cache := entryCache{table: make([]*cacheNode, mib<<20/192), random: random(seed)}
	for i := range cache.table {
		cache.table[i] = newEntry(cache.random.next())
	}
	steps := max(uint64(len(cache.table))*cacheRounds, leastSteps) / sampleSteps * sampleSteps
	gaps := new(gapHistogram)
	// time.Since reads only the monotonic clock, which time.Now would not.
	start := time.Now()
	last := time.Since(start)
	for range steps / sampleSteps {
		for range sampleSteps {
			cache.step()
		}
		now := time.Since(start)
		gaps.note(uint64(now - last))
		last = now
	}
	report.checksum("latency", "steps", steps, cache.sum)
	report.figures(int64(gaps.longest), float64(steps)/last.Seconds()/1e6)
	report.largest("gap_99_us", gaps.us(0.99))
	report.largest("gap_99_9_us", gaps.us(0.999))
	report.largest("gap_99_99_us", gaps.us(0.9999))
}
