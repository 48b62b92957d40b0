package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart"
)

// laid is how 64 rows of 16 elements lie in shared memory: the fields of a
// matrix descriptor.
type laid struct {
	mode, leading, stride, start uint64 // start is within the matrix
}

func (l laid) descriptor() uint64 {
	return l.start>>4 | l.leading>>4<<16 | l.stride>>4<<32 | l.mode<<62
}

// layouts are those with K contiguous, and with rows contiguous, which fit in
// 16 KiB. What a mode does not use has some value.
var layouts = [2][]laid{
	{
		{0, 128, 256, 0},
		{0, 2048, 144, 48},
		{0, 1024, 128, 16},
		{1, 16, 1024, 0},
		{1, 112, 2048, 96},
		{1, 0, 1024, 32},
		{1, 0, 1024, 64},
		{2, 16, 512, 0},
		{2, 16, 1024, 32},
		{3, 16, 256, 0},
		{3, 512, 768, 0},
	},
	{
		{0, 1024, 128, 0},
		{0, 128, 256, 16},
		{0, 2048, 144, 48},
		{1, 0, 1024, 0},
		{1, 1024, 2048, 0},
		{2, 1024, 512, 0},
		{2, 512, 1024, 0},
		{3, 512, 256, 0},
		{3, 256, 1024, 0},
		{3, 768, 3072, 256},
	},
}

// layoutBytes is what a block of layoutKernel has: 32 KiB to be copied to shared memory, two
// descriptors, and 32 words for every thread.
const layoutBytes = 32768 + 16 + 4*32*128

// layoutKernel multiplies 64 x 16 elements by 16 x 64 where descriptors say.
func layoutKernel(transposeA, transposeB int) string {
	var registers []string
	var store strings.Builder
	for i := range 32 {
		registers = append(registers, fmt.Sprintf("%%f%d", i))
		fmt.Fprintf(&store, "\tst.global.f32 [%%at+%d], %%f%d;\n", 32768+16+512*i, i)
	}
	return fmt.Sprintf(`.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 blocks)
{
	.reg .b64 %%at, %%from, %%base, %%descA, %%descB;
	.reg .b32 %%thread, %%own, %%i, %%x<4>;
	.reg .f32 %%f<32>;
	.reg .pred %%p;
	.shared .align 1024 .b8 tile[32768];
	ld.param.u64 %%at, [blocks];
	cvta.to.global.u64 %%at, %%at;
	mov.u32 %%i, %%ctaid.x;
	mad.wide.u32 %%at, %%i, %d, %%at;
	ld.global.b64 %%descA, [%%at+32768];
	ld.global.b64 %%descB, [%%at+32776];
	mov.u32 %%own, tile;
	shr.u32 %%i, %%own, 4;
	cvt.u64.u32 %%base, %%i;
	add.u64 %%descA, %%descA, %%base;
	add.u64 %%descB, %%descB, %%base;
	add.u64 %%descB, %%descB, 1024; // 16 KiB behind
	mov.u32 %%thread, %%tid.x;
	mad.lo.u32 %%own, %%thread, 16, %%own;
	mad.wide.u32 %%from, %%thread, 16, %%at;
	mov.u32 %%i, 0;
next:
	ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%from];
	st.shared.v4.b32 [%%own], {%%x0, %%x1, %%x2, %%x3};
	add.u64 %%from, %%from, 2048;
	add.u32 %%own, %%own, 2048;
	add.u32 %%i, %%i, 1;
	setp.lt.u32 %%p, %%i, 16;
	@%%p bra next;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	mad.wide.u32 %%at, %%thread, 4, %%at;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%s}, %%descA, %%descB, %%p, 1, 1, %d, %d;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
%s	ret;
}
`, layoutBytes, strings.Join(registers, ", "), transposeA, transposeB, store.String())
}

// matrixMoves are bodies of laneKernel that move 8 x 8 matrices through shared memory.
func matrixMoves() (bodies []string) {
	for _, trans := range []string{"", ".trans"} {
		for n, registers := range map[int]string{1: "0", 2: "0, %$1", 4: "0, %$1, %$2, %$3"} {
			bodies = append(bodies, fmt.Sprintf(`st.shared.v4.b32 [%%own], {%%a0, %%a1, %%a2, %%a3};
	bar.sync 0;
	ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%%%s}, [%%own];`, n, trans, "d"+strings.ReplaceAll(registers, "$", "d")))
			bodies = append(bodies, fmt.Sprintf(`st.shared.v4.b32 [%%own], {%%d0, %%d1, %%d2, %%d3};
	bar.sync 0;
	stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%own], {%%%s};
	bar.sync 0;
	ld.shared.v4.b32 {%%d0, %%d1, %%d2, %%d3}, [%%own];`, n, trans, "a"+strings.ReplaceAll(registers, "$", "a")))
		}
	}
	return append(bodies, "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;")
}

