package rendezvous_test

import (
	"context"
	"fmt"
	"testing"

	"gpurun/rendezvous"
)

// BenchmarkExchange measures what a rank waits for all others, over the
// abstract Unix socket, with all ranks in one process.
func BenchmarkExchange(b *testing.B) {
	handle := make([]byte, 64) // a CUDA IPC handle
	for _, n := range []int{2, 8, 16} {
		b.Run(fmt.Sprint("barrier/ranks=", n), func(b *testing.B) {
			benchmark(b, n, func(g *rendezvous.Group) error {
				return g.Barrier(context.Background(), "ready")
			})
		})
		b.Run(fmt.Sprint("allgather/ranks=", n), func(b *testing.B) {
			benchmark(b, n, func(g *rendezvous.Group) error {
				_, err := g.AllGather(context.Background(), "handles", handle)
				return err
			})
		})
	}
}

func benchmark(b *testing.B, n int, call func(*rendezvous.Group) error) {
	srv := serve(b, rendezvous.ServerConfig{WorldSize: n})
	groups := joinAll(b, srv.Target(), n, rendezvous.Options{})
	b.ResetTimer()
	err := onEach(n, func(rank int) error {
		for range b.N {
			if err := call(groups[rank]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
