// Queue in Go: objects of 64 bytes without pointers that wait in a queue as long as
// N / 40, and die in the order in which they came.
package main

const queueRounds = 40

type queueItem [8]uint64

func newQueueItem(number uint64) *queueItem {
	item := new(queueItem)
	for k := range item {
		item[k] = number + uint64(k)
	}
	return item
}

// addTo adds an item to the checksum, if there is one.
func (item *queueItem) addTo(checksum uint64) uint64 {
	if item == nil {
		return checksum
	}
	return checksum*31 + item[0] + item[7]
}

func queue(allocations uint64, report *report) {
	places := make([]*queueItem, max(allocations/queueRounds, 1))
	at, checksum := 0, uint64(0)
	for number := range allocations {
		checksum = places[at].addTo(checksum)
		places[at] = newQueueItem(number)
		if at++; at == len(places) {
			at = 0
		}
	}
	for _, part := range [][]*queueItem{places[at:], places[:at]} {
		for _, item := range part {
			checksum = item.addTo(checksum)
		}
	}
	report.checksum("queue", "allocations", allocations, checksum)
}
