package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/library"
	"gpurun/worker/process/report"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// fakeNCCL adds floats on the host. All ranks of a job share what they meet by.
type fakeNCCL struct {
	table *table
	rank  int
	title string
	// joinErr and hidden are what Join and Err return; stuck keeps Join until it
	// is closed; off is added to every sum.
	joinErr, hidden error
	stuck           chan struct{}
	off             float32

	id              [128]byte
	left, abandoned bool
}

// table is where the ranks put their inputs.
type table struct {
	mu     sync.Mutex
	all    *sync.Cond
	inputs [][]byte
	in     int
	round  int
}

func newTable(world int) *table {
	t := &table{inputs: make([][]byte, world)}
	t.all = sync.NewCond(&t.mu)
	return t
}

// exchange returns all ranks' inputs once all have put theirs.
func (t *table) exchange(rank int, mine []byte) [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inputs[rank] = mine
	round := t.round
	if t.in++; t.in == len(t.inputs) {
		t.in, t.round = 0, round+1
		t.all.Broadcast()
	}
	for t.round == round {
		t.all.Wait()
	}
	return slices.Clone(t.inputs)
}

func (f *fakeNCCL) Title() string { return f.title }

func (f *fakeNCCL) NewUniqueID() ([128]byte, error) { return [128]byte{0: 7, 127: 9}, nil }

func (f *fakeNCCL) Join(rank, _ int, id [128]byte) error {
	f.rank, f.id = rank, id
	if f.stuck != nil {
		<-f.stuck
	}
	return f.joinErr
}

func (f *fakeNCCL) Leave() error { f.left = true; return nil }
func (f *fakeNCCL) Abort() error { f.abandoned = true; return nil }
func (f *fakeNCCL) Err() error   { return f.hidden }

func (f *fakeNCCL) HasHeap() bool { return false }

func (f *fakeNCCL) Heap(int64, bool) (symm.NVSHMEM, error) { return nil, errors.New("it has none") }

func (f *fakeNCCL) Supports(_ string, d collective.DType, _ collective.Op) error {
	if d.Name != "float" {
		return errors.New("it adds floats alone")
	}
	return nil
}

func (f *fakeNCCL) Enqueue(s cudart.Stream, call collective.LibraryCall) error {
	mine := make([]byte, call.Count*4)
	if err := s.Download(mine, call.Send); err != nil {
		return err
	}
	all := f.table.exchange(f.rank, mine)
	sum := make([]byte, len(mine))
	for i := 0; i < len(sum); i += 4 {
		x := f.off
		for _, in := range all {
			x += math.Float32frombits(binary.LittleEndian.Uint32(in[i:]))
		}
		binary.LittleEndian.PutUint32(sum[i:], math.Float32bits(x))
	}
	return s.Upload(call.Recv, sum)
}

// withNCCL are ranks with a stand-in for NCCL, which spoil changes on one of them.
func withNCCL(world int, spoil func(rank int, f *fakeNCCL)) (ranks, []*fakeNCCL) {
	t, fakes := newTable(world), make([]*fakeNCCL, world)
	for rank := range fakes {
		fakes[rank] = &fakeNCCL{table: t, title: "NCCL 2.99.1"}
		spoil(rank, fakes[rank])
	}
	return ranks{world: world, libraries: func(rank int) map[string]library.Open {
		return map[string]library.Open{"nccl": func(path string) (library.Library, error) {
			if path != "" {
				return nil, errors.New("no such file " + path)
			}
			return fakes[rank], nil
		}}
	}}, fakes
}

func ncclJob(algorithms ...string) workload.Job {
	return workload.Job{
		Collective: "allreduce", Algorithms: algorithms, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes: []int64{1000, 4096}, Iterations: 2, Verify: true, Seed: 3,
	}
}

func TestLibraryRunsBesideOurs(t *testing.T) {
	g, fakes := withNCCL(3, func(int, *fakeNCCL) {})
	results := g.mustRun(t, ncclJob("nccl", "oneshot"))
	if len(results) != 8 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		title := map[string]string{"nccl": "NCCL 2.99.1"}[r.Algorithm]
		if *r.Wrong != 0 || r.Library != title {
			t.Errorf("%s of %q: %v", r, r.Library, r.Complaints())
		}
	}
	for rank, f := range fakes {
		if f.rank != rank || f.id != [128]byte{0: 7, 127: 9} || !f.left || f.abandoned {
			t.Errorf("rank %d: joined as %d by %v, left %t, aborted %t", rank, f.rank, f.id, f.left, f.abandoned)
		}
	}
}

func TestWrongSumsOfALibraryAreFound(t *testing.T) {
	g, _ := withNCCL(2, func(rank int, f *fakeNCCL) { f.off = float32(rank) })
	var wrong int64
	for _, r := range g.mustRun(t, ncclJob("nccl")) {
		wrong += *r.Wrong
		if len(r.Mismatches) == 0 || slices.ContainsFunc(r.Mismatches, func(m result.Mismatch) bool { return m.Rank == 0 }) {
			t.Errorf("%s: %v", r, r.Complaints())
		}
	}
	if wrong == 0 {
		t.Error("nothing is wrong")
	}
}

