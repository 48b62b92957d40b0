package worker

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpurun/kernels/kernelfile"
	"gpurun/worker/workload"
)

// exampleFolder has the kernel files that ship.
const exampleFolder = "../kernels/examples"

// bundle reads a kernel file and its PTX, as the command line does.
func bundle(t testing.TB, path string, world int) *kernelfile.Bundle {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := kernelfile.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	b := &kernelfile.Bundle{Path: path, Text: text, Modules: map[string]kernelfile.Module{}}
	launches := f.Launches()
	if f.Reference != nil {
		launches = append(launches, f.Reference.Launch)
	}
	for _, l := range launches {
		for rank := range world {
			key := l.Key(kernelfile.Call{Rank: rank, World: world})
			code, err := os.ReadFile(filepath.Join(filepath.Dir(path), key))
			if err != nil {
				t.Fatal(err)
			}
			_, target, _ := strings.Cut(string(code), ".target sm_")
			sm, _ := strconv.Atoi(target[:2])
			m := kernelfile.Module{Path: key, PTX: true, Code: code, SM: sm, Matches: map[string]string{}}
			if l.Match.Text != "" {
				pattern := l.Match.Fill(kernelfile.Call{Rank: rank, World: world, Type: f.Types[0]})
				m.Matches[pattern] = instance(t, string(code), pattern)
			}
			b.Modules[key] = m
		}
	}
	return b
}

// instance finds the kernel that a pattern such as "f<float, 2>*" stands for, by the Itanium C++ ABI's mangling.
func instance(t testing.TB, code, pattern string) string {
	t.Helper()
	name, arguments, _ := strings.Cut(pattern, "<float, ")
	world, _, _ := strings.Cut(arguments, ">")
	mangled := regexp.MustCompile(`\.entry (\w*` + name + "IfL[ij]" + world + `E\w*)`).FindStringSubmatch(code)
	if mangled == nil {
		t.Fatalf("no kernel matches %q", pattern)
	}
	return mangled[1]
}

// userJob runs a kernel file.
func userJob(t testing.TB, path string, world int) workload.Job {
	t.Helper()
	b := bundle(t, path, world)
	f, err := kernelfile.Parse(b.Path, b.Text)
	if err != nil {
		t.Fatal(err)
	}
	job := workload.Job{
		Collective: f.Collective, Algorithms: []string{path}, DTypes: f.Types[:1], Ops: f.Ops[:min(len(f.Ops), 1)],
		Sizes: []int64{24 << 10, 768, 30 << 10, 24 << 10}, Iterations: 2, Warmup: 1, Verify: true, Seed: 3,
		KernelFiles: []*kernelfile.Bundle{b},
	}
	if f.IsProduct() {
		m := int64(world)
		job.Sizes, job.Products = nil, &workload.Products{
			M: []int64{35 * m, m}, N: []int64{21, 3}, K: []int64{72, 8}, Splits: []int{1},
		}
	}
	return job
}

// Every example that ships is verified as gpurun's own algorithms are, in place and out of place. Two ranks are enough:
// kernels/examples runs the kernels on four as well.
func TestExamplesAreVerified(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(exampleFolder + "/*.toml")
	if err != nil || len(paths) < 7 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			const world = 2
			results, errs := ranks{world: world}.run(t, userJob(t, path, world))
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if len(results) < 4 {
				t.Fatalf("%d results", len(results))
			}
			for _, r := range results {
				if r.Wrong == nil || *r.Wrong != 0 || r.Time.P50 <= 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}
