package userkernel

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// user is a kernel file with its code. Ranks of one process share it.
type user struct {
	file   *kernelfile.File
	bundle *kernelfile.Bundle
	// algorithm is what the areas and the state in the Comm belong to.
	algorithm any
}

// target is the call of a collective or of a product that the file is bound to.
type target struct {
	key    any             // tells kinds of calls apart
	values kernelfile.Call // but for what the Comm knows
	// offset is where a rank's buffer of the call begins, in bytes from the base of its symmetric memory. It is false
	// for a buffer that is none of the call's own.
	offset func(name string, rank int) (int64, bool)
}

// areas lists the buffers of the file: each has room for all the copies that calls use in turn.
func (u *user) areas(values kernelfile.Call) ([]collective.Area, error) {
	sizes, err := u.largest(values)
	if err != nil {
		return nil, err
	}
	var all []collective.Area
	for i, b := range u.file.Buffers {
		if b.Size.IsZero() { // the call's own: see kernelfile
			continue
		}
		// A size is not rounded up: what is behind it is guarded.
		all = append(all, collective.Area{Name: b.Name, Bytes: sizes[i], Copies: b.Rotate, Host: b.Host})
	}
	return all, nil
}

// largest are the sizes of the buffers on the rank that needs the most. Areas are the same on all ranks, and the sizes
// of private buffers may depend on the rank.
func (u *user) largest(values kernelfile.Call) ([]int64, error) {
	most := make([]int64, len(u.file.Buffers))
	for values.Rank = range values.World {
		sizes, err := u.file.Sizes(values)
		if err != nil {
			return nil, err
		}
		for i, size := range sizes {
			most[i] = max(most[i], size)
		}
	}
	return most, nil
}

// copies is how many copies of a buffer calls use in turn.
func copies(b *kernelfile.Buffer) int64 { return int64(max(b.Rotate, 1)) }

// newest is the newest architecture that a module of the file is for.
func (u *user) newest() collective.Arch {
	newest := collective.SM80
	for _, m := range u.bundle.Modules {
		if m.SM > newest.SM || m.SM == newest.SM && m.Specific {
			newest = collective.Arch{SM: m.SM, Specific: m.Specific}
		}
	}
	return newest
}

// forGPUs reports whether some module is a binary, which the simulator cannot run.
func (u *user) forGPUs() bool {
	for _, m := range u.bundle.Modules {
		if !m.PTX {
			return true
		}
	}
	return false
}
