package check

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// asyncKernel is a kernel of one block with shared memory and mbarriers. STEPS is replaced, from the next line on.
const asyncKernel = `
.version 8.6
.target sm_90a
.address_size 64
.visible .entry steps(.param .u64 data, .param .u64 group, .param .u32 rank, .param .align 128 .b8 map[128])
{
	.shared .align 1024 .b8 tile[8192];
	.shared .align 8 .b64 bar[2];
	.reg .b64 %data, %group, %at, %map, %descA, %descB, %slot;
	.reg .b32 %rank, %tid, %a, %b, %c, %d, %r<8>, %tile, %row, %other, %bar, %word;
	.reg .f32 %f<8>;
	.reg .pred p, always, %first, %sends, %signals, %receives;
	ld.param.u64 %data, [data];
	ld.param.u64 %group, [group];
	ld.param.u32 %rank, [rank];
	mov.b64 %map, map;
	cvta.param.u64 %map, %map;
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %first, %tid, 0;
	setp.eq.u32 always, 0, 0;
	setp.eq.u32 %sends, %rank, 0;
	setp.ne.u32 %receives, %rank, 0;
	setp.eq.and.u32 %signals, %tid, 0, %sends;
	mov.u32 %tile, tile;
	mov.u32 %bar, bar;
	mad.lo.u32 %row, %tid, 16, %tile;
	mad.lo.u32 %word, %tid, 4, %tile;
	xor.b32 %other, %row, 512;
	mad.wide.u32 %at, %tid, 16, %data;
	mad.wide.u32 %slot, %tid, 16, %group;
	cvt.u64.u32 %descA, %tile;
	shr.u64 %descA, %descA, 4;
	or.b64 %descA, %descA, 0x1000080000;
	add.u64 %descB, %descA, 128;
STEPS
	ret;
}
`

// asyncSteps runs a kernel of steps on so many threads of each rank, and returns its races by the numbers of their
// steps, the lower one first.
func asyncSteps(t *testing.T, ranks, threads int, steps string) []string {
	t.Helper()
	steps = strings.TrimSpace(steps)
	text := strings.Replace(asyncKernel, "STEPS", steps, 1)
	major := 9
	if strings.Contains(steps, "tcgen05") {
		text, major = strings.Replace(text, "sm_90a", "sm_100a", 1), 10
	}
	c, err := New(Config{Ranks: ranks, Major: major})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for seed := range uint64(4) {
		r, err := c.Run(seed, func(r *Rank) error { return runSteps(r, text, threads) })
		if err != nil || len(r.Incomplete) > 0 {
			t.Fatalf("error %v, incomplete %q in\n%s", err, r.Incomplete, steps)
		}
		for _, f := range r.Findings {
			sides := []string{step(text, f.Sides[0]), step(text, f.Sides[1])}
			slices.SortFunc(sides, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
			all = append(all, fmt.Sprintf("%s-%s %s", sides[0], sides[1], f.Cause))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// step is the number of an access among the steps, whose text it has, or the name of its command.
func step(text string, a Access) string {
	if a.Kernel == "" {
		return a.Text
	}
	before, _, _ := strings.Cut(asyncKernel, "STEPS")
	if !strings.Contains(strings.Split(text, "\n")[a.Line-1], a.Text) {
		return "another line"
	}
	return fmt.Sprint(a.Line - strings.Count(before, "\n"))
}

func runSteps(r *Rank, text string, threads int) error {
	const bytes = 1 << 14
	data, err := r.Device.Malloc(bytes)
	if err != nil {
		return err
	}
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	if err := s.Fill(data, 0, bytes); err != nil {
		return err
	}
	if err := s.Synchronize(context.Background()); err != nil {
		return err
	}
	all, err := r.Share(data)
	if err != nil {
		return err
	}
	group, err := r.Multicast(all)
	if err != nil {
		return err
	}
	tensor, err := r.Device.EncodeTensorMap(cudart.TensorMap{
		Type: cudart.TensorFloat16, Base: data, Sizes: []int64{64, 64}, Strides: []int64{128}, Box: []int{64, 8},
		Swizzle: 128,
	})
	if err != nil {
		return err
	}
	m, err := r.Device.LoadModule("steps.ptx", []byte(text))
	if err != nil {
		return err
	}
	k, err := m.Kernel("steps")
	if err != nil {
		return err
	}
	params := binary.LittleEndian.AppendUint64(nil, uint64(data))
	params = binary.LittleEndian.AppendUint64(params, uint64(group))
	params = binary.LittleEndian.AppendUint32(params, uint32(r.Number))
	params = append(append(params, make([]byte, 128-len(params))...), tensor[:]...)
	return errors.Join(s.Launch(k, cudart.Launch{Blocks: 1, Threads: threads}, params),
		s.Download(make([]byte, bytes), data), s.Synchronize(context.Background()))
}

// A mechanism is a kernel of steps that has no race, and changes to lines of it that make one.
type mechanism struct {
	ranks, threads int
	steps          string
	changes        []change
}

// change replaces a step, by its number, and makes a race.
type change struct {
	step int
	by   string
	want []string
}

func (m mechanism) test(t *testing.T) {
	t.Helper()
	if got := asyncSteps(t, m.ranks, m.threads, m.steps); len(got) > 0 {
		t.Errorf("races %q of\n%s", got, m.steps)
	}
	for _, c := range m.changes {
		lines := strings.Split(strings.TrimSpace(m.steps), "\n")
		lines[c.step-1] = c.by
		if got := asyncSteps(t, m.ranks, m.threads, strings.Join(lines, "\n")); !slices.Equal(got, c.want) {
			t.Errorf("with step %d %q: races %q, want %q", c.step, c.by, got, c.want)
		}
	}
}