// compareMatrices fails where matrices are moved and multiplied otherwise on one device than on
// another.
func compareMatrices(t *testing.T, want, got cudart.Device) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	lanes := make([]byte, 64*32)
	for i := range lanes {
		lanes[i] = byte(r.Uint32())
	}
	for _, body := range matrixMoves() {
		text, shape := laneKernel(body), cudart.Launch{Blocks: 1, Threads: 32}
		if string(runMatrices(t, want, text, shape, lanes)) != string(runMatrices(t, got, text, shape, lanes)) {
			t.Errorf("the devices differ in:\n%s", body)
		}
	}
	for majors := range 4 {
		text := layoutKernel(majors&1, majors>>1)
		listA, listB := layouts[majors&1], layouts[majors>>1]
		data := make([]byte, len(listA)*len(listB)*layoutBytes)
		for i := range len(listA) * len(listB) {
			block := data[i*layoutBytes:][:layoutBytes]
			for at := 0; at < 32768; at += 2 { // halves between 1 and 4, of both signs
				binary.LittleEndian.PutUint16(block[at:], uint16(0x3c00+r.IntN(0x800)|r.IntN(2)<<15))
			}
			binary.LittleEndian.PutUint64(block[32768:], listA[i/len(listB)].descriptor())
			binary.LittleEndian.PutUint64(block[32776:], listB[i%len(listB)].descriptor())
		}
		shape := cudart.Launch{Blocks: len(listA) * len(listB), Threads: 128}
		wanted, found := runMatrices(t, want, text, shape, data), runMatrices(t, got, text, shape, data)
		for i := range shape.Blocks {
			if string(wanted[i*layoutBytes:][:layoutBytes]) != string(found[i*layoutBytes:][:layoutBytes]) {
				t.Errorf("transposed %d and %d: the devices differ in A laid %+v and B laid %+v", majors&1, majors>>1,
					listA[i/len(listB)], listB[i%len(listB)])
			}
		}
	}
}

// multiplicationTexts are modules of one wgmma.mma_async each: those of all columns, and
// some that do not exist, or that the simulator might take for others.
func multiplicationTexts() (exist, not []string) {
	text := func(shape, types string, registers int, operands string) string {
		var d []string
		for i := range registers {
			d = append(d, fmt.Sprintf("%%f%d", i))
		}
		return fmt.Sprintf(`.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
	.reg .b64 %%at;
	.reg .b32 %%a<4>;
	.reg .f32 %%f<136>;
	.reg .pred %%p;
	ld.param.u64 %%at, [out];
	mov.b32 %%a0, 0;
	mov.b32 %%a1, 0;
	mov.b32 %%a2, 0;
	mov.b32 %%a3, 0;
	setp.eq.u64 %%p, %%at, 0;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.%s.f32.%s {%s}, %s;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	st.global.f32 [%%at], %%f0;
	ret;
}
`, shape, types, strings.Join(d, ", "), operands)
	}
	const descriptors, fromRegisters = "%at, %at, %p, 1, -1, 1, 0", "{%a0, %a1, %a2, %a3}, %at, %p, -1, 1, 1"
	for n := 8; n <= 256; n += 8 {
		shape := fmt.Sprintf("m64n%dk16", n)
		exist = append(exist, text(shape, "f16.f16", n/2, descriptors), text(shape, "bf16.bf16", n/2, fromRegisters))
	}
	return exist, []string{
		text("m64n4k16", "f16.f16", 2, descriptors), text("m64n264k16", "f16.f16", 132, descriptors),
		text("m64n12k16", "f16.f16", 6, descriptors), text("m64n8k8", "bf16.bf16", 4, descriptors),
		text("m64n8k16", "f16.bf16", 4, descriptors), text("m64n16k16", "f16.f16", 4, descriptors),
		text("m64n8k16", "f16.f16", 4, "%at, %at, %p, 1, 2, 0, 0"), text("m64n8k16", "f16.f16", 4, "%at, %at, %p, 1, 1"),
		text("m64n8k16", "f16.f16", 4, fromRegisters+", 0"),
	}
}

// What the simulator takes, the driver's assembler takes too, and it refuses what the simulator refuses.
func TestGPUAndSimulatorTakeTheSameMultiplications(t *testing.T) {
	exist, not := multiplicationTexts()
	check := func(name string, d cudart.Device) {
		for _, text := range exist {
			if !loads(d, text) {
				t.Errorf("%s refuses:\n%s", name, text)
			}
		}
		for _, text := range not {
			if loads(d, text) {
				t.Errorf("%s takes:\n%s", name, text)
			}
		}
	}
	check("the simulator", openWith(t, Options{Major: 9}))
	check("the GPU's driver", openHopper(t))
}

// openHopper opens a GPU of compute capability 9.0, the only one that takes sm_90a. Without
// one it skips the test.
func openHopper(t *testing.T) cudart.Device {
	t.Helper()
	gpu, err := gpuBackend(t, 9).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gpu.Close() })
	if info := gpu.Info(); info.Major != 9 || info.Minor != 0 {
		t.Skipf("%s does not take sm_90a", info.Name)
	}
	return gpu
}

// Disorder changes nothing for kernels that wait.
func TestMatricesInDisorder(t *testing.T) {
	compareMatrices(t, openWith(t, Options{Major: 9}), openWith(t, Options{Major: 9, Seed: 1}))
}

// Matrices of all layouts are what they are on a GPU.
func TestGPUAndSimulatorAgreeOnMatrices(t *testing.T) {
	compareMatrices(t, openHopper(t), openWith(t, Options{Major: 9}))
}
