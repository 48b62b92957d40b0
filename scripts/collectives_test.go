// Package scripts holds what one runs by hand. This tests what of it needs no GPUs.
package scripts

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/rendezvous/porttest"
	"gpurun/worker/result"
)

// pythonPath is Debian's, which may have a PyTorch.
const pythonPath = "/usr/bin/python3"

// python runs a script of this folder and returns what it prints.
func python(t *testing.T, words ...string) (string, error) {
	t.Helper()
	if _, err := os.Stat(pythonPath); err != nil {
		if os.Getenv("GPURUN_REQUIRE_TORCH") == "1" {
			t.Fatalf("GPURUN_REQUIRE_TORCH=1, but: %v", err)
		}
		t.Skip(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(pythonPath, words...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), nil
}

func write(t *testing.T, path string, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ours is a report of gpurun bench on two GPUs.
func ours(results ...result.Result) result.Report {
	r := result.Report{
		Version: "v9.9.9", Command: []string{"gpurun", "bench", "allreduce", "--hidden", "4096"}, WorldSize: 2,
		Results: results,
	}
	for range 2 {
		r.Devices = append(r.Devices, cudart.Info{Backend: "cuda", Name: "NVIDIA H200", Driver: "580.1"})
	}
	r.Ceiling = &result.Ceiling{CopyOut: []float64{400, 391}}
	return r
}

// one is a result of gpurun's; asked is "auto" or empty.
func one(algorithm, asked string, size int64, inPlace bool, us float64) result.Result {
	zero := int64(0)
	r := result.Result{
		Collective: "allreduce", Algorithm: algorithm, Asked: asked, DType: "bfloat16", Op: "sum", Root: -1, Bytes: size,
		InPlace: inPlace, Mode: "graph", Wrong: &zero, Time: result.Time{P50: us},
	}
	if algorithm == "nccl" {
		r.Library = "NCCL 2.99"
	}
	return r
}

// normalized is a result with an epilogue.
func normalized(algorithm string, size int64, us float64) result.Result {
	r := one(algorithm, "", size, false, us)
	r.Epilogue = "rmsnorm"
	return r
}

// theirs is a report of collectives-peers.py.
type theirs struct {
	Program   string           `json:"program"`
	NCCL      string           `json:"nccl"`
	WorldSize int              `json:"world_size"`
	Results   []map[string]any `json:"results"`
}

func peers(results ...map[string]any) theirs {
	return theirs{"PyTorch 2.11.0", "2.88", 2, results}
}

// row is one of theirs; more is "unavailable" or "wrong" and the like, in pairs.
func row(algorithm, dtype string, size int64, us float64, more ...any) map[string]any {
	r := map[string]any{
		"collective": "allreduce", "algorithm": algorithm, "dtype": dtype, "mode": "graph", "bytes": size, "wrong": 0,
		"time_us": map[string]any{"p50": us},
	}
	for pair := range slices.Chunk(more, 2) {
		r[pair[0].(string)] = pair[1]
	}
	return r
}

// merged makes a baseline of two turns.
func merged(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	words := []string{"collectives-merge.py", "--date", "2026-01-02", "--out", in("baseline")}
	for turn, k := range []float64{1, 1.1} {
		words = append(words,
			write(t, in(fmt.Sprintf("gpurun-%d.json", turn)), ours(
				one("ll", "auto", 1<<10, false, 2.2*k), one("ll", "", 1<<10, false, 2*k), one("ll", "", 1<<10, true, 2.1*k),
				one("twoshot", "", 1<<10, false, 6*k), one("nccl", "", 1<<10, false, 8*k), one("nccl", "", 1<<10, true, 7*k),
				one("ll", "auto", 1<<28, false, 2000*k), one("ll", "", 1<<28, false, 2000*k),
				one("twoshot", "", 1<<28, false, 900*k), one("nccl", "", 1<<28, false, 850*k),
				one("ll", "", 8<<10, false, 3*k), one("nccl", "", 8<<10, false, 3*k),
				normalized("ll", 8<<10, 4*k))),
			write(t, in(fmt.Sprintf("torch-%d.json", turn)), peers(
				row("nccl", "bfloat16", 1<<10, 9*k), row("one_shot", "bfloat16", 1<<10, 5*k),
				row("two_shot", "bfloat16", 1<<10, 5.5*k),
				row("two_shot", "bfloat16", 1<<28, 1, "wrong", 3),
				row("one_shot", "half", 1<<10, 0, "unavailable", "RuntimeError: not for Half"),
				row("one_shot", "bfloat16", 8<<10, 10*k, "epilogue", "rmsnorm", "hidden", 4096),
				row("norm", "bfloat16", 8<<10, 2.5*k, "epilogue", "rmsnorm", "hidden", 4096))))
	}
	if out, err := python(t, words...); err != nil || out != "" {
		t.Fatalf("merging printed %q: %v", out, err)
	}
	return in("baseline")
}

const wantTable = `2 x NVIDIA H200, driver 580.1, 2 ranks, gpurun v9.9.9, NCCL 2.99, PyTorch 2.11.0 with NCCL 2.88, 2026-01-02; medians of 2 turns, us. By copy engines 391 GB/s leave each GPU while all send.

gpurun is ahead in 2 of 4 rows, level in 1, behind in 1
- behind: allreduce bfloat16 graph 256M, 0.94x (nccl)
- auto is more than 5% behind: allreduce bfloat16 graph 256M

### allreduce, bfloat16, graph

| size | gpurun | us | auto | of link | NCCL | PyTorch NCCL | PyTorch symmetric memory | ahead |
|---|---|---|---|---|---|---|---|---|
| 1K | ll | 2.21 ±5% | 2.31 | 0% | 7.35 ±5% | 9.45 ±5% | 5.25 ±5% one_shot | 2.38x |
| 8K | ll | 3.15 ±5% |  | 1% | 3.15 ±5% |  |  | level |
| 256M | twoshot | 945.0 ±5% | **2100, ll** | 73% | 892.5 ±5% |  |  | **0.94x** |

### allreduce, residual and RMSNorm of 4096 elements, bfloat16, graph

| rows | gpurun | us | auto | PyTorch symmetric memory | allreduce, then norm | ahead |
|---|---|---|---|---|---|---|
| 1 | ll | 4.20 ±5% |  | 10.5 ±5% one_shot | 5.78 | 1.38x |
`

func TestTable(t *testing.T) {
	t.Parallel()
	got, err := python(t, "collectives-table.py", merged(t))
	if err != nil {
		t.Fatal(err)
	}
	table, gaps, _ := strings.Cut(got, "\n- **wrong**")
	if diff := cmp.Diff(wantTable, table); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"torch two_shot, ('allreduce', 0, 'bfloat16', 'graph', 268435456)",
		"- not available: torch one_shot for allreduce of half: RuntimeError: not for Half (graph 1K)",
	} {
		if !strings.Contains(gaps, want) {
			t.Errorf("the end of the table lacks %q:\n%s", want, gaps)
		}
	}
}

func TestPlot(t *testing.T) {
	t.Parallel()
	got, err := python(t, "collectives-plot.py", merged(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	decoder := xml.NewDecoder(strings.NewReader(got))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v\n%s", err, got)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" &&
			slices.Contains(e.Attr, xml.Attr{Name: xml.Name{Local: "stroke-width"}, Value: "2"}) {
			lines++
		}
	}
	if want := 4 + 1 + 4; lines != want { // four series and the ceiling in the legend, and the series in one panel
		t.Errorf("%d lines are drawn, want %d:\n%s", lines, want, got)
	}
	if out, err := python(t, "collectives-plot.py", merged(t), "stream"); err == nil {
		t.Errorf("of a mode that was not measured it draws %q", out)
	}
}

func TestMergeRefusesOtherRanks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	other := ours()
	other.WorldSize = 4
	_, err := python(t, "collectives-merge.py", "--out", filepath.Join(folder, "baseline"),
		write(t, filepath.Join(folder, "a"), ours()), write(t, filepath.Join(folder, "b"), other))
	if err == nil || !strings.Contains(err.Error(), "[2, 4] ranks") {
		t.Errorf("merging files of 2 and 4 ranks: %v", err)
	}
}

// peersOnCPUs runs collectives-peers.py as two ranks, by Gloo and a stand-in for symmetric
// memory, and returns what was found, by collective, type and algorithm.
func peersOnCPUs(t *testing.T, wrong string, jobs ...string) (map[string]string, error) {
	t.Helper()
	if out, err := python(t, "-c", "import importlib.util as u; print(u.find_spec('torch'))"); err != nil ||
		strings.TrimSpace(out) == "None" {
		if os.Getenv("GPURUN_REQUIRE_TORCH") == "1" {
			t.Fatalf("GPURUN_REQUIRE_TORCH=1, but %s has no torch: %v", pythonPath, err)
		}
		t.Skipf("%s has no torch", pythonPath)
	}
	port, err := porttest.Free()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a rank whose peer has failed waits for ever
	defer cancel()
	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "torch.json")
	failed := make(chan error, 2)
	for rank := range 2 {
		words := append([]string{"testdata/symmetric.py", "collectives-peers.py", "--out", file, "--modes", "stream"},
			jobs...)
		cmd := exec.CommandContext(ctx, pythonPath, words...)
		cmd.Env = append(os.Environ(), "RANK="+strconv.Itoa(rank), "LOCAL_RANK="+strconv.Itoa(rank), "WORLD_SIZE=2",
			"MASTER_ADDR=127.0.0.1",
			"MASTER_PORT="+strconv.Itoa(port),
			"CUDA_VISIBLE_DEVICES=", "OMP_NUM_THREADS=1", "TORCH_SYMM_MEM_DISABLE_MULTICAST=1",
			"PYTHONDONTWRITEBYTECODE=1",
			"FAKE_FOLDER="+folder, "FAKE_WRONG="+wrong)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("rank %d: %w: %s", rank, err, out)
				time.AfterFunc(20*time.Second, cancel) // the peer may have found something as well
			}
			failed <- err
		}()
	}
	err = errors.Join(<-failed, <-failed)
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(errors.Join(err, readErr))
	}
	var report theirs
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range report.Results {
		said, ok := r["unavailable"]
		if !ok {
			said = fmt.Sprintf("%v wrong", r["wrong"])
		}
		name := fmt.Sprintf("%v %v %v", r["collective"], r["dtype"], r["algorithm"])
		if r["hidden"] != nil {
			name += " norm"
		}
		found[name] = said.(string)
	}
	return found, err
}

