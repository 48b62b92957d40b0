package userkernel

import (
	"errors"
	"fmt"
	"maps"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// state is what one rank keeps of a kernel file between calls.
type state struct {
	*user
	comm   *collective.Comm
	number int64 // of the next call
	tables map[string]cudart.DevicePtr
	areas  map[string]collective.PlacedArea // but those of the host
	hosts  map[string]cudart.HostBuffer
	loaded map[string]bool // modules whose variables are set
	unset  map[string]int  // variables that no loaded module has, with the line in the file
	calls  map[any][]boundStep
	ready  bool // areas hold their initial values, of a first call
	first  kernelfile.Call
}

// boundStep is a step of a call with its kernel.
type boundStep struct {
	kernelfile.BoundStep
	kernel cudart.Kernel
}

// state finds what a rank keeps of the file, or makes it.
func (u *user) state(c *collective.Comm) *state {
	return c.State(u.algorithm, func() any {
		st := &state{
			user: u, comm: c, tables: map[string]cudart.DevicePtr{}, areas: map[string]collective.PlacedArea{},
			hosts: map[string]cudart.HostBuffer{}, loaded: map[string]bool{}, unset: map[string]int{},
			calls: map[any][]boundStep{},
		}
		for _, area := range c.Areas(u.algorithm) {
			st.areas[area.Name] = area
		}
		for _, g := range u.file.Globals {
			st.unset[g.Name] = g.Line
		}
		return st
	}).(*state)
}

// prepare loads the kernels of a call, unless it is without elements, and at first initializes the buffers.
func (st *state) prepare(s cudart.Stream, t target, launches bool) error {
	if !st.ready {
		if err := st.initialize(s, t); err != nil {
			return err
		}
		st.ready, st.first = true, t.values
	}
	if err := st.file.CheckInit(st.first, t.values); err != nil {
		return err
	}
	if !launches {
		return nil
	}
	if _, err := st.bind(s, t); err != nil {
		return err
	}
	for name := range maps.Keys(st.unset) {
		return fmt.Errorf("%s:%d: no module has a variable %s", st.file.Path, st.unset[name], name)
	}
	return nil
}

// values are what expressions are evaluated over for the next call of a kind.
func (st *state) values(t target) kernelfile.Call {
	v := t.values
	v.Rank, v.SMs, v.TimeoutNS, v.Number = st.comm.Rank(), st.comm.SMs(), st.comm.TimeoutNS(), st.number
	if v.Blocks == 0 {
		v.Blocks = st.comm.MaxBlocks()
	}
	return v
}

// bind evaluates the expressions of the file for a call, or finds the result of an earlier call of the kind.
func (st *state) bind(s cudart.Stream, t target) ([]boundStep, error) {
	if steps, ok := st.calls[t.key]; ok && !st.file.DependsOnCall() {
		return steps, nil
	}
	bound, err := st.file.Bind(st.values(t), st.bundle, &memory{st, s, t})
	if err != nil {
		return nil, err
	}
	steps := make([]boundStep, len(bound))
	for i, step := range bound {
		steps[i].BoundStep = step
		if step.Step.Launch == nil {
			continue
		}
		if steps[i].kernel, err = st.kernel(s, t, step); err != nil {
			return nil, err
		}
		if err := st.checkResident(steps[i]); err != nil {
			return nil, err
		}
	}
	st.calls[t.key] = steps
	return steps, nil
}

// kernel finds the kernel of a launch, and sets the variables of its module when that is loaded.
func (st *state) kernel(s cudart.Stream, t target, step kernelfile.BoundStep) (cudart.Kernel, error) {
	code, ok := st.bundle.Modules[step.Module]
	if !ok {
		return nil, fmt.Errorf("%s:%d: the module %s was not read", st.file.Path, step.Step.Line, step.Module)
	}
	m, err := st.comm.LoadCode(code.Path, code.Code)
	if err != nil {
		return nil, err
	}
	if !st.loaded[step.Module] {
		if err := st.setGlobals(s, t, m); err != nil {
			return nil, err
		}
		st.loaded[step.Module] = true
	}
	k, err := m.Kernel(step.Entry)
	if err != nil {
		return nil, fmt.Errorf("finding kernel %s in %s: %w", step.Entry, code.Path, err)
	}
	if p, ok := k.(cudart.ParamPlacer); ok {
		if err := p.PlaceParams(step.ParamOffsets()); err != nil {
			return nil, fmt.Errorf("%s:%d: args has one entry for each parameter: %w", st.file.Path, step.Step.Line, err)
		}
	}
	return k, nil
}

// checkResident refuses a launch whose blocks wait for one another and are more than the device holds at once: it would
// never end.
func (st *state) checkResident(b boundStep) error {
	o, ok := b.kernel.(cudart.Occupier)
	if !ok || b.Resident == 0 {
		return nil
	}
	most, err := o.ResidentBlocks(b.Launch)
	if err != nil || b.Resident <= int64(most) {
		return err
	}
	return &ResidentError{fmt.Sprintf("%s:%d: %d blocks of %d threads must be resident at once, and %s holds %d: "+
		"make the grid smaller", st.file.Path, b.Step.Line, b.Resident, b.Launch.Block().Count(),
		st.comm.Device().Info().Name, most)}
}

// ResidentError is a launch that needs more blocks at once than the device holds.
type ResidentError struct{ Reason string }

func (e *ResidentError) Error() string { return e.Reason }

// setGlobals sets the variables of the file that a module has.
func (st *state) setGlobals(s cudart.Stream, t target, m cudart.Module) error {
	globals, err := st.file.BindGlobals(st.values(t), &memory{st, s, t})
	if err != nil {
		return err
	}
	for _, g := range globals {
		at, size, err := m.Global(g.Global.Name)
		switch {
		case errors.Is(err, cudart.ErrNotFound):
			continue
		case err != nil:
			return err
		case int64(len(g.Bytes)) > size:
			return fmt.Errorf("%s:%d: the variable %s has %d bytes, not %d", st.file.Path, g.Global.Line, g.Global.Name, size,
				len(g.Bytes))
		}
		if err := s.Upload(at, g.Bytes); err != nil {
			return err
		}
		delete(st.unset, g.Global.Name)
	}
	return nil
}

// enqueue puts the steps of a call on the stream. to times them; nil: nothing does.
func (st *state) enqueue(s cudart.Stream, t target, to *collective.StepRecorder) error {
	steps, err := st.bind(s, t)
	if err != nil {
		return err
	}
	rec := recorder{StepRecorder: to, stream: s}
	if to != nil {
		rec.call = st.values(t)
	}
	if err := rec.start(st); err != nil {
		return err
	}
	if err := st.reset(s, rec); err != nil {
		return err
	}
	for i := range steps {
		if err := st.run(s, &steps[i]); err != nil {
			return err
		}
		if err := rec.step(&steps[i]); err != nil {
			return err
		}
	}
	st.number++
	return nil
}

// run puts one step on the stream.
func (st *state) run(s cudart.Stream, b *boundStep) error {
	switch step := b.Step; {
	case step.Launch != nil:
		for i := range b.Patches {
			if err := b.Patches[i].Write(b.Params, st.number); err != nil {
				return err
			}
		}
		return s.Launch(b.kernel, b.Launch, b.Params)
	case step.Fill != nil:
		return s.Fill(b.To, b.Value, b.Bytes)
	case step.Copy != nil:
		return s.Copy(b.To, b.From, b.Bytes)
	}
	return barrier.Meet(st.comm, s, collective.StageBarrier)
}
