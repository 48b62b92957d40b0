package exec

import (
	"slices"
	"testing"
)

// An observer is told when blocks of a cluster begin and end, and of the cluster's barrier.
func TestObserverOfClusters(t *testing.T) {
	p, err := LoadObserved(parseText(t, clusterKernel(`
		barrier.cluster.arrive.relaxed;
		barrier.cluster.wait;
		ld.shared::cluster.u32 %v, [%peer];
		griddepcontrol.launch_dependents;
		griddepcontrol.wait;
		barrier.cluster.arrive;
	`)))
	if err != nil {
		t.Fatal(err)
	}
	var mem memory
	told := &diary{}
	g := launchKernel(t, p, "run", Config{
		Blocks: 2, Threads: 32, Cluster: 2, Params: words(mem.allocate(256)), Memory: &mem, Observer: told,
	})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	want := diary{
		"block 0 begins", "block 0 warp 0 arrives, relaxed true",
		"block 1 begins", "block 1 warp 0 arrives, relaxed true", "cluster 0 releases 1 warps", "block 1 warp 0 passes",
	}
	if len(*told) < len(want) || !slices.Equal((*told)[:len(want)], want) {
		t.Errorf("told %q\nwant %q", *told, want)
	}
	for _, line := range []string{
		"warp 0 waits for the prior grid", "block 0 warp 0 arrives, relaxed false", "block 0 ends", "block 1 ends",
	} {
		if !slices.Contains(*told, line) {
			t.Errorf("not told that %s: %q", line, *told)
		}
	}
}
