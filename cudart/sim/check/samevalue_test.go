package check

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/finding"
)

// Two stores of the same value by one grid without order are a note: no result depends on which one is last. A load
// beside them, or another value, is a mistake; some of their stores may be of the same value as well.
func TestStoresOfTheSameValue(t *testing.T) {
	const kernel = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "same.cu"
.visible .entry store(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data;
	.reg .b32 %word, %tid, %warp, %block, %v;
	.reg .pred %one;
	.shared .align 16 .b8 slots[16];
	ld.param.u64 %data, [data];
	mov.u32 %word, slots;
	mov.u32 %tid, %tid.x;
	shr.u32 %warp, %tid, 5;
	mov.u32 %block, %ctaid.x;
	setp.eq.u32 %one, %warp, 0;
	.loc 1 10 0
	STORES
	ret;
}
`
	const note, mistake = "race, both store the same value, ", "race, nothing orders them, "
	for name, c := range map[string]struct {
		stores string
		want   []string
	}{
		"of warps, in shared memory":  {"st.shared.u32 [%word], 7;", []string{note + "10, 10"}},
		"of blocks, in global memory": {"st.global.v2.u32 [%data], {7, 8};", []string{note + "10, 10"}},
		"in two lines": {
			"@%one st.shared.u32 [%word], 7; .loc 1 11 0\n @!%one st.shared.u32 [%word], 7;",
			[]string{note + "10, 11", note + "11, 10"},
		},
		"other values": {"st.shared.u32 [%word], %warp;", []string{mistake + "10, 10"}},
		"other values of some lanes": {
			"shr.u32 %v, %tid, 6; st.shared.u32 [%word], %v;", []string{mistake + "10, 10"},
		},
		"half of a vector differs": {
			"st.global.v2.u32 [%data], {7, %warp};", []string{mistake + "10, 10"},
		},
		"a load": {
			"@%one st.shared.u32 [%word], 7; .loc 1 11 0\n @!%one ld.shared.u32 %v, [%word];",
			[]string{mistake + "10, 11", mistake + "11, 10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, errs := tryBench(t, 1, strings.ReplaceAll(kernel, "STORES", c.stores), func(b *bench) error {
				return errors.Join(b.launch(cudart.Launch{Blocks: 2, Threads: 96}, "store"), b.synchronize())
			})
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			seen := false
			for _, f := range found {
				text := tellAll([]Finding{f})[0]
				seen = seen || slices.Contains(c.want, text)
				if f.Note != strings.HasPrefix(text, note) {
					t.Errorf("%q is a note: %t", text, f.Note)
				}
			}
			if !seen {
				t.Errorf("found %q, none of %q", tellAll(found), c.want)
			}
		})
	}
}

// Grids that overlap make a mistake even where they store the same value: another call may store another one.
func TestGridsStoreTheSameValue(t *testing.T) {
	const kernel = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "same.cu"
.visible .entry store(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data;
	ld.param.u64 %data, [data];
	griddepcontrol.launch_dependents;
	.loc 1 10 0
	st.global.u32 [%data], 7;
	ret;
}
`
	found, errs := tryBench(t, 1, kernel, func(b *bench) error {
		return errors.Join(b.launch(cudart.Launch{Blocks: 1, Threads: 32}, "store", "store pdl"), b.synchronize())
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if len(found) == 0 {
		t.Error("nothing was found")
	}
	for _, f := range found {
		if f.Note || f.Cause == finding.SameValue {
			t.Errorf("%s is a note", f)
		}
	}
}
