package kernelfile

import (
	"fmt"
	"strings"
	"testing"

	"gpurun/cudart"
)

// A launch keeps to what its kernel demands, and has its block by default.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		shape  string
		bounds Bounds
		want   cudart.Dim3 // of the block
		err    string
	}{
		{"", Bounds{Block: [3]int{96, 1, 1}}, cudart.Dim3{X: 96}, ""},
		{"", Bounds{Block: [3]int{16, 4, 0}}, cudart.Dim3{X: 16, Y: 4, Z: 1}, ""},
		{"block = 96", Bounds{Block: [3]int{96, 0, 0}}, cudart.Dim3{X: 96}, ""},
		{"block = [16, 4]", Bounds{Block: [3]int{16, 4, 1}}, cudart.Dim3{X: 16, Y: 4, Z: 1}, ""},
		{"block = 64", Bounds{Block: [3]int{96, 1, 1}}, cudart.Dim3{}, "k.toml:5: kernel kernel takes blocks of 96 threads"},
		{"block = 256", Bounds{MaxThreads: 256}, cudart.Dim3{X: 256}, ""},
		{"block = 257", Bounds{MaxThreads: 256}, cudart.Dim3{}, "up to 256 threads by .maxntid, not 257"},
		{
			"block = 32\ncluster = 2",
			Bounds{Cluster: [3]int{4, 1, 1}},
			cudart.Dim3{},
			"k.toml:6: kernel kernel takes clusters of 4",
		},
		{"block = 32\ncluster = 4", Bounds{Cluster: [3]int{4, 1, 1}}, cudart.Dim3{X: 32}, ""},
		{"", Bounds{}, cudart.Dim3{}, "no block"},
	} {
		f, err := Parse("k.toml", []byte("collective = 'allgather'\nmodule = 'k.ptx'\nentry = 'kernel'\ngrid = 8\n"+c.shape))
		if err != nil {
			t.Fatal(err)
		}
		b := &Bundle{Modules: map[string]Module{"k.ptx": {
			Entries: map[string][]Param{"kernel": {}}, Bounds: map[string]Bounds{"kernel": c.bounds},
		}}}
		steps, err := f.Bind(Call{World: 2}, b, nil)
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q with %+v: error %v, want %q", c.shape, c.bounds, err, c.err)
		case err == nil && fmt.Sprint(steps[0].Launch.Block()) != fmt.Sprint(c.want):
			t.Errorf("%q with %+v: a block of %v, want %v", c.shape, c.bounds, steps[0].Launch.Block(), c.want)
		}
	}
}
