package check

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// accessStory is a kernel that makes one access at a place that the host gives.
const accessStory = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "access.cu"
.visible .global .align 8 .b8 table[64];
.visible .entry access(.param .u64 at)
{
	.reg .b64 %at, %low, %high;
	.reg .b32 %v, %w, %tid;
	.reg .pred %last;
	.shared .align 8 .b8 room[64];
	ld.param.u64 %at, [at];
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %last, %tid, 37;
	.loc 1 10 0
	ACCESS
	ret;
}
`

// accessAt runs the kernel, of 64 threads, on the data of the bench and returns the findings.
func accessAt(t *testing.T, access string, offset int64, name int64) []Finding {
	t.Helper()
	found, _ := tryBench(t, 1, strings.Replace(accessStory, "ACCESS", access, 1), func(b *bench) error {
		fresh, err := b.Device.Malloc(1000)
		if err != nil {
			return err
		}
		b.Name(fresh, name, "fresh")
		b.Name(fresh+512, 256, "other")
		if err := b.streams[0].Fill(fresh, 0, 60); err != nil {
			return err
		}
		return errors.Join(b.one("access", uint64(int64(fresh)+offset)), b.synchronize())
	})
	return found
}

// one launches a kernel of 64 threads with one parameter.
func (b *bench) one(kernel string, at uint64) error {
	k, err := b.module.Kernel(kernel)
	if err != nil {
		return err
	}
	return b.streams[0].Launch(k, cudart.Launch{Blocks: 1, Threads: 64}, binary.LittleEndian.AppendUint64(nil, at))
}

// An access to memory that it should not access is a finding with its kind, its cause, and the place.
func TestLifeOfMemory(t *testing.T) {
	for name, c := range map[string]struct {
		access       string
		offset, name int64
		want, where  string
	}{
		"written": {"@%last ld.global.u32 %v, [%at];", 56, 200, "", ""},
		"not written": {
			"@%last ld.global.u32 %v, [%at];", 64, 200,
			"uninitialized, nobody wrote the bytes, 10",
			"rank 0's fresh at +0x40",
		},
		"a vector over the end of what was written": {
			"@%last ld.global.v4.u32 {%v, %w, %v, %w}, [%at];", 48, 200, "", "",
		},
		"a vector over the end of the buffer": {
			"@%last ld.global.v4.u32 {%v, %w, %v, %w}, [%at];", 48, 60, "", "",
		},
		"a vector stored over the end of the buffer": {
			"@%last st.global.v4.u32 [%at], {%v, %w, %v, %w};", 48, 60,
			"out-of-bounds, behind the end of a buffer, 10",
			"memory 0x30 bytes into rank 0's fresh (lane 5",
		},
		"a vector not written": {
			"@%last ld.global.v2.u64 {%at, %low}, [%at];", 64, 200,
			"uninitialized, nobody wrote the bytes, 10",
			"rank 0's fresh at +0x40",
		},
		"an atomic operation": {
			"@%last atom.global.add.u32 %v, [%at], 1;", 128, 200,
			"uninitialized, nobody wrote the bytes, 10",
			"rank 0's fresh at +0x80",
		},
		"a reduction": {
			"@%last red.global.add.u32 [%at], 1;", 128, 200,
			"uninitialized, nobody wrote the bytes, 10",
			"rank 0's fresh at +0x80",
		},
		"written before": {"@%last st.global.u32 [%at], 1; @%last ld.global.u32 %v, [%at];", 128, 200, "", ""},
		"shared memory": {
			"@%last ld.shared.u32 %v, [room+8];", 0, 200,
			"uninitialized, nobody wrote the bytes, 10",
			"the shared memory of rank 0's block 0 at +0x8",
		},
		"shared memory written":    {"@%last st.shared.u32 [room+8], 1; @%last ld.shared.u32 %v, [room+8];", 0, 200, "", ""},
		"a variable of the module": {"@%last ld.global.u32 %v, [table+8];", 0, 200, "", ""},
		"the gap behind a buffer": {
			"@%last st.global.u32 [%at], 1;", 200, 200,
			"out-of-bounds, behind the end of a buffer, 10",
			"memory 0 bytes behind the end of rank 0's fresh (lane 5, address",
		},
		"the end of a buffer": {
			"@%last st.global.u64 [%at], %at;", 192, 196,
			"out-of-bounds, behind the end of a buffer, 10",
			"memory 0xc0 bytes into rank 0's fresh (lane 5",
		},
		"an asynchronous copy over the end": {
			"@%last cp.async.ca.shared.global [room], [%at], 8; cp.async.wait_all;", 0, 4, "", "",
		},
		"an asynchronous copy of what is not written": {
			"@%last cp.async.ca.shared.global [room], [%at], 8; cp.async.wait_all;", 64, 200, "", "",
		},
		"an asynchronous copy from the gap": {
			"@%last cp.async.ca.shared.global [room], [%at], 8; cp.async.wait_all;", 24, 16,
			"out-of-bounds, behind the end of a buffer, 10",
			"memory 8 bytes behind the end of rank 0's fresh",
		},
		"behind the gap":             {"@%last st.global.u32 [%at], 1;", 256, 200, "", ""},
		"from one buffer to another": {"@%last st.global.u32 [%at], 1;", 512, 512, "", ""},
		"beyond an allocation": {
			"@%last st.global.u32 [%at], 1;", 1004, 200,
			"out-of-bounds, beyond the end of an allocation, 10",
			"memory 4 bytes behind the end of an allocation of rank 0, of 1000 bytes (lane 5",
		},
		"far beyond an allocation": {
			"@%last st.global.u32 [%at], 1;", 1 << 20, 200,
			"out-of-bounds, beyond the end of an allocation, 10",
			"memory 1047576 bytes behind the end of an allocation of rank 0, of 1000 bytes (lane 5",
		},
		"before an allocation": {
			"@%last st.global.u32 [%at+-4], 1;", 0, 200,
			"out-of-bounds, beyond the end of an allocation, 10",
			"memory 4 bytes before rank 0's fresh (lane 5",
		},
		"the null pointer": {
			"mov.u64 %at, 0; @%last st.global.u32 [%at], 1;", 0, 200,
			"out-of-bounds, in no allocation, 10",
			"memory 0x0, which is near no buffer (lane 5",
		},
		"beyond shared memory": {
			"@%last st.shared.u32 [room+4096], 1;", 0, 200,
			"out-of-bounds, beyond the end of shared memory, 10",
			"the shared memory of rank 0's block 0 at +0x1000 (lane 5",
		},
		"misaligned": {
			"@%last st.global.u32 [%at], 1;", 2, 200,
			"misaligned, the address is no multiple of 4, 10",
			"rank 0's fresh at +0x2 (lane 5",
		},
		"misaligned shared memory": {
			"@%last st.shared.u64 [room+4], %at;", 0, 200,
			"misaligned, the address is no multiple of 8, 10",
			"the shared memory of rank 0's block 0 at +0x4 (lane 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := accessAt(t, c.access, c.offset, c.name)
			want := []string{c.want}
			if c.want == "" {
				want = nil
			}
			if got := tellAll(found); !slices.Equal(got, want) {
				t.Fatalf("found %q, want %q", got, c.want)
			}
			for _, f := range found {
				if !strings.HasPrefix(f.Where, c.where) || f.Advice == "" || f.Count < 1 || f.Sides[0].Warp != 1 {
					t.Errorf("found %v", f)
				}
			}
		})
	}
}

// Memory may be freed, and a rank may end, when what its peers do to the memory happens before that. That is judged by
// the order, whether or not the schedule lets the access come first.
func TestMemoryOfAPeerEnds(t *testing.T) {
	const access = "@%last st.global.u32 [%at], 1;"
	text := strings.Replace(accessStory, "ACCESS", access, 1)
	for name, c := range map[string]struct {
		meet, free bool
		want       []string
	}{
		"freed when all have met": {meet: true, free: true},
		"ended when all have met": {meet: true},
		"freed": {free: true, want: []string{
			"freed, memory is freed while it may be in use, 10", "freed, memory is freed while it may be in use, 10, ",
		}},
		"ended": {want: []string{
			"freed, a peer's memory after its end, 10, ", "freed, a peer's memory after its end, 10",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := tryBench(t, 2, text, func(b *bench) error {
				all, err := b.Share(b.data)
				if err != nil {
					return err
				}
				if b.Number == 1 {
					err = errors.Join(b.one("access", uint64(all[0])), b.streams[0].Synchronize(context.Background()))
				}
				if c.meet && err == nil {
					err = b.Meet()
				}
				if c.free && b.Number == 0 {
					err = errors.Join(err, b.Device.Free(b.data))
				}
				return err
			})
			slices.Sort(c.want) // some schedules let the access come first, and others the end
			if got := tellAll(found); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
			for _, f := range found {
				if f.Sides[0].Rank != 1 || !strings.HasPrefix(f.Where, "rank 0's data at +0x0") {
					t.Errorf("found %v", f)
				}
			}
		})
	}
}
