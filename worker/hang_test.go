package worker

import (
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/worker/process/report"
	"gpurun/worker/workload"
)

// ring is a kernel whose block 0 sets the next rank's flag, unless "signals" is 0, and polls its own without a bound,
// unless "waits" is 0.
const ring = `.version 7.8
.target sm_80
.address_size 64
.file 1 "/home/me/ring.cu"
.visible .entry ring(.param .u64 own, .param .u64 next, .param .u64 signals, .param .u64 waits)
{
	.reg .b64 a, n; .reg .b32 r; .reg .pred p;
	mov.u32 r, %ctaid.x;
	setp.ne.u32 p, r, 0;
	@p ret;
	mov.u32 r, %tid.x;
	setp.ge.u32 p, r, 32;
	@p bra met;
	ld.param.u64 n, [signals];
	setp.eq.u64 p, n, 0;
	@p bra signaled;
	ld.param.u64 a, [next];
	st.release.sys.global.u32 [a], 1;
signaled:
	ld.param.u64 n, [waits];
	setp.eq.u64 p, n, 0;
	@p bra met;
	ld.param.u64 a, [own];
	.loc 1 88 3
again:
	ld.acquire.sys.global.u32 r, [a];
	setp.eq.u32 p, r, 0;
	@p bra again;
met:
	.loc 1 90 1
	bar.sync 0;
	ret;
}
`

// ringOf is an algorithm of that kernel. A rank takes part unless it is the deserter.
func ringOf(deserter int) *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: "allreduce", Name: "ring", MaxRanks: 8, Needs: collective.Needs{Unbounded: true},
		Kernels: []collective.Kernel{kernelOf("ring")},
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, _ collective.Call) error {
		takesPart := uint64(1)
		if c.Rank() == deserter {
			takesPart = 0
		}
		return launchOwn(c, s, a, cudart.Launch{Blocks: 2, Threads: 64}, uint64(c.Local(c.Scratch())),
			uint64(c.Peer((c.Rank()+1)%c.World(), c.Scratch())), takesPart, takesPart)
	}
	return a
}

// allHang is ringOf of ranks that all wait and do not signal.
func allHang() *collective.Algorithm {
	a := ringOf(-1)
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, _ collective.Call) error {
		return launchOwn(c, s, a, cudart.Launch{Blocks: 2, Threads: 64}, uint64(c.Local(c.Scratch())), 0, 0, 1)
	}
	return a
}

// secretive is a device that does not tell where its kernels are, as a GPU's driver does not.
type secretive struct{ *sim.Device }

// Inspect hides the device's own.
func (secretive) Inspect() {}

// unbounded is a job that hangs soon.
var unbounded = workload.Job{
	Collective: "allreduce", Algorithms: []string{"oneshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
	Sizes: []int64{64}, Iterations: 1, Verify: true, Timeout: 300 * time.Millisecond,
}

const whereRingHangs = "ring has not ended after 300ms: block 0 of 2 has not ended; " +
	"its warp 0 polls ld.acquire.sys.global.u32 at ring.ptx:26 (ring.cu:88); " +
	"its warp 1 waits at bar.sync at ring.ptx:31 (ring.cu:90)"

// A kernel that polls for ever is named with the place, by every rank on which it hangs. Every rank ends.
func TestKernelThatPollsForEver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		own     *collective.Algorithm
		hung    []int
		want    string
		suspect int
	}{
		"rank 1 deserts": {
			ringOf(1), []int{2}, "rank 2: " + whereRingHangs + "; ranks 0 and 1 report no hang", -1,
		},
		"all hang": {allHang(), []int{0, 1, 2}, "ranks 0-2: " + whereRingHangs, -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := ranks{world: 3, own: tt.own, source: func(string) ([]byte, error) { return []byte(ring), nil }}
			_, errs := g.run(t, unbounded)
			for _, rank := range tt.hung {
				if errs[rank] == nil || errs[rank].Error() != tt.want {
					t.Errorf("rank %d says\n%v, want\n%s", rank, errs[rank], tt.want)
				} else if f := Explain(errs[rank]); f.Class != report.Timeout || f.Peer != nil || f.Consequence {
					t.Errorf("it is explained as %+v", f)
				}
			}
			for rank, err := range errs {
				if err == nil {
					t.Errorf("rank %d did not fail", rank)
				}
			}
		})
	}
}

// Timed calls are supervised too, and a device that does not tell where its kernels are is named.
func TestTimedKernelThatPollsForEver(t *testing.T) {
	t.Parallel()
	g := ranks{
		world: 2, own: ringOf(-1), source: func(string) ([]byte, error) { return []byte(ring), nil },
		backend: func(int) cudart.Backend {
			return disguised{sim.New(2, sim.Options{}), func(d *sim.Device) cudart.Device { return secretive{d} }}
		},
	}
	job := unbounded
	job.Verify = false
	if _, errs := g.run(t, job); errs[0] != nil { // the flags are set once and never cleared
		t.Errorf("a ring that ends fails: %v", errs)
	}
	g.own = allHang()
	_, errs := g.run(t, job)
	const want = "ranks 0 and 1: allreduce ring has not ended after 300ms: " +
		"the driver does not tell where its kernels wait"
	if errs[0] == nil || !strings.HasPrefix(errs[0].Error(), want) {
		t.Errorf("got %v, want %s", errs[0], want)
	}
}
