// The random numbers of rand-small and rand-large: the Mersenne Twister MT19937 of
// Matsumoto and Nishimura, and numbers drawn from a range as D's standard library
// draws them.
package main

import "math"

const (
	twisterWords = 624
	twisterAhead = 397
)

type twister struct {
	words [twisterWords]uint32
	next  int
}

func newTwister(seed uint32) *twister {
	t := &twister{next: twisterWords}
	t.words[0] = seed
	for i := uint32(1); i < twisterWords; i++ {
		last := t.words[i-1]
		t.words[i] = 1812433253*(last^last>>30) + i
	}
	return t
}

func (t *twister) twist() {
	for i := range t.words {
		next := t.words[(i+1)%twisterWords]
		both := t.words[i]&0x80000000 | next&0x7fffffff
		odd := next & 1 * 0x9908b0df
		t.words[i] = t.words[(i+twisterAhead)%twisterWords] ^ both>>1 ^ odd
	}
	t.next = 0
}

func (t *twister) number() uint32 {
	if t.next == twisterWords {
		t.twist()
	}
	x := t.words[t.next]
	t.next++
	x ^= x >> 11
	x ^= x << 7 & 0x9d2c5680
	x ^= x << 15 & 0xefc60000
	return x ^ x>>18
}

// within draws from low to high, both included; numbers of the last range, which
// is not whole, are drawn again.
func (t *twister) within(low, high uint32) uint32 {
	size := high - low + 1
	for {
		number := t.number()
		rest := number % size
		if number-rest <= math.MaxUint32-(size-1) {
			return low + rest
		}
	}
}
