package exec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An access of a whole warp moves what it should, at any distance between the lanes, and if
// one lane is at fault, it is that one.
func TestEvenAccesses(t *testing.T) {
	const bytes = 1 << 14
	for _, access := range []struct {
		typ  string
		n    int // registers
		size int
	}{
		{"u8", 1, 1},
		{"u16", 1, 2},
		{"u32", 1, 4},
		{"u64", 1, 8},
		{"v2.u32", 2, 4},
		{"v4.u32", 4, 4},
		{"v2.u64", 2, 8},
		{"v4.u16", 4, 2},
	} {
		whole := access.n * access.size
		for _, step := range []int{0, whole, -whole, 2 * whole, 16, -48, 96, 4, 2, 1} {
			for _, start := range []int{0, 1600, bytes - 32*whole, bytes - whole, bytes - 31*whole, 8, 4} {
				checkEven(t, access.typ, access.n, access.size, start, step, bytes)
			}
		}
	}
}

func checkEven(t *testing.T, typ string, n, size, start, step, bytes int) {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%%v%d", i))
	}
	vector := strings.Join(names, ", ")
	if n > 1 {
		vector = "{" + vector + "}"
	}
	text := fmt.Sprintf(`
.version 8.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 from, .param .u64 to, .param .u64 step)
{
	.reg .b64 %%from, %%to, %%step, %%thread, %%v<4>;
	.reg .b32 %%tid;
	ld.param.u64 %%from, [from];
	ld.param.u64 %%to, [to];
	ld.param.u64 %%step, [step];
	mov.u32 %%tid, %%tid.x;
	cvt.u64.u32 %%thread, %%tid;
	mul.lo.u64 %%thread, %%thread, %%step;
	add.u64 %%from, %%from, %%thread;
	add.u64 %%to, %%to, %%thread;
	ld.global.%[1]s %[2]s, [%%from];
	st.global.%[1]s [%%to], %[2]s;
	ret;
}
`, typ, vector)
	var mem memory
	from, to := mem.allocate(bytes), mem.allocate(bytes)
	from, to = from+uint64(start), to+uint64(start)
	want, fault := make([]byte, bytes), -1
	for i := range bytes {
		mem.at(from - uint64(start))[i] = byte(i*7 + i>>8)
	}
	for lane := range 32 {
		at := start + lane*step
		if at < 0 || at+n*size > bytes || at%(n*size) != 0 {
			fault = lane
			break
		}
		copy(want[at:at+n*size], mem.at(from - uint64(start))[at:])
	}
	err := finish(t, launchKernel(t, compileText(t, text), "run",
		Config{Params: words(from, to, uint64(step)), Memory: &mem}))
	var got *Fault
	switch name := fmt.Sprintf("%s from %d in steps of %d", typ, start, step); {
	case fault < 0 && err != nil:
		t.Errorf("%s: %v", name, err)
	case fault < 0 && !slices.Equal(mem.at(to-uint64(start)), want):
		t.Errorf("%s: moved something else", name)
	case fault >= 0 && (!errors.As(err, &got) || got.Thread != fault):
		t.Errorf("%s: %v, want a fault of thread %d", name, err, fault)
	}
}
