package sim

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

//go:embed testdata/dimensions.ptx
var dimensionsPTX []byte

// clusterGridPTX is the module whose kernel dimensions counts its grid in clusters of 2 x 2 x 2 blocks.
func clusterGridPTX() []byte {
	const entry = ".visible .entry dimensions(.param .u64 out)\n"
	text := regexp.MustCompile(`\.version [0-9.]+`).ReplaceAllString(string(dimensionsPTX), ".version 9.0")
	const directives = ".blocksareclusters .reqntid 32, 2, 1 .reqnctapercluster 2, 2, 2\n"
	return []byte(strings.Replace(text, entry, entry+directives, 1))
}

// placeWords is how many words the kernel dimensions writes per thread.
const placeWords = 32

// places is what the kernel dimensions leaves.
func places(shape cudart.Launch, explicit uint32) []uint32 {
	grid, block, cluster := shape.Grid(), shape.Block(), shape.ClusterBlocks()
	if cluster == (cudart.Dim3{}) {
		cluster = cudart.Dim3{X: 1, Y: 1, Z: 1}
	}
	var words []uint32
	for b := range int(grid.Count()) {
		for i := range int(block.Count()) {
			at, in := block.At(i), grid.At(b)
			id := cudart.Dim3{X: in.X / cluster.X, Y: in.Y / cluster.Y, Z: in.Z / cluster.Z}
			of := cudart.Dim3{X: grid.X / cluster.X, Y: grid.Y / cluster.Y, Z: grid.Z / cluster.Z}
			rank := cudart.Dim3{X: in.X % cluster.X, Y: in.Y % cluster.Y, Z: in.Z % cluster.Z}
			for _, d := range []cudart.Dim3{at, block, in, grid, id, of, rank, cluster} {
				words = append(words, uint32(d.X), uint32(d.Y), uint32(d.Z))
			}
			words = append(words, uint32(cluster.Index(rank)), uint32(cluster.Count()), explicit, uint32(i%32), 0, 0, 0, 0)
		}
	}
	return words
}

func checkDimensions(t *testing.T, d cudart.Device) {
	t.Helper()
	dim := func(x, y, z int) cudart.Dim3 { return cudart.Dim3{X: x, Y: y, Z: z} }
	for _, shape := range []cudart.Launch{
		{Blocks: 3, Threads: 40},
		{GridDim: dim(2, 3, 2), BlockDim: dim(4, 3, 5)},
		{GridDim: dim(1, 2, 1), BlockDim: dim(2, 8, 64)},
		{GridDim: dim(4, 6, 2), BlockDim: dim(32, 2, 1), ClusterDim: dim(2, 2, 2)},
		{GridDim: dim(2, 6, 1), BlockDim: dim(1, 33, 1), ClusterDim: dim(1, 3, 1)},
		{Blocks: 3, Threads: 1, Cluster: 1},
	} {
		explicit := uint32(min(shape.ClusterBlocks().X, 1))
		want := places(shape, explicit)
		if diff := cmp.Diff(want, launchWords(t, d, dimensionsPTX, "dimensions", shape, len(want))); diff != "" {
			t.Errorf("%+v: %s", shape, diff)
		}
	}
	inClusters := cudart.Launch{GridDim: dim(2, 3, 1), BlockDim: dim(32, 2, 1)}
	want := places(cudart.Launch{GridDim: dim(4, 6, 2), BlockDim: dim(32, 2, 1), ClusterDim: dim(2, 2, 2)}, 1)
	if diff := cmp.Diff(want, launchWords(t, d, clusterGridPTX(), "dimensions", inClusters, len(want))); diff != "" {
		t.Errorf(".blocksareclusters: %s", diff)
	}
	clustered := cudart.Launch{GridDim: dim(4, 2, 3), Threads: 1}
	if got := launchWords(t, d, dimensionsPTX, "clustered", clustered, 1); got[0] != 1 {
		t.Error("a kernel that demands clusters has none")
	}
}

func TestDimensions(t *testing.T) {
	for seed := range uint64(3) {
		checkDimensions(t, openWith(t, Options{Seed: seed, Major: 9}))
	}
}

func TestGPUAndSimulatorAgreeOnDimensions(t *testing.T) {
	d, err := gpuBackend(t, 9).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	checkDimensions(t, d)
	checkParameters(t, d)
	checkDirectives(t, d, false)
	checkPrepared(t, d)
	for _, grid := range []cudart.Dim3{{X: 1, Y: 65535, Z: 1}, {X: 1, Y: 1, Z: 65535}} {
		s := mustStream(t, d)
		if err := s.Launch(dimensionsKernel(t, d, "most"), cudart.Launch{GridDim: grid, Threads: 1}, params(0)); err != nil {
			t.Errorf("a grid of %v: %v", grid, err)
		}
	}
}

