package mutants

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
)

// exampleCounts are multiples of what the examples ask for.
var exampleCounts = []int64{1504, 16, 1104}

// exampleWorlds are the examples, and the ranks on which each is judged. The kernels of two_launches do not
// synchronize, and gather_matmul is a product.
var exampleWorlds = map[string]int{
	"baked": 2, "halo": 3, "oneshot": 3, "packets": 3, "serving_onestage": 2, "serving_twostage": 2, "symm_oneshot": 3,
}

// examples lists the kernels of the examples.
func examples() (all []*subject, err error) {
	for _, name := range slices.Sorted(maps.Keys(exampleWorlds)) {
		more, err := subjectsOf(name, exampleWorlds[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, more...)
	}
	return all, nil
}

// subjectsOf lists the kernels of a kernel file.
func subjectsOf(name string, world int) (all []*subject, err error) {
	path := filepath.Join("..", "examples", name+".toml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := kernelfile.Parse(path, text)
	if err != nil {
		return nil, err
	}
	call, calls := firstCall(f, world)
	bundle, err := readBundle(f, text, call)
	if err != nil {
		return nil, err
	}
	kernels, err := kernelsOf(f, bundle, call)
	if err != nil {
		return nil, err
	}
	for _, k := range kernels {
		module := bundle.Modules[k[0]]
		all = append(all, &subject{
			name: "example " + name, world: world, module: k[0], entry: k[1], text: module.Code,
			task: func(text []byte) (func(*check.Rank) error, error) {
				b := *bundle
				b.Modules = maps.Clone(bundle.Modules)
				m := module
				m.Code = text
				b.Modules[k[0]] = m
				c, err := extended(f, &b, calls)
				if err != nil {
					return nil, err
				}
				return c.Task, nil
			},
		})
	}
	return all, nil
}

// firstCall is the first call of a file, with the first type and operation that it takes.
func firstCall(f *kernelfile.File, world int) (kernelfile.Call, checktask.Calls) {
	call := kernelfile.Call{World: world, Type: f.ElementTypes()[0], Op: "none", SMs: 8, Count: exampleCounts[0]}
	if len(f.Ops) > 0 {
		call.Op = f.Ops[0]
	}
	calls := checktask.Calls{Op: collective.Op(call.Op), Counts: exampleCounts, Launches: launches}
	for _, d := range collective.DTypes() {
		if d.Name == call.Type {
			calls.DType, call.ElementBytes = d, int64(d.Size)
		}
	}
	call.InputBytes, call.OutputBytes = call.Count*call.ElementBytes, call.Count*call.ElementBytes
	return call, calls
}

// extended are the calls with the algorithm of a bundle.
func extended(f *kernelfile.File, b *kernelfile.Bundle, calls checktask.Calls) (*checktask.Calls, error) {
	bundles := []*kernelfile.Bundle{b}
	var c *collective.Collective
	var err error
	if f.Collective == kernelfile.Custom {
		c, err = userkernel.Custom(bundles)
	} else {
		own, _ := kernels.Find(f.Collective)
		c, err = userkernel.Extend(own, bundles)
	}
	if err != nil {
		return nil, err
	}
	a, ok := c.Algorithm(f.Path)
	if !ok {
		return nil, fmt.Errorf("%s made no algorithm", f.Path)
	}
	calls.Algorithm, calls.Shape = a, c.Shape
	return &calls, nil
}

// readBundle reads the PTX of all ranks.
func readBundle(f *kernelfile.File, text []byte, call kernelfile.Call) (*kernelfile.Bundle, error) {
	b := &kernelfile.Bundle{Path: f.Path, Text: text, Modules: map[string]kernelfile.Module{}}
	for call.Rank = range call.World {
		for _, l := range f.Launches() {
			key := l.Key(call)
			code, err := os.ReadFile(filepath.Join(filepath.Dir(f.Path), filepath.Base(key)))
			if err != nil {
				return nil, err
			}
			m := kernelfile.Module{Path: key, PTX: true, SM: 80, Code: code}
			if l.Match.Text != "" {
				// As the Itanium C++ ABI mangles the kernels of serving.cu.
				name := fmt.Sprintf("_Z%d%sIfLi%dEEv6InputsIT_E7RegionsP4PackIS1_Eii", len(f.Name), f.Name, call.World)
				m.Matches = map[string]string{l.Match.Fill(call): name}
			}
			b.Modules[key] = m
		}
	}
	return b, nil
}

// kernelsOf lists the modules and entries that the ranks launch.
func kernelsOf(f *kernelfile.File, b *kernelfile.Bundle, call kernelfile.Call) (all [][2]string, err error) {
	for call.Rank = range call.World {
		memory, err := f.NewMadeUp(call)
		if err != nil {
			return nil, err
		}
		steps, err := f.Bind(call, b, memory)
		if err != nil {
			return nil, err
		}
		for _, s := range steps {
			if k := [2]string{s.Module, s.Entry}; s.Entry != "" && !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	return all, nil
}
