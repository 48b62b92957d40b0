package userkernel

import (
	"fmt"

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
	loaded map[string]bool // modules whose globals are set
	calls  map[callKey]*boundCall
	ready  bool // areas hold their initial values
}

// callKey is what the expressions of a file can tell calls apart by.
type callKey struct {
	send, recv, sendStep, count int64
	dtype                       string
	op                          collective.Op
	root, blocks                int
}

func keyOf(c collective.Call) callKey {
	return callKey{c.Send, c.Recv, c.SendStep, c.Count, c.DType.Name, c.Op, c.Root, c.Blocks}
}

// boundCall is a kind of call with all expressions evaluated.
type boundCall struct {
	steps []boundStep
}

type boundStep struct {
	kernelfile.BoundStep
	kernel cudart.Kernel
}

func (u *user) state(c *collective.Comm) *state {
	return c.State(u.algorithm, func() any {
		st := &state{
			user: u, comm: c, tables: map[string]cudart.DevicePtr{}, areas: map[string]collective.PlacedArea{},
			hosts: map[string]cudart.HostBuffer{}, loaded: map[string]bool{}, calls: map[callKey]*boundCall{},
		}
		for _, area := range c.Areas(u.algorithm) {
			st.areas[area.Name] = area
		}
		return st
	}).(*state)
}

// prepare loads the kernels of a call, makes its tables, and at first writes what the areas hold. The ranks meet before the
// first call: a peer must not signal before that.
func (u *user) prepare(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	st := u.state(c)
	if !st.ready {
		if err := st.initialize(s, call); err != nil {
			return err
		}
		st.ready = true
	}
	if call.Count == 0 {
		return nil
	}
	_, err := st.bind(s, call)
	return err
}

// bind evaluates the expressions of the file for a call, or finds the result of an earlier call of the kind.
func (st *state) bind(s cudart.Stream, call collective.Call) (*boundCall, error) {
	again := st.file.DependsOnCall() && !st.file.OnlyPatches()
	if b, ok := st.calls[keyOf(call)]; ok && !again {
		return b, nil
	}
	values := st.at(call)
	steps, err := st.file.Bind(values, st.bundle, &memory{st, s, call})
	if err != nil {
		return nil, err
	}
	b := &boundCall{}
	for _, step := range steps {
		bound := boundStep{BoundStep: step}
		if step.Step.Launch != nil {
			if bound.kernel, err = st.kernel(s, call, step); err != nil {
				return nil, err
			}
		}
		b.steps = append(b.steps, bound)
	}
	st.calls[keyOf(call)] = b
	return b, nil
}

// at are the values of expressions for the next call.
func (st *state) at(call collective.Call) kernelfile.Call {
	c := st.comm
	return st.values(call, place{
		rank: c.Rank(), world: c.World(), sms: c.SMs(), maxBlocks: c.MaxBlocks(), timeoutNS: c.TimeoutNS(), number: st.number,
	})
}

// kernel finds the kernel of a launch, and sets the variables of its module when that is loaded.
func (st *state) kernel(s cudart.Stream, call collective.Call, step kernelfile.BoundStep) (cudart.Kernel, error) {
	code, ok := st.bundle.Modules[step.Module]
	if !ok {
		return nil, fmt.Errorf("%s:%d: the module %s was not read", st.file.Path, step.Step.Line, step.Module)
	}
	m, err := st.comm.LoadCode(code.Path, code.Code)
	if err != nil {
		return nil, err
	}
	if !st.loaded[step.Module] {
		if err := st.setGlobals(s, m, call); err != nil {
			return nil, err
		}
		st.loaded[step.Module] = true
	}
	k, err := m.Kernel(step.Entry)
	if err != nil {
		return nil, fmt.Errorf("finding kernel %s in %s: %w", step.Entry, code.Path, err)
	}
	return k, nil
}

// run puts one step on the stream.
func (st *state) run(s cudart.Stream, call collective.Call, b *boundStep) error {
	switch step := b.Step; {
	case step.Launch != nil:
		values := st.at(call)
		for _, p := range b.Patches {
			if err := p.Write(b.Params, values); err != nil {
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
