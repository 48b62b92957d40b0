package kernelcode

import (
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
func readModule(path string) (kernelfile.Module, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if path, err = tritonCode(path); err != nil {
			return kernelfile.Module{}, err
		}
	}
	code, err := settings.ReadFile(path, maxCodeBytes)
	if err != nil {
		return kernelfile.Module{}, err
	}
	m, err := describe(path, code)
	if err != nil {
		return m, err
	}
	m.Triton, err = readTriton(path)
	return m, err
}

// describe finds out what code is and which kernels it has.
func describe(path string, code []byte) (kernelfile.Module, error) {
	m := kernelfile.Module{Path: path, Code: code}
	if inspect.KindOf(code) == "ptx" {
		return m, describePTX(&m)
	}
	found := inspect.Of([]inspect.Input{{Name: path, Data: code}}).Files[0]
	switch {
	case found.Error != "":
		return m, fmt.Errorf("%s", found.Error)
	case found.Kind == "host":
		return m, fmt.Errorf("%s is a host object: take the GPU code out of it with cuobjdump -xelf all -xptx all", path)
	}
	m.Entries = map[string][]kernelfile.Param{}
	for _, k := range found.Kernels {
		m.Entries[k.Name] = nil // machine code does not say which parameters it takes
	}
	return m, nil
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

// entriesOf are the names of a module's kernels, sorted.
func entriesOf(m kernelfile.Module) []string { return slices.Sorted(maps.Keys(m.Entries)) }
