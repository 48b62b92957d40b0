package worker

import (
	"cmp"
	"slices"

	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
)

// offered is what a plan asks a library of others, such as NCCL.
type offered interface {
	// HasHeap reports whether buffers have to lie in the library's own symmetric memory.
	HasHeap() bool
	// Supports says why the library cannot do a collective, or returns nil.
	Supports(collective string, d collective.DType, op collective.Op) error
}

// libraries names those of others that algorithms of the requests belong to, and what the memory is to
// come from. Across machines, "auto" may take any.
func (p Plan) libraries() []string {
	names := p.products.libraries()
	for _, q := range p.requests {
		for _, a := range automatic(p.collective, true) {
			wanted := q.algorithm == a.Name || q.algorithm == auto && p.job.spansMachines()
			if wanted && !slices.Contains(names, a.Needs.Library) {
				names = append(names, a.Needs.Library)
			}
		}
	}
	if p.job.Symm == string(symm.NVSHMEMHeap) && !slices.Contains(names, p.job.Symm) {
		names = append(names, p.job.Symm)
	}
	return names
}

// needs reports whether cases use a library.
func (p Plan) needs(library string) bool {
	return slices.ContainsFunc(p.cases, func(c testCase) bool { return c.algorithm.Needs.Library == library }) ||
		slices.ContainsFunc(p.products.cases, func(c productCase) bool { return slices.Contains(c.algorithm.Libraries(), library) })
}

// libraries names those that products ask for. "auto" takes none.
func (p products) libraries() (names []string) {
	for _, q := range p.requests {
		a, ok := q.operation.Algorithm(q.asked)
		if !ok {
			continue
		}
		for _, name := range a.Libraries() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// lacking says why a library of others cannot be used, or returns "".
func (s surroundings) lacking(name string) string {
	if _, open := s.libraries[name]; !open {
		return cmp.Or(s.missing[name], "the library is not open")
	}
	return s.missing[name]
}
