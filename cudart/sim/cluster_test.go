package sim

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

//go:embed testdata/cluster.ptx
var clusterPTX []byte

// registersPTX has one warpgroup give registers to two others, whose threads write
// their numbers.
const registersPTX = `
.version 8.0
.target sm_90a
.address_size 64
.visible .entry registers(.param .align 8 .b8 block[8])
.maxntid 384, 1, 1
.minnctapersm 1
{
	.reg .b64 %out;
	.reg .b32 %thread, %word;
	.reg .pred %p;
	ld.param.u64 %out, [block];
	cvta.to.global.u64 %out, %out;
	mov.u32 %thread, %tid.x;
	setp.ge.u32 %p, %thread, 128;
	@%p bra consumer;
	setmaxnreg.dec.sync.aligned.u32 40;
	bar.arrive 1, 384;
	bra done;
consumer:
	setmaxnreg.inc.sync.aligned.u32 232;
	bar.sync 1, 384;
	mad.wide.u32 %out, %thread, 4, %out;
	st.global.u32 [%out], %thread;
done:
	ret;
}
`

// launchOn runs an entry and returns so many words of what it wrote.
func launchWords(t *testing.T, d cudart.Device, text []byte, entry string, shape cudart.Launch, n int) []uint32 {
	t.Helper()
	m, err := d.LoadModule(entry+".ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	s, out := mustStream(t, d), mustMalloc(t, d, int64(4*n))
	if err := s.Fill(out, 0xee, int64(4*n)); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(k, shape, params(uint64(out))); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 4*n)
	if err := s.Download(data, out); err != nil {
		t.Fatal(err)
	}
	got := make([]uint32, n)
	for i := range got {
		got[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return got
}

// exchanged is what the kernel exchange leaves.
func exchanged(blocks, cluster int) []uint32 {
	var words []uint32
	for b := range blocks {
		id, rank := b/cluster, b%cluster
		next, before := (rank+1)%cluster, (rank+cluster-1)%cluster
		for thread := range 64 {
			for _, w := range []int{
				1000*id + 100*before + thread, 64 * 63 / 2, 1000*id + 100*rank + thread,
				id, blocks / cluster, rank, cluster, next + 10,
			} {
				words = append(words, uint32(w))
			}
		}
	}
	return words
}

func checkClusters(t *testing.T, d cudart.Device) {
	t.Helper()
	for _, shape := range []cudart.Launch{
		{Blocks: 6, Cluster: 2}, {Blocks: 8, Cluster: 4}, {Blocks: 8, Cluster: 8}, {Blocks: 3, Cluster: 1}, {Blocks: 2},
	} {
		shape.Threads = 64
		want := exchanged(shape.Blocks, max(shape.Cluster, 1))
		got := launchWords(t, d, clusterPTX, "exchange", shape, len(want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", shape, diff)
		}
	}
	got := launchWords(t, d, clusterPTX, "pair", cudart.Launch{Blocks: 4, Threads: 32, Cluster: 2}, 32)
	for b := range 4 {
		if rank := uint32(b % 2); got[8*b] != rank || got[8*b+1] != 1-rank {
			t.Errorf("block %d has rank %d and was told of %d", b, got[8*b], got[8*b+1])
		}
	}
	want := make([]uint32, 384)
	for i := range want {
		want[i] = 0xeeeeeeee
		if i >= 128 {
			want[i] = uint32(i)
		}
	}
	if diff := cmp.Diff(want, launchWords(t, d, []byte(registersPTX), "registers", cudart.Launch{Blocks: 1, Threads: 384},
		384)); diff != "" {
		t.Error(diff)
	}
}

func TestClusters(t *testing.T) {
	for seed := range uint64(6) {
		checkClusters(t, openWith(t, Options{Seed: seed, Major: 9}))
	}
}

func TestGPUAndSimulatorAgreeOnClusters(t *testing.T) {
	b := gpuBackend(t, 9)
	infos, err := b.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if infos[0].Major != 9 {
		t.Skip("setmaxnreg for sm_90a needs compute capability 9.0 exactly")
	}
	d, err := b.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	checkClusters(t, d)
}

func TestClusterLaunchRefuses(t *testing.T) {
	for want, tt := range map[string]struct {
		major int
		entry string
		shape cudart.Launch
		code  cudart.Result
	}{
		"do not make whole clusters of 2": {
			9, "exchange", cudart.Launch{Blocks: 3, Threads: 64, Cluster: 2}, cudart.ErrInvalidValue,
		},
		"1 to 8 are possible": {
			9, "exchange", cudart.Launch{Blocks: 16, Threads: 64, Cluster: 16}, cudart.ErrInvalidValue,
		},
		"demands clusters of 2 blocks, not 4": {
			9, "pair", cudart.Launch{Blocks: 4, Threads: 32, Cluster: 4}, cudart.ErrInvalidValue,
		},
		"2 blocks at most, not 4": {
			9, "small", cudart.Launch{Blocks: 4, Threads: 32, Cluster: 4}, cudart.ErrInvalidValue,
		},
		"3 blocks do not make whole": {9, "pair", cudart.Launch{Blocks: 3, Threads: 32}, cudart.ErrInvalidValue},
		"need compute capability 9.0": {
			8, "plain", cudart.Launch{Blocks: 2, Threads: 32, Cluster: 2}, cudart.ErrNotSupported,
		},
	} {
		d := openWith(t, Options{Major: tt.major})
		text := []byte(string(clusterPTX) + ".visible .entry small(.param .u64 out)\n.maxclusterrank 2\n{\nret;\n}\n")
		if tt.major < 9 {
			text = []byte(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry plain(.param .u64 out)\n{\nret;\n}\n")
		}
		m, err := d.LoadModule("m", text)
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel(tt.entry)
		if err != nil {
			t.Fatal(err)
		}
		err = mustStream(t, d).Launch(k, tt.shape, params(0))
		if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %v and %q", tt.shape, err, tt.code, want)
		}
	}
}

func TestEncodeTensorMapRefuses(t *testing.T) {
	good := cudart.TensorMap{Base: 4096, Sizes: []int64{64}, Box: []int{64}}
	bad := good
	bad.Box = []int{60}
	if _, err := openWith(t, Options{Major: 8}).EncodeTensorMap(good); !errors.Is(err, cudart.ErrNotSupported) {
		t.Errorf("an old device: %v", err)
	}
	if _, err := openWith(t, Options{}).EncodeTensorMap(bad); !errors.Is(err, cudart.ErrInvalidValue) {
		t.Errorf("a bad map: %v", err)
	}
}
