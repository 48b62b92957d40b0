package workload

import (
	"cmp"
	"slices"

	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
)

// Values of a job's parameters.
const (
	Auto = "auto"
	On   = "on"
	Off  = "off"
)

// parameters are those of a job, read and checked. No list is empty.
type parameters struct {
	dtypes   []collective.DType
	ops      []collective.Op
	epilogue collective.Epilogue
	sizes    []int64
	blocks   []int
}

// parse reads the parameters of a job for a collective.
func (j Job) parse(c *collective.Collective, world int) (p parameters, err error) {
	if err := j.checkRanges(c.Shape, world); err != nil {
		return p, err
	}
	for _, word := range j.DTypes {
		d, ok := collective.ParseDType(word)
		if !ok {
			return p, usagef("there is no element type %q", word)
		}
		p.dtypes = append(p.dtypes, d)
	}
	if p.ops, err = j.parseOps(c); err != nil {
		return p, err
	}
	p.epilogue = collective.Epilogue{Row: j.Row, Scale: j.Scale, Epsilon: j.Epsilon}
	var ok bool
	if p.epilogue.Kind, ok = collective.ParseEpilogue(cmp.Or(j.Epilogue, "none")); !ok {
		return p, usagef("there is no epilogue %q", j.Epilogue)
	}
	p.sizes, p.blocks = j.Sizes, j.Blocks
	if c.Shape.Empty { // any type will do, and one size
		p.dtypes, p.sizes = []collective.DType{collective.Int8}, []int64{0}
	}
	if len(p.blocks) == 0 {
		p.blocks = []int{0}
	}
	return p, nil
}

// parseOps reads the operations. A collective that does not reduce has none.
func (j Job) parseOps(c *collective.Collective) ([]collective.Op, error) {
	if !c.Shape.Reduces {
		if len(j.Ops) > 0 && !slices.Equal(j.Ops, []string{string(collective.None)}) {
			return nil, usagef("%s does not reduce and takes no operation: leave %q out", c.Name, j.Ops[0])
		}
		return []collective.Op{collective.None}, nil
	}
	var ops []collective.Op
	for _, word := range j.Ops {
		op, ok := collective.ParseOp(word)
		if !ok {
			return nil, usagef("there is no operation %q", word)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// maxBytes is more than any device has. Sums of so large buffers do not overflow.
const maxBytes = 1 << 56

// checkRanges checks what needs no parsing.
func (j Job) checkRanges(s collective.Shape, world int) error {
	for _, w := range []struct {
		what, word string
		valid      []string
	}{
		{"pdl", j.PDL, []string{"", Auto, On, Off}},
		{"multicast", j.Multicast, []string{"", Auto, On, Off}},
		{"p2p", j.P2P, []string{"", Auto, Off}},
		{"symm", j.Symm, append(symm.Selectable(), "")},
	} {
		if !slices.Contains(w.valid, w.word) {
			return usagef("%s cannot be %q", w.what, w.word)
		}
	}
	if why := j.NoPeerAccess(); why != "" && j.memory().PeerAccess {
		return usagef("memory shared by %s needs peer access, and %s", j.Symm, why)
	}
	if j.SpansMachines() && !j.memory().AcrossMachines {
		return usagef("memory is shared by %s within one machine, and the ranks are on %d: leave --symm at auto", j.Symm,
			j.Nodes)
	}
	for _, bytes := range j.Sizes {
		if bytes < 0 || bytes > maxBytes {
			return usagef("no device has memory for a size of %d bytes", bytes)
		}
	}
	if s.Root != collective.NoRoot && (j.Root < 0 || j.Root >= world) {
		return usagef("rank %d cannot be the root: the ranks are 0 to %d", j.Root, world-1)
	}
	return nil
}