// checkPrepared launches on a stream that was prepared for short-running kernels, in changing shapes.
// There %nclusterid of a kernel without clusters is that of the graph's first shape: a driver (580) does not
// update it. It is not compared.
func checkPrepared(t *testing.T, d cudart.Device) {
	t.Helper()
	k, s := dimensionsKernel(t, d, "dimensions"), mustStream(t, d)
	if err := s.Prepare(k); err != nil {
		t.Fatal(err)
	}
	for _, shape := range []cudart.Launch{
		{GridDim: cudart.Dim3{X: 2, Y: 3, Z: 2}, BlockDim: cudart.Dim3{X: 4, Y: 3, Z: 5}, ShortRunning: true},
		{GridDim: cudart.Dim3{X: 3, Y: 2}, BlockDim: cudart.Dim3{X: 5, Y: 3, Z: 4}, ShortRunning: true},
		{Blocks: 2, Threads: 3, ShortRunning: true},
	} {
		want := places(shape, 0)
		out := mustMalloc(t, d, int64(4*len(want)))
		if err := s.Launch(k, shape, params(uint64(out))); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4*len(want))
		if err := s.Download(got, out); err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			isClusterCount := i%placeWords >= 15 && i%placeWords < 18
			if binary.LittleEndian.Uint32(got[4*i:]) != w && !isClusterCount {
				t.Fatalf("%+v: word %d of thread %d is %d, want %d", shape, i%placeWords, i/placeWords,
					binary.LittleEndian.Uint32(got[4*i:]), w)
			}
		}
	}
}

func TestPreparedLaunches(t *testing.T) { checkPrepared(t, openWith(t, Options{})) }

// checkParameters passes parameters of several sizes in one block.
func checkParameters(t *testing.T, d cudart.Device) {
	t.Helper()
	k, s, out := dimensionsKernel(t, d, "params"), mustStream(t, d), mustMalloc(t, d, 12)
	block := append([]byte{7, 0, 0, 0, 8, 1, 0, 0, 9, 2, 0, 0, 0, 0, 0, 0}, params(uint64(out))...)
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, block); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 12)
	if err := s.Download(got, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]byte{7, 0, 0, 0, 8, 1, 0, 0, 9, 2, 0, 0}, got); diff != "" {
		t.Error(diff)
	}
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, block[:20]); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("a block of parameters that is too short: %v", err)
	}
}

func TestSeveralParameters(t *testing.T) { checkParameters(t, openWith(t, Options{})) }

func dimensionsKernel(t *testing.T, d cudart.Device, entry string) cudart.Kernel {
	t.Helper()
	m, err := d.LoadModule("dimensions.ptx", dimensionsPTX)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// checkDirectives launches kernels in shapes that their directives allow, and in others. named: the
// errors name the directive.
func checkDirectives(t *testing.T, d cudart.Device, named bool) {
	t.Helper()
	dim := func(x, y, z int) cudart.Dim3 { return cudart.Dim3{X: x, Y: y, Z: z} }
	s, out := mustStream(t, d), mustMalloc(t, d, 4)
	for _, tt := range []struct {
		entry string
		shape cudart.Launch
		want  string // "" if the launch is possible
	}{
		{"exact", cudart.Launch{Blocks: 1, BlockDim: dim(8, 4, 2)}, ""},
		{"exact", cudart.Launch{Blocks: 1, BlockDim: dim(8, 2, 4)}, ".reqntid"},
		{"exact", cudart.Launch{Blocks: 1, Threads: 64}, ".reqntid"},
		{"most", cudart.Launch{Blocks: 1, Threads: 64}, ""},
		{"most", cudart.Launch{Blocks: 1, BlockDim: dim(1, 1, 64)}, ""},
		{"most", cudart.Launch{Blocks: 1, Threads: 65}, ".maxntid"},
		{"clustered", cudart.Launch{GridDim: dim(2, 2, 1), Threads: 1, ClusterDim: dim(2, 2, 1)}, ""},
		{"clustered", cudart.Launch{GridDim: dim(4, 1, 1), Threads: 1}, "4 blocks do not make whole clusters of 2x2"},
		{"clustered", cudart.Launch{GridDim: dim(4, 4, 1), Threads: 1, ClusterDim: dim(4, 1, 1)}, ".reqnctapercluster"},
		{"explicit", cudart.Launch{Blocks: 2, Threads: 1}, ".explicitcluster"},
		{"explicit", cudart.Launch{Blocks: 2, Threads: 1, Cluster: 1}, ""},
	} {
		err := s.Launch(dimensionsKernel(t, d, tt.entry), tt.shape, params(uint64(out)))
		if (err == nil) != (tt.want == "") || named && err != nil &&
			(!errors.Is(err, cudart.ErrInvalidValue) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %+v: %v, want %q", tt.entry, tt.shape, err, tt.want)
		}
	}
}

func TestDirectives(t *testing.T) { checkDirectives(t, openWith(t, Options{}), true) }

func TestFaultNamesThreeDimensions(t *testing.T) {
	d := openWith(t, Options{})
	s := mustStream(t, d)
	shape := cudart.Launch{GridDim: cudart.Dim3{X: 1, Y: 3, Z: 1}, BlockDim: cudart.Dim3{X: 1, Y: 4}}
	if err := s.Launch(dimensionsKernel(t, d, "wild"), shape, params(0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(t.Context()); err == nil || !strings.Contains(err.Error(), "block (0,2,0), thread (0,3,0)") {
		t.Errorf("got %v", err)
	}
}
