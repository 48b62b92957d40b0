package workload

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/kernels/collective"
)

// SpansMachines reports whether the ranks are on several machines, connected by a network.
func (j Job) SpansMachines() bool { return j.Nodes > 1 }

// autoCandidates lists the algorithms that "auto" chooses among: gpurun's own within a
// machine, and those by libraries across machines. Kernel files are named.
func autoCandidates(c *collective.Collective, spansMachines bool) []*collective.Algorithm {
	return slices.DeleteFunc(slices.Clone(c.Algorithms), func(a *collective.Algorithm) bool {
		if spansMachines {
			return !a.AcrossMachines()
		}
		return a.File != "" || a.Needs.Library != ""
	})
}

// withinOneMachine says why an algorithm cannot span machines, and which can.
func withinOneMachine(c *collective.Collective, a *collective.Algorithm) string {
	var names []string
	for _, other := range autoCandidates(c, true) {
		names = append(names, other.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("%s %s runs within one machine, and so does all of %s", c.Name, a.Name, c.Name)
	}
	return fmt.Sprintf("%s %s runs within one machine; across machines use --algo %s", c.Name, a.Name,
		strings.Join(names, " or "))
}
