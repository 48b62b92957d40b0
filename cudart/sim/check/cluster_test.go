package check

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// clusterStory is a kernel of clusters of two blocks: each reads what the other one has stored to its shared memory.
// Words in capitals are replaced.
const clusterStory = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "cluster.cu"
.visible .entry exchange(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data, %flag;
	.reg .b32 %own, %peer, %rank, %tid, %v;
	.reg .pred %first, %again;
	.shared .align 16 .b8 slots[512];
	ld.param.u64 %data, [data];
	ld.param.u64 %flag, [flag];
	mov.u32 %tid, %tid.x;
	mov.u32 %own, slots;
	mad.lo.u32 %own, %tid, 4, %own;
	mov.u32 %rank, %cluster_ctarank;
	setp.eq.u32 %first, %rank, 0;
	xor.b32 %v, %rank, 1;
	mapa.shared::cluster.u32 %peer, %own, %v;
	.loc 1 10 0
	st.shared.u32 [%own], %rank;
	BEFORE
	.loc 1 20 0
	ld.shared::cluster.u32 %v, [%peer];
	AFTER
	ret;
}
.visible .entry message(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data, %flag;
	.reg .b32 %rank, %v;
	.reg .pred %reads, %again;
	ld.param.u64 %data, [data];
	ld.param.u64 %flag, [flag];
	mov.u32 %rank, %ctaid.x;
	setp.ne.u32 %reads, %rank, 0;
	@%reads bra read;
	.loc 1 30 0
	st.global.u32 [%data], 1;
	.loc 1 32 0
	st.release.cluster.global.u32 [%flag], 1;
	ret;
read:
	.loc 1 40 0
	ld.acquire.cluster.global.u32 %v, [%flag];
	setp.eq.u32 %again, %v, 0;
	@%again bra read;
	.loc 1 42 0
	ld.global.u32 %v, [%data];
	ret;
}
`

const clusterBarrier2 = "barrier.cluster.arrive; barrier.cluster.wait;"

// The shared memory of a block of a cluster ends with the block, while an asynchronous copy may still read it.
func TestCopiesBehindTheEndOfABlock(t *testing.T) {
	const story = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "copy.cu"
.visible .entry store(.param .u64 data)
{
	.reg .b64 %data;
	.shared .align 16 .b8 tile[256];
	ld.param.u64 %data, [data];
	.loc 1 10 0
	cp.async.bulk.global.shared::cta.bulk_group [%data], [tile], 256;
	cp.async.bulk.commit_group;
	WAIT
	ret;
}
`
	const freed = "freed, the block may end before its asynchronous copy has read its shared memory, "
	for wait, want := range map[string][]string{
		"cp.async.bulk.wait_group.read 0;": nil,
		"":                                 {freed + ", 10", freed + "10, "},
	} {
		found := runBench(t, 1, strings.Replace(story, "WAIT", wait, 1), func(b *bench) error {
			k, err := b.module.Kernel("store")
			if err != nil {
				return err
			}
			params := binary.LittleEndian.AppendUint64(nil, uint64(b.data))
			shape := cudart.Launch{Blocks: 2, Threads: 1, Cluster: 2}
			return errors.Join(b.streams[0].Launch(k, shape, params), b.synchronize())
		})
		for _, g := range tellAll(found) {
			if strings.HasPrefix(g, "freed") && !slices.Contains(want, g) {
				t.Errorf("%q: found %q", wait, g)
			}
		}
		if (len(want) > 0) != slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == Freed }) {
			t.Errorf("%q: found %q", wait, tellAll(found))
		}
	}
}

// Blocks of a cluster reach each other's shared memory between two barriers of the cluster.
func TestSharedMemoryOfAPeer(t *testing.T) {
	const (
		arriveRelaxed = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
		notBegun      = "freed, peer block may not have begun, "
		ended         = "freed, peer block has ended, "
		unordered     = "race, nothing orders them, "
	)
	for name, c := range map[string]struct {
		before, after string
		// want are findings that some schedule has, and may are those that others can have.
		want, may []string
	}{
		"two barriers": {clusterBarrier2, clusterBarrier2, nil, nil},
		"names of the orders": {
			"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", clusterBarrier2, nil, nil,
		},
		"no barrier before": {
			"", clusterBarrier2,
			[]string{unordered + "10, 20", notBegun + ", 20"},
			[]string{unordered + "20, 10", notBegun + "20", "uninitialized, nobody wrote the bytes, 20"},
		},
		"a relaxed arrival before": {
			arriveRelaxed, clusterBarrier2, []string{unordered + "10, 20"}, nil,
		},
		"a fence before a relaxed arrival": {"fence.acq_rel.cluster;" + arriveRelaxed, clusterBarrier2, nil, nil},
		"a fence of the GPU before it":     {"fence.acq_rel.gpu;" + arriveRelaxed, clusterBarrier2, nil, nil},
		"a fence of the block before it": {
			"fence.acq_rel.cta;" + arriveRelaxed, clusterBarrier2,
			[]string{unordered + "10, 20"},
			nil,
		},
		"a fence of new mbarriers before it": { // for mbarriers alone
			"fence.mbarrier_init.release.cluster;" + arriveRelaxed, clusterBarrier2,
			[]string{unordered + "10, 20"},
			nil,
		},
		"a barrier of the block before": {
			"bar.sync 0;", clusterBarrier2,
			[]string{unordered + "10, 20", notBegun + ", 20"},
			[]string{unordered + "20, 10", notBegun + "20", "uninitialized, nobody wrote the bytes, 20"},
		},
		"no barrier behind":        {clusterBarrier2, "", []string{ended + "20, "}, []string{ended + "20"}},
		"a relaxed arrival behind": {clusterBarrier2, arriveRelaxed, []string{ended + "20, "}, nil},
		"an arrival without a wait": {
			clusterBarrier2, "barrier.cluster.arrive;", []string{ended + "20, "}, []string{ended + "20"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("BEFORE", c.before, "AFTER", c.after).Replace(clusterStory)
			found, _ := tryBench(t, 1, text, func(b *bench) error {
				return errors.Join(b.launch(cudart.Launch{Blocks: 4, Threads: 64, Cluster: 2}, "exchange"), b.synchronize())
			})
			got := tellAll(found)
			for _, w := range c.want {
				if !slices.Contains(got, w) {
					t.Errorf("no schedule finds %q", w)
				}
			}
			for _, g := range got {
				if !slices.Contains(c.want, g) && !slices.Contains(c.may, g) {
					t.Errorf("a schedule finds %q", g)
				}
			}
			for _, f := range found {
				if f.Kind == Freed && !strings.Contains(f.Advice, "barrier.cluster") {
					t.Errorf("advice %q", f.Advice)
				}
			}
		})
	}
}

