package worker

import (
	"strings"
	"sync"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// pull is a kernel that adds two floats for each thread, one of them a peer's, and does not wait for the peer.
const pull = `.version 7.8
.target sm_80
.address_size 64
.visible .entry pull(.param .u64 first, .param .u64 second, .param .u64 out)
{
	.reg .b64 a, b, d, i; .reg .f32 x, y; .reg .b32 t;
	ld.param.u64 a, [first];
	ld.param.u64 b, [second];
	ld.param.u64 d, [out];
	mov.u32 t, %tid.x;
	mul.wide.u32 i, t, 4;
	add.u64 a, a, i;
	add.u64 b, b, i;
	add.u64 d, d, i;
	ld.global.f32 x, [a];
	ld.global.f32 y, [b];
	add.f32 x, x, y;
	st.global.f32 [d], x;
	ret;
}
`

// together lets ranks start together, as they do by chance in usual tests: a rank waits for the others, but not long.
type together struct {
	world int

	mu      sync.Mutex
	arrived int
	all     chan struct{}
}

const patience = 300 * time.Millisecond

func (m *together) meet() {
	m.mu.Lock()
	if m.arrived++; m.arrived%m.world == 1 {
		m.all = make(chan struct{})
	}
	all := m.all
	if m.arrived%m.world == 0 {
		close(all)
	}
	m.mu.Unlock()
	select {
	case <-all:
	case <-time.After(patience):
	}
}

// pullOf is an algorithm of that kernel for two ranks.
func pullOf() *collective.Algorithm {
	starts := &together{world: 2}
	a := &collective.Algorithm{
		Collective: "allreduce", Name: "pull", MaxRanks: 2, Needs: collective.Needs{Peers: true, SeparateOutput: true},
		Kernels: []collective.Kernel{kernelOf("pull")},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		starts.meet()
		return launchOwn(c, s, a, cudart.Launch{Blocks: 1, Threads: int(call.Count)}, uint64(c.Peer(0, call.Send)),
			uint64(c.Peer(1, call.Send)), uint64(c.Local(call.Recv)))
	}
	return a
}

// A kernel without barriers passes while all ranks start together, and is caught when one is late.
func TestSkewCatchesAMissingBarrier(t *testing.T) {
	t.Parallel()
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"oneshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes: []int64{256}, Iterations: 1, Verify: true,
	}
	g := ranks{world: 2, own: pullOf(), source: func(string) ([]byte, error) { return []byte(pull), nil }}
	results := g.mustRun(t, job)
	if len(results) != 1 || wrong(results) != 0 {
		t.Fatalf("without a skew: %+v", results)
	}
	job.Skew = []workload.Skew{{Rank: 1, By: patience + 200*time.Millisecond}}
	g.own = pullOf()
	results = g.mustRun(t, job)
	said := strings.Join(results[0].Complaints(), "\n")
	for _, want := range []string{
		"rank 0: 64 of 64 elements are wrong before timing", "rank 0: 64 of 64 elements are wrong after timing",
		// The late rank reads the input of rank 0, whose call has ended.
		"rank 1: 64 of 64 elements are wrong before timing", "rank 1: 64 of 64 elements are wrong after timing",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
}

// gpurun's own algorithms wait for a late rank, whether they are collectives or products.
func TestOwnAlgorithmsWaitForALateRank(t *testing.T) {
	t.Parallel()
	skew := []workload.Skew{{Rank: 1, By: 5 * time.Millisecond}}
	for _, name := range []string{"allreduce", "broadcast", "barrier"} {
		job := everyAlgorithm(must(kernels.Find(name)))
		job.Sizes, job.Ops, job.Skew = []int64{1000}, job.Ops[:1], skew
		if n := wrong((ranks{world: 2}).mustRun(t, job)); n != 0 {
			t.Errorf("%s: %d wrong", name, n)
		}
	}
	job := productsJob("matmul-allreduce")
	job.Skew = skew
	began := time.Now()
	results := (ranks{world: 2}).mustRun(t, job)
	if n := wrong(results); n != 0 {
		t.Errorf("matmul-allreduce: %d wrong", n)
	}
	if took, least := time.Since(began), time.Duration(2*len(results))*skew[0].By; took < least {
		t.Errorf("the products took %v, less than the lateness of %v", took, least)
	}
}
