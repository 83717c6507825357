// The random numbers of all workloads: xorshift64*, always from the same seed,
// so that every peer does the same work.
package main

const seed = 0x9E3779B97F4A7C15

type random uint64

func (s *random) next() uint64 {
	x := *s
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*s = x
	return uint64(x) * 0x2545F4914F6CDD1D
}
