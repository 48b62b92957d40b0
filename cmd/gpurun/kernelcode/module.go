package kernelcode

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"gpurun/cmd/gpurun/inspect"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart/sim/ptx"
	"gpurun/kernels/kernelfile"
)

// maxCodeBytes is more than modules with the kernels of one algorithm have.
const maxCodeBytes = 64 << 20

// readModule reads the code at a path: a file, or a folder of Triton's cache. Triton's JSON may also lie beside a file.
// It returns the names of the kernels as well.
func readModule(path string) (m kernelfile.Module, names []string, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if path, err = tritonCode(path); err != nil {
			return m, nil, err
		}
	}
	code, err := settings.ReadFile(path, maxCodeBytes)
	if err != nil {
		return m, nil, err
	}
	if m, names, err = describe(path, code); err != nil {
		return m, nil, err
	}
	m.Triton, err = readTriton(path)
	return m, names, err
}

// describe finds out what code is and which kernels it has. Of machine code it knows no parameters.
func describe(path string, code []byte) (m kernelfile.Module, names []string, err error) {
	m = kernelfile.Module{Path: path, Code: code}
	if inspect.KindOf(code) == "ptx" {
		err = describePTX(&m)
		return m, slices.Sorted(maps.Keys(m.Entries)), err
	}
	found := inspect.Of([]inspect.Input{{Name: path, Data: code}}).Files[0]
	switch {
	case found.Error != "":
		return m, nil, errors.New(found.Error)
	case found.Kind == "host":
		return m, nil, fmt.Errorf("%s is a host object: take the GPU code out of it with cuobjdump -xelf all -xptx all", path)
	}
	for _, k := range found.Kernels {
		if !slices.Contains(names, k.Name) { // a fatbin has it for each architecture
			names = append(names, k.Name)
		}
	}
	return m, names, nil
}

// describePTX fills in the target, and the parameters and bounds of all kernels.
func describePTX(m *kernelfile.Module) error {
	parsed, err := ptx.Parse(m.Path, m.Code)
	if err != nil {
		return err
	}
	m.PTX, m.SM, m.Specific = true, parsed.SM, parsed.Feature != ""
	m.Entries = map[string][]kernelfile.Param{}
	for _, e := range parsed.Entries {
		params := []kernelfile.Param{}
		for _, v := range e.Params {
			params = append(params, kernelfile.Param{Bytes: int(v.Size), Align: v.Align})
		}
		m.Entries[e.Name] = params
		b := kernelfile.Bounds{Block: e.Block, MaxThreads: e.MaxThreads, Cluster: e.Cluster}
		if b != (kernelfile.Bounds{}) {
			if m.Bounds == nil {
				m.Bounds = map[string]kernelfile.Bounds{}
			}
			m.Bounds[e.Name] = b
		}
	}
	return nil
}

// Files lists the kernel file and its modules, as they were read.
func Files(b *kernelfile.Bundle) []string {
	paths := []string{b.Path}
	for _, m := range b.Modules {
		paths = append(paths, m.Path)
	}
	return paths
}

// MachineCode returns a module that the simulator cannot run, because it has no PTX.
func MachineCode(b *kernelfile.Bundle) (path string, found bool) {
	var paths []string
	for _, m := range b.Modules {
		if !m.PTX {
			paths = append(paths, m.Path)
		}
	}
	if len(paths) == 0 {
		return "", false
	}
	return slices.Min(paths), true
}
