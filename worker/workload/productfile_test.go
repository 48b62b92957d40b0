package workload

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
	"gpurun/kernels/userkernel"
)

// productFile is matmul-allreduce with the algorithm of a kernel file, whose code is a module.
func productFile(t *testing.T, text string, m kernelfile.Module) *matmul.Operation {
	t.Helper()
	text = "collective = 'matmul-allreduce'\nmodule = 'x.ptx'\ngrid = 1\n" + text
	b := &kernelfile.Bundle{
		Path: "./x.toml", Text: []byte(text), Modules: map[string]kernelfile.Module{"x.ptx": m},
	}
	reduce, _ := matmul.Find("matmul-allreduce")
	o, err := userkernel.ExtendOperation(reduce, []*kernelfile.Bundle{b})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Algorithms) != len(reduce.Algorithms)+1 {
		t.Fatalf("%d algorithms", len(o.Algorithms))
	}
	return o
}

// A kernel file runs where its code does, and where it has all that it needs.
func TestProductFilesThatCannotRun(t *testing.T) {
	const multicast = "args = [{multicast = 'pad'}]\n[buffers.pad]\nsize = 64\n"
	for _, tt := range []struct {
		text   string
		module kernelfile.Module
		caps   func(*Capabilities)
		want   string // part of the error
	}{
		{"", kernelfile.Module{PTX: true, SM: 90}, nil, ""},
		{"", kernelfile.Module{PTX: true, SM: 90, Specific: true}, nil, ""},
		{"", kernelfile.Module{PTX: true, SM: 100}, nil, "needs 10.0"},
		{
			"",
			kernelfile.Module{PTX: true, SM: 90, Specific: true},
			func(c *Capabilities) { c.Devices[1].Major = 10 }, "is compiled for 9.0 alone",
		},
		{"", kernelfile.Module{SM: 90}, nil, "its code is a binary for GPUs"},
		{"", kernelfile.Module{SM: 90}, func(c *Capabilities) { c.Devices[0].Backend = "cuda" }, ""},
		{multicast, kernelfile.Module{PTX: true, SM: 90}, nil, ""},
		{
			multicast,
			kernelfile.Module{PTX: true, SM: 90},
			func(c *Capabilities) { c.NoMulticast = "there is no switch" },
			"needs a multicast address, and there is no switch",
		},
		{
			"",
			kernelfile.Module{PTX: true, SM: 90},
			func(c *Capabilities) { c.NoPeerAccess = "there is no link" },
			"there is no link; naive can",
		},
		{"[buffers.pad]\nsize = 'sms - 200'\n", kernelfile.Module{PTX: true, SM: 90}, nil, "the size of a buffer"},
		{"type = 'half'\n", kernelfile.Module{PTX: true, SM: 90}, nil, "cannot multiply bfloat16; it can half"},
		{"world = 3\n", kernelfile.Module{PTX: true, SM: 90}, nil, "is for 3 ranks, not 2"},
	} {
		device := cudart.Info{Name: "a device", Backend: "sim", Major: 9, SMs: 132}
		caps := Capabilities{Devices: []cudart.Info{device, device}}
		if tt.caps != nil {
			tt.caps(&caps)
		}
		q := ProductCase{
			Operation: productFile(t, tt.text, tt.module), Requested: "./x.toml",
			Problem: matmul.Problem{M: 8, N: 8, K: 8, DType: collective.BFloat16},
		}
		err := caps.chooseProduct(&q)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt, err, tt.want)
		}
	}
}

// Auto takes no kernel file, even where gpurun's own choice cannot run.
func TestAutoTakesNoProductFile(t *testing.T) {
	o := productFile(t, "", kernelfile.Module{PTX: true, SM: 80})
	a100, h200 := cudart.Info{Major: 8, SMs: 108}, cudart.Info{Major: 9, SMs: 132}
	caps := Capabilities{Devices: []cudart.Info{a100, h200}}
	q := ProductCase{
		Operation: o, Requested: Auto, Problem: matmul.Problem{M: 6144, N: 6144, K: 64, DType: collective.BFloat16},
	}
	if err := caps.chooseProduct(&q); err != nil || q.Algorithm.Name != "decomposed" {
		t.Errorf("%v, %v", q.Algorithm, err)
	}
}

// Areas are as large as the largest case, with guards around each.
func TestAreasOfProducts(t *testing.T) {
	o := productFile(t, "[buffers.pad]\nsize = '4 * sms'\n[buffers.copy]\nsize = '2 * m * k'\n",
		kernelfile.Module{PTX: true, SM: 80})
	a, _ := o.Algorithm("./x.toml")
	var cases []ProductCase
	for _, m := range []int64{8, 100, 24} {
		cases = append(cases, ProductCase{
			Operation: o, Algorithm: a, Problem: matmul.Problem{M: m, N: 8, K: 8, DType: collective.Half},
		})
	}
	l := Layout{Total: 1 << 20}.withAreas(areasOfProducts(cases, 2, 3))
	want := []collective.PlacedArea{
		{Area: collective.Area{Name: "pad", Bytes: 12}, Offset: 1<<20 + GuardBytes},
		{Area: collective.Area{Name: "copy", Bytes: 1600}, Offset: 1<<20 + 3*GuardBytes + 256},
	}
	if diff := cmp.Diff(want, l.Areas[a]); diff != "" || l.Total != want[1].Offset+1792+GuardBytes {
		t.Errorf("%d bytes: %s", l.Total, diff)
	}
}

// What a file has wrong is an error of usage.
func TestProductFilesOfAJob(t *testing.T) {
	job := Job{
		Collective: "matmul-allreduce", Algorithms: []string{"x.toml"}, DTypes: []string{"half"}, Iterations: 1,
		Products: &Products{M: []int64{8}, N: []int64{8}, K: []int64{8}, Splits: []int{1}},
	}
	for text, want := range map[string]string{
		"collective = 'matmul-allreduce'\nmodule = 'x'\ngrid = 1":                              "",
		"collective = 'matmul-allreduce'\nmodule = 'x'\ngrid = 1\n[contract]\nk_multiple = 16": "x.toml:5: x takes a K",
		"collective = 'matmul-allreduce'\nmodule = 'x'\ngrid = 'count'":                        "x.toml:3: grid: count",
		"collective = 'allgather-matmul'\nmodule = 'x'\ngrid = 1":                              `has no algorithm "x.toml"`,
	} {
		job.KernelFiles = []*kernelfile.Bundle{{Path: "x.toml", Text: []byte(text)}}
		err := job.Check(2)
		var usage *UsageError
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !errors.As(err, &usage)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
