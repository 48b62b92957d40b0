package elastic

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// BenchmarkJob measures how long agents take to join, gather 128 bytes from
// each, and leave together, all in one process, over loopback TCP.
func BenchmarkJob(b *testing.B) {
	for _, nodes := range []int{13, 38, 125, 375, 1000, 1250} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			before := cpuTime(b)
			for b.Loop() {
				playJob(b, nodes)
			}
			ranks := float64(b.N * nodes * 8)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/ranks, "µs/rank")
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/ranks, "cpu-µs/rank")
		})
	}
}

// cpuTime is what this process has used; on a busy host it says more than
// the clock.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func playJob(b *testing.B, nodes int) {
	config := job(b, nodes, nodes)
	config.Workers = 8
	var mu sync.Mutex
	var members []*Member
	var all errgroup.Group
	for n := range nodes {
		all.Go(func() error {
			config := config
			config.hostName = fmt.Sprintf("host%04d", n)
			m, err := Enter(context.Background(), config)
			if err != nil {
				return err
			}
			mu.Lock()
			members = append(members, m)
			mu.Unlock()
			return playNode(m, nodes)
		})
	}
	if err := all.Wait(); err != nil {
		b.Fatal(err)
	}
	for _, m := range members {
		if err := m.Close("done"); err != nil {
			b.Error(err)
		}
	}
}

func playNode(m *Member, nodes int) error {
	r, err := m.NextRound(context.Background())
	if err != nil {
		return err
	}
	if l := r.Master(); l != nil {
		defer l.Close()
	}
	data, err := r.Gather(context.Background(), "handles", make([]byte, 128))
	if err != nil {
		return err
	}
	if len(data) != nodes || r.WorldSize != nodes*8 {
		return fmt.Errorf("%d parts, world size %d", len(data), r.WorldSize)
	}
	return r.Finish(context.Background())
}
