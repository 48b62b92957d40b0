package workload

import (
	"cmp"
	"slices"

	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
)

// Library is what a plan needs to know of an external library, such as NCCL.
type Library interface {
	// HasHeap reports whether buffers have to lie in the library's own symmetric memory.
	HasHeap() bool
	// Supports says why the library cannot do a collective, or returns nil.
	Supports(collective string, d collective.DType, op collective.Op) error
}

// Libraries names the external libraries that the requests may use: for their algorithms, and
// for the memory. Across machines, "auto" may take any.
func (p Plan) Libraries() []string {
	names := p.Products.libraries()
	for _, q := range p.requests {
		for _, a := range p.Collective.Algorithms {
			wanted := q.algorithm == a.Name || q.algorithm == Auto && p.job.SpansMachines() && a.AcrossMachines()
			if wanted && a.Needs.Library != "" && !slices.Contains(names, a.Needs.Library) {
				names = append(names, a.Needs.Library)
			}
		}
	}
	if heap := p.job.memory().Library; heap != "" && !slices.Contains(names, heap) {
		names = append(names, heap)
	}
	return names
}

// checkMemory refuses algorithms that need different kinds of memory: a run has one.
func (p Plan) checkMemory() error {
	first, kind := "", symm.Kind("")
	for _, name := range p.Libraries() {
		other, isFixed := symm.RequiredBy(name)
		switch {
		case !isFixed:
		case kind == "":
			first, kind = name, other
		case kind != other:
			return usagef("%s works on memory shared by %s alone, and %s on memory shared by %s alone: "+
				"measure them in two runs", first, kind, name, other)
		}
	}
	return nil
}

// Needs reports whether cases use a library.
func (p Plan) Needs(library string) bool {
	return slices.ContainsFunc(p.Cases, func(c Case) bool { return c.Algorithm.Needs.Library == library }) ||
		slices.ContainsFunc(p.Products.Cases,
			func(c ProductCase) bool { return slices.Contains(c.Algorithm.Libraries(), library) })
}

// libraries names those that the requested products use. "auto" takes none.
func (p ProductPlan) libraries() (names []string) {
	for _, q := range p.requests {
		a, ok := q.Operation.Algorithm(q.Requested)
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

// whyUnavailable says why an external library cannot be used, or returns "".
func (caps Capabilities) whyUnavailable(name string) string {
	if _, open := caps.Libraries[name]; !open {
		return cmp.Or(caps.Missing[name], "the library is not open")
	}
	return caps.Missing[name]
}
