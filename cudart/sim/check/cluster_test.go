package check

import (
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
