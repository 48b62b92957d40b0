package check

import (
	"cmp"
	"errors"
	"sync"

	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/ptx"
)

// Programs are kernels that were compiled, which checkers share: see [Config]. It is safe for concurrent use.
type Programs struct {
	mu    sync.Mutex
	known map[source]*exec.Program
}

// source is PTX text and the name by which messages call it.
type source struct{ name, text string }

// NewPrograms is without kernels.
func NewPrograms() *Programs { return &Programs{known: map[source]*exec.Program{}} }

// load parses text, unless an earlier run has, so that the ranks and runs have the same code.
func (p *Programs) load(name string, text []byte) (*exec.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := source{name, string(text)}
	if known, ok := p.known[key]; ok {
		return known, nil
	}
	m, err := ptx.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if reason := cmp.Or(exec.CheckVersion(m), exec.CheckTarget(m)); reason != "" {
		return nil, errors.New(reason)
	}
	program, err := exec.LoadObserved(m)
	if err == nil {
		p.known[key] = program
	}
	return program, err
}
