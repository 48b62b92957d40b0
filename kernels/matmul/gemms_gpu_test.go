package matmul

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// measuredShapes are layers of models: N and K. Each is measured with several M.
var (
	measuredShapes = [][2]int64{{2752, 4096}, {3584, 8192}, {4096, 4096}, {8192, 3584}, {6656, 16384}}
	measuredRows   = []int64{16, 64, 128, 136, 192, 256, 300, 512, 1024, 2048}
)

// The GEMM that Cost chooses takes at most a tenth longer than the fastest one. The log has the times of all, in
// microseconds, and what a unit of Cost takes, in nanoseconds: the same for all widths if the model is right. It takes
// seconds.
func TestChosenGEMMOnGPU(t *testing.T) {
	const calls, samples, longer = 20, 5, 1.1
	backend := driver.New()
	if _, err := backend.Devices(); err != nil {
		if os.Getenv("GPURUN_REQUIRE_GPU") == "1" || !errors.Is(err, cudart.ErrNoDevice) {
			t.Fatal(err)
		}
		t.Skip("no GPU:", err)
	}
	g := newGEMMTimer(t, backend)
	for _, nk := range measuredShapes {
		for _, m := range measuredRows {
			p := Problem{M: m, N: nk[0], K: nk[1], DType: collective.BFloat16}
			w := product{rows: m}.sharded(Call{Problem: p})
			chosen, _, err := choose(GEMMs(), ofProduct, w, g.gpu())
			if err != nil {
				t.Fatal(err)
			}
			var took, fastest time.Duration
			w.isLocal = false // wgmma.cost excludes local products that are another's; these are measured, too
			for _, candidate := range GEMMs() {
				k, ok := find(candidate.Kernels, p.DType, g.SM())
				if !ok || candidate.Name != chosen.Name || candidate.Cost(w, g.SMs) == math.MaxInt64 {
					continue
				}
				d := g.time(t, candidate, p, calls, samples)
				t.Logf("%s: %7.1f us, %.2f ns a unit, %s", p, float64(d)/1e3, float64(d)/float64(candidate.Cost(w, g.SMs)),
					k.Module.Name)
				if candidate == chosen {
					took = d
				}
				if fastest == 0 || d < fastest {
					fastest = d
				}
			}
			if float64(took) > longer*float64(fastest) {
				t.Errorf("%s: the GEMM that is chosen takes %v, another one %v", p, took, fastest)
			}
		}
	}
}

// gemmTimer is a runner of one rank with matrices of random numbers.
type gemmTimer struct {
	*Runner
	at         int64 // of the matrices, from the base
	start, end cudart.Event
}

func newGEMMTimer(t *testing.T, backend cudart.Backend) *gemmTimer {
	t.Helper()
	const bytes = 1 << 30
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	device, err := backend.Open(0)
	must(err)
	t.Cleanup(func() { must(device.Close()) })
	base, err := device.Malloc(bytes)
	must(err)
	stream, err := device.NewStream()
	must(err)
	comm, err := collective.New(collective.Config{
		Device: device, Source: ptx.Source, Peers: []cudart.DevicePtr{base}, SMs: device.Info().SMs, PDL: true,
		Timeout: time.Minute,
	})
	must(err)
	g := &gemmTimer{Runner: &Runner{Comm: comm, Device: device, Main: stream, SMs: device.Info().SMs}, at: 64 << 20}
	g.start, err = device.NewEvent()
	must(err)
	g.end, err = device.NewEvent()
	must(err)
	must(stream.Upload(base+cudart.DevicePtr(g.at), randomBFloat16s(64<<20)))
	for to := int64(64 << 20); g.at+2*to <= bytes; to *= 2 {
		must(stream.Copy(base+cudart.DevicePtr(g.at+to), base+cudart.DevicePtr(g.at), to))
	}
	return g
}

// randomBFloat16s are of magnitudes from 1 to 2 and of both signs.
func randomBFloat16s(bytes int) []byte {
	random, all := rand.New(rand.NewPCG(1, 2)), make([]byte, bytes)
	for i := 0; i < bytes; i += 2 {
		bits := random.Uint32()
		all[i], all[i+1] = byte(bits)|0x80, byte(bits>>8)&0x80|0x3f
	}
	return all
}

// time is the median time of a call.
func (g *gemmTimer) time(t *testing.T, with *GEMM, p Problem, calls, samples int) time.Duration {
	t.Helper()
	call := Call{Problem: p, A: g.at, B: g.at + 2*p.M*p.K}
	call.C = call.B + 2*p.N*p.K
	what := product{p.M, g.Local(call.A), g.Local(call.C)}
	list, all := []*GEMM{with}, []time.Duration{}
	err := g.prepareGEMM(list, call, what)
	for range samples + 1 { // the first one warms up
		err = errors.Join(err, g.Main.Record(g.start))
		for range calls {
			err = errors.Join(err, g.multiply(list, call, what))
		}
		err = errors.Join(err, g.Main.Record(g.end), g.Main.Synchronize(context.Background()))
		if err != nil {
			t.Fatal(err)
		}
		d, err := g.end.Since(g.start)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d/time.Duration(calls))
	}
	all = all[1:]
	slices.Sort(all)
	return all[len(all)/2]
}
