package kernelfile_test

import (
	"fmt"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
)

// Every collective and product of the catalog can be that of a file, which has an operation exactly where one reduces.
func TestFilesComputeWhatIsInTheCatalog(t *testing.T) {
	parse := func(collective, op string) (*kernelfile.File, error) {
		const text = "collective = %q\n%smodule = \"x.ptx\"\ngrid = 1\n"
		return kernelfile.Parse("x.toml", fmt.Appendf(nil, text, collective, op))
	}
	check := func(name, word string, reduces bool) {
		right, wrong := "", "op = \"sum\"\n"
		if reduces {
			right, wrong = wrong, right
		}
		f, err := parse(word, right)
		if err != nil || f.Collective != name {
			t.Errorf("%s: %v", word, err)
		}
		if _, err := parse(word, wrong); err == nil {
			t.Errorf("%s with %q passes", word, wrong)
		}
	}
	for _, c := range kernels.Collectives() {
		check(c.Name, c.Name, c.Shape.Reduces)
	}
	for _, o := range matmul.Operations() {
		check(o.Name, o.Name, false)
		f, err := parse(o.Name, "args = [{pointer = \"gathered\"}]\n")
		if gathers := err == nil; gathers != o.Gathers {
			t.Errorf("%s: %v", o.Name, err)
		}
		if f != nil && len(f.ElementTypes()) != len(matmul.DTypes()) {
			t.Errorf("%s is for %v", o.Name, f.ElementTypes())
		}
	}
	check("allreduce", "all_reduce", true)
	check("allgather-matmul", "all-gather_matmul", false)
}
