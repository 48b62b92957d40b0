package mutants

import (
	"slices"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/cudart/sim/check/race"
)

// right reports whether a finding says what a mistake is: its cause, and the lines that take part.
func right(m *mutate.Mutant, module string, f *check.Finding) bool {
	if !located(module, f) {
		return false
	}
	switch m.Class {
	case mutate.ScopeGPU, mutate.ScopeBlock:
		return f.Cause == race.NarrowScope.String() && names(f, m.Line)
	case mutate.RelaxedWeak, mutate.ReleaseWeak, mutate.AcquireWeak:
		return slices.ContainsFunc(f.Sides, func(a check.Access) bool { return a.Line == m.Line }) ||
			f.Cause == race.NoOrder.String()
	}
	return true
}

// located reports whether each side is a line of the module or a command, and at least one is a line.
func located(module string, f *check.Finding) bool {
	lines := 0
	for _, a := range f.Sides {
		switch {
		case a.Module == module && a.Line > 0:
			lines++
		case a.Command == "" && a.Module == "":
			return false
		}
	}
	return lines > 0
}

// names reports whether a finding names a line: as a side, or in the flag between them.
func names(f *check.Finding, line int) bool {
	at := func(a check.Access) bool { return a.Line == line }
	return slices.ContainsFunc(f.Sides, at) || f.Flag != nil && slices.ContainsFunc(f.Flag[:], at)
}
