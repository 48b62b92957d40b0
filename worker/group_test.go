package worker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
	"gpurun/rendezvous"
	"gpurun/rendezvous/fdpass"
	"gpurun/worker/library"
	"gpurun/worker/process/report"
	"gpurun/worker/rank"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/trace"
	"gpurun/worker/workload"
)

// Many parallel tests wait for a rank that hangs: more of them run at a time than there are cores, unless -parallel
// says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

// ranks are the workers of a job in one process, each on a goroutine.
type ranks struct {
	world   int
	nodes   int                           // machines that they seem to be on; 0 is 1
	backend func(rank int) cudart.Backend // nil: the simulator
	source  collective.Source             // nil: what ships
	// libraries are those of others; nil: none.
	libraries func(rank int) map[string]library.Open
	phases    bool           // they are noted
	before    func(rank int) // is called before a rank's life; nil: nothing is
	// own takes the place of the algorithm that the job names; nil: nothing does.
	own *collective.Algorithm
}

// run does a job and returns rank 0's results, and every rank's error.
func (g ranks) run(t testing.TB, job workload.Job) ([]result.Result, []error) {
	t.Helper()
	messages, errs := g.messages(t, job)
	var all []result.Result
	for _, u := range updates(t, messages) {
		if u.Result != nil {
			all = append(all, *u.Result)
		}
	}
	return all, errs
}

// ceiling does a job that must not fail and returns what it says the links carry.
func (g ranks) ceiling(t testing.TB, job workload.Job) *result.Ceiling {
	t.Helper()
	messages, errs := g.messages(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, u := range updates(t, messages) {
		if u.Ceiling != nil {
			return u.Ceiling
		}
	}
	return nil
}

// messages does a job and returns what rank 0 reports, and every rank's error.
func (g ranks) messages(t testing.TB, job workload.Job) ([]report.Message, []error) {
	t.Helper()
	all, errs := g.reports(t, job)
	return all[0], errs
}

// timeline does a job that must not fail and returns the timeline that all ranks report.
func (g ranks) timeline(t testing.TB, job workload.Job) (all trace.Timeline) {
	t.Helper()
	reports, errs := g.reports(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, messages := range reports {
		for _, u := range updates(t, messages) {
			if u.Timeline != nil {
				all.Add(*u.Timeline)
			}
		}
	}
	return all
}

// reports does a job and returns what every rank reports, and its error.
func (g ranks) reports(t testing.TB, job workload.Job) (all [][]report.Message, errs []error) {
	t.Helper()
	job.Timeout, job.Nodes = cmp.Or(job.Timeout, 20*time.Second), g.nodes
	local := g.local()
	server, err := rendezvous.Serve(rendezvous.ServerConfig{WorldSize: g.world, JoinTimeout: job.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	files, stop := g.sockets(t)
	defer stop()
	outs := make([]bytes.Buffer, g.world)
	errs = make([]error, g.world)
	var wg sync.WaitGroup
	for n := range g.world {
		o := rank.Options{
			Job: job, Rank: n, LocalRank: n % local, WorldSize: g.world, LocalWorldSize: local, Target: server.Target(),
			Ordinal: n,
			Files:   files[n], Backend: sim.New(g.world, sim.Options{}), Source: ptx.Source,
			Reports: report.NewWriter(nopCloser{&outs[n]}), Logger: zap.NewNop(),
		}
		// A rank of these is no process that could end; the calls of its libraries all
		// return, also when a peer is gone meanwhile.
		o.Abort = func(error) {}
		if g.libraries != nil {
			o.Libraries = g.libraries(n)
		}
		if g.backend != nil {
			o.Backend = g.backend(n)
		}
		if g.source != nil {
			o.Source = g.source
		}
		if g.phases {
			o.Phases = phases.NewRecorder()
		}
		wg.Go(func() {
			if g.before != nil {
				g.before(n)
			}
			if g.own != nil {
				errs[n] = runOwn(t.Context(), o, g.own)
				return
			}
			errs[n] = Run(t.Context(), o)
		})
	}
	wg.Wait()
	for n := range outs {
		all = append(all, readMessages(t, &outs[n]))
	}
	return all, errs
}

// local is the number of ranks on each machine.
func (g ranks) local() int { return g.world / max(g.nodes, 1) }

// sockets are the ranks' sockets for descriptors: those of a machine reach each
// other.
func (g ranks) sockets(t testing.TB) (files []*os.File, stop func()) {
	t.Helper()
	var stops []func()
	for range max(g.nodes, 1) {
		ends, stop := relayed(t, g.local())
		files, stops = append(files, ends...), append(stops, stop)
	}
	return files, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// relayed are the sockets of so many ranks on one machine.
func relayed(t testing.TB, ranks int) (files []*os.File, stop func()) {
	t.Helper()
	relay := fdpass.NewRelay()
	for rank := range ranks {
		agentEnd, workerEnd, err := fdpass.Pair()
		if err == nil {
			files = append(files, workerEnd)
			err = relay.Add(rank, agentEnd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = relay.Run(ctx) // the ranks that it fails say so
	}()
	return files, func() {
		cancel()
		<-done
	}
}

// readMessages reads what a rank reported.
func readMessages(t testing.TB, out io.Reader) []report.Message {
	t.Helper()
	var all []report.Message
	for reader := report.NewReader(out, 0); ; {
		m, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// updates are the results among messages.
func updates(t testing.TB, messages []report.Message) []result.Update {
	t.Helper()
	var all []result.Update
	for _, m := range messages {
		if m.Kind != report.KindResult {
			continue
		}
		var u result.Update
		if err := json.Unmarshal(m.Result, &u); err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

// mustRun does a job that must not fail, whatever its results.
func (g ranks) mustRun(t testing.TB, job workload.Job) []result.Result {
	t.Helper()
	all, errs := g.run(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return all
}

// wrong counts wrong elements.
func wrong(results []result.Result) (n int64) {
	for _, r := range results {
		n += *r.Wrong
	}
	return n
}
