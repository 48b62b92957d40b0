package mutate

import (
	"slices"
	"strings"
	"testing"

	"gpurun/cudart/sim/ptx"
)

// kernel hands over a word of data by a flag.
const kernel = `.version 7.8
.target sm_80
.address_size 64
.visible .entry handover(.param .u64 data, .param .u64 flag)
{
.reg .pred %p<3>;
.reg .b32 %r<4>;
.reg .b64 %d<3>;
ld.param.u64 %d1,[data];
ld.param.u64 %d2,[flag];
st.global.u32 [%d1],%r1;
bar.sync 0;
st.release.sys.global.u32 [%d2],%r2;
WAIT:
ld.acquire.sys.global.u32 %r3,[%d2];
setp.ne.s32 %p1,%r3,%r2;
@%p1 bra WAIT;
ret;
}
`

// The mutants of a kernel are these, each is PTX, has as many lines, and differs in the line that it names.
func TestMutantsOfAHandover(t *testing.T) {
	all, err := All("handover", []byte(kernel), "handover")
	if err != nil {
		t.Fatal(err)
	}
	var classes []Class
	original := strings.Split(kernel, "\n")
	for _, m := range all {
		classes = append(classes, m.Class)
		text := m.Text([]byte(kernel))
		if _, err := ptx.Parse("mutant", text); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		lines := strings.Split(string(text), "\n")
		if len(lines) != len(original) || lines[m.Line-1] != m.Now || original[m.Line-1] != m.Was || m.Was == m.Now {
			t.Errorf("%v: %s", m, text)
		}
	}
	want := []Class{
		WaitSkipped, PeerMissed, WrongPeer, BarrierRemoved, FlagFirst, LaneDropped, ReleaseRelaxed, ReleaseWeak, ScopeGPU,
		ScopeBlock, AcquireRelaxed, AcquireWeak, ScopeGPU, ScopeBlock,
	}
	if !slices.Equal(classes, want) {
		t.Errorf("classes %q", classes)
	}
}

// A kernel that is not there, and text that is no PTX, are errors.
func TestWhatCannotBeMutated(t *testing.T) {
	_, err := All("handover", []byte(kernel), "other")
	if err == nil || !strings.Contains(err.Error(), "no kernel other") {
		t.Error(err)
	}
	if _, err := All("text", []byte("text"), "text"); err == nil {
		t.Error("text is PTX")
	}
}
