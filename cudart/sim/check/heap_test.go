package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

const heapStory = `
.version 8.0
.target sm_80
.address_size 64
.file 1 "heap.cu"
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 address);
.visible .global .align 8 .u64 kept;
.visible .entry STORY()
{
	.reg .b64 %at;
	.reg .b32 %tid, %v;
	.reg .pred %first, %second;
	.shared .align 8 .u64 shared;
	.param .b64 bytes;
	.param .b64 result;
	.param .b64 address;
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %first, %tid, 0;
	setp.eq.u32 %second, %tid, 32;
	BODY
end:
	ret;
}
`

const (
	heapMalloc = `
	.loc 1 10 0
	st.param.b64 [bytes], 40;
	call.uni (result), malloc, (bytes);
	ld.param.b64 %at, [result];`
	heapFree = `
	.loc 1 20 0
	st.param.b64 [address], %at;
	call.uni free, (address);`
	heapShare = `
	@%first bra first;
	barrier.sync 0;
	ld.shared.u64 %at, [shared];
	.loc 1 30 0
	@%second st.global.u32 [%at], 1;
	BARRIER
	bra end;
first:` + heapMalloc + `
	st.shared.u64 [shared], %at;
	barrier.sync 0;
	BARRIER` + heapFree
)

// heapFinds runs kernels of two warps behind one another, under several schedules.
func heapFinds(t *testing.T, bodies ...string) (found []string, errs error) {
	t.Helper()
	heapRuns(t, 8, func(report *Report, err error) {
		found, errs = append(found, tellAll(report.Findings)...), errors.Join(errs, err)
		if err == nil && len(report.Incomplete) > 0 {
			t.Errorf("incomplete: %q", report.Incomplete)
		}
	}, bodies...)
	slices.Sort(found)
	return slices.Compact(found), errs
}

// heapRuns runs kernels of two warps behind one another, under so many schedules.
func heapRuns(t *testing.T, schedules int, report func(*Report, error), bodies ...string) {
	t.Helper()
	c, err := New(Config{Ranks: 1, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(schedules) {
		report(c.Run(seed, func(r *Rank) error {
			s, err := r.Device.NewStream()
			if err != nil {
				return err
			}
			m, err := r.Device.LoadModule("heap.ptx", []byte(heapModule(bodies)))
			if err != nil {
				return err
			}
			for i := range bodies {
				k, err := m.Kernel("story" + string(rune('0'+i)))
				if err != nil {
					return err
				}
				if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 64}, nil); err != nil {
					return err
				}
			}
			return s.Synchronize(context.Background())
		}))
	}
}

// heapModule has a kernel of each body.
func heapModule(bodies []string) string {
	head, entry, _ := strings.Cut(heapStory, ".visible .entry")
	for i, body := range bodies {
		name := "story" + string(rune('0'+i))
		head += strings.NewReplacer("STORY", name, "BODY", body).Replace(".visible .entry" + entry)
	}
	return head
}

