package check

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// The largest call of a kernel file has more blocks than two, and no more than that needs; --sizes says otherwise.
func TestSizesOfKernelFiles(t *testing.T) {
	for _, c := range []struct {
		file  string
		flags []string
		want  []int64 // elements
	}{
		{"halo", nil, []int64{251, 512, 1029}},              // 256 elements a block
		{"packets", nil, []int64{251, 512, 1029}},           // 512
		{"oneshot", nil, []int64{251, 1024, 2053}},          // 1024
		{"serving_onestage", nil, []int64{252, 1024, 4104}}, // 2048, in vectors
		{"halo", []string{"--sizes", "16404"}, []int64{4101}},
		{"halo", []string{"--sizes", "256,256,256,4K"}, []int64{64, 64, 64, 1024}},
		{"zoo/not_resident", nil, []int64{251, 512, 1029}}, // a grid that depends on the device alone
	} {
		o, f := &Options{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		o.Add(f)
		if err := f.Parse(append([]string{"--ranks", "2"}, c.flags...)); err != nil {
			t.Fatal(err)
		}
		if err := o.Read(f); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "..", "kernels", "examples", c.file+".toml")
		p, err := NewPlan(context.Background(), o, []string{path}, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.cases[0].calls.Counts; !slices.Equal(got, c.want) {
			t.Errorf("%s %q has calls of %d elements, want %d", c.file, c.flags, got, c.want)
		}
	}
}
