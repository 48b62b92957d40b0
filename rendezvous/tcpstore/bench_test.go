package tcpstore

import (
	"bytes"
	"fmt"
	"testing"

	"go.uber.org/zap"
)

// BenchmarkSet measures a SET without system calls. SETs arrive in long runs,
// because they have no reply that a client waits for.
func BenchmarkSet(b *testing.B) {
	for _, size := range []int{5, 100, 5000} {
		b.Run(fmt.Sprintf("value=%d", size), func(b *testing.B) {
			const runBytes = 64 << 10
			var runs [64][]byte // of as many clients
			run := 0
			for i := range runs {
				request := encode(current, opSet, fmt.Sprint("set", i), string(make([]byte, size)))
				run = max(1, runBytes/len(request))
				runs[i] = bytes.Repeat(request, run)
			}
			c := &conn{server: newServer(defaults(b), zap.NewNop()), greeted: true}
			b.ReportAllocs()
			for done := 0; b.Loop(); done++ {
				if done%run != 0 {
					continue
				}
				if rest, err := c.serve(runs[done/run%len(runs)]); err != nil || len(rest) > 0 {
					b.Fatalf("%d bytes left, %v", len(rest), err)
				}
			}
		})
	}
}