func TestPeers(t *testing.T) {
	t.Parallel()
	const all = "allreduce,allgather,reducescatter,alltoall,broadcast,reduce,gather,scatter,barrier"
	got, err := peersOnCPUs(t, "", all+"/float/1K,1K,4/1/1", "allreduce/bfloat16,half/1K,1K,4/1/1",
		"allreduce/bfloat16/512,512,2/1/1/128")
	if err != nil {
		t.Error(err)
	}
	const noBFloat16, noHalf = "RuntimeError: Invalid scalar type", "RuntimeError: not implemented for 'torch.float16'"
	want := map[string]string{
		"allreduce float gloo": "0 wrong", "allreduce float one_shot": "0 wrong", "allreduce float two_shot_": "0 wrong",
		"allreduce float two_shot": "0 wrong",
		"allreduce bfloat16 gloo":  noBFloat16, "allreduce bfloat16 one_shot": "0 wrong",
		"allreduce bfloat16 two_shot_": "0 wrong", "allreduce bfloat16 two_shot": "0 wrong",
		"allreduce half gloo": "0 wrong", "allreduce half one_shot": noHalf, "allreduce half two_shot_": noHalf,
		"allreduce half two_shot":      noHalf,
		"allreduce bfloat16 gloo norm": noBFloat16, "allreduce bfloat16 one_shot norm": "0 wrong",
		"allreduce bfloat16 two_shot_ norm": "0 wrong",
		"allreduce bfloat16 two_shot norm":  "0 wrong", "allreduce bfloat16 norm norm": "0 wrong",
		"allgather float gloo": "0 wrong", "allgather float copies": "0 wrong",
		"reducescatter float gloo":     got["reducescatter float gloo"], // Gloo of some versions has none
		"reducescatter float two_shot": "0 wrong",
		"alltoall float gloo":          "0 wrong", "alltoall float copies": "0 wrong",
		"broadcast float gloo": "0 wrong", "broadcast float copies": "0 wrong",
		"gather float gloo": "0 wrong", "gather float copies": "0 wrong",
		"scatter float gloo": "0 wrong", "scatter float copies": "0 wrong",
		"reduce float gloo": "0 wrong", "barrier none gloo": "0 wrong", "barrier none barrier": "0 wrong",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was found (-want +got):\n%s", diff)
	}
}

