package driver

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// single is a graph of one kernel. To give it parameters and launch it takes the host
// less than half as long as to launch the kernel.
//
// A graph waits until its launch before has ended, on whichever stream that was: so
// each stream has its own.
type single struct {
	api    *api
	handle uintptr // CUgraphExec
	graph  uintptr // CUgraph, to which node belongs
	node   uintptr // CUgraphNode
	shape  cudart.Launch
	params []byte // of the last launch
}

// kernelNode is CUDA_KERNEL_NODE_PARAMS, in its first version.
type kernelNode struct {
	function    uintptr
	grid, block [3]uint32
	sharedBytes uint32
	params      uintptr
	extra       uintptr
}

// Prepare makes the graph by which brief launches of a kernel go.
func (s *stream) Prepare(k cudart.Kernel) error {
	fn, err := s.dev.ownKernel("cuGraphAddKernelNode", k)
	if err != nil || s.singles[fn] != nil {
		return err
	}
	if s.capture != nil {
		return s.captureForbids("cuGraphUpload")
	}
	g, err := s.newSingle(fn)
	if err != nil {
		return fmt.Errorf("making a graph of kernel %s: %w", fn.name, err)
	}
	if s.singles == nil {
		s.singles = map[*kernel]*single{}
	}
	s.singles[fn] = g
	s.dev.own(g)
	return nil
}

// newSingle makes the graph of a kernel and has the device know it. Parameters and shape
// are there to be replaced.
func (s *stream) newSingle(k *kernel) (*single, error) {
	a, g := s.dev.api, &single{api: s.dev.api}
	if err := a.call(a.graphCreate, uintptr(unsafe.Pointer(&g.graph)), 0); err != nil {
		return nil, err
	}
	node := s.dev.launch.describe(k, cudart.Launch{Blocks: 1, Threads: 1})
	err := a.call(a.graphAddKernelNode, uintptr(unsafe.Pointer(&g.node)), g.graph, 0, 0, node)
	if err == nil {
		err = a.call(a.graphInstantiate, uintptr(unsafe.Pointer(&g.handle)), g.graph, 0)
	}
	if err == nil {
		err = a.call(a.graphUpload, g.handle, s.handle)
	}
	if err != nil {
		return nil, errors.Join(err, g.release())
	}
	return g, nil
}

// launchSingle enqueues the graph of a kernel with the parameters in the launch block.
// Launches that are still to run keep theirs.
func (s *stream) launchSingle(g *single, k *kernel, shape cudart.Launch, params []byte) error {
	a, b := s.dev.api, s.dev.launch
	if g.shape != shape || !bytes.Equal(g.params, params) {
		args := b.args[:3]
		args[0], args[1], args[2] = g.handle, g.node, b.describe(k, shape)
		if err := a.call(a.graphExecSetKernelParams, args...); err != nil {
			return err
		}
		g.shape, g.params = shape, append(g.params[:0], params...)
	}
	args := b.args[:2]
	args[0], args[1] = g.handle, s.handle
	return a.call(a.graphLaunch, args...)
}

// describe fills in what a graph's kernel is to be, with the parameters in the block, and
// says where that is.
func (b *launchBlock) describe(k *kernel, shape cudart.Launch) uintptr {
	b.node = kernelNode{
		function:    k.handle,
		grid:        [3]uint32{uint32(shape.Blocks), 1, 1},
		block:       [3]uint32{uint32(shape.Threads), 1, 1},
		sharedBytes: uint32(shape.SharedBytes),
		params:      b.paramsOf(k),
	}
	return uintptr(unsafe.Pointer(&b.node))
}

func (g *single) release() error {
	var err error
	if g.handle != 0 {
		err = g.api.call(g.api.graphExecDestroy, g.handle)
	}
	return errors.Join(err, g.api.call(g.api.graphDestroy, g.graph))
}
