package scripts

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result"
	"gpurun/worker/result/phases"
)

// gemm is a result of gpurun bench of the GEMM alone.
func gemm(algorithm string, m int64, samples ...float64) result.Result {
	r := product(algorithm, "", m, samples[0])
	r.Collective, r.Samples = "matmul-reducescatter", samples
	return r
}

const wantGEMMs = `NVIDIA H200, driver 580.1

### matmul-reducescatter, 1 rank, us; * the host takes about as long to enqueue a call

| M | N, K | decomposed | cublas | decomposed by cublas | TFLOP/s |
|---|---|---|---|---|---|
| 1024 | 3584, 8192 | 102.0 (101.5 to 103.0) | 100.0 (100.0 to 100.0) | 1.020 | 590 |
| 2048 | 3584, 8192 | 210.0 (210.0 to 210.0) | 200.0 (200.0 to 200.0) | **1.050** | 573 |

decomposed: level or ahead in 1 of 2 shapes
`

// Of two processes the median of the ratios counts, not the ratio of the medians.
func TestTableOfGEMMs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first := write(t, filepath.Join(folder, "gemm-1.json"), oneGPU(
		gemm("decomposed", 1024, 101, 102, 104), gemm("cublas", 1024, 100, 100, 100),
		gemm("decomposed", 2048, 210), gemm("cublas", 2048, 200),
	))
	got, err := python(t, "gemm-table.py", first)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantGEMMs, strings.TrimRight(got, "\n")+"\n"); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
	wrong, one := gemm("decomposed", 1024, 1), int64(1)
	wrong.Wrong = &one
	if _, err := python(t, "gemm-table.py", write(t, filepath.Join(folder, "gemm-2.json"), oneGPU(wrong))); err == nil {
		t.Error("a wrong product is in the table")
	}
}

func oneGPU(results ...result.Result) result.Report {
	r := ours(results...)
	r.WorldSize, r.Devices = 1, r.Devices[:1]
	return r
}

const wantFirstUse = `### 2 ranks, ms

| phase | cold | warm |
|---|---|---|
| initialize driver | 900 | 300 |
| load kernels | 200 | 10 |
| first verified result | 1250 (1150 to 1350) | 350 (350 to 350) |
| whole run | 2000 (2000 to 2000) | 2000 (2000 to 2000) |
`

// Phases after the first verified result have no row, nor those that take no time.
func TestTableOfFirstUse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	save := func(name string, verified, initialize, load float64) string {
		r := ours()
		r.Timing = &phases.Timing{FirstVerified: verified, Total: 2000, Path: []phases.Row{
			{Phase: phases.Init, OnPath: initialize},
			{Phase: phases.Settle, OnPath: 0.2},
			{Phase: phases.Load, OnPath: load},
			{Phase: phases.Verify, OnPath: 0.5},
			{Phase: phases.Cases, OnPath: 700},
		}}
		r.Passed = true
		return write(t, filepath.Join(folder, name), r)
	}
	got, err := python(t, "first-use-table.py", save("cold-2-1.json", 1150, 800, 150),
		save("cold-2-2.json", 1350, 1000, 250), save("warm-2-1.json", 350, 300, 10))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantFirstUse, strings.TrimRight(got, "\n")+"\n"); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

// fakeJob stands in for gpurun: its second rank may open a file now and then. It reports two cycles of one case.
const fakeJob = `#!/usr/bin/python3
import json, os, sys, time

leaks = LEAKS
for rank in range(2):
    if os.fork() == 0:
        kept = []
        for _ in range(20):
            if leaks and rank == 1:
                kept.append(open("/dev/null"))
            time.sleep(0.05)
        os._exit(0)
for rank in range(2):
    os.wait()
case = {"algorithm": "ll", "bytes": 1024, "in_place": False, "time_us": {"p50": 3}}
report = {"results": [case, case], "further": {"calls": 7}, "timing": {"total_ms": 9, "first_verified_ms": 1}}
with open(sys.argv[sys.argv.index("-J") + 1], "w") as file:
    json.dump(report, file)
`

// A job whose rank opens more and more files fails, and no other.
func TestLongevityFindsLeaks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ leaks, want string }{{"False", "| no |\n"}, {"True", "| files |\n"}} {
		t.Run("leaks="+tt.leaks, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			gpurun := filepath.Join(folder, "gpurun")
			install(t, gpurun, strings.Replace(fakeJob, "LEAKS", tt.leaks, 1))
			got, err := python(t, "longevity.py", "--gpurun", gpurun, "--device", "sim", "--ranks", "2",
				"--collectives", "gather", "--minutes", "0.01", "--interval", "0.05", "--results", folder)
			if failed := tt.leaks == "True"; failed != (err != nil) {
				t.Errorf("it failed: %v, want %t", err, failed)
			}
			if !strings.Contains(got, "\n| gather | 2 | 7 | ") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("the table, whose end should be %q:\n%s", tt.want, got)
			}
		})
	}
}