// Memory by malloc in a kernel has a begin without values, bounds and an end, which its threads have to order.
func TestMemoryOfMalloc(t *testing.T) {
	const alone = "@!%first bra end;" + heapMalloc
	const leak = "leak, nobody frees the memory, 10"
	const (
		store = "\n.loc 1 30 0\nst.global.u32 [%at], 1;"
		load  = "\n.loc 1 30 0\nld.global.u32 %v, [%at];"
		keep  = "\nst.global.u64 [kept], %at;"
		kept  = "@!%first bra end; ld.global.u64 %at, [kept];"
	)
	for name, c := range map[string]struct {
		bodies []string
		want   string
	}{
		"stored, loaded and freed":    {[]string{alone + store + load + heapFree}, ""},
		"never freed":                 {[]string{alone + store}, leak},
		"allocated twice, freed once": {[]string{alone + heapMalloc + store + heapFree}, leak},
		"null is freed":               {[]string{"mov.b64 %at, 0;" + heapFree}, ""},
		"freed by the next kernel":    {[]string{alone + store + keep, kept + load + heapFree}, ""},
		"freed behind a barrier":      {[]string{strings.ReplaceAll(heapShare, "BARRIER", "barrier.sync 0;")}, ""},
		"loaded before it is stored": {
			[]string{alone + load + heapFree}, "uninitialized, nobody wrote the bytes, 30",
		},
		"stored over the end": {
			[]string{alone + "\n.loc 1 30 0\nst.global.u32 [%at+40], 1;" + heapFree},
			"out-of-bounds, beyond the end of an allocation, 30",
		},
		"used behind its end": {
			[]string{alone + heapFree + store}, "freed, memory is freed while it may be in use, 20, 30",
		},
		"used by a kernel behind its end": {
			[]string{alone + keep + heapFree, kept + load}, "freed, memory is freed while it may be in use, 20, 30",
		},
		"freed twice": {[]string{alone + heapFree + heapFree}, "freed, memory is freed twice, 20, 20"},
		"freed in the middle": {
			[]string{alone + "add.u64 %at, %at, 8;" + heapFree}, "freed, free of what malloc has not returned, 20",
		},
		"freed while another warp stores": {
			[]string{strings.ReplaceAll(heapShare, "BARRIER", "")},
			"freed, memory is freed while it may be in use, 20, 30" + // where the free came first
				"; freed, memory is freed while it may be in use, 30, 20",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := heapFinds(t, c.bodies...)
			var want []string
			if c.want != "" {
				want = strings.Split(c.want, "; ")
			} else if err != nil {
				t.Error(err)
			}
			if !slices.Equal(found, want) {
				t.Errorf("found %q, want %q; error %v", found, want, err)
			}
		})
	}
}

// The heap has so many bytes and no more; what was freed is there again.
func TestHeapIsFull(t *testing.T) {
	half := strings.Replace(heapMalloc, "40", "5000000", 1)
	const null = "\nsetp.eq.u64 %first, %at, 0;\n@%first trap;"
	full := strings.Replace(null, "eq", "ne", 1)
	if _, err := heapFinds(t, "@!%first bra end;"+half+null+half+full); err != nil {
		t.Errorf("two halves: %v", err)
	}
	if _, err := heapFinds(t, "@!%first bra end;"+half+null+heapFree+half+null); err != nil {
		t.Errorf("one behind the other: %v", err)
	}
}

// A finding about memory of malloc says where it was allocated, which lane has freed it, and where. A leak is a note.
func TestTextOfMemoryOfMalloc(t *testing.T) {
	const fifth = "setp.eq.u32 %first, %tid, 5;\n@!%first bra end;" + heapMalloc
	const use = "\n.loc 1 30 0\nst.global.u32 [%at+8], 1;"
	const where = "rank 0's malloc at heap.cu:10, of 40 bytes, freed by lane 5 at heap.cu:20, at +"
	for name, c := range map[string]struct {
		body string
		note bool
		want string
	}{
		"used behind its end": {fifth + heapFree + use, false, `FREED  ` + where + `0x8 (lane 5, address 0x110000000008)
  rank 0 block 0 warp 0   st.global.u32   heap.cu:30   (PTX 31)
  rank 0 block 0 warp 0   free            heap.cu:20   (PTX 29)
  memory is freed while it may be in use
  let the threads that access the memory come to a barrier, or release and acquire, before one of them frees it
`},
		"freed twice": {fifth + heapFree + heapFree, false, `FREED  ` + where + `0x0 (lane 5, address 0x110000000000)
  rank 0 block 0 warp 0   free   heap.cu:20   (PTX 32)
  rank 0 block 0 warp 0   free   heap.cu:20   (PTX 29)
  memory is freed twice
  let one thread free the memory, once
`},
		"never freed": {
			fifth, true, `LEAK  rank 0's malloc at heap.cu:10, of 40 bytes, at +0x0 (lane 5, address 0x110000000000)
  rank 0 block 0 warp 0 allocates   malloc   heap.cu:10   (PTX 25)
  nobody frees the memory
  call free in a kernel of the same rank: until the process ends, the memory is missing in the heap
`,
		},
	} {
		var found []Finding
		heapRuns(t, 1, func(report *Report, _ error) { found = append(found, report.Findings...) }, c.body)
		if len(found) != 1 || found[0].Note != c.note || found[0].String() != c.want {
			t.Errorf("%s: found\n%v\nwant\n%s", name, found, c.want)
		}
	}
}
