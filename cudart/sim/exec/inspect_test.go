package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// hangs is a kernel whose block 1 ends. In the others warp 0 polls a flag in a function, with or without a pause, warp 1
// waits for it at a barrier, and warp 2 computes for ever.
const hangs = `.version 7.8
.target sm_90
.address_size 64
.file 1 "/src/flag.cu"
.func await(.reg .b64 flag)
{
	.reg .b32 r; .reg .pred p;
again:
	.loc 1 12 3
	PAUSE
	ld.acquire.sys.global.u32 r, [flag];
	setp.eq.u32 p, r, 0;
	.loc 1 13 3
	@p bra again;
	ret;
}
.visible .entry run(.param .u64 flag)
{
	.reg .b64 flag; .reg .b32 r; .reg .pred p;
	.loc 1 20 1
	ld.param.u64 flag, [flag];
	mov.u32 r, %ctaid.x;
	setp.eq.u32 p, r, 1;
	@p ret;
	mov.u32 r, %tid.x;
	setp.ge.u32 p, r, 64;
	@p bra busy;
	setp.ge.u32 p, r, 32;
	@p bra meet;
	call await, (flag);
meet:
	.loc 1 24 1
	bar.sync 0;
busy:
	add.u32 r, r, 1;
	bra busy;
}
`

// A grid tells where its warps are, whatever else happened before: with and without disorder, and when a loop pauses.
func TestInspect(t *testing.T) {
	at := func(opcode string, line int, function, source string) cudart.Instruction {
		return cudart.Instruction{Opcode: opcode, Module: "test.ptx", Line: line, Function: function, Source: source}
	}
	var want []cudart.RunningWarp
	for _, block := range []int{0, 2} {
		want = append(
			want,
			cudart.RunningWarp{Block: block, Activity: cudart.Polls, At: at("ld.acquire.sys.global.u32", 11, "await", "flag.cu:12")},
			cudart.RunningWarp{Block: block, Warp: 1, Activity: cudart.Waits, At: at("bar.sync", 33, "", "flag.cu:24")},
			cudart.RunningWarp{Block: block, Warp: 2, Activity: cudart.Runs, At: at("add.u32", 35, "", "flag.cu:24")},
		)
	}
	for _, pause := range []string{"", "nanosleep.u32 100;"} {
		for _, disorder := range []*rand.Rand{nil, rand.New(rand.NewPCG(1, 1))} {
			t.Run(fmt.Sprint(pause, disorder != nil), func(t *testing.T) {
				var mem memory
				g := launchKernel(t, compileText(t, strings.Replace(hangs, "PAUSE", pause, 1)), "run", Config{
					Blocks: 3, Threads: 96, Params: words(mem.allocate(8)), Memory: &mem, Disorder: disorder,
				})
				for range 200 {
					if _, err := g.Turn(1 << 8); err != nil {
						t.Fatal(err)
					}
				}
				got := g.Inspect()
				for i := range got.Warps {
					if got.Warps[i].Activity == cudart.Runs { // anywhere in its loop
						got.Warps[i].At.Opcode, got.Warps[i].At.Line = "add.u32", 35
					}
				}
				if diff := cmp.Diff(cudart.RunningKernel{Name: "run", Blocks: 3, Warps: want}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Blocks that are not resident are pending.
func TestInspectCountsPendingBlocks(t *testing.T) {
	var mem memory
	g := launchKernel(t, compileText(t, kernel("bra hang;\nhang: bra hang;\n")), "run",
		Config{Blocks: MaxResident + 7, Params: words(mem.allocate(256)), Memory: &mem})
	if got := g.Inspect(); got.Pending != 7 || got.Blocks != MaxResident+7 || len(got.Warps) != MaxResident {
		t.Errorf("%d of %d blocks are pending, and %d warps run", got.Pending, got.Blocks, len(got.Warps))
	}
}
