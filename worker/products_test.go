package worker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
	"gpurun/worker/process/report"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

func productsJob(operation string, inject ...workload.Injection) workload.Job {
	return workload.Job{
		Collective: operation, Algorithms: []string{"naive", "decomposed"}, DTypes: []string{"bfloat16"},
		Iterations: 2, Warmup: 1, Verify: true, Seed: 3, Inject: inject,
		Products: &workload.Products{M: []int64{24}, N: []int64{20}, K: []int64{40}, Splits: []int{1}},
	}
}

// Every product runs by every algorithm, in rounds and without, and is right.
func TestProductsAreVerified(t *testing.T) {
	t.Parallel()
	for _, o := range matmul.Operations() {
		for _, rounds := range []int{0, 3} {
			job := productsJob(o.Name)
			job.Passes, job.DTypes = rounds, []string{"half", "bf16"}
			var got []string
			for _, r := range (ranks{world: 3}).mustRun(t, job) {
				got = append(got, fmt.Sprintf("%s %s %s wrong %d, samples %d", r.Algorithm, r.DType, r.Product, *r.Wrong,
					len(r.Samples)))
				if p := r.Product; p.Error == nil || *p.Error == 0 || !(*p.Error < *p.Limit) || p.TFLOPS <= 0 || r.Time.P50 <= 0 {
					t.Errorf("%+v", r)
				}
			}
			var want []string
			for _, d := range []string{"half", "bfloat16"} {
				for _, a := range []string{"naive", "decomposed"} {
					want = append(want, fmt.Sprintf("%s %s 24 x 20 x 40 wrong 0, samples %d", a, d, rounds))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", o.Name, diff)
			}
		}
	}
}

// What communicates while it multiplies is right in all sizes and chunks, one after the
// other with the same counters and staging, and among others.
func TestFusedProductsAreVerified(t *testing.T) {
	t.Parallel()
	for _, o := range matmul.Operations() {
		job := productsJob(o.Name)
		job.Algorithms, job.Passes = []string{"fused", "decomposed"}, 2
		job.Products.M, job.Products.N, job.Products.Splits = []int64{140, 24}, []int64{20}, []int{1, 3}
		var got []string
		for _, r := range (ranks{world: 2}).mustRun(t, job) {
			got = append(got, fmt.Sprintf("%s %dx%d in %d: %d wrong", r.Algorithm, r.Product.M, r.Product.N, r.Product.Splits,
				*r.Wrong))
		}
		var want []string
		for _, shape := range []string{"140x20", "24x20"} {
			want = append(want, "fused "+shape+" in 1: 0 wrong")
			if o.Gathers {
				want = append(want, "fused "+shape+" in 3: 0 wrong")
			}
			want = append(want, "decomposed "+shape+" in 1: 0 wrong")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", o.Name, diff)
		}
	}
}

// A bit that is flipped in a result is found, by the reference itself.
func TestCorruptProductIsFound(t *testing.T) {
	for _, o := range matmul.Operations() {
		at := int64(2*20*7 + 6) // row 7, column 3
		all := ranks{world: 2}.mustRun(t, productsJob(o.Name, workload.Injection{Kind: workload.Corrupt, Rank: 1, Byte: at}))
		var got []string
		for _, m := range all[0].Mismatches {
			got = append(got, fmt.Sprintf("rank %d: %d wrong, the first is %d, %s", m.Rank, m.Wrong, m.Index, m.Phase))
		}
		if diff := cmp.Diff([]string{"rank 1: 1 wrong, the first is 143, before timing"}, got); diff != "" {
			t.Errorf("%s: %s", o.Name, diff)
		}
		if wrong(all[1:]) != 0 {
			t.Errorf("%s: %+v", o.Name, all[1:])
		}
	}
}

// "auto" is what is estimated to be the fastest of each problem, and what differs in splits alone is measured once
// unless it copies in chunks.
func TestAutomaticProduct(t *testing.T) {
	t.Parallel()
	const oneRound, several = 20, 300 // columns, in tiles for the simulator's multiprocessors
	for _, o := range matmul.Operations() {
		job := productsJob(o.Name)
		job.Algorithms, job.Products.Splits, job.Products.N = []string{workload.Auto, "naive"}, []int{1, 2},
			[]int64{oneRound, several}
		var got []string
		for _, r := range (ranks{world: 2}).mustRun(t, job) {
			got = append(got, fmt.Sprintf("%d %s %s %s", r.Product.N, r.Asked, r.Algorithm, r.Why))
		}
		want := []string{
			"20 auto fused an estimate", "20  naive asked for", "300 auto fused an estimate", "300  naive asked for",
		}
		if o.Gathers {
			want[0] = "20 auto decomposed an estimate"
			want = slices.Insert(want, 2, want[2]) // in two chunks, too
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", o.Name, diff)
		}
	}
}

// A kernel that stores nothing is found: the output still has the poison.
func TestOutputsOfProductsArePoisoned(t *testing.T) {
	job := productsJob("allgather-matmul")
	job.Algorithms = []string{"naive"}
	g := ranks{world: 1, source: func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		// %p1 is that there is no tile left for the block.
		return []byte(strings.Replace(string(text), "st.global.b16", "@%p1 st.global.b16", 1)), err
	}}
	all := g.mustRun(t, job)
	if len(all) != 1 || len(all[0].Mismatches) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, m := range all[0].Mismatches {
		if m.Wrong != 24*20 || m.Got != "0xffff" {
			t.Errorf("%+v", m)
		}
	}
	if all[0].Product.Error != nil {
		t.Errorf("what is no number has an error of %v", *all[0].Product.Error)
	}
}

