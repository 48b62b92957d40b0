package checktask

import (
	"bytes"
	"strings"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
)

func smallProducts(t *testing.T, operation, algorithm string) Products {
	t.Helper()
	o, _ := matmul.Find(operation)
	a, ok := o.Algorithm(algorithm)
	if !ok {
		t.Fatalf("%s has no algorithm %s", operation, algorithm)
	}
	return Products{
		Operation: o, Algorithm: a, Problems: []matmul.Problem{{M: 6, N: 9, K: 8, DType: collective.Half}}, Launches: 2,
		MaxBlocks: 2,
	}
}

func multiply(t *testing.T, major int, p Products) *check.Report {
	t.Helper()
	checker, err := check.New(check.Config{Ranks: 2, Major: major, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := checker.Run(1, p.Task)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A product that is not made is a finding with the call, the matrix and the element, once for both ranks.
func TestWrongProductIsAFinding(t *testing.T) {
	p := smallProducts(t, "matmul-reducescatter", "naive")
	idle := *p.Algorithm
	idle.Enqueue = func(*matmul.Runner, matmul.Call) error { return nil }
	p.Algorithm = &idle
	r := multiply(t, 8, p)
	if len(r.Findings) != 2 {
		t.Fatalf("findings %v", r.Findings)
	}
	f := r.Findings[0]
	if f.Kind != check.WrongResult || f.Count != 2 || f.Sides[0].Text != "matmul-reducescatter naive" ||
		f.Sides[0].Command != "call 1, of 6 x 9 x 8" || !strings.Contains(f.Where, "'s C: element 0 is 0xffff, want 0x") {
		t.Errorf("%+v", f)
	}
}

// A signal that reaches this GPU alone lets the owner read a peer's products without order.
func TestNarrowSignalOfAProductIsFound(t *testing.T) {
	p := smallProducts(t, "matmul-reducescatter", "fused_push")
	if r := multiply(t, 8, p); !r.Clean() {
		t.Errorf("the shipped kernel has findings: %v, incomplete %q", r.Findings, r.Incomplete)
	}
	p.Source = func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return bytes.ReplaceAll(text, []byte("st.release.sys"), []byte("st.release.gpu")), err
	}
	races := 0
	for _, f := range multiply(t, 8, p).Findings {
		if f.Kind == check.Race && strings.Contains(f.Where, "staging") {
			races++
		}
	}
	if races == 0 {
		t.Error("no race in the staging is found")
	}
}

// Rows are rounded up to what ranks can share.
func TestProblemFor(t *testing.T) {
	p := smallProducts(t, "allgather-matmul", "naive")
	if got, err := p.ProblemFor(p.Problems[0], 4); err != nil || got.M != 8 {
		t.Errorf("%v, %v", got, err)
	}
	p.Problems[0].K = 9
	if _, err := p.ProblemFor(p.Problems[0], 4); err == nil || !strings.Contains(err.Error(), "multiple of 8") {
		t.Errorf("error %v", err)
	}
}
