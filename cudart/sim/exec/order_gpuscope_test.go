package exec

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Block 0 writes data and tells block 1 of it, which tells the world: who sees that, and is no
// part of the device, must see the data.
func TestOthersThanTheDevice(t *testing.T) {
	const flag = "[%data+256]"
	poll := func(load string) string {
		return "wait: " + load + " %a, " + flag + "; setp.eq.u32 p, %a, 0; @p bra wait; "
	}
	for _, tt := range []struct {
		name, first, second string
		safe                bool
	}{
		{
			"released to the GPU, then to the system", "st.release.gpu.global.u32 " + flag + ", 1;",
			poll("ld.acquire.gpu.global.u32") + "st.release.sys.global.u32 [%data+512], 2;", true,
		},
		{
			"a fence for both", "st.release.gpu.global.u32 " + flag + ", 1;",
			poll("ld.relaxed.gpu.global.u32") + "fence.acq_rel.sys; st.relaxed.sys.global.u32 [%data+512], 2;", true,
		},
		{
			"a fence that does not acquire", "st.release.gpu.global.u32 " + flag + ", 1;",
			poll("ld.relaxed.gpu.global.u32") + "fence.release.sys; st.relaxed.sys.global.u32 [%data+512], 2;", false,
		},
		{
			"not acquired", "st.release.gpu.global.u32 " + flag + ", 1;",
			poll("ld.relaxed.gpu.global.u32") + "st.release.sys.global.u32 [%data+512], 2;", false,
		},
		{
			"released to the GPU twice", "st.release.gpu.global.u32 " + flag + ", 1;",
			poll("ld.acquire.gpu.global.u32") + "st.release.gpu.global.u32 [%data+512], 2;", false,
		},
		{
			"counted", "atom.acq_rel.gpu.global.add.u32 %b, " + flag + ", 1;",
			"wait: atom.acq_rel.gpu.global.cas.b32 %b, " + flag +
				", 1, 2; setp.ne.u32 p, %b, 1; @p bra wait; st.release.sys.global.u32 [%data+512], 2;", true,
		},
		{
			"taken over by an atomic", "st.release.gpu.global.u32 [%data+512], 1;",
			"wait: atom.acq_rel.sys.global.cas.b32 %b, [%data+512], 1, 2; setp.ne.u32 p, %b, 1; @p bra wait;", true,
		},
		{
			"taken over by an atomic that does not acquire", "st.release.gpu.global.u32 [%data+512], 1;",
			"wait: atom.release.sys.global.cas.b32 %b, [%data+512], 1, 2; setp.ne.u32 p, %b, 1; @p bra wait;", false,
		},
		{
			"observed, and released to the system", "fence.acq_rel.gpu; st.relaxed.sys.global.u32 " + flag + ", 1;",
			"wait: ld.relaxed.sys.global.u32 %a, [%data]; setp.eq.u32 p, %a, 0; @p bra wait; " +
				"st.release.sys.global.u32 [%data+512], 2;", true,
		},
		{
			"released to all at first", "st.release.sys.global.u32 " + flag + ", 1;",
			poll("ld.relaxed.gpu.global.u32") + "st.relaxed.sys.global.u32 [%data+512], 2;", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := compileText(t, roles("st.relaxed.sys.global.u32 [%data], 7; "+tt.first, tt.second))
			early := 0
			for seed := range uint64(100) {
				if !arrives(t, p, seed, 1) {
					early++
				}
			}
			if (early == 0) != tt.safe {
				t.Errorf("told before the data were there by %d seeds; they always are: %v", early, tt.safe)
			}
		})
	}
}

// arrives runs a program and reports whether the word at its beginning was there as soon as the
// one at 512 was 2, for somebody who looks at memory alone, and was there in the end.
func arrives(t *testing.T, p *Program, seed uint64, threads int) bool {
	t.Helper()
	var mem memory
	base := mem.allocate(1024)
	data := mem.at(base)
	g := launchKernel(t, p, "run", Config{
		Blocks: 2, Threads: threads, Params: words(base, 0), Memory: &mem, Disorder: rand.New(rand.NewPCG(seed, 0)),
	})
	there := true
	for state := Running; state != Done; {
		var err error
		if state, err = g.Turn(10); err != nil {
			t.Fatal(err)
		}
		there = there && (binary.LittleEndian.Uint32(data[512:]) != 2 || binary.LittleEndian.Uint32(data) == 7)
	}
	if last := binary.LittleEndian.Uint32(data); last != 7 {
		t.Errorf("seed %d: %d is left at the end", seed, last)
	}
	return there
}

// What a thread has released to the GPU another of its block, which has acquired that at .cta
// scope, releases to the system.
func TestBlocksPassOnWhatTheyReleasedToTheDevice(t *testing.T) {
	for name, words := range map[string][2]string{
		"a flag in memory": {"st.release.gpu.global.u32 [%data+256], 1;", "ld.acquire.cta.global.u32 %a, [%data+256];"},
		"a fence and a flag": {
			"fence.acq_rel.gpu; st.relaxed.cta.global.u32 [%data+256], 1;", "ld.acquire.cta.global.u32 %a, [%data+256];",
		},
	} {
		p := compileText(t, roles(`
			setp.eq.u32 q, %tid, 32;
			@q bra wait;
			setp.ne.u32 q, %tid, 0;
			@q ret;
			st.global.u32 [%data], 7;
			`+words[0]+`
			ret;
		wait:
			`+words[1]+`
			setp.eq.u32 p, %a, 0;
			@p bra wait;
			st.release.sys.global.u32 [%data+512], 2;`, ""))
		for seed := range uint64(100) {
			if !arrives(t, p, seed, 64) {
				t.Errorf("%s: told before the data were there by seed %d", name, seed)
			}
		}
	}
}

// A block sees what it has released to the device, also in copies, and others of the device do
// once they have acquired it.
func TestTheDeviceSeesWhatIsReleasedToIt(t *testing.T) {
	const write = "st.global.u32 [%at], 7; st.release.gpu.global.u32 [%data+256], 1; "
	const own = "ld.global.u32 %b, [%at]; st.global.u32 [%at+512], %b;"
	const copied = "mov.u32 %c, shared; cp.async.ca.shared.global [%c], [%at], 4; cp.async.wait_all; " +
		"ld.shared.u32 %b, [%c]; st.global.u32 [%at+512], %b;"
	const before = "st.global.u32 [%at], 7; "
	const wait = "wait: ld.acquire.gpu.global.u32 %a, [%data+256]; setp.eq.u32 p, %a, 0; @p bra wait; "
	for name, kernel := range map[string]string{
		"own loads": roles(write+own, ""), "own copies": roles(write+copied, ""),
		"copies of what is not released": roles(before+copied, ""),
		"others' loads":                  roles(write, wait+own), "others' copies": roles(write, wait+copied),
	} {
		if wrong := disturbed(t, compileText(t, kernel), 2, 1, func(data []byte) bool {
			return binary.LittleEndian.Uint32(data[512:]) == 7
		}); wrong > 0 {
			t.Errorf("%s: stale after %d seeds", name, wrong)
		}
	}
}
