package flags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"gpurun/kernels"
)

// A collective has the flags that mean something to it, and says why it lacks another.
func TestFlagsOfCollectives(t *testing.T) {
	for _, c := range []struct{ collective, has, lacks, why string }{
		{"allreduce", "epilogue", "root", "allreduce takes no --root: it has no root"},
		{"reduce", "root", "cublas-lib", "reduce takes no --cublas-lib: it multiplies no matrices"},
		{"allgather", "minbytes", "op", "allgather takes no --op: it does not reduce"},
		{"broadcast", "root", "epilogue", "broadcast takes no --epilogue: it has no epilogues"},
		{"barrier", "iters", "minbytes", "barrier takes no --minbytes: it moves no data"},
	} {
		what, _ := kernels.Find(c.collective)
		f := pflag.NewFlagSet(c.collective, pflag.ContinueOnError)
		AddCollective(f, what)
		if f.Lookup(c.has) == nil || f.Lookup(c.lacks) != nil {
			t.Errorf("%s: --%s or not --%s", c.collective, c.has, c.lacks)
		}
		if got := Inapplicable(what, c.lacks); got != c.why {
			t.Errorf("%s: %q, want %q", c.collective, got, c.why)
		}
		if got := Inapplicable(what, c.has); got != "" {
			t.Errorf("%s: --%s: %q", c.collective, c.has, got)
		}
	}
}

// What takes any collective complains of a flag only if it was given.
func TestMeaningless(t *testing.T) {
	barrier, _ := kernels.Find("barrier")
	for line, want := range map[string]string{
		"": "", "-n 3": "", "-n 3 -b 8": "barrier takes no --minbytes: it moves no data",
	} {
		f := pflag.NewFlagSet("bench", pflag.ContinueOnError)
		AddAllBut(f, "explain")
		if err := f.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		if f.Lookup("explain") != nil {
			t.Error("--explain is there")
		}
		if got := FirstInapplicable(f, barrier); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// Products share flags that exist, and -n is a size of theirs.
func TestFlagsOfProducts(t *testing.T) {
	f := pflag.NewFlagSet("product", pflag.ContinueOnError)
	AddProduct(f)
	for _, name := range inProducts {
		if f.Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	if short := f.ShorthandLookup("n"); short == nil || short.Name != "n" {
		t.Errorf("-n is %+v", short)
	}
}
