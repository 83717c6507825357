// How a workload runs: on one goroutine or on several, of which each does the
// whole of it. All must find the same; their figures become one.
package main

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// report is what one goroutine has found.
type report struct {
	lines        bytes.Buffer
	hasFigures   bool
	longestGapUs float64
	mops         float64
	others       []figure
}

// figure is one that is the largest of all goroutines'.
type figure struct {
	name  string
	value float64
}

func (r *report) printf(format string, args ...any) {
	fmt.Fprintf(&r.lines, format, args...)
}

// checksum notes the line of a workload whose only result is a checksum, with what
// was counted.
func (r *report) checksum(workload, what string, number, checksum uint64) {
	r.printf("%s %s %d checksum 0x%016x\n", workload, what, number, checksum)
}

// figures notes the longest gap, in nanoseconds, and the throughput.
func (r *report) figures(longestNs int64, mops float64) {
	r.hasFigures, r.longestGapUs, r.mops = true, float64(longestNs)/1e3, mops
}

// largest notes a figure of which the largest of all goroutines' is printed.
func (r *report) largest(name string, value float64) {
	r.others = append(r.others, figure{name, value})
}

// run does the work on each of so many goroutines, and prints what they found. It
// tells whether that was the same.
func run(threads uint64, work func(*report)) bool {
	reports := make([]report, threads)
	var all sync.WaitGroup
	for t := range reports {
		all.Go(func() { work(&reports[t]) })
	}
	all.Wait()
	first := &reports[0]
	for t := 1; t < len(reports); t++ {
		other := &reports[t]
		if !bytes.Equal(other.lines.Bytes(), first.lines.Bytes()) {
			fmt.Fprintf(os.Stderr, "thread %d found:\n%sbut thread 1 found:\n%s", t+1, &other.lines, &first.lines)
			return false
		}
		first.longestGapUs = max(first.longestGapUs, other.longestGapUs)
		first.mops += other.mops
		for k := range first.others {
			first.others[k].value = max(first.others[k].value, other.others[k].value)
		}
	}
	fmt.Print(first.lines.String())
	if first.hasFigures {
		fmt.Printf("figure longest_gap_us %.1f\nfigure mops %.3f\n", first.longestGapUs, first.mops)
	}
	for _, f := range first.others {
		fmt.Printf("figure %s %.9f\n", f.name, f.value)
	}
	return true
}
