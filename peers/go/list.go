// List in Go: a singly linked list of N nodes, all of which survive, walked once at
// the end. The nodes are those of mark's lists.
package main

func list(nodes uint64, report *report) {
	var first *listNode
	for value := range nodes {
		first = &listNode{first, value}
	}
	_, checksum := walkLists([]*listNode{first})
	report.checksum("list", "nodes", nodes, checksum)
}
