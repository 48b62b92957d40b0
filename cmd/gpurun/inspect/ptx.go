package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/ptx"
)

// describe describes a file of PTX or machine code.
func describe(in Input) File {
	if kind := KindOf(in.Data); kind != "ptx" {
		return describeBinary(in, kind)
	}
	f := File{Name: in.Name, Kernels: []Kernel{}}
	m, err := ptx.Parse(in.Name, in.Data)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	f.Kind, f.Version, f.Target = "ptx", fmt.Sprintf("%d.%d", m.Major, m.Minor), m.Target
	f.Functions = slices.Sorted(maps.Keys(m.Functions))
	for _, v := range m.Vars {
		f.Variables = append(f.Variables, Variable{v.Name, v.Space.String(), typeOf(v), v.Size, v.Align, v.Extern})
	}
	p, err := exec.Load(m)
	if reason := cmp.Or(exec.CheckVersion(m), exec.CheckTarget(m)); reason != "" {
		err = errors.New(reason)
	}
	for _, e := range m.Entries {
		f.Kernels = append(f.Kernels, describeKernel(m, p, e, err))
	}
	return f
}

// describeKernel describes a kernel. The program is nil where the module cannot be loaded, for the reason
// given.
func describeKernel(m *ptx.Module, p *exec.Program, e *ptx.Entry, reason error) Kernel {
	k := Kernel{Name: e.Name, Line: e.Line, Bounds: bounds(e)}
	for _, v := range e.Params {
		offset := (k.ParamBytes + int64(v.Align) - 1) / int64(v.Align) * int64(v.Align)
		k.Parameters = append(k.Parameters, Parameter{v.Name, typeOf(v), offset, v.Size, v.Align})
		k.ParamBytes = offset + v.Size
	}
	if tree, err := m.Read(&e.Function); err == nil {
		k.Registers = map[string]int{}
		for _, r := range tree.Regs {
			k.Registers[r.Type.String()]++
		}
		for _, v := range tree.Vars {
			if v.Space == ptx.Local {
				k.Local += v.Size
			}
		}
	}
	if reason == nil {
		if k.Shared, k.Dynamic, reason = p.SharedOf(e); reason == nil {
			reason = p.Check(e)
		}
	}
	k.Refusal = refusal(reason)
	k.Runs = k.Refusal == nil
	return k
}

func refusal(err error) *Refusal {
	var where *ptx.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &where):
		return &Refusal{where.Line, where.Text, where.Source, where.Reason}
	}
	return &Refusal{Reason: err.Error()}
}

// typeOf is the type of a variable as PTX writes it.
func typeOf(v *ptx.Var) string {
	if v.Opaque != "" {
		return v.Opaque
	}
	elem := int64(max(v.Type.Width()/8, 1))
	switch {
	case v.Size == elem:
		return v.Type.String()
	case v.Size == 0:
		return v.Type.String() + "[]"
	}
	return fmt.Sprintf("%s[%d]", v.Type, v.Size/elem)
}

// bounds are the launches that a kernel allows, demands or is made for.
func bounds(e *ptx.Entry) (all []string) {
	add := func(n int, format string) {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, n))
		}
	}
	add(e.MaxThreads, "at most %d threads a block")
	add(e.MinBlocks, "at least %d blocks a multiprocessor")
	exactly := func(d [3]int, format string) {
		if d[0] > 0 {
			all = append(all, fmt.Sprintf(format, cudart.Dim3{X: d[0], Y: d[1], Z: d[2]}))
		}
	}
	exactly(e.Block, "blocks of %v threads")
	exactly(e.Cluster, "clusters of %v blocks")
	add(e.MaxCluster, "clusters of at most %d blocks")
	return all
}