func TestLibraryThatOneRankLacks(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(rank int, f *fakeNCCL)
		job   func(*workload.Job)
		want  string
	}{
		"other version": {func(rank int, f *fakeNCCL) {
			if rank == 1 {
				f.title = "NCCL 2.98.0"
			}
		}, func(*workload.Job) {}, "rank 0 has NCCL 2.99.1 and rank 1 NCCL 2.98.0"},
		"not there": {
			func(int, *fakeNCCL) {}, func(j *workload.Job) {
				j.LibraryPaths = map[string]string{"nccl": "/nowhere"}
			}, "no such file /nowhere",
		},
		"cannot": {func(int, *fakeNCCL) {}, func(j *workload.Job) { j.DTypes = []string{"half"} }, "it adds floats alone"},
		"cannot join": {func(rank int, f *fakeNCCL) {
			f.joinErr = errors.New("ncclInternalError")
		}, func(*workload.Job) {}, "NCCL 2.99.1: ncclInternalError"},
		"fails behind our back": {func(rank int, f *fakeNCCL) {
			f.hidden = errors.New("ncclRemoteError")
		}, func(*workload.Job) {}, "NCCL 2.99.1: ncclRemoteError"},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := withNCCL(2, tt.spoil)
			job := ncclJob("nccl")
			tt.job(&job)
			_, errs := g.run(t, job)
			wantEnvironment(t, errs, tt.want)
		})
	}
}

// registeringNCCL works on the memory that is registered with it.
type registeringNCCL struct {
	*fakeNCCL
	window  cudart.DevicePtr
	bytes   int64
	failure error
	times   int
	beside  []collective.LibraryCall // of other memory
}

func (r *registeringNCCL) Register(at cudart.DevicePtr, bytes int64) error {
	if r.id == [128]byte{} {
		return errors.New("registered before the ranks have joined")
	}
	r.window, r.bytes = at, bytes
	r.times++
	return r.failure
}

func (r *registeringNCCL) Enqueue(s cudart.Stream, call collective.LibraryCall) error {
	end := r.window + cudart.DevicePtr(r.bytes-call.Count*int64(call.DType.Size))
	if min(call.Send, call.Recv) < r.window || max(call.Send, call.Recv) > end {
		r.beside = append(r.beside, call)
	}
	return r.fakeNCCL.Enqueue(s, call)
}

func withRegistering(world int, failures ...error) (ranks, []*registeringNCCL) {
	g, fakes := withNCCL(world, func(int, *fakeNCCL) {})
	var all []*registeringNCCL
	for rank := range world {
		all = append(all, &registeringNCCL{fakeNCCL: fakes[rank]})
		if rank < len(failures) {
			all[rank].failure = failures[rank]
		}
	}
	g.libraries = func(rank int) map[string]library.Open {
		return map[string]library.Open{"nccl": func(string) (library.Library, error) { return all[rank], nil }}
	}
	return g, all
}

// Memory is registered once, however many calls there are, and has all buffers.
func TestMemoryIsRegisteredOnce(t *testing.T) {
	for _, passes := range []int{0, 2} {
		g, all := withRegistering(2)
		job := ncclJob("nccl", "oneshot")
		job.Passes, job.Unaligned = passes, passes > 0
		if n := wrong(g.mustRun(t, job)); n > 0 {
			t.Errorf("%d wrong results", n)
		}
		for rank, r := range all {
			if r.times != 1 || len(r.beside) > 0 || r.bytes != all[0].bytes || !r.left {
				t.Errorf("rank %d registered %d times, left %t, calls on other memory: %v", rank, r.times, r.left, r.beside)
			}
		}
	}
}

func TestMemoryIsNotRegistered(t *testing.T) {
	g, _ := withRegistering(2, errors.New("ncclUnhandledCudaError"))
	_, errs := g.run(t, ncclJob("nccl"))
	wantEnvironment(t, errs, "NCCL 2.99.1: ncclUnhandledCudaError")
}

// lazyNCCL is alone, so that what it adds is what it gets. It connects in its first
// call, and cannot do that while a graph is captured.
type lazyNCCL struct {
	fakeNCCL
	connected bool
}

func (l *lazyNCCL) Enqueue(s cudart.Stream, call collective.LibraryCall) error {
	if !l.connected {
		if err := s.Download(make([]byte, 4), call.Send); err != nil {
			return fmt.Errorf("connecting: %w", err)
		}
		l.connected = true
	}
	return s.Copy(call.Recv, call.Send, call.Count*int64(call.DType.Size))
}

func TestLibraryConnectsBeforeCapture(t *testing.T) {
	for _, rounds := range []int{0, 2} {
		g := ranks{world: 1, libraries: func(int) map[string]library.Open {
			return map[string]library.Open{"nccl": func(string) (library.Library, error) {
				return &lazyNCCL{fakeNCCL: fakeNCCL{title: "NCCL 2.99.1"}}, nil
			}}
		}}
		job := ncclJob("nccl")
		job.GraphReplays, job.Passes = 1, rounds
		if results := g.mustRun(t, job); len(results) != 4 || wrong(results) > 0 {
			t.Errorf("%d rounds: %v", rounds, results)
		}
	}
}

// Optional algorithms are left out if their library is missing.
func TestMissingLibraryIsLeftOut(t *testing.T) {
	job := ncclJob("nccl", "oneshot")
	job.Optional = []string{"nccl"}
	for _, r := range (ranks{world: 2}).mustRun(t, job) {
		if r.Algorithm != "oneshot" {
			t.Errorf("%s", r)
		}
	}
	job.Optional = []string{"oneshot"}
	_, errs := ranks{world: 2}.run(t, job)
	wantEnvironment(t, errs, "nccl needs a GPU")
}

// wantEnvironment checks that all ranks fail, at least one with an error of the environment. The
// others may report only the departure of that rank.
func wantEnvironment(t *testing.T, errs []error, want string) {
	t.Helper()
	named := false
	for rank, err := range errs {
		var f report.Failure
		if err != nil {
			f = Explain(err)
		}
		switch {
		case f.Class == report.Environment && strings.Contains(f.Message, want):
			named = true
		case !f.Consequence:
			t.Errorf("rank %d: class %q of %v", rank, f.Class, err)
		}
	}
	if !named {
		t.Errorf("no rank says %q: %v", want, errs)
	}
}
