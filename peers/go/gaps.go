// The longest time between two samples of the clock, of the workloads with weak
// references and finalisers.
package main

import "time"

// gapSteps are the steps between two samples.
const gapSteps = 16

type gaps struct {
	start         time.Time
	last, longest time.Duration
}

func startGaps() gaps {
	return gaps{start: time.Now()}
}

// step samples the clock after each sixteenth step. time.Since reads only the
// monotonic clock, which time.Now would not.
func (g *gaps) step(step uint64) {
	if step%gapSteps == gapSteps-1 {
		now := time.Since(g.start)
		g.longest = max(g.longest, now-g.last)
		g.last = now
	}
}

// report notes the figures of so many operations.
func (g *gaps) report(ops uint64, report *report) {
	elapsed := time.Since(g.start)
	report.figures(g.longest.Nanoseconds(), float64(ops)/elapsed.Seconds()/1e6)
}
