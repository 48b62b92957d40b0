package check

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// launchStory is kernels of one rank that hand over a word. Words in capitals are replaced.
const launchStory = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "launch.cu"
.visible .entry first(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data, %flag;
	.reg .b32 %seen, %tid;
	.reg .pred %again, %writes;
	ld.param.u64 %data, [data];
	ld.param.u64 %flag, [flag];
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %writes, %tid, 0;
	griddepcontrol.launch_dependents;
	POLL
	.loc 1 10 0
	@%writes st.global.u32 [%data], 42;
	ret;
}
.visible .entry between(.param .u64 data, .param .u64 flag)
{
	griddepcontrol.launch_dependents;
	BETWEEN
	ret;
}
.visible .entry second(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data, %flag;
	.reg .b32 %seen, %tid;
	.reg .pred %waits;
	ld.param.u64 %data, [data];
	ld.param.u64 %flag, [flag];
	mov.u32 %tid, %tid.x;
	setp.lt.u32 %waits, %tid, 32;
	SIGNAL
	WAIT
	.loc 1 20 0
	ld.global.u32 %seen, [%data];
	ret;
}
`

// The words of launchStory that have a meaning.
const (
	waitPrior = "griddepcontrol.wait;"
	pollFlag  = "again: ld.acquire.gpu.u32 %seen, [%flag]; setp.eq.u32 %again, %seen, 0; @%again bra again;"
	setFlag   = "st.release.gpu.u32 [%flag], 1;"
)

// bench is a rank with the kernels of a text, two words of memory, and streams.
type bench struct {
	*Rank
	module     cudart.Module
	data, flag cudart.DevicePtr
	streams    [2]cudart.Stream
}

// newBench makes the memory, all zeros, and loads the text.
func newBench(r *Rank, text string) (*bench, error) {
	b := &bench{Rank: r}
	var errs [5]error
	b.module, errs[0] = r.Device.LoadModule("launch.ptx", []byte(text))
	b.data, errs[1] = r.Device.Malloc(1024)
	b.streams[0], errs[2] = r.Device.NewStream()
	b.streams[1], errs[3] = r.Device.NewStream()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	b.flag = b.data + 512
	r.Name(b.data, 512, "data")
	r.Name(b.flag, 512, "flag")
	return b, errors.Join(b.streams[0].Fill(b.data, 0, 1024), b.streams[0].Synchronize(context.Background()))
}

// launch enqueues kernels, such as "first" or "second pdl", on the first stream.
func (b *bench) launch(shape cudart.Launch, kernels ...string) error {
	for _, name := range kernels {
		name, pdl := strings.CutSuffix(name, " pdl")
		k, err := b.module.Kernel(name)
		if err != nil {
			return err
		}
		shape.PDL = pdl
		params := binary.LittleEndian.AppendUint64(nil, uint64(b.data))
		params = binary.LittleEndian.AppendUint64(params, uint64(b.flag))
		if err := b.streams[0].Launch(k, shape, params); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) synchronize() error {
	return errors.Join(b.streams[0].Synchronize(context.Background()), b.streams[1].Synchronize(context.Background()))
}

// runBench runs a task under several schedules, and returns all findings.
func runBench(t *testing.T, ranks int, text string, task func(b *bench) error) []Finding {
	t.Helper()
	found, errs := tryBench(t, ranks, text, task)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return found
}

// tryBench is runBench for tasks that may fail.
func tryBench(t *testing.T, ranks int, text string, task func(b *bench) error) (found []Finding, errs []error) {
	t.Helper()
	c, err := New(Config{Ranks: ranks, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(8) {
		r, err := c.Run(seed, func(r *Rank) error {
			b, err := newBench(r, text)
			if err != nil {
				return err
			}
			return task(b)
		})
		if err == nil && len(r.Incomplete) > 0 {
			err = fmt.Errorf("seed %d is incomplete: %q", seed, r.Incomplete)
		}
		found, errs = append(found, r.Findings...), append(errs, err)
	}
	return found, errs
}

// tellAll is findings in short: kind, cause and the lines of both sides.
func tellAll(findings []Finding) []string {
	var all []string
	for _, f := range findings {
		text := string(f.Kind) + ", " + f.Cause
		for _, s := range f.Sides {
			text += ", " + line(s)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A kernel that is launched early is ordered behind the one before it by griddepcontrol.wait alone.
func TestDependentLaunches(t *testing.T) {
	const race = "race, " + PriorNotWaited
	for name, c := range map[string]struct {
		kernels, wait, between string
		threads                int
		want                   []string
		advice                 string
	}{
		"waited for": {"first, second pdl", waitPrior, "", 64, nil, ""},
		"not early":  {"first, second", "", "", 64, nil, ""},
		"not waited for": {
			"first, second pdl", "", "", 64,
			[]string{race + ", 10, 20", race + ", 20, 10"},
			"add griddepcontrol.wait before \"ld.global.u32 %seen, [%data]\" of second",
		},
		"one warp waits": {
			"first, second pdl", "@%waits " + waitPrior, "", 64, []string{race + ", 10, 20", race + ", 20, 10"}, "",
		},
		"one warp waits before a barrier": {
			"first, second pdl", "@%waits " + waitPrior + blockBarrier, "", 64, nil, "",
		},
		"the kernel between waits": {"first, between pdl, second pdl", waitPrior, waitPrior, 1, nil, ""},
		"the kernel between does not wait": {
			"first, between pdl, second pdl", waitPrior, "", 1,
			[]string{race + ", 10, 20", race + ", 20, 10"},
			"and to the kernels between them",
		},
		"the kernel between is not early": {"first, between, second pdl", "", "", 1, nil, ""},
		"the last one is not early":       {"first, between pdl, second", "", "", 1, nil, ""},
	} {
		text := strings.NewReplacer("POLL", "", "SIGNAL", "", "WAIT", c.wait, "BETWEEN", c.between).Replace(launchStory)
		task := func(b *bench) error {
			return b.launch(cudart.Launch{Blocks: 1, Threads: c.threads}, strings.Split(c.kernels, ", ")...)
		}
		for how, run := range map[string]func(b *bench) error{
			"": task,
			" in a graph": func(b *bench) error {
				g, err := b.streams[0].Capture(func() error { return task(b) })
				if err != nil {
					return err
				}
				return errors.Join(g.Launch(b.streams[0]), g.Launch(b.streams[1]))
			},
		} {
			found := runBench(t, 1, text, func(b *bench) error { return errors.Join(run(b), b.synchronize()) })
			if got := tellAll(found); !subset(got, c.want) {
				t.Errorf("%s%s: found %q, want %q", name, how, got, c.want)
			}
			if len(found) > 0 && !strings.Contains(found[0].Advice, c.advice) {
				t.Errorf("%s%s: advice %q", name, how, found[0].Advice)
			}
		}
	}
}

// subset reports whether all of got are in want, and at least one where want has one.
func subset(got, want []string) bool {
	for _, g := range got {
		if !slices.Contains(want, g) {
			return false
		}
	}
	return len(got) > 0 || len(want) == 0
}

// The kernels of a chain run at the same time: the first one waits for a word that the second one writes.
func TestDependentLaunchesOverlap(t *testing.T) {
	text := strings.NewReplacer("POLL", pollFlag, "SIGNAL", setFlag, "WAIT", waitPrior, "BETWEEN", "").Replace(launchStory)
	found := runBench(t, 1, text, func(b *bench) error {
		return errors.Join(b.launch(cudart.Launch{Blocks: 1, Threads: 1}, "first", "second pdl"), b.synchronize())
	})
	if len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// meet enqueues the kernel of cooperative.ptx, of 64 threads a block.
func (b *bench) meet(blocks int) error {
	k, err := b.module.Kernel("exchange")
	if err != nil {
		return err
	}
	params := binary.LittleEndian.AppendUint64(nil, uint64(b.data))
	return b.streams[0].Launch(k, cudart.Launch{Blocks: blocks, Threads: 64, Cooperative: true}, params)
}

// The barrier of a cooperative grid orders its blocks, if it releases. Grids have counters of their own.
func TestCooperativeLaunches(t *testing.T) {
	right, err := os.ReadFile("../testdata/cooperative.ptx")
	if err != nil {
		t.Fatal(err)
	}
	for change, clean := range map[string]bool{"atom.add.release.gpu": true, "atom.add.relaxed.gpu": false} {
		text := strings.Replace(string(right), "atom.add.release.gpu", change, 1)
		found := runBench(t, 2, text, func(b *bench) error {
			return errors.Join(b.meet(4), b.meet(4), b.synchronize())
		})
		if clean != (len(found) == 0) {
			t.Errorf("%s: found %v", change, found)
		}
		for _, f := range found {
			if first, second := f.Sides[0], f.Sides[1]; f.Kind != Race || first.Rank != second.Rank {
				t.Errorf("%s: found %v", change, f)
			}
		}
	}
}

// Every cooperative grid has a workspace of its own, at the same address. A signal in one is no signal in another.
func TestCooperativeWorkspaces(t *testing.T) {
	text, err := os.ReadFile("../testdata/cooperative.ptx")
	if err != nil {
		t.Fatal(err)
	}
	once := strings.Replace(string(text), "setp.lt.u32 p, %round, 4;", "setp.lt.u32 p, %round, 1;", 1)
	found := runBench(t, 2, once, func(b *bench) error {
		return errors.Join(b.meet(3), b.meet(3), b.meet(3), b.meet(3), b.synchronize())
	})
	if len(found) > 0 {
		t.Errorf("found %v", tellAll(found))
	}
}

// A barrier of a grid that a block does not reach is a deadlock of that grid alone.
func TestCooperativeDeadlock(t *testing.T) {
	text, err := os.ReadFile("../testdata/cooperative.ptx")
	if err != nil {
		t.Fatal(err)
	}
	absent := strings.Replace(string(text), "loop:\n", "setp.eq.u32 p, %block, 2;\n@p ret;\nloop:\n", 1)
	found, _ := tryBench(t, 2, absent, func(b *bench) error {
		return errors.Join(b.meet(3), b.synchronize())
	})
	if len(found) == 0 {
		t.Fatal("found nothing")
	}
	for _, f := range found {
		text := f.String()
		if f.Kind != Deadlock || !strings.Contains(text, "workspace of a cooperative grid at +0x4, which is 0x7fffffff") {
			t.Errorf("found %s", text)
		}
	}
}

// A cooperative grid whose blocks cannot all be resident is refused.
func TestCooperativeLaunchTooLarge(t *testing.T) {
	text, err := os.ReadFile("../testdata/cooperative.ptx")
	if err != nil {
		t.Fatal(err)
	}
	runBench(t, 1, string(text), func(b *bench) error {
		err := b.meet(1025)
		if !errors.Is(err, cudart.ErrCoopTooLarge) {
			t.Errorf("error %v", err)
		}
		return nil
	})
}
