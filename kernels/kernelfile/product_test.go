package kernelfile

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aProduct is rank 1 of 2 of a product of 128 x 48 x 64 elements, whose A is gathered.
func aProduct() Call {
	return Call{
		Rank: 1, World: 2, Type: "half", Op: "none", ElementBytes: 2, SMs: 132, M: 128, N: 48, K: 64,
		Matrices: Matrices{A: 64 * 64 * 2, B: 48 * 64 * 2, C: 128 * 48 * 2, Gathered: 128 * 64 * 2},
	}
}

func productFile(t *testing.T) *File {
	t.Helper()
	text, err := os.ReadFile("testdata/product.toml")
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, string(text))
}

// The matrices of a product are buffers, and its extents are names.
func TestProducts(t *testing.T) {
	f := productFile(t)
	m, err := f.NewMadeUp(aProduct())
	if err != nil {
		t.Fatal(err)
	}
	want := []Space{{"a", 0, 8192}, {"b", 8192, 6144}, {"c", 14336, 12288}, {"gathered", 26624, 16384}}
	if diff := cmp.Diff(want, m.Spaces); diff != "" {
		t.Error(diff)
	}
	steps, err := f.Bind(aProduct(), nil, m)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, field := range steps[0].Fields {
		var x uint64
		for i := range field.Bytes {
			x |= uint64(steps[0].Params[field.At+i]) << (8 * i)
		}
		got = append(got, x)
	}
	const own = 2 << madeUpBits
	wanted := []uint64{
		madeUpTables, own + 8192, own + 26624 + 8192, own + 14336, 128, 48, 64, 16384, 12288, 14336,
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestContractsOfProducts(t *testing.T) {
	f := productFile(t)
	for want, change := range map[string]func(*Call){
		"": func(*Call) {},
		"x.toml:19: x takes an M that is a multiple of 128, not 130":              func(c *Call) { c.M = 130 },
		"x.toml:20: x takes an N that is a multiple of 16, not 40":                func(c *Call) { c.N = 40 },
		"x.toml:21: x takes a K that is a multiple of 64, not 72":                 func(c *Call) { c.K = 72 },
		"x.toml: x is for elements of type half or bfloat16, not float":           func(c *Call) { c.Type = "float" },
		`x.toml:19: for rank 1 of 0, "64 * world" is 0, and a number of elements`: func(c *Call) { c.World = 0 },
	} {
		c := aProduct()
		change(&c)
		got := ""
		if err := f.Accepts(c); err != nil {
			got = err.Error()
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want+" is ")) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := mustParse(t, "collective = 'matmul-allreduce'\nmodule = 'x'\ngrid = 1").ElementTypes(); len(got) != 2 {
		t.Errorf("types by default are %v", got)
	}
}
