package mutate

import (
	"slices"
	"strings"
	"testing"
)

// A barrier orders nothing if another one follows before an access, on each way. One of the warp does not stand for one
// of the block.
func TestAdjacentBarriers(t *testing.T) {
	text := `.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 data)
{
.reg .pred %p<3>;
.reg .b32 %r<4>;
.reg .b64 %d<3>;
ld.param.u64 %d1,[data];
AGAIN:
st.global.u32 [%d1],%r1;
bar.sync 0; // alone
st.global.u32 [%d1],%r1;
bar.sync 0; // alone: a branch leads to a store
@%p1 bra AGAIN;
bar.warp.sync 0xffffffff; // adjacent
add.u32 %r1,%r1,1;
bar.sync 0; // alone
ld.global.u32 %r2,[%d1];
bar.sync 0; // alone: of the warp alone is what follows
bar.warp.sync 0xffffffff; // adjacent
st.global.u32 [%d1],%r1;
bar.warp.sync 0xffffffff; // alone
fence.acq_rel.sys;
bar.sync 0; // adjacent: the end
ret;
}
`
	var got, want []int
	for i, l := range strings.Split(text, "\n") {
		if strings.Contains(l, "// adjacent") {
			want = append(want, i+1)
		}
		ok, err := Adjacent("k", []byte(text), "k", i+1)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			got = append(got, i+1)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("adjacent at lines %v, want %v", got, want)
	}
}
