package exec

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// diary writes down what an observer is told.
type diary []string

func (d *diary) note(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

func (d *diary) Access(at Place, a *ObservedAccess) {
	first := bits.TrailingZeros32(a.Lanes)
	d.note("block %d warp %d line %d: kind %d %q %q, %d x %d bytes, lanes %#x from +%#x",
		at.Block, at.Warp, at.Site.Instruction().Line, a.Kind,
		a.Order, a.Scope, a.Elements, a.Bytes, a.Lanes, a.Addresses[first]&0xffff)
}

func (d *diary) Fence(at Place, order, scope string) {
	d.note("warp %d fence %s %s", at.Warp, order, scope)
}

func (d *diary) Arrive(at Place, barrier int) { d.note("warp %d arrives at %d", at.Warp, barrier) }
func (d *diary) WaitPrior(at Place)           { d.note("warp %d waits for the prior grid", at.Warp) }
func (d *diary) BlockBegins(at Place)         { d.note("block %d begins", at.Block) }
func (d *diary) BlockEnds(at Place)           { d.note("block %d ends", at.Block) }
func (d *diary) PassCluster(at Place)         { d.note("block %d warp %d passes", at.Block, at.Warp) }

func (d *diary) ArriveCluster(at Place, relaxed bool) {
	d.note("block %d warp %d arrives, relaxed %v", at.Block, at.Warp, relaxed)
}

func (d *diary) ReleaseCluster(cluster int, waiting []Place) {
	d.note("cluster %d releases %d warps", cluster, len(waiting))
}

func (d *diary) SyncWarp(at Place, lanes uint32, ordersMemory bool) {
	d.note("warp %d lanes %#x meet at line %d, memory %v", at.Warp, lanes, at.Site.Instruction().Line, ordersMemory)
}

func (d *diary) Unmodeled(at Place) { d.note("unmodeled %s", at.Site.Text()) }

func (d *diary) Release(block, barrier int, warps []int) {
	d.note("block %d barrier %d releases %v", block, barrier, warps)
}

func (d *diary) Copy(at Place, c *ObservedCopy) {
	d.note("warp %d copies: async %v, reads %d, writes %d, element %d, mbarrier %v", at.Warp, c.Async, sumOf(c.Reads),
		sumOf(c.Writes), c.Element, c.Barrier != nil)
}

func sumOf(all []ObservedRange) (bytes uint64) {
	for _, r := range all {
		bytes += r.Bytes
	}
	return bytes
}

func (d *diary) Wait(at Place, copies []*ObservedCopy, readsAlone bool) {
	d.note("warp %d has waited for %d copies, for their reads alone: %v", at.Warp, len(copies), readsAlone)
}

func (d *diary) Complete(b ObservedBarrier, copies []*ObservedCopy) {
	d.note("%d copies end at mbarrier +%#x in phase %d", len(copies), b.Address&0xffff, b.Phase)
}

func (d *diary) Mbarrier(at Place, b ObservedBarrier, do MbarrierAction) {
	d.note("warp %d does %d to mbarrier +%#x in phase %d", at.Warp, do, b.Address&0xffff, b.Phase)
}

func (d *diary) FenceProxy(at Place, space string) { d.note("warp %d proxy fence %q", at.Warp, space) }

// An observer is told of accesses that others may see, of fences and barriers, and of what it is not told more about.
func TestObserver(t *testing.T) {
	p, err := LoadObserved(parseText(t, kernel(`
		mad.wide.u32 %at, %tid, 8, %data;
		st.global.v2.u32 [%at+256], {%tid, %tid};
		st.global.v2.u32 [%at+512], {%tid, %tid};
		st.shared.u32 [shared], %tid;
		st.local.u32 [local], %tid;
		setp.lt.u32 p, %tid, 2;
		@p ld.acquire.sys.global.u32 %a, [%data+16];
		@p atom.add.u32 %a, [%at+8], 1;
		fence.acq_rel.gpu;
		membar.sys;
		fence.cta;
		bar.sync 3;
		discard.global.L2 [%data], 128;
	`)))
	if err != nil {
		t.Fatal(err)
	}
	var mem memory
	told := &diary{}
	base := mem.allocate(4096)
	g := launchKernel(t, p, "run", Config{Threads: 32, Params: words(base), Memory: &mem, Observer: told})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	want := diary{
		`block 0 warp 0 line 17: kind 1 "" "", 2 x 4 bytes, lanes 0xffffffff from +0x100`,
		`block 0 warp 0 line 18: kind 1 "" "", 2 x 4 bytes, lanes 0xffffffff from +0x200`,
		`block 0 warp 0 line 19: kind 1 "" "", 1 x 4 bytes, lanes 0xffffffff from +0x0`,
		`block 0 warp 0 line 22: kind 0 "acquire" "sys", 1 x 4 bytes, lanes 0x3 from +0x10`,
		`block 0 warp 0 line 23: kind 2 "relaxed" "gpu", 1 x 4 bytes, lanes 0x3 from +0x8`,
		"warp 0 fence acq_rel gpu", "warp 0 fence sc sys", "warp 0 fence acq_rel cta",
		"warp 0 arrives at 3", "block 0 barrier 3 releases [0]",
		"unmodeled discard.global.L2 [%data], 128",
	}
	if got := (*told)[:min(len(want), len(*told))]; !slices.Equal(got, want) {
		t.Errorf("told %q\nwant %q", got, want)
	}
}

// An observer is told of copies with their ranges, and once for all lanes of a warp that somebody has waited for them.
func TestObserverOfCopies(t *testing.T) {
	p, err := LoadObserved(parseText(t, kernel(`
		mad.wide.u32 %at, %tid, 16, %data;
		setp.lt.u32 p, %tid, 4;
		cvt.u32.u64 %a, %at;
		and.b32 %a, %a, 127;
		@p cp.async.cg.shared.global [%a], [%at], 16;
		cp.async.commit_group;
		cp.async.wait_group 1;
		cp.async.wait_group 0;
		cp.async.wait_all;
	`)))
	if err != nil {
		t.Fatal(err)
	}
	var mem memory
	told := &diary{}
	base := mem.allocate(4096)
	g := launchKernel(t, p, "run", Config{
		Threads: 32, Params: words(base), Memory: &mem, Observer: told, SharedBytes: 1024,
	})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	want := diary{
		"warp 0 copies: async false, reads 64, writes 64, element 0, mbarrier false",
		"warp 0 has waited for 1 copies, for their reads alone: false",
	}
	if got := (*told)[:min(len(want), len(*told))]; !slices.Equal(got, want) {
		t.Errorf("told %q\nwant %q", *told, want)
	}
}

// Random turns are those of their seed. Any block, and any warp of a block, may be the first.
func TestRandomTurns(t *testing.T) {
	p, err := LoadObserved(parseText(t, kernel("red.global.add.u32 [%data+64], 1;")))
	if err != nil {
		t.Fatal(err)
	}
	order := func(blocks, threads int, seed uint64) []string {
		var mem memory
		told := &diary{}
		base := mem.allocate(4096)
		g := launchKernel(t, p, "run", Config{
			Blocks: blocks, Threads: threads, Params: words(base), Memory: &mem, Observer: told,
			Turns: rand.New(rand.NewPCG(seed, 1)),
		})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		return *told
	}
	for _, shape := range [][2]int{{1, 128}, {4, 32}} {
		first := map[string]int{}
		for seed := range uint64(64) {
			told := order(shape[0], shape[1], seed)
			if again := order(shape[0], shape[1], seed); !slices.Equal(again, told) {
				t.Errorf("%d blocks of %d threads, seed %d: two orders", shape[0], shape[1], seed)
			}
			first[told[0][:len("block 0 warp 0")]]++
		}
		for who, times := range first {
			if len(first) < 4 || times < 9 || times > 24 {
				t.Errorf("%d blocks of %d threads: %s is the first %d times of 64, of %d", shape[0], shape[1], who, times,
					len(first))
			}
		}
	}
}

// Observed programs and observers go together.
func TestObserverNeedsAnObservedProgram(t *testing.T) {
	plain, err := Load(parseText(t, kernel("")))
	if err != nil {
		t.Fatal(err)
	}
	observed, err := LoadObserved(parseText(t, kernel("")))
	if err != nil {
		t.Fatal(err)
	}
	var mem memory
	base := mem.allocate(4096)
	for _, bad := range []struct {
		program  *Program
		observer Observer
	}{{plain, &diary{}}, {observed, nil}} {
		k, err := bad.program.Kernel("run")
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Blocks: 1, Threads: 32, Params: words(base), Memory: &mem, Observer: bad.observer, SMs: 1, Clock: &ticks{}}
		cfg.TensorCores.Block = 1
		if err := cfg.Check(k); err == nil {
			t.Errorf("observer %v: no error", bad.observer)
		}
	}
}
