package exec

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// boxKernel wraps a body in which %map is the address of the map of a tensor of 16
// rows of 64 words, with boxes of 32 words by 4 that are swizzled by 128 bytes, %out
// that of 64 words, and the barrier, with 1 arrival, is initialized.
func boxKernel(body string) string {
	return `
.version 8.6
.target sm_90
.address_size 64
.visible .entry run(.param .u64 map, .param .u64 out)
{
	.reg .b64 %map, %out, %far, %hint;
	.reg .b32 %thread, %tile, %bar, %v, %peer;
	.reg .b16 %ranks;
	.reg .pred p, first, odd;
	.shared .align 1024 .b8 tile[4096];
	.shared .align 8 .b8 barrier[16];
	ld.param.u64 %map, [map];
	ld.param.u64 %out, [out];
	mov.u32 %thread, %tid.x;
	mov.u32 %tile, tile;
	mov.u32 %bar, barrier;
	mov.u16 %ranks, 3;
	setp.eq.u32 first, %thread, 0;
	mov.u32 %v, %cluster_ctarank;
	setp.eq.u32 odd, %v, 1;
	@first mbarrier.init.shared::cta.b64 [barrier], 1;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	` + body + `
	ret;
}
`
}

// runBox runs a body in a cluster of blocks and returns the tensor
// and the output. The words of the tensor count up from 1.
func runBox(t *testing.T, blocks, threads int, disorder *rand.Rand, body string) (tensor, out []uint32, err error) {
	t.Helper()
	var mem memory
	data, encoded, result := mem.allocate(4096), mem.allocate(256), mem.allocate(256)
	for i := range uint32(1024) {
		binary.LittleEndian.PutUint32(mem.at(data)[4*i:], i+1)
	}
	m := cudart.TensorMap{
		Base: cudart.DevicePtr(data), Type: cudart.TensorFloat32, Sizes: []int64{64, 16}, Strides: []int64{256},
		Box: []int{32, 4}, Swizzle: 128,
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	words128 := EncodeTensorMap(m)
	copy(mem.at(encoded), words128[:])
	g := launchKernel(t, compileText(t, boxKernel(body)), "run",
		Config{
			Blocks: blocks, Threads: threads, Cluster: blocks, Params: words(encoded, result), Memory: &mem, Disorder: disorder,
		})
	err = finish(t, g)
	for i := range 1024 {
		tensor = append(tensor, binary.LittleEndian.Uint32(mem.at(data)[4*i:]))
	}
	for i := range 64 {
		out = append(out, binary.LittleEndian.Uint32(mem.at(result)[4*i:]))
	}
	return tensor, out, err
}

const (
	expect  = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 512;\n"
	loadBox = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%tile], [%map, {%v, " +
		"2}], [%bar];\n"
	storeBox = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {32, 14}], [%tile];\n"
	await    = "wait: mbarrier.try_wait.parity.shared::cta.b64 p, [barrier], 0; @!p bra wait;\n"
	// report writes the second row's second unit of 16 bytes, where the swizzle puts the first.
	report = "ld.shared.u32 %v, [%tile+144]; st.global.u32 [%out], %v;\n"
)

func TestTensorLoadMustBeWaitedFor(t *testing.T) {
	const want = 3*64 + 1
	start := expect + "mov.u32 %v, 0;" + loadBox
	missed := 0
	for i, disorder := range seeds(30) {
		if _, out, err := runBox(t, 1, 1, disorder, start+await+report); err != nil || out[0] != want {
			t.Fatalf("seed %d: got %d, %v; want %d", i, out[0], err, want)
		}
	}
	for _, disorder := range seeds(30) {
		_, out, err := runBox(t, 1, 1, disorder, start+report)
		if err != nil {
			t.Fatal(err)
		}
		if out[0] != want {
			missed++
		}
	}
	if missed < 5 {
		t.Errorf("who does not wait missed the data %d times out of 31", missed)
	}
}

// A store reads shared memory until it is waited for, and is seen by others when
// it was waited for and released.
func TestTensorStoreMustBeWaitedFor(t *testing.T) {
	const start = "st.shared.u32 [%tile], 77; fence.proxy.async.shared::cta;" + storeBox + "cp.async.bulk.commit_group;"
	const overwrite = "st.shared.u32 [%tile], 99;"
	at := 14*64 + 32
	for i, disorder := range seeds(20) {
		tensor, _, err := runBox(t, 1, 1, disorder, start+"cp.async.bulk.wait_group.read 0;"+overwrite)
		if err != nil || tensor[at] != 77 {
			t.Fatalf("seed %d: stored %d, %v", i, tensor[at], err)
		}
		if tensor[at-1] != uint32(at) || tensor[13*64+32] != 13*64+33 {
			t.Fatalf("seed %d: stored outside the box", i)
		}
	}
	spoilt := 0
	for _, disorder := range seeds(20) {
		tensor, _, err := runBox(t, 1, 1, disorder, start+overwrite)
		if err != nil {
			t.Fatal(err)
		}
		if tensor[at] == 99 {
			spoilt++
		}
	}
	if spoilt == 0 {
		t.Error("who overwrites what is being stored never spoilt it")
	}
}

// A block of a cluster waits for its own copy of what another one loads, and gets
// none if it is not in the mask.
func TestMulticastReachesEachBlock(t *testing.T) {
	const load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%tile], [%map, {0, 2}], [%bar], %ranks, %hint;\n"
	const plain = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%tile+512], " +
		"[%map], 128, [%bar], %ranks;\n"
	const body = `
		setp.eq.u32 p, %v, 2;
		@p bra seen;
		mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 640;
		@!odd bra wait;
	` + load + plain + await + `
	seen:
		mul.wide.u32 %far, %v, 16;
		add.u64 %out, %out, %far;
	` + report + `
		ld.shared.u32 %v, [%tile+516];
		st.global.u32 [%out+4], %v;
	`
	for i, disorder := range seeds(20) {
		_, out, err := runBox(t, 3, 1, disorder, body)
		want := [12]uint32{3*64 + 1, tensorMagic >> 32, 0, 0, 3*64 + 1, tensorMagic >> 32}
		if err != nil || [12]uint32(out[:12]) != want {
			t.Fatalf("seed %d: got %v, %v; want %v", i, out[:12], err, want)
		}
	}
}