// A kernel that stores to its input is found.
func TestChangedInputOfAProductIsFound(t *testing.T) {
	job := productsJob("allgather-matmul")
	job.Algorithms = []string{"naive"}
	var p matmul.Params
	// B and C
	both := regexp.MustCompile(fmt.Sprintf(`ld\.param\.v2\.b64 \{(\S+),(\S+)\},\[\S+\+%d\];`, unsafe.Offsetof(p.B)))
	g := ranks{world: 1, source: func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return both.ReplaceAll(text, []byte("$0\nmov.b64 $2,$1;")), err
	}}
	_, errs := g.run(t, job)
	if err := errors.Join(errs...); !errors.Is(err, verify.ErrInputChanged) {
		t.Errorf("got %v", err)
	}
}

// Where GPUs cannot reach each other, auto is the naive algorithm, in host memory.
func TestProductsWithoutPeerAccess(t *testing.T) {
	for _, o := range matmul.Operations() {
		job := productsJob(o.Name)
		job.Algorithms, job.P2P = []string{workload.Auto}, workload.Off
		all := ranks{world: 2}.mustRun(t, job)
		if len(all) != 1 || all[0].Algorithm != "naive" || all[0].Asked != workload.Auto || wrong(all) != 0 {
			t.Errorf("%+v", all)
		}
	}
}

// A result that is too large for the reference is checked by a kernel, which also finds corruption.
func TestLargeProductsAreCheckedByTheDevice(t *testing.T) {
	for _, o := range matmul.Operations() {
		for name, inject := range map[string][]workload.Injection{
			"right": nil, "corrupt": {{Kind: workload.Corrupt, Rank: 1, Byte: 4}},
		} {
			job := productsJob(o.Name, inject...)
			job.Algorithms = []string{"decomposed"}
			job.Products.HostFlops = 1
			all := ranks{world: 2}.mustRun(t, job)
			if got := wrong(all); got != int64(len(inject)) {
				t.Errorf("%s, %s: %d wrong: %+v", o.Name, name, got, all[0].Mismatches)
			}
		}
	}
}

// A checking kernel that computes wrong quantities is found.
func TestWrongCheckIsNoticed(t *testing.T) {
	job := productsJob("matmul-allreduce")
	job.Algorithms, job.Products.HostFlops = []string{"decomposed"}, 1
	g := ranks{world: 2, source: func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return []byte(strings.Replace(string(text), "abs.f32", "neg.f32", 1)), err
	}}
	_, errs := g.run(t, job)
	err := errors.Join(errs...)
	if !errors.Is(err, verify.ErrCheckWrong) || Explain(err).Class != report.WrongData {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNotRecorded(t *testing.T) {
	for want, algorithms := range map[string][]string{
		"a timeline is of one call: name one algorithm, M, N, K, type and number of splits, and not 2 cases": {
			"naive", "decomposed",
		},
		"matmul-allreduce cublas records no times of its tiles, and so has no timeline; " +
			"these have one: naive, decomposed, fused_push, fused_copy, fused": {"cublas"},
	} {
		job := productsJob("matmul-allreduce")
		job.Record, job.Algorithms = true, algorithms
		if err := job.Check(2); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
