package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/worker/library"
	"gpurun/worker/workload"
)

// productPeers stands for NCCL and for cuBLAS, for bfloat16, and works on the host.
type productPeers struct {
	fakeNCCL
	prepared bool
	off      float32 // added to every product
}

func bfloat(bits []byte, i int64) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(bits[2*i:])) << 16)
}

func putBFloat(bits []byte, i int64, x float32) {
	b := math.Float32bits(x)
	binary.LittleEndian.PutUint16(bits[2*i:], uint16((b+0x7fff+b>>16&1)>>16))
}

func (f *productPeers) Prepare(cudart.Device) error { f.prepared = true; return nil }

func (f *productPeers) Multiply(s cudart.Stream, p matmul.Problem, a, b, c cudart.DevicePtr) error {
	if !f.prepared {
		return errors.New("nobody prepared it")
	}
	x, y, out := make([]byte, 2*p.M*p.K), make([]byte, 2*p.N*p.K), make([]byte, 2*p.M*p.N)
	if err := errors.Join(s.Download(x, a), s.Download(y, b)); err != nil {
		return err
	}
	for row := range p.M {
		for column := range p.N {
			sum := f.off
			for k := range p.K {
				sum += bfloat(x, row*p.K+k) * bfloat(y, column*p.K+k)
			}
			putBFloat(out, row*p.N+column, sum)
		}
	}
	return s.Upload(c, out)
}

func (f *productPeers) Supports(string, collective.DType, collective.Op) error { return nil }

func (f *productPeers) Enqueue(s cudart.Stream, call collective.LibraryCall) error {
	parts := map[string]int64{"reducescatter": int64(len(f.table.inputs))}
	mine := make([]byte, 2*call.Count*max(parts[call.Collective], 1))
	if err := s.Download(mine, call.Send); err != nil {
		return err
	}
	all := f.table.exchange(f.rank, mine)
	if call.Collective == "allgather" {
		var out []byte
		for _, in := range all {
			out = append(out, in...)
		}
		return s.Upload(call.Recv, out)
	}
	first, out := int64(0), make([]byte, 2*call.Count)
	if call.Collective == "reducescatter" {
		first = int64(f.rank) * call.Count
	}
	for i := range call.Count {
		var sum float32
		for _, in := range all {
			sum += bfloat(in, first+i)
		}
		putBFloat(out, i, sum)
	}
	return s.Upload(call.Recv, out)
}

// withProductPeers are ranks that have both libraries, which spoil changes.
func withProductPeers(world int, spoil func(rank int, f *productPeers)) ranks {
	t := newTable(world)
	return ranks{world: world, libraries: func(rank int) map[string]library.Open {
		open := func(title string) library.Open {
			return func(string) (library.Library, error) {
				f := &productPeers{fakeNCCL: fakeNCCL{table: t, title: title}}
				spoil(rank, f)
				return f, nil
			}
		}
		return map[string]library.Open{"nccl": open("NCCL 2.99.1"), "cublas": open("cuBLAS 13.9.0")}
	}}
}

// The external libraries are verified like gpurun's own algorithms. An algorithm that does not
// communicate is verified against its local product.
func TestProductsByLibraries(t *testing.T) {
	t.Parallel()
	for _, o := range matmul.Operations() {
		for name, tt := range map[string]struct {
			rounds    int
			hostFlops int64
		}{"by host": {0, 0}, "by device": {0, 1}, "in rounds": {2, 0}} {
			job := productsJob(o.Name)
			job.Algorithms, job.Passes, job.Products.HostFlops = []string{"cublas", "decomposed", "nccl"}, tt.rounds,
				tt.hostFlops
			var got []string
			for _, r := range withProductPeers(3, func(int, *productPeers) {}).mustRun(t, job) {
				got = append(got, fmt.Sprintf("%s by %q, %d wrong", r.Algorithm, r.Library, *r.Wrong))
			}
			want := []string{`cublas by "cuBLAS 13.9.0", 0 wrong`, `decomposed by "", 0 wrong`, `nccl by "NCCL 2.99.1", 0 wrong`}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: %s", o.Name, name, diff)
			}
		}
	}
}

func TestWrongProductsOfALibraryAreFound(t *testing.T) {
	for _, o := range matmul.Operations() {
		for _, algorithm := range []string{"cublas", "nccl"} {
			job := productsJob(o.Name)
			job.Algorithms = []string{algorithm}
			all := withProductPeers(2, func(rank int, f *productPeers) { f.off = 16 * float32(rank) }).mustRun(t, job)
			if wrong(all) == 0 {
				t.Errorf("%s %s: nothing is wrong", o.Name, algorithm)
			}
		}
	}
}

// Corruption of the local product of an algorithm that does not communicate is found.
func TestCorruptLocalProductIsFound(t *testing.T) {
	for _, o := range matmul.Operations() {
		job := productsJob(o.Name, workload.Injection{Kind: workload.Corrupt, Rank: 1, Byte: 6})
		job.Algorithms = []string{"cublas"}
		all := withProductPeers(2, func(int, *productPeers) {}).mustRun(t, job)
		if wrong(all) != 1 || all[0].Mismatches[0].Index != 3 {
			t.Errorf("%s: %v", o.Name, all[0].Mismatches)
		}
	}
}

// An algorithm that needs two libraries does not run with one of them.
func TestProductsWithoutCUBLAS(t *testing.T) {
	g := withProductPeers(2, func(int, *productPeers) {})
	both := g.libraries
	g.libraries = func(rank int) map[string]library.Open {
		all := both(rank)
		delete(all, "cublas")
		return all
	}
	for _, algorithm := range []string{"cublas", "nccl"} {
		job := productsJob("matmul-allreduce")
		job.Algorithms = []string{algorithm}
		_, errs := g.run(t, job)
		wantEnvironment(t, errs, "matmul-allreduce "+algorithm+" cannot run: rank 0: cublas needs a GPU")
	}
}

func TestFailingLibraryIsNamed(t *testing.T) {
	job := productsJob("matmul-allreduce")
	job.Algorithms = []string{"nccl"}
	_, errs := withProductPeers(2, func(_ int, f *productPeers) { f.hidden = errors.New("ncclRemoteError") }).run(t, job)
	wantEnvironment(t, errs, "NCCL 2.99.1: ncclRemoteError")
	if err := errors.Join(errs...); strings.Contains(err.Error(), "cuBLAS") {
		t.Errorf("got %v", err)
	}
}
