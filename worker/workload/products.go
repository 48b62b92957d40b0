package workload

import (
	"cmp"
	"slices"
	"strings"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/userkernel"
)

// Products is a job about products of matrices: all sizes with all others, in every
// one of the job's types, by every one of its algorithms.
type Products struct {
	M []int64 `json:"m"`
	N []int64 `json:"n"`
	K []int64 `json:"k"`
	// Splits lists how many chunks a shard is copied in, where it is copied in chunks.
	Splits []int `json:"splits_per_rank"`
	// HostFlops is the number of operations that a rank's result may depend on for the
	// reference to compute it; 0 is hostFlops. A larger result is checked by a kernel, of
	// which the reference confirms samples.
	HostFlops int64 `json:"host_flops,omitempty"`
}

// hostFlops operations take the reference seconds.
const hostFlops = 1 << 31

// ProductPlan is such a job in terms of the catalog.
type ProductPlan struct {
	operation *matmul.Operation
	requests  []ProductCase // with an algorithm that may be "auto"
	Cases     []ProductCase // once algorithms are chosen
}

// planProducts turns the job's parameters into requests.
func (j Job) planProducts(world int) (p ProductPlan, err error) {
	var ok bool
	if p.operation, ok = matmul.Find(j.Collective); !ok {
		return p, usagef("there is no product %q", j.Collective)
	}
	if len(j.KernelFiles) > 0 {
		if p.operation, err = userkernel.ExtendOperation(p.operation, j.KernelFiles); err != nil {
			return p, &UsageError{err.Error()}
		}
	}
	if j.SpansMachines() {
		return p, usagef("%s runs within one machine: it shares memory, which ranks on several machines cannot",
			p.operation.Name)
	}
	dtypes, err := productTypes(p.operation.Name, j.DTypes)
	if err != nil {
		return p, err
	}
	for _, m := range j.Products.M {
		for _, n := range j.Products.N {
			for _, k := range j.Products.K {
				for _, d := range dtypes {
					if err := p.add(j, matmul.Problem{M: m, N: n, K: k, DType: d}, world); err != nil {
						return p, err
					}
				}
			}
		}
	}
	if err := cmp.Or(j.checkSkew(world), j.checkFurther()); err != nil {
		return p, err
	}
	return p, j.checkProducts(p, world)
}

// productTypes reads the names of element types. Products have few of them.
func productTypes(name string, words []string) ([]collective.DType, error) {
	var names []string
	for _, d := range matmul.DTypes() {
		names = append(names, d.Name)
	}
	var all []collective.DType
	for _, word := range words {
		d, ok := collective.ParseDType(word)
		if !ok || !slices.Contains(names, d.Name) {
			return nil, usagef("%s does not multiply %s; it multiplies %s", name, word, strings.Join(names, " and "))
		}
		all = append(all, d)
	}
	return all, nil
}

// add appends the requests for a problem.
func (p *ProductPlan) add(j Job, problem matmul.Problem, world int) error {
	if err := p.operation.Check(problem, world); err != nil {
		return &UsageError{err.Error()}
	}
	for _, name := range j.Algorithms {
		if err := p.checkAlgorithm(j, name, problem, world); err != nil {
			return err
		}
		for _, splits := range j.Products.Splits {
			if splits < 1 || splits > matmul.MaxSplits {
				return usagef("a shard is copied in 1 to %d chunks, not in %d", matmul.MaxSplits, splits)
			}
			p.requests = append(p.requests, ProductCase{
				Operation: p.operation, Problem: problem, Splits: splits, Requested: name,
				hostFlops: cmp.Or(j.Products.HostFlops, hostFlops),
			})
		}
	}
	return nil
}

// checkAlgorithm refuses an algorithm that cannot run on any device. For "auto", one that can
// run is enough.
func (p *ProductPlan) checkAlgorithm(j Job, name string, problem matmul.Problem, world int) error {
	if name == Auto { // the first, naive, does all that the operation does
		name = p.operation.Algorithms[0].Name
	}
	a, ok := p.operation.Algorithm(name)
	if !ok {
		return usagef("%s has no algorithm %q", p.operation.Name, name)
	}
	if err := a.Check(problem, world); err != nil {
		return &UsageError{err.Error()}
	}
	if why := j.NoPeerAccess(); a.Peers && why != "" && !slices.Contains(j.Optional, name) {
		return usagef("%s %s needs peer access, and %s; naive can do without", p.operation.Name, name, why)
	}
	return nil
}

// checkProducts refuses parameters that products do not have, and injected failures that would
// never happen.
func (j Job) checkProducts(p ProductPlan, world int) error {
	switch {
	case len(p.requests) == 0:
		return usagef("%s has nothing to multiply: M, N, K, types, algorithms and splits are lists of one at least",
			p.operation.Name)
	case j.Iterations < 1:
		return usagef("%s is timed in %d calls: there must be one at least", p.operation.Name, j.Iterations)
	case j.GraphReplays > 0:
		return usagef("%s is never replayed from a graph: leave --cudagraph at 0", p.operation.Name)
	}
	for _, in := range j.Inject {
		long := func(c ProductCase) bool { return in.Byte < c.Operation.Buffers(c.Problem, world).C }
		switch {
		case in.Rank >= world:
			return usagef("cannot inject a failure into rank %d: the ranks are 0 to %d", in.Rank, world-1)
		case in.Kind == Corrupt && !j.Verify:
			return usagef("corruption is injected to see it found, and verification is off")
		case in.Kind == Corrupt && !slices.ContainsFunc(p.requests, long):
			return usagef("cannot corrupt byte %d of rank %d: no result that it has is that long", in.Byte, in.Rank)
		}
	}
	return j.checkRecord(p)
}