func TestTensorFaults(t *testing.T) {
	const load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
	const multicast = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
	for body, want := range map[string]struct {
		kind FaultKind
		text string
	}{
		load + "[%tile], [%out, {0, 0}], [%bar];": {
			IllegalInstruction, "no valid tensor map",
		},
		load + "[%tile], [%map+32, {0, 0}], [%bar];": {
			MisalignedAddress, "multiple of 64",
		},
		load + "[%tile+64], [%map, {0, 0}], [%bar];": {
			MisalignedAddress, "multiple of 128",
		},
		load + "[%tile+4096], [%map, {0, 0}], [%bar];": {
			IllegalAddress, "no 512 bytes",
		},
		load + "[%tile], [%map, {2, 0}], [%bar];": {
			IllegalInstruction, "the first coordinate, 2, is 8 bytes from",
		},
		load + "[%tile], [%map, {-6, 0}], [%bar];": {
			IllegalInstruction, "the first coordinate, -6",
		},
		strings.Replace(storeBox, "14", "-1", 1): {
			IllegalInstruction, "coordinate 1 of the box is -1",
		},
		strings.Replace(storeBox, "32", "-4", 1): {
			IllegalInstruction, "coordinate 0 of the box is -4",
		},
		strings.Replace(storeBox, "32", "33",
			1): {IllegalInstruction, "the first coordinate, 33"},
		load + "[%tile], [%map, {0, 0}], [%bar+8];": {IllegalInstruction, "not initialized"},
		strings.Replace(load, "2d", "1d", 1) +
			"[%tile], [%map, {0}], [%bar];": {IllegalInstruction, "the tensor has 2 dimensions and the copy 1"},
		multicast + "[%tile], [%map, {0, 0}], [%bar], 4;": {IllegalInstruction, "mask 0x4, of a cluster of 2"},
		multicast + "[%tile], [%map, {0, 0}], [%bar], 0;": {IllegalInstruction, "mask 0x0"},
		"xor.b32 %v, %v, 1; mapa.shared::cluster.u32 %peer, %bar, %v;" + load +
			"[%tile], [%map, {0, 0}], [%peer];": {IllegalInstruction, "its mbarrier is in block"},
		"xor.b32 %v, %v, 1; mapa.shared::cluster.u32 %peer, %tile, %v;" +
			strings.Replace(storeBox, "%tile", "%peer", 1): {IllegalAddress, "takes .shared::cluster"},
		"@!odd bra end; " + multicast +
			"[%tile], [%map, {0, 0}], [%bar], 3; wait: ld.volatile.shared.u32 %v, [%tile]; setp.eq.u32 p, %v, 0; @p bra wait; " +
			"end:": {IllegalAddress, "1 copies that others of its cluster began"},
		"mov.u32 %v, %clusterid.x; @odd bra end; " + multicast +
			"[%tile], [%map, {0, 0}], [%bar], 3; end:": {IllegalAddress, "has exited, which"},
	} {
		_, _, err := runBox(t, 2, 1, nil, body)
		var fault *Fault
		if !errors.As(err, &fault) || fault.Kind != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v, want %v about %q", body, err, want.kind, want.text)
		}
	}
}

