package exec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gpurun/cudart"
)

// pairCopy is a kernel of a pair of blocks. Each loads 1024 bytes by TMA, or one for both, and tells the mbarrier of the
// first block. The second one waits for the first.
const pairCopy = `
.version 8.6
.target sm_100a
.address_size 64
.visible .entry run(.param .align 64 .b8 map[128], .param .u64 out)
{
	.reg .b64 %%map, %%out, %%at;
	.reg .b32 %%tid, %%rank, %%bar, %%s, %%a, %%b, %%c, %%d;
	.reg .pred p, first, leader;
	.shared .align 1024 .b8 tile[1024];
	.shared .align 8 .b64 done;
	mov.b64 %%map, map;
	cvta.param.u64 %%map, %%map;
	ld.param.u64 %%out, [out];
	mov.u32 %%tid, %%tid.x;
	mov.u32 %%rank, %%cluster_ctarank;
	setp.eq.u32 leader, %%rank, 0;
	setp.eq.and.u32 first, %%tid, 0, leader;
	@first mbarrier.init.shared.b64 [done], 1;
	@first fence.mbarrier_init.release.cluster;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	@first mbarrier.arrive.expect_tx.shared.b64 _, [done], 2048;
	mov.u32 %%bar, done;
	and.b32 %%bar, %%bar, 0xfeffffff; // of the block with the even rank
	setp.eq.u32 p, %%tid, 0;
	%s
	@!leader bra loaded;
wait:
	mbarrier.try_wait.parity.shared.b64 p, [done], 0;
	@!p bra wait;
loaded:
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	mov.u32 %%s, tile;
	mad.lo.u32 %%s, %%tid, 16, %%s;
	mad.wide.u32 %%at, %%tid, 16, %%out;
	mad.wide.u32 %%at, %%rank, 1024, %%at;
	ld.shared.v4.b32 {%%a, %%b, %%c, %%d}, [%%s];
	st.global.v4.b32 [%%at], {%%a, %%b, %%c, %%d};
	ret;
}
`

func TestPairsShareAnMbarrier(t *testing.T) {
	const load = "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes"
	for name, c := range map[string]struct {
		text string
		rows [2]int // of the tensor, which each block gets
	}{
		"each its own": {"shl.b32 %a, %rank, 3;\n\t@p " + load + " [tile], [%map, {0, %a}], [%bar];", [2]int{0, 8}},
		"one for both": {"@first " + load + ".multicast::cluster [tile], [%map, {0, 8}], [%bar], 3;", [2]int{8, 8}},
	} {
		var mem memory
		base, out := mem.allocate(4096), mem.allocate(2048)
		for i := range mem.at(base)[:4096] {
			mem.at(base)[i] = byte(i * i >> 4)
		}
		tensor := EncodeTensorMap(cudart.TensorMap{
			Base: cudart.DevicePtr(base), Type: cudart.TensorUint8, Sizes: []int64{128, 32}, Strides: []int64{128}, Box: []int{128, 8},
		})
		g := launchKernel(t, compileText(t, fmt.Sprintf(pairCopy, c.text)), "run",
			Config{Blocks: 2, Cluster: 2, Threads: 64, Memory: &mem, Params: append(tensor[:], words(out)...)})
		if err := finish(t, g); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for block, row := range c.rows {
			if !bytes.Equal(mem.at(out)[1024*block:][:1024], mem.at(base)[128*row:][:1024]) {
				t.Errorf("%s: block %d has other rows", name, block)
			}
		}
	}
}

// Elements of 4 and 6 bits are packed in the tensor. An mbarrier counts the bytes that they have there.
func TestPackedTensors(t *testing.T) {
	for typ, c := range map[cudart.TensorType]struct{ inTensor, inShared, swizzle int }{
		cudart.TensorPacked4: {8, 8, 64}, cudart.TensorPacked4Padded: {8, 16, 128}, cudart.TensorPacked6Padded: {12, 16, 128},
	} {
		const rows, groups = 4, 8 // of 128 elements
		load := "@first cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], " +
			"[%map, {128, 1}], [done];"
		var mem memory
		base, out := mem.allocate(4096), mem.allocate(2048)
		for i := range mem.at(base)[:4096] {
			mem.at(base)[i] = byte(i*i>>4) | 1
		}
		pitch := int64(2 * groups * c.inTensor)
		m := cudart.TensorMap{
			Base: cudart.DevicePtr(base), Type: typ, Sizes: []int64{256, 8}, Strides: []int64{pitch}, Box: []int{128, rows},
			Swizzle: c.swizzle,
		}
		if err := m.Check(); err != nil || m.BoxBytes() != rows*groups*c.inShared {
			t.Fatalf("type %d: %d bytes, error %v", typ, m.BoxBytes(), err)
		}
		tensor := EncodeTensorMap(m)
		text := strings.Replace(fmt.Sprintf(pairCopy, load), "[done], 2048;",
			fmt.Sprintf("[done], %d;", rows*groups*c.inTensor), 1)
		g := launchKernel(t, compileText(t, text), "run",
			Config{Blocks: 2, Cluster: 2, Threads: 64, Memory: &mem, Params: append(tensor[:], words(out)...)})
		if err := finish(t, g); err != nil {
			t.Fatalf("type %d: %v", typ, err)
		}
		for i := range rows * groups * c.inTensor {
			row, group, at := i/(groups*c.inTensor), i/c.inTensor%groups, i%c.inTensor
			place := row*groups*c.inShared + group*c.inShared + at
			place ^= place >> 7 % (c.swizzle / 16) << 4
			want := mem.at(base)[int64(row+1)*pitch+int64((groups+group)*c.inTensor+at)]
			if got := mem.at(out)[place]; got != want {
				t.Fatalf("type %d: byte %d of group %d of row %d is %#x, want %#x", typ, at, group, row, got, want)
			}
		}
	}
}
