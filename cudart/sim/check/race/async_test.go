package race

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What is asynchronous, told as stories in the language of teller.
func TestAsynchronousStories(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"a copy that is waited for": {`
			0.0 writes x
			0.0 fence.proxy.shared
			0.0 copies a x y
			0.0 awaits a
			0.0 reads y
			0.0 writes x`, nil},
		"a copy of what was written without a proxy fence": {`
			0.0 writes x
			0.0 copies a x y`, []string{"1-2 wrong proxy"}},
		"and to what was written without one": {`
			0.0 writes y
			0.0 copies a x y`, []string{"1-2 wrong proxy"}},
		"what was read needs none": {`
			0.0 reads y
			0.0 copies a x y`, nil},
		"a proxy fence of other memory": {`
			0.0 writes x
			0.0 fence.proxy.global
			0.0 copies a x y`, []string{"1-3 wrong proxy"}},
		"a proxy fence in front of the write": {`
			0.0 fence.proxy.shared
			0.0 writes x
			0.0 copies a x y`, []string{"2-3 wrong proxy"}},
		"the writer fences, and a barrier passes it on": {`
			0.0 writes x
			0.0 fence.proxy.shared
			0.0 0.0b bar
			0.0b copies a x y`, nil},
		"the issuer fences behind the barrier": {`
			0.0 writes x
			0.0 0.0b bar
			0.0b fence.proxy.shared
			0.0b copies a x y`, nil},
		"another warp fences, and a flag passes it on": {`
			0.0 writes x
			0.0 0.0b bar
			0.0b fence.proxy.shared
			0.0b release.gpu f
			0.1 acquire.gpu f
			0.1 copies a x y`, nil},
		"a warp fences that knows nothing of the write": {`
			0.0 writes x
			0.0b fence.proxy.shared
			0.0 0.0b bar
			0.0b copies a x y`, []string{"1-4 wrong proxy"}},
		"a proxy fence orders no threads": {`
			0.0 writes x
			0.0 fence.proxy.shared
			0.0b fence.proxy.shared
			0.0b copies a x y`, []string{"1-4 nothing orders them"}},
		"the destination is read at once": {`
			0.0 copies a x y
			0.0 reads y`, []string{"1-2 not waited for"}},
		"the source is written at once": {`
			0.0 copies a x y
			0.0 writes x`, []string{"1-2 not waited for"}},
		"the source is read at once": {`
			0.0 copies a x y
			0.0 reads x`, nil},
		"waiting for the reads frees the source alone": {`
			0.0 copies a x y
			0.0 awaits.read a
			0.0 writes x
			0.0 reads y`, []string{"1-4 not waited for"}},
		"another thread that the issue happens before": {`
			0.0 copies a x y
			0.0 0.0b bar
			0.0b reads y`, []string{"1-3 not waited for"}},
		"another thread that nothing orders": {`
			0.0 copies a x y
			0.0b reads y`, []string{"1-2 nothing orders them"}},
		"waiting for the first copy is not waiting for the second": {`
			0.0 copies a x y
			0.0 copies b x z
			0.0 awaits a
			0.0 reads y
			0.0 reads z`, []string{"2-5 not waited for"}},
		"two copies to one place": {`
			0.0 copies a x y
			0.0 copies b z y`, []string{"1-2 not waited for"}},
		"a copy of what an earlier one has written": {`
			0.0 copies a x y
			0.0 awaits a
			0.0 copies b y z`, nil},
		"an mbarrier tells any thread of the end": {`
			0.0 copies a x y
			0.0b mbar a
			0.0b reads y
			0.0b copies b y z`, nil},
		"and not those that do not wait for it": {`
			0.0 copies a x y
			0.0b mbar a
			0.0 reads y`, []string{"1-3 not waited for"}},
		"a copy of a GPU that a flag of the system publishes": {`
			0.0 copies a x y
			0.0 awaits a
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 reads y
			1.0 copies b y z`, nil},
		"a small copy goes through the generic proxy": {`
			0.0 writes x
			0.0 copies.generic a x y
			0.0 reads y`, []string{"2-3 not waited for"}},
		"reductions at one place do not race": {`
			0.0 reduces a x y
			0.1 reduces b x y`, nil},
		"a read by .nc of what was written before the grid": {`
			0.0 writes x
			0.0 grid 0.1
			0.1 reads.nc x`, nil},
		"a read by .nc of what its thread has written": {`
			0.0 writes x
			0.0 reads.nc x`, []string{"1-2 read by .nc"}},
		"a read by .nc behind a flag": {`
			0.0 writes x
			0.0 release.gpu f
			0.1 acquire.gpu f
			0.1 reads.nc x`, []string{"1-4 read by .nc"}},
		"a read by .nc of what nothing orders": {`
			0.0 writes x
			0.1 reads.nc x`, []string{"1-2 nothing orders them"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("races %q, want %q", got, c.want)
			}
		})
	}
}

// All products of fences and barriers around a copy by another warp: it needs a fence that follows the write, and whose
// thread happens before the copy.
func TestProductsOfProxyFences(t *testing.T) {
	fences := []string{"", "fence.proxy.global", "fence.proxy.shared"}
	for _, writer := range fences {
		for _, issuer := range fences {
			for _, barrier := range []bool{false, true} {
				for _, wait := range []string{"", "awaits.read", "awaits"} {
					story, want := product(writer, issuer, barrier, wait)
					if got := races(story); !slices.Equal(got, want) {
						t.Errorf("%s\nraces %q, want %q", story, got, want)
					}
				}
			}
		}
	}
}

// product is the story of a write, a copy by another warp and a read of the copy, and its races.
func product(writer, issuer string, barrier bool, wait string) (story string, want []string) {
	var steps []string
	add := func(format string, args ...any) int {
		steps = append(steps, fmt.Sprintf(format, args...))
		return len(steps)
	}
	add("0.0 writes x")
	if writer != "" {
		add("0.0 %s", writer)
	}
	if barrier {
		add("0.0 0.0b bar")
	}
	if issuer != "" {
		add("0.0b %s", issuer)
	}
	copied := add("0.0b copies a x y")
	switch {
	case !barrier:
		want = append(want, fmt.Sprintf("1-%d %v", copied, NoOrder))
	case writer != "fence.proxy.shared" && issuer != "fence.proxy.shared":
		want = append(want, fmt.Sprintf("1-%d %v", copied, WrongProxy))
	}
	if wait != "" {
		add("0.0b %s a", wait)
	}
	if read := add("0.0b reads y"); wait != "awaits" {
		want = append(want, fmt.Sprintf("%d-%d %v", copied, read, NotWaitedFor))
	}
	return strings.Join(steps, "\n"), want
}
