// The Malloc benchmarks of Go's own runtime as Go's own test tool times them, on one
// goroutine and, by RunParallel, on as many as there are processors. They are not run
// by heapwood bench, which runs the peer's loops (../go/malloc.go): they show that
// those cost what Go itself says.
package malloc

import "testing"

// escapeSink and never make the compiler take an object for one that escapes: never is
// false, but it cannot know.
var (
	escapeSink any
	never      bool
)

func escape[T any](object T) {
	if never {
		escapeSink = object
	}
}

type largeStruct struct {
	slices [16][]byte
}

func BenchmarkMalloc8(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(new(int64))
	}
}

func BenchmarkMalloc16(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(new([2]int64))
	}
}

func BenchmarkMalloc32(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(new([4]int64))
	}
}

func BenchmarkMallocTypeInfo8(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(new([1]*int))
	}
}

func BenchmarkMallocTypeInfo16(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(new([2]*int))
	}
}

func BenchmarkMallocTypeInfo32(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(new([4]*int))
	}
}

func BenchmarkMallocLargeStruct(b *testing.B) {
	for i := 0; i < b.N; i++ {
		escape(make([]largeStruct, 2))
	}
}

// What RunParallel says is the time divided by all that all goroutines did: for the
// time of one allocation multiply it by the number of goroutines, which the name
// ends with.

func BenchmarkParallelMalloc8(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(new(int64))
		}
	})
}

func BenchmarkParallelMalloc16(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(new([2]int64))
		}
	})
}

func BenchmarkParallelMalloc32(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(new([4]int64))
		}
	})
}

func BenchmarkParallelMallocTypeInfo8(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(new([1]*int))
		}
	})
}

func BenchmarkParallelMallocTypeInfo16(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(new([2]*int))
		}
	})
}

func BenchmarkParallelMallocTypeInfo32(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(new([4]*int))
		}
	})
}

func BenchmarkParallelMallocLargeStruct(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			escape(make([]largeStruct, 2))
		}
	})
}