// The tensor of a stale or foreign map is not there.
func TestTensorMustBeMapped(t *testing.T) {
	var mem memory
	encoded := mem.allocate(256)
	words128 := EncodeTensorMap(cudart.TensorMap{Base: 999 << RegionShift, Sizes: []int64{64}, Box: []int{64}})
	copy(mem.at(encoded), words128[:])
	body := strings.Replace(strings.Replace(expect+"mov.u32 %v, 0;"+loadBox, "2d", "1d", 1), "{%v, 2}", "{%v}", 1)
	g := launchKernel(t, compileText(t, boxKernel(body)), "run",
		Config{Threads: 1, Params: words(encoded, encoded), Memory: &mem})
	if err := finish(t, g); err == nil || !strings.Contains(err.Error(), "no 64 bytes of memory") {
		t.Errorf("got %v", err)
	}
}

func TestTensorRefusals(t *testing.T) {
	for body, want := range map[string]string{
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%map, {0}], [%bar];":           "with 2 coordinates",
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%map], [%bar];":                "with 2 coordinates",
		"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], [%bar];": ".im2col",
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], [%bar], 3;":     "takes 3 operands",
		"cp.async.bulk.tensor.2d.shared::cluster.global.bulk_group [%tile], [%map, {0, 0}];":                                  "not implemented",
		"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.multicast::cluster [%map, {0, 0}], [%tile], 3;":                "not implemented",
		"cp.reduce.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {0, 0}], [%tile];":                          "needs an operation",
		"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], " +
			"[%bar];": ".tile::gather4",
		"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], [%bar];": "needs PTX 8.6",
		"ld.global.u32 %v, [%map, {0, 0}];":                          "takes no coordinates",
		"mbarrier.arrive.shared::cluster.b64 %far, [%bar];":          "must not ask for the state",
		"mbarrier.try_wait.parity.shared::cluster.b64 p, [%bar], 0;": "no .shared::cluster",
		"setmaxnreg.inc.sync.aligned.u32 232;":                       "sm_90a",
		"setmaxnreg.inc.sync.aligned.u32 236;":                       "steps of 8",
		"setmaxnreg.sync.aligned.u32 240;":                           ".inc or .dec",
		"barrier.cluster.sync;":                                      "not implemented",
		"barrier.cluster.arrive.acquire;":                            "not implemented",
		"mapa.shared::cta.u32 %v, %tile, 0;":                         ".shared::cluster",
		"mapa.u32 %v, %tile, 0;":                                     "generic .u64",
	} {
		m, err := ptx.Parse("refused.ptx", []byte(strings.Replace(boxKernel(body), ".version 8.6", ".version 8.0", 1)))
		if err == nil {
			_, err = Compile(m)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %q", body, err, want)
		}
	}
}
