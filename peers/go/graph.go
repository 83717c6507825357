// Graph in Go: nodes with four edges each, rewired at random. Nearly all it does
// is to write pointers into objects that have long been there. It compares
// throughput and the longest stall of the program.
package main

import "time"

const (
	edges  = 4
	rounds = 10
)

type graphNode struct {
	edges [edges]*graphNode
	id    uint64
}

func graph(nodes uint64, report *report) {
	rng := random(seed)

	table := make([]*graphNode, nodes)
	for i := range table {
		table[i] = &graphNode{id: uint64(i)}
	}
	for _, node := range table {
		for k := range node.edges {
			node.edges[k] = table[(rng.next()&0xffffffff)%nodes]
		}
	}

	checksum := uint64(0)
	longest := time.Duration(0)
	ops := nodes * rounds
	// time.Since reads only the monotonic clock, which time.Now would not.
	start := time.Now()
	last := time.Since(start)
	for i := range ops {
		r, s := rng.next(), rng.next()
		slot := (r & 0xffffffff) % nodes
		from, to := table[slot], table[(s&0xffffffff)%nodes]
		edge := (r >> 32) % edges
		checksum = checksum*31 + from.edges[edge].id
		if (r>>34)%8 == 0 {
			node := &graphNode{from.edges, nodes + i}
			node.edges[edge] = to
			table[slot] = node
		} else {
			from.edges[edge] = to
		}
		if i%16 == 15 {
			now := time.Since(start)
			longest = max(longest, now-last)
			last = now
		}
	}
	elapsed := time.Since(start)

	for _, node := range table {
		checksum = checksum*31 + node.id
		for _, to := range node.edges {
			checksum = checksum*31 + to.id
		}
	}
	report.checksum("graph", "ops", ops, checksum)
	report.figures(longest.Nanoseconds(), float64(ops)/elapsed.Seconds()/1e6)
}
