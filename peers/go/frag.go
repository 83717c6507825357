// Frag in Go: objects of 100 bytes to two kilobytes without pointers, 15 of 16 of
// which die soon, beside 60,000 long-lived ones, while the sizes drift in eight
// phases. The program writes only the ends of an object, but Go clears all of it.
package main

const (
	longLived  = 60_000
	shortLived = 2048
	fragPhases = 8
)

// fragBytes is the size of an object for a random number: whole words of a range
// that moves from phase to phase. In every other phase it is narrow.
func fragBytes(phase, r uint64) uint64 {
	width := uint64(300)
	if phase%2 == 0 {
		width = 1900 - 200*phase
	}
	return (100 + 200*phase + (r>>32)%width) &^ 7
}

func frag(allocations uint64, report *report) {
	rng := random(seed)
	tables := [2][][]uint64{make([][]uint64, shortLived), make([][]uint64, longLived)}
	checksum := uint64(0)
	for phase := range uint64(fragPhases) {
		for range allocations {
			r, s := rng.next(), rng.next()
			table := tables[0]
			if s%16 == 0 {
				table = tables[1]
			}
			slot := &table[(s>>32)%uint64(len(table))]
			if old := *slot; old != nil {
				checksum = checksum*31 + old[0] + old[len(old)-1]
			}
			size := fragBytes(phase, r)
			object := make([]uint64, size/8)
			object[0], object[len(object)-1] = size, r
			*slot = object
		}
	}
	report.checksum("frag", "allocations", fragPhases*allocations, checksum)
}
