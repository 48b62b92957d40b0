// Package collect makes a dump.Rank of each worker of this machine, within a bound of time, without ptrace and without
// ending a process.
package collect

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/procfs"
)

// A Worker is a process whose tree is collected.
type Worker struct {
	Rank, LocalRank, PID int
	Output               time.Time // when it last wrote; zero: never
	Exit                 string    // how it ended; empty while it runs
}

// A Collector collects. Its zero value collects what /proc tells.
type Collector struct {
	Host string
	// Stacks returns the file to which a worker's Python processes write their stacks; nil: they are not prepared.
	Stacks func(localRank int) string
	// Flight are the flight recorders of PyTorch; nil: none.
	Flight *Flight
	// GPUs lists the machine's GPUs; nil: none. It is called once for each collection.
	GPUs func() ([]dump.GPU, error)
	// RAS is the address at which NCCL answers clients; empty: nobody asks.
	RAS string
}

// parts is what is collected at the same time, and arrives in any order.
type parts struct {
	mu   sync.Mutex
	rank dump.Rank
	open map[string]bool // parts that have not arrived
}

// Ranks collects from workers at the same time. What has not arrived when ctx ends is missing.
func (c *Collector) Ranks(ctx context.Context, workers []Worker) []dump.Rank {
	all, err := procfs.Processes()
	gpus := c.listGPUs()
	ranks := make([]dump.Rank, len(workers))
	var collecting sync.WaitGroup
	for i, w := range workers {
		collecting.Go(func() {
			ranks[i] = c.rank(ctx, w, tree(all, w.PID), gpus)
			if err != nil && w.Exit == "" {
				ranks[i].Missing = append(ranks[i].Missing, err.Error())
			}
		})
	}
	collecting.Wait()
	c.addRAS(ctx, ranks)
	return ranks
}

// rank collects from one worker. pids are the worker's own, which is the first, and its descendants'.
func (c *Collector) rank(ctx context.Context, w Worker, pids []procfs.Process, gpus *gpuList) dump.Rank {
	p := &parts{open: map[string]bool{}, rank: dump.Rank{
		Rank: w.Rank, LocalRank: w.LocalRank, Host: c.Host, PID: w.PID, Time: time.Now(), Output: w.Output, Exit: w.Exit,
	}}
	if w.Exit != "" || len(pids) == 0 {
		return p.rank
	}
	var stacks stackFile
	if c.Stacks != nil {
		stacks.path = c.Stacks(w.LocalRank)
	}
	var running sync.WaitGroup
	collect := func(part string, get func() func(*dump.Rank)) {
		p.open[part] = true
		running.Go(func() {
			add := get()
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.open[part] {
				delete(p.open, part)
				add(&p.rank)
			}
		})
	}
	p.mu.Lock()
	collect("the processes' threads and Python stacks", func() func(*dump.Rank) { return processes(ctx, pids, &stacks) })
	if c.Flight != nil {
		collect("PyTorch's flight recorder", func() func(*dump.Rank) { return c.Flight.read(ctx, w.Rank) })
	}
	collect("NVML", func() func(*dump.Rank) { return gpus.of(ctx, pids) })
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return p.close()
}

// close returns what has arrived. What arrives later is dropped.
func (p *parts) close() dump.Rank {
	p.mu.Lock()
	defer p.mu.Unlock()
	for part := range p.open {
		p.rank.Missing = append(p.rank.Missing, fmt.Sprintf("%s: no answer within the dump's time", part))
	}
	clear(p.open)
	slices.Sort(p.rank.Missing)
	return p.rank
}

// tree lists a worker and its descendants: by parent, and by session for those whose parent has ended.
func tree(all []procfs.Process, worker int) []procfs.Process {
	byPID := map[int]procfs.Process{}
	for _, p := range all {
		byPID[p.PID] = p
	}
	belongs := func(p procfs.Process) bool {
		for range len(all) {
			if p.PID == worker || p.Session == worker {
				return true
			}
			parent, known := byPID[p.Parent]
			if !known {
				return false
			}
			p = parent
		}
		return false
	}
	var found []procfs.Process
	for _, p := range all {
		switch {
		case p.Zombie || !belongs(p):
		case p.PID == worker:
			found = slices.Insert(found, 0, p)
		default:
			found = append(found, p)
		}
	}
	return found
}
