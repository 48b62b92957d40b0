package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/worker/result"
)

// runChanged runs gather_matmul on two ranks, with texts of its file replaced, beside other algorithms.
func runChanged(t *testing.T, others []string, replace ...string) ([]result.Result, error) {
	t.Helper()
	const name = "gather_matmul"
	text, err := os.ReadFile(filepath.Join(exampleFolder, name+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(filepath.Join(exampleFolder, name+".ptx"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("%s is not in the file", replace[i])
		}
	}
	changed := strings.NewReplacer(replace...).Replace(string(text))
	return runProduct(t, 2, others, changed, name+".ptx", code)
}

// runProduct runs a kernel file of a product.
func runProduct(t *testing.T, world int, others []string, text, module string, code []byte) ([]result.Result, error) {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "mine.toml")
	for file, content := range map[string][]byte{"mine.toml": []byte(text), module: code} {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := userJob(t, path, world)
	job.Products.M, job.Products.N, job.Products.K = job.Products.M[:1], []int64{21}, []int64{72}
	job.Algorithms, job.Timeout = append(job.Algorithms, others...), 2*time.Second
	results, errs := ranks{world: world}.run(t, job)
	return results, errors.Join(errs...)
}

// A file is measured beside gpurun's own algorithms, and is never what auto chooses.
func TestKernelFileOfAProductBesideOthers(t *testing.T) {
	results, err := runChanged(t, []string{"auto", "naive"})
	if err != nil || len(results) != 3 {
		t.Fatal(results, err)
	}
	var got []string
	for _, r := range results {
		if r.Product.Error == nil || r.Time.P50 <= 0 {
			t.Errorf("%+v", r)
		}
		got = append(got, fmt.Sprint(filepath.Base(r.Algorithm), r.Asked, *r.Wrong))
	}
	if fmt.Sprint(got) != "[mine.toml0 decomposedauto0 naive0]" {
		t.Error(got)
	}
}

// Every mistake of a kernel is found: in C, in the gathered A, in the inputs and in the memory around all buffers.
func TestMistakesInKernelFilesOfProducts(t *testing.T) {
	const mapOfB = `sizes = ["k", "n"], box`
	const everywhere = "0 after timing; 0 before timing; 1 after timing; 1 before timing"
	for _, tt := range []struct {
		name    string
		replace []string
		wrong   string // ranks and phases
		err     string // a pattern
	}{
		{
			"the last of K is dropped",
			[]string{mapOfB, `sizes = ["k - 1", "n"], strides = ["2 * k"], box`},
			everywhere, "",
		},
		{
			"the gathered A is not written",
			[]string{
				`{pointer = "gathered"}`, `{pointer = "spare"}`,
				"[buffers.flags]", "[buffers.spare]\nsize = \"2 * m * k\"\n[buffers.flags]",
			},
			"0 after timing, in the gathered A; 0 before timing, in the gathered A; " +
				"1 after timing, in the gathered A; 1 before timing, in the gathered A", "",
		},
		{
			"behind C",
			[]string{`{pointer = "c"}`, `{pointer = "c", offset = 4}`},
			"",
			"4 bytes behind C have changed, the nearest at a distance of 0",
		},
		{"an input", []string{`{pointer = "c"}`, `{pointer = "b"}`}, "", "changed its input"},
		{
			"behind a buffer",
			[]string{`"4 * sms * world"`, `"4 * world"`},
			"",
			"behind the buffer flags have changed, the nearest at a distance of 0",
		},
		{
			"not restored",
			[]string{"init = 0", "init = 0\nrestored = true"},
			"",
			"has not restored the buffer flags: byte 0 was 0x00 before the first call, and is 0x02",
		},
		{
			"no buffer of its size",
			[]string{`"4 * sms * world"`, `"4 * sms / m"`},
			"",
			`mine.toml:\d+: for rank 0 of 2, "4 \* sms / m" is 8/35`,
		},
		{
			"a multiple",
			[]string{"[buffers.flags]", "[contract]\nk_multiple = 64\n[buffers.flags]"},
			"",
			`mine.toml:\d+: mine takes a K that is a multiple of 64, not 72`,
		},
		{"another type", []string{`type = "bfloat16"`, `type = "half"`, `"bf16"`, `"f16"`}, everywhere, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results, err := runChanged(t, nil, tt.replace...)
			var phases []string
			for _, r := range results {
				for _, m := range r.Mismatches {
					phases = append(phases, fmt.Sprintf("%d %s", m.Rank, m.Phase))
				}
			}
			slices.Sort(phases)
			if got := strings.Join(phases, "; "); got != tt.wrong && tt.err == "" {
				t.Errorf("wrong %s, want %s", got, tt.wrong)
			}
			if (err == nil) != (tt.err == "") || err != nil && !regexp.MustCompile(tt.err).MatchString(err.Error()) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		})
	}
}

// Products that three ranks add, with gpurun's barrier around the kernel. Where partial sums are rounded, the file must
// say so.
func TestKernelFilesThatAddProducts(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("testdata/product.ptx")
	if err != nil {
		t.Fatal(err)
	}
	const text = `collective = %q
type = "bfloat16"
module = "product.ptx"
[let]
rows = %q
first = %q
[[steps]]
barrier = true
[[steps]]
entry = "reduce_product"
grid = "ceil(rows * n / 64)"
block = 64
args = [
  {table = "a"}, {table = "b"}, {pointer = "c"}, {u32 = "first"}, {u32 = "rows"}, {u32 = "n"}, {u32 = "k"},
  {u32 = "world"}, {u32 = %d},
]
[[steps]]
barrier = true
[contract]
stepwise = %t
`
	for _, tt := range []struct {
		name, rows, first string
		rounds            int
		stepwise, right   bool
	}{
		{"matmul-reducescatter", "m / world", "rank * rows", 0, false, true},
		{"matmul-reducescatter", "m / world", "0", 0, false, false},
		{"matmul-reducescatter", "m / world", "rank * rows", 1, true, true},
		{"matmul-reducescatter", "m / world", "rank * rows", 1, false, false},
		{"matmul-allreduce", "m", "0", 0, false, true},
		{"matmul-allreduce", "m", "0", 1, true, true},
		{"matmul-allreduce", "m - 1", "0", 0, false, false},
	} {
		file := fmt.Sprintf(text, tt.name, tt.rows, tt.first, tt.rounds, tt.stepwise)
		results, err := runProduct(t, 3, nil, file, "product.ptx", code)
		if err != nil || len(results) != 1 || (*results[0].Wrong == 0) != tt.right {
			t.Errorf("%+v: %+v, %v", tt, results, err)
		}
	}
}

// A product that hangs is a hang with its place.
func TestKernelFileOfAProductThatHangs(t *testing.T) {
	t.Parallel()
	_, err := runChanged(t, nil, `{u32 = "call + 1"}`, `{u32 = "call + 1 + rank"}`)
	if err == nil || !strings.Contains(err.Error(), "gather_matmul") {
		t.Error(err)
	}
}
