package cudart

import (
	"errors"
	"strings"
	"testing"
)

func TestDim3(t *testing.T) {
	d := Dim3{3, 4, 5}
	for i := range int(d.Count()) {
		at := d.At(i)
		if d.Index(at) != i || at.X >= 3 || at.Y >= 4 || at.Z >= 5 {
			t.Errorf("number %d is at %+v, whose number is %d", i, at, d.Index(at))
		}
	}
	if (Dim3{X: 7}).At(5) != (Dim3{X: 5}) || (Dim3{X: 7}).Count() != 7 {
		t.Error("a size of one dimension counts otherwise")
	}
	for want, d := range map[string]Dim3{"8": {8, 0, 0}, "8x4": {8, 4, 1}, "8x1x2": {8, 1, 2}} {
		if d.String() != want {
			t.Errorf("%#v reads %s, want %s", d, d, want)
		}
	}
}

func TestLaunchCheck(t *testing.T) {
	hopper := Info{Name: "H", Major: 9}
	for _, good := range []Launch{
		{Blocks: 1<<31 - 1, Threads: 1024},
		{GridDim: Dim3{1, 65535, 65535}, BlockDim: Dim3{1, 16, 64}},
		{GridDim: Dim3{4, 6, 2}, Threads: 1, ClusterDim: Dim3{2, 2, 2}},
		{Blocks: 8, BlockDim: Dim3{X: 2}, Cluster: 8},
	} {
		if err := good.Check(hopper); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for want, bad := range map[string]Launch{
		"cannot have 1x1025 threads; 1 to 1024 in x, 1024 in y and 64 in z are possible, 1024 in all": {
			Blocks: 1, BlockDim: Dim3{1, 1025, 1},
		},
		"cannot have 1x1x65 threads":   {Blocks: 1, BlockDim: Dim3{1, 1, 65}},
		"cannot have 33x32 threads":    {Blocks: 1, BlockDim: Dim3{33, 32, 1}},
		"cannot have 0 threads":        {Blocks: 1},
		"cannot have 0 blocks":         {Threads: 1},
		"cannot have 2147483648 block": {Blocks: 1 << 31, Threads: 1},
		"cannot have 1x65536 blocks; 1 to 2147483647 in x, 65535 in y and 65535 in z are possible": {
			GridDim: Dim3{1, 65536, 1}, Threads: 1,
		},
		"cannot have 1x1x65536 blocks":                 {GridDim: Dim3{1, 1, 65536}, Threads: 1},
		"cannot have 1x-1 blocks":                      {GridDim: Dim3{1, -1, 1}, Threads: 1},
		"cluster cannot have 0x2 bloc":                 {Blocks: 4, Threads: 1, ClusterDim: Dim3{0, 2, 1}},
		"gives Blocks and GridDim":                     {Blocks: 1, GridDim: Dim3{X: 1}, Threads: 1},
		"gives Threads and BlockDim":                   {Blocks: 1, BlockDim: Dim3{X: 1}, Threads: 1},
		"cluster cannot have 3x3 bloc":                 {GridDim: Dim3{3, 3, 1}, Threads: 1, ClusterDim: Dim3{3, 3, 1}},
		"4x3 blocks do not make whole clusters of 2x2": {GridDim: Dim3{4, 3, 1}, Threads: 1, ClusterDim: Dim3{2, 2, 1}},
		"-1 bytes of dynamic shared memory":            {Blocks: 1, Threads: 1, SharedBytes: -1},
	} {
		if err := bad.Check(hopper); !errors.Is(err, ErrInvalidValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
	cluster := Launch{Blocks: 2, Threads: 1, Cluster: 2}
	if err := cluster.Check(Info{Name: "A", Major: 8}); !errors.Is(err, ErrNotSupported) {
		t.Errorf("a cluster on an A100: %v", err)
	}
}
