package examples

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels/kernelfile"
)

// readModules reads the PTX of all ranks.
func readModules(f *kernelfile.File, call kernelfile.Call) (*kernelfile.Bundle, error) {
	b := &kernelfile.Bundle{Path: f.Path, Modules: map[string]kernelfile.Module{}}
	for rank := range call.World {
		call.Rank = rank
		launches := f.Launches()
		if f.Reference != nil {
			launches = append(launches, f.Reference.Launch)
		}
		for _, l := range launches {
			text, err := os.ReadFile(l.Key(call))
			if err != nil {
				return nil, err
			}
			m := kernelfile.Module{Path: l.Key(call), PTX: true, Code: text}
			if l.Match.Text != "" {
				m.Matches = map[string]string{l.Match.Fill(call): mangled(f.Name, call)}
			}
			b.Modules[l.Key(call)] = m
		}
	}
	return b, nil
}

// mangled is the name of a kernel of serving.cu: see the Itanium C++ ABI.
func mangled(template string, call kernelfile.Call) string {
	element := map[string]string{"float": "f", "int32": "i"}[call.Type]
	return fmt.Sprintf("_Z%d%sI%sLi%dEEv6InputsIT_E7RegionsP4PackIS1_Eii", len(template), template, element, call.World)
}

// run makes all calls on all ranks, and then compares the outputs of each.
func (s *scenario) run(t *testing.T, seed uint64) {
	t.Helper()
	runRanks(t, simulator(seed), s.calls[0].World, s.memory(), func(r *rank) error {
		m := &member{rank: r, scenario: s, kernels: map[string]cudart.Kernel{}}
		if err := m.prepare(); err != nil {
			return err
		}
		r.meet()
		for number := range s.calls {
			if err := m.call(number); err != nil {
				return fmt.Errorf("call %d: %w", number, err)
			}
		}
		if err := r.synchronize(); err != nil {
			return err
		}
		if err := m.verify(); err != nil || s.file.Reference == nil {
			return err
		}
		return m.reference()
	})
}

// member is one rank of a scenario.
type member struct {
	*rank
	*scenario
	number  int // of the call that is bound
	steps   [][]kernelfile.BoundStep
	kernels map[string]cudart.Kernel
	// staged are the inputs, and then the outputs, of each call, in private memory.
	staged []map[string]cudart.DevicePtr
}

// prepare binds all calls and uploads their inputs, so that nothing pauses between them.
func (m *member) prepare() error {
	for number, call := range m.calls {
		m.number, call.Rank = number, m.rank.rank
		steps, err := m.file.Bind(call, m.bundle, m)
		if err != nil {
			return err
		}
		m.steps = append(m.steps, steps)
		for _, s := range steps {
			if err := m.load(s); err != nil {
				return err
			}
		}
		if err := m.stage(); err != nil {
			return err
		}
	}
	return nil
}

// load finds the kernel of a step.
func (m *member) load(s kernelfile.BoundStep) error {
	if s.Entry == "" || m.kernels[s.Module+s.Entry] != nil {
		return nil
	}
	module, err := m.device.LoadModule(s.Module, m.bundle.Modules[s.Module].Code)
	if err != nil {
		return err
	}
	m.kernels[s.Module+s.Entry], err = module.Kernel(s.Entry)
	return err
}

// stage makes private copies of all that a call reads and writes.
func (m *member) stage() error {
	staged := map[string]cudart.DevicePtr{}
	for name, parts := range m.inputs[m.number] {
		var err error
		if staged[name], err = m.upload(parts[m.rank.rank].encode(m.types[name])); err != nil {
			return err
		}
	}
	for name, parts := range m.outputs[m.number] {
		p, err := m.upload(make([]byte, len(parts[0].encode(m.types[name]))))
		if err != nil {
			return err
		}
		staged[name] = p
	}
	m.staged = append(m.staged, staged)
	return nil
}

// call enqueues the copies of the inputs, the steps, and the copies of the outputs.
func (m *member) call(number int) error {
	m.number = number
	for name, parts := range m.inputs[number] {
		size := int64(len(parts[0].encode(m.types[name])))
		if err := m.stream.Copy(m.buffers[copyName(name, 0)][m.rank.rank], m.staged[number][name], size); err != nil {
			return err
		}
	}
	barriers := false
	for _, s := range m.steps[number] {
		if s.Step.Barrier {
			barriers = true
			if err := m.barrier(); err != nil {
				return err
			}
			continue
		}
		if err := m.stream.Launch(m.kernels[s.Module+s.Entry], s.Launch, s.Params); err != nil {
			return err
		}
	}
	for name, parts := range m.outputs[number] {
		size := int64(len(parts[0].encode(m.types[name])))
		if err := m.stream.Copy(m.staged[number][name], m.buffers[copyName(name, 0)][m.rank.rank], size); err != nil {
			return err
		}
	}
	if barriers {
		return m.barrier() // a kernel without signals leaves it to the caller that nobody runs ahead
	}
	return nil
}

func (m *member) barrier() error {
	err := m.synchronize()
	m.meet()
	return err
}

func (m *member) verify() error {
	for number := range m.calls {
		for name, at := range m.staged[number] {
			if err := m.compare(number, name, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare compares an output of a call with the truth.
func (m *member) compare(number int, name string, at cudart.DevicePtr) error {
	parts, ok := m.outputs[number][name]
	if !ok {
		return nil // an input
	}
	want := parts[m.rank.rank].encode(m.types[name])
	got := make([]byte, len(want))
	if err := m.stream.Download(got, at); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("call %d of %d elements: %s is wrong", number, m.calls[number].Count, name)
	}
	return nil
}

// reference runs the file's reference kernel on the inputs of the last call, and compares what it gives.
func (m *member) reference() error {
	m.meet() // nobody writes any more
	call := m.calls[m.number]
	call.Rank = m.rank.rank
	step, err := m.file.BindReference(call, m.bundle, m)
	if err != nil {
		return err
	}
	if err := m.load(step); err != nil {
		return err
	}
	for name := range m.outputs[m.number] {
		if err := m.stream.Fill(m.buffers[copyName(name, 0)][m.rank.rank], poison, m.sizes[name]); err != nil {
			return err
		}
	}
	if err := m.stream.Launch(m.kernels[step.Module+step.Entry], step.Launch, step.Params); err != nil {
		return err
	}
	for name := range m.outputs[m.number] {
		if err := m.compare(m.number, name, m.buffers[copyName(name, 0)][m.rank.rank]); err != nil {
			return fmt.Errorf("the reference: %w", err)
		}
	}
	m.meet() // nobody reads any more
	return nil
}