// The fence of new mbarriers makes them known to the cluster at a relaxed arrival, as the kernels of CUTLASS and Triton
// do it: to threads, and to copies that complete at them. It makes nothing known that is behind it.
func TestNewMbarriersOfACluster(t *testing.T) {
	const (
		kernel = `
.version 8.0
.target sm_90
.address_size 64
.file 1 "cluster.cu"
.visible .entry meet(.param .u64 data, .param .u64 flag)
{
	.reg .b64 %data;
	.reg .b32 %own, %peer, %tile, %rank, %tid;
	.reg .pred %first, p;
	.shared .align 8 .b8 bar[8];
	.shared .align 16 .b8 slots[16];
	ld.param.u64 %data, [data];
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %first, %tid, 0;
	mov.u32 %own, bar;
	mov.u32 %tile, slots;
	mov.u32 %rank, %cluster_ctarank;
	xor.b32 %rank, %rank, 1;
	mapa.shared::cluster.u32 %peer, %own, %rank;
	BEFORE
	barrier.cluster.arrive.relaxed;
	barrier.cluster.wait;
	.loc 1 20 0
	@%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%peer];
	.loc 1 22 0
	@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%own], 16;
	.loc 1 24 0
	@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%data], 16, [%own];
again:
	.loc 1 26 0
	mbarrier.try_wait.parity.shared::cta.b64 p, [%own], 0;
	@!p bra again;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	ret;
}
`
		initialize = ".loc 1 10 0\n@%first mbarrier.init.shared::cta.b64 [%own], 2;\n"
		fence      = "@%first fence.mbarrier_init.release.cluster;\n"
		unordered  = "race, nothing orders them, 10, "
	)
	for name, c := range map[string]struct {
		before string
		want   []string
	}{
		"fence behind":   {initialize + fence, nil},
		"no fence":       {initialize, []string{unordered + "20", unordered + "26"}},
		"fence in front": {fence + initialize, []string{unordered + "20", unordered + "26"}},
		"fence of another lane": {
			initialize + "bar.warp.sync 0xffffffff;\nsetp.eq.u32 p, %tid, 1;\n@p fence.mbarrier_init.release.cluster;\n",
			[]string{unordered + "20"},
		},
		"fence of all lanes": {initialize + "fence.mbarrier_init.release.cluster;\n", nil},
		"fence of another warp": {
			initialize + "bar.sync 0;\nsetp.eq.u32 p, %tid, 32;\n@p fence.mbarrier_init.release.cluster;\n",
			[]string{unordered + "20"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(kernel, "BEFORE", c.before)
			found, errs := tryBench(t, 1, text, func(b *bench) error {
				return errors.Join(b.launch(cudart.Launch{Blocks: 2, Threads: 64, Cluster: 2}, "meet"), b.synchronize())
			})
			got := tellAll(found)
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			if c.want == nil && len(got) > 0 {
				t.Errorf("found %q", got)
			}
			for _, w := range c.want {
				if !slices.Contains(got, w) {
					t.Errorf("found %q, and not %q", got, w)
				}
			}
		})
	}
}

// The scope of a cluster reaches the blocks of the cluster, and no others.
func TestScopeOfACluster(t *testing.T) {
	for cluster, want := range map[int][]string{
		2: nil, 1: {"race, a scope is too narrow, 30, 42", "race, a scope is too narrow, 32, 40"},
	} {
		found := runBench(t, 1, clusterStory[:strings.Index(clusterStory, ".visible .entry exchange")]+
			clusterStory[strings.Index(clusterStory, ".visible .entry message"):], func(b *bench) error {
			return errors.Join(b.launch(cudart.Launch{Blocks: 2, Threads: 1, Cluster: cluster}, "message"), b.synchronize())
		})
		got := slices.DeleteFunc(tellAll(found), func(s string) bool { return s == "race, a scope is too narrow, 40, 32" })
		if !slices.Equal(got, want) {
			t.Errorf("clusters of %d: found %q, want %q", cluster, got, want)
		}
		for _, f := range found {
			if !strings.HasPrefix(f.Advice, ".cluster does not reach another block: use ") {
				t.Errorf("advice %q", f.Advice)
			}
		}
	}
}
