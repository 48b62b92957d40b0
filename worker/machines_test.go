package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/rendezvous"
	"gpurun/worker/peers"
	"gpurun/worker/workload"
)

// across is a job on two machines.
func across(collective string, algorithms ...string) workload.Job {
	return workload.Job{
		Collective: collective, Algorithms: algorithms, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes:      []int64{1 << 10},
		Iterations: 1, Verify: true, Nodes: 2,
	}
}

// broken has devices that do not open.
type broken struct{ cudart.Backend }

var errOffTheBus = errors.New("it fell off the bus")

func (broken) Open(int) (cudart.Device, error) { return nil, errOffTheBus }

// A rank that fails reports its machine and the reason to the other ranks.
func TestFailureOnAnotherMachine(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	backend := func(rank int) cudart.Backend {
		if rank == 3 {
			return broken{sim.New(4, sim.Options{})}
		}
		return sim.New(4, sim.Options{})
	}
	_, errs := ranks{world: 4, nodes: 2, backend: backend}.run(t, across("allreduce", "nccl"))
	for rank, err := range errs {
		var left *rendezvous.PeerLeft
		switch {
		case rank == 3 && !errors.Is(err, errOffTheBus):
			t.Errorf("rank 3: %v", err)
		case rank != 3 && (!errors.As(err, &left) || left.Rank != 3 ||
			left.Reason != "on "+host+": opening device 3: it fell off the bus"):
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// Across machines a library runs the collective, on memory that is local to each rank.
func TestLibraryAcrossMachines(t *testing.T) {
	g, _ := withNCCL(4, func(int, *fakeNCCL) {})
	g.nodes = 2
	results := g.mustRun(t, across("allreduce", workload.Auto))
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if *r.Wrong != 0 || r.Algorithm != "nccl" || !strings.Contains(r.Why, "several machines") {
			t.Errorf("%s, %s: %v", r, r.Why, r.Complaints())
		}
	}
}

// Rank 0 reports wrong sums of a rank on another machine.
func TestWrongSumsOnAnotherMachine(t *testing.T) {
	g, _ := withNCCL(4, func(rank int, f *fakeNCCL) {
		if rank == 2 {
			f.off = 1
		}
	})
	g.nodes = 2
	if n := wrong(g.mustRun(t, across("allreduce", "nccl"))); n == 0 {
		t.Error("wrong sums on another machine are not found")
	}
}

// Descriptors travel among the ranks of a machine, by their local ranks.
func TestFilesStayOnTheirMachine(t *testing.T) {
	g := ranks{world: 4, nodes: 2}
	server, err := rendezvous.Serve(rendezvous.ServerConfig{WorldSize: g.world})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	files, stop := g.sockets(t)
	defer stop()
	var all errgroup.Group
	for n := range g.world {
		all.Go(func() error {
			p, err := peers.Open(peers.Options{
				Rank: n, LocalRank: n % g.local(), WorldSize: g.world, LocalWorldSize: g.local(), Target: server.Target(),
				Files:   files[n],
				Timeout: 20 * time.Second, SpansMachines: true, Logger: zap.NewNop(),
			})
			if err != nil {
				return err
			}
			return errors.Join(passFile(t.Context(), p, n, n%g.local()), p.Close())
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// passFile joins and wants one file from the one peer on this machine.
func passFile(ctx context.Context, p *peers.Peers, rank, local int) error {
	if err := p.Join(ctx); err != nil {
		return err
	}
	mine, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer mine.Close()
	theirs, err := p.Exchange().AllGatherFiles(ctx, "files", mine)
	if err != nil {
		return err
	}
	if peer := 1 - local; len(theirs) != 2 || theirs[peer] == nil {
		return fmt.Errorf("rank %d got %v", rank, theirs)
	}
	return errors.Join(theirs[1-local].Close(), p.Leave(ctx))
}
