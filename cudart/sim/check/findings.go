package check

import "gpurun/cudart/sim/check/finding"

// What was found, for people: callers of this package need not import package finding.
type (
	Finding = finding.Finding
	Found   = finding.Found
	Access  = finding.Access
	Actor   = finding.Actor
	Kind    = finding.Kind
	Wait    = finding.Wait
	Grouped = finding.Grouped
)

// Race is two accesses that nothing orders, one of them a write.
const Race = finding.Race

// Group finds the root causes among findings.
func Group(all []Found) []Grouped { return finding.Group(all) }
