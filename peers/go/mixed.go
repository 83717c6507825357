// Mixed in Go: a cache of documents whose sizes reach from 32 bytes to 256 KiB,
// replaced at random, while what it holds changes over time: in even phases most
// bodies are small, in odd ones eight times as large, and after each phase 7 of
// 10 documents are dropped. It compares throughput and memory.
package main

import (
	"math/bits"
	"time"
)

const (
	cacheSlots = 100_000
	phases     = 8

	// The lowest octave of bodies, in bytes, in the phases of small ones and of
	// large ones, and the highest.
	smallBodies   = 5
	largeBodies   = 8
	highestOctave = 17
)

type document struct {
	body      []uint64
	fragments [][]uint64
}

// bodyWords is how many words the random number r asks for, from those octaves
// up: each is half as likely as the one below.
func bodyWords(r uint64, lowest int) uint64 {
	octave := min(lowest+bits.TrailingZeros64(r|1<<12), highestOctave)
	least := uint64(1) << octave / 8
	return least + (r>>32)%least
}

func newWords(count, first uint64) []uint64 {
	words := make([]uint64, count)
	for k := range words {
		words[k] = first + uint64(k)
	}
	return words
}

func newDocument(r uint64, lowest int) *document {
	words := bodyWords(r, lowest)
	body := newWords(words, r)
	body[0] = words
	// Half of the documents have 1 to 8 fragments of 16 to 64 bytes.
	var fragments [][]uint64
	if count := 1 + (r>>16)%16; count <= 8 {
		fragments = make([][]uint64, count)
		for i := range fragments {
			first := r>>20 + uint64(i)
			fragments[i] = newWords(2+first%7, first)
		}
	}
	return &document{body, fragments}
}

func mixed(ops uint64, report *report) {
	rng := random(seed)

	cache := make([]*document, cacheSlots)
	for i := range cache {
		cache[i] = newDocument(rng.next(), largeBodies)
	}

	checksum := uint64(0)
	longest := time.Duration(0)
	// time.Since reads only the monotonic clock, which time.Now would not.
	start := time.Now()
	last := time.Since(start)
	sample := func() {
		now := time.Since(start)
		longest = max(longest, now-last)
		last = now
	}
	for phase := range uint64(phases) {
		lowest := smallBodies
		if phase%2 == 1 {
			lowest = largeBodies
		}
		for i := ops * phase / phases; i < ops*(phase+1)/phases; i++ {
			slot := (rng.next() & 0xffffffff) % cacheSlots
			if old := cache[slot]; old != nil {
				body := old.body
				checksum = checksum*31 + body[0] + body[len(body)-1] + uint64(len(old.fragments))
			}
			cache[slot] = newDocument(rng.next(), lowest)
			if i%16 == 15 {
				sample()
			}
		}
		for slot := range cache {
			if (rng.next()>>32)%10 < 7 {
				cache[slot] = nil
			}
		}
		sample()
	}
	elapsed := time.Since(start)

	report.checksum("mixed", "ops", ops, checksum)
	report.figures(longest.Nanoseconds(), float64(ops)/elapsed.Seconds()/1e6)
}
