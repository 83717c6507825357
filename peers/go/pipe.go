// Pipe in Go: one goroutine makes messages of 32 to 248 bytes without pointers,
// another reads and drops them, through a channel with a buffer of 32,768.
package main

const pipeSlots = 1 << 15

func newMessage(r uint64) []uint64 {
	words := 4 + (r>>32)%28
	message := newWords(words, r)
	message[0] = words * 8
	return message
}

func pipe(messages uint64, report *report) {
	made := make(chan []uint64, pipeSlots)
	go func() {
		rng := random(seed)
		for range messages {
			made <- newMessage(rng.next())
		}
		close(made)
	}()
	checksum := uint64(0)
	for message := range made {
		checksum = checksum*31 + message[0] + message[len(message)-1]
	}
	report.checksum("pipe", "messages", messages, checksum)
}
