package check

import (
	"slices"
	"strings"
	"testing"
)

// Asynchronous copies and reductions are held to the bounds of buffers and of shared memory, and to the alignment that
// each of them needs, like the accesses of threads.
func TestAsynchronousAccessesOutOfBounds(t *testing.T) {
	const (
		behind = "out-of-bounds, behind the end of a buffer, 10"
		beyond = "out-of-bounds, beyond the end of an allocation, 10"
		shared = "out-of-bounds, beyond the end of shared memory, 10"
		of16   = "misaligned, the address is no multiple of 16, 10"
		of8    = "misaligned, the address is no multiple of 8, 10"
	)
	const small = "@%last cp.async.ca.shared.global [TILE], [%at], 8; cp.async.wait_all;"
	const load = "@%last cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [TILE], [%at], 32, [bar];"
	const store = "@%last cp.async.bulk.global.shared::cta.bulk_group [%at], [TILE], 32;"
	const reduce = "@%last cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%at], [TILE], 32;"
	const ended = " @%last cp.async.bulk.commit_group; @%last cp.async.bulk.wait_group 0;"
	for _, c := range []struct {
		name, copy, tile string
		offset           int64
		want             string
	}{
		{"a small copy", small, "tile", 40, ""},
		{"a small copy from the gap", small, "tile", 200, behind},
		{"a small copy from beyond", small, "tile", 1000, beyond},
		{"a small copy misaligned", small, "tile", 4, of8},
		{"a small copy to a misaligned place", small, "tile+4", 0, of8},
		{"a small copy beyond shared memory", small, "tile+4096", 0, shared},
		{"a bulk store", store + ended, "tile", 0, ""},
		{"a bulk store over the end", store + ended, "tile", 176, behind},
		{"a bulk store beyond", store + ended, "tile", 1 << 20, beyond},
		{"a bulk store misaligned", store + ended, "tile", 8, of16},
		{"a bulk store from a misaligned place", store + ended, "tile+8", 0, of16},
		{"a bulk store beyond shared memory", store + ended, "tile+4096", 0, shared},
		{"a bulk load over the end", load, "tile", 192, behind},
		{"a bulk load misaligned", load, "tile", 8, of16},
		{"a bulk load beyond shared memory", load, "tile+4096", 0, shared},
		{"a bulk reduction over the end", reduce + ended, "tile", 176, behind},
		{"a bulk reduction beyond", reduce + ended, "tile", 1 << 20, beyond},
		{"a bulk reduction misaligned", reduce + ended, "tile", 8, of16},
	} {
		t.Run(c.name, func(t *testing.T) {
			const room = `
	{
	.shared .align 128 .b8 tile[256];
	.shared .align 8 .b64 bar;
	@%last st.shared.v4.u32 [tile], {1, 1, 1, 1};
	@%last st.shared.v4.u32 [tile+16], {1, 1, 1, 1};
	@%last mbarrier.init.shared::cta.b64 [bar], 1;
	@%last fence.proxy.async;
	COPY
	}
`
			var got []string
			body := strings.Replace(strings.Replace(room, "COPY", c.copy, 1), "TILE", c.tile, 1)
			for _, f := range accessAt(t, body, c.offset, 180) {
				if f.Kind == OutOfBounds || f.Kind == Misaligned {
					got = append(got, tellAll([]Finding{f})...)
					if f.Advice == "" || f.Sides[0].Warp != 1 || !strings.Contains(f.Where, "lane 5,") {
						t.Errorf("found %v", f)
					}
				}
			}
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if got = slices.Compact(got); !slices.Equal(got, want) { // each schedule has it
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}