func TestPeersSeeWhatIsWrong(t *testing.T) {
	t.Parallel()
	got, err := peersOnCPUs(t, "two_shot_all_reduce_", "allreduce/float/1K,1K,4/2/2")
	if err == nil || !strings.Contains(err.Error(), "wrong results: allreduce two_shot_ of 1024 bytes of float, stream") {
		t.Errorf("wrong results end with: %v", err)
	}
	// 256 elements, before and after timing.
	if said := got["allreduce float two_shot_"]; said != "512 wrong" {
		t.Errorf("a result with all elements off by one is %q", said)
	}
	if said := got["allreduce float two_shot"]; said != "0 wrong" {
		t.Errorf("a right result is %q", said)
	}
}

// The README and docs/faq.md say in how many cases gpurun is ahead or behind, as the newest tables do.
func TestDocumentsHaveTheFigures(t *testing.T) {
	counts := func(machine string) (ahead, rows, behind int) {
		text, err := os.ReadFile("baselines/collectives-" + machine + ".md")
		if err != nil {
			t.Fatal(err)
		}
		level := 0
		_, line, _ := strings.Cut(string(text), "gpurun is ahead in ")
		_, err = fmt.Sscanf(line, "%d of %d rows, level in %d, behind in %d", &ahead, &rows, &level, &behind)
		if err != nil {
			t.Fatalf("%s: %v", machine, err)
		}
		return ahead, rows, behind
	}
	ahead2, rows2, _ := counts("2xH200")
	ahead4, rows4, behind4 := counts("4xH200")
	for file, want := range map[string]string{
		"../README.md":   fmt.Sprintf("slower than the faster of the two in %d of %d cases", behind4, rows4),
		"../docs/faq.md": fmt.Sprintf("in %d of %d cases on 2 H200s, and in %d of %d on 4", ahead2, rows2, ahead4, rows4),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
			t.Errorf("%s does not say %q", file, want)
		}
	}
}
