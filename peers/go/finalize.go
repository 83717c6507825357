// Finalisers in Go: runtime.AddCleanup. N objects that own a handle outside the
// heap, 10,000 alive; a handle of a dead object is closed by its cleanup, on the
// goroutines on which the runtime calls cleanups. So the account of what is
// closed is kept by atomic operations.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// aliveFinalized are the objects that are alive at once.
const aliveFinalized = 10_000

// requireFewStray ends the program if more of N objects are left than stray words
// keep where stacks are scanned conservatively.
func requireFewStray(stray, n uint64, what string) {
	if stray > 16+n/1000 {
		fmt.Fprintf(os.Stderr, "%d %s\n", stray, what)
		os.Exit(1)
	}
}

type port struct {
	number, position uint64
}

// handles are open or closed, each closed once.
type handles struct {
	isClosed         []atomic.Bool
	closed, checksum atomic.Uint64
}

func (h *handles) close(number uint64) {
	if h.isClosed[number].Swap(true) {
		panic("a handle was closed twice")
	}
	h.closed.Add(1)
	h.checksum.Add(number * 0x9E3779B97F4A7C15 >> 7)
}

func finalize(n uint64, report *report) {
	handles := &handles{isClosed: make([]atomic.Bool, n)}
	table := make([]*port, min(aliveFinalized, n))
	at := 0
	gaps := startGaps()
	closeHandle := handles.close
	for i := range n {
		port := &port{number: i}
		runtime.AddCleanup(port, closeHandle, i)
		table[at] = port
		if at++; at == len(table) {
			at = 0
		}
		gaps.step(i)
	}
	gaps.report(n, report)

	table = nil
	runtime.GC()
	// Cleanups are called beside the program: it waits for them.
	for waits := 0; handles.closed.Load() < n && waits < 10_000; waits++ {
		time.Sleep(time.Millisecond)
	}
	stray := uint64(0)
	for i := range n {
		if !handles.isClosed[i].Load() {
			handles.close(i)
			stray++
		}
	}
	requireFewStray(stray, n, "handles were not closed")
	report.checksum("finalize", "closed", handles.closed.Load(), handles.checksum.Load())
}
