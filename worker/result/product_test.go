package result

import (
	"bytes"
	"testing"

	"gpurun/worker/golden"
)

// multiplied is a run of products on two GPUs: right, wrong, and not verified.
func multiplied() Report {
	number := func(x float64) *float64 { return &x }
	row := func(algorithm string, us float64, p Product) Result {
		p.M, p.N, p.K = 4096, 6656, 16384
		p.TFLOPS = float64(2*p.M*p.N*p.K) / us / 1e6
		return Result{
			Collective: "allgather-matmul", Algorithm: algorithm, DType: "bfloat16", Op: None, Root: -1,
			Bytes: 1 << 27, Count: 4096 * 6656, Alone: true, Mode: "stream", Wrong: pointer(0), SlowestRank: 1,
			Time: Time{Min: us - 1, P50: us, P95: us + 1, P99: us + 2, Max: us + 3}, Product: &p,
		}
	}
	r := passed()
	r.Results = []Result{
		row("naive", 1234567, Product{Splits: 1, Error: number(0.00166), Limit: number(0.0072)}),
		row("fused", 1184.2, Product{Splits: 4, Error: number(0.00166), Limit: number(0.0072)}),
		row("fused", 1201.5, Product{Splits: 1}),
		row("decomposed", 1388, Product{Splits: 1}),
	}
	r.Results[0].Asked = "auto"
	r.Results[2].Wrong = nil
	r.Results[3].Wrong = pointer(3)
	r.Results[3].Mismatches = []Mismatch{
		{Rank: 1, Wrong: 3, Of: 256, Index: 7, Want: "0x4040", Got: "0x4041", Phase: "after timing, in the gathered A"},
	}
	r.Memory = &Memory{Backend: "vmm", Why: "GPUs have it"}
	r.Passed, r.ExitCode = false, 1
	return r
}

func TestProductsGolden(t *testing.T) {
	for _, format := range Formats() {
		var out bytes.Buffer
		renderer, err := NewProductRenderer(format, &out)
		if err != nil {
			t.Fatal(err)
		}
		report := multiplied()
		if err := renderer.Begin(report); err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if err := renderer.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := renderer.End(report); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "products."+string(format)+".golden", out.Bytes())
	}
}

// Results of different shapes and splits have names of their own.
func TestProductsHaveNames(t *testing.T) {
	results := multiplied().Results
	for i, want := range map[int]string{
		0: "allgather-matmul naive bfloat16, 4096 x 6656 x 16384",
		1: "allgather-matmul fused bfloat16, 4096 x 6656 x 16384 in 4 splits",
	} {
		if got := results[i].String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The product renderer refuses a result that is not a product.
func TestCollectiveIsNoProduct(t *testing.T) {
	renderer, err := NewProductRenderer(TableFormat, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := renderer.Add(passed().Results[0]); err == nil {
		t.Error("it was printed")
	}
}
