package check

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// A block that waits at the barrier of its cluster is part of a deadlock in which another polls what nobody writes.
func TestDeadlockBesideTheBarrierOfACluster(t *testing.T) {
	const polls = `@!%first bra go;
read:
	.loc 1 40 0
	ld.acquire.gpu.global.u32 %v, [%flag];
	setp.eq.u32 %again, %v, 0;
	@%again bra read;
go:
`
	text := strings.NewReplacer("BEFORE", polls+clusterBarrier2, "AFTER", clusterBarrier2).Replace(clusterStory)
	found, err := tryBench(t, 1, text, func(b *bench) error {
		return errors.Join(b.launch(cudart.Launch{Blocks: 2, Threads: 32, Cluster: 2}, "exchange"), b.synchronize())
	})
	at := slices.IndexFunc(found, func(f Finding) bool { return f.Kind == Deadlock })
	if at < 0 {
		t.Fatalf("found %v, %v", found, err)
	}
	for _, part := range []string{"the other blocks of its cluster", ":40"} {
		if text := found[at].String(); !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
}
