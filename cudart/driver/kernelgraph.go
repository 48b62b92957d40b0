package driver

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// kernelGraph is a CUDA graph of one kernel. To set its parameters and launch it takes the host less
// than half the time of a kernel launch.
//
// A launch of a graph waits for the previous launch of the same graph, on any stream: so each stream
// has graphs of its own.
type kernelGraph struct {
	stream *stream
	kernel *kernel
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

// Prepare makes the graph for launches of a short-running kernel. A graph does not have its stream's
// priority: streams of high priority use none.
func (s *stream) Prepare(k cudart.Kernel) error {
	fn, err := s.dev.ownKernel("cuGraphAddKernelNode", k)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return &cudart.Error{
			Op: "cuGraphUpload", Code: cudart.ErrCaptureForbidden, Detail: "the stream is being captured; prepare it before",
		}
	}
	if s.highPriority || s.kernelGraphs[fn] != nil {
		return nil
	}
	g, err := s.newKernelGraph(fn)
	if err != nil {
		return fmt.Errorf("making a graph of kernel %s: %w", fn.name, err)
	}
	if s.kernelGraphs == nil {
		s.kernelGraphs = map[*kernel]*kernelGraph{}
	}
	s.kernelGraphs[fn] = g
	s.dev.own(g)
	return nil
}

// newKernelGraph makes the graph of a kernel and uploads it to the device. Every launch replaces the
// parameters and the shape.
func (s *stream) newKernelGraph(k *kernel) (*kernelGraph, error) {
	a, g := s.dev.api, &kernelGraph{stream: s, kernel: k, params: make([]byte, 0, max(k.paramBytes, 0))}
	if err := a.call(a.graphCreate, uintptr(unsafe.Pointer(&g.graph)), 0); err != nil {
		return nil, err
	}
	node := g.describe(cudart.Launch{Blocks: 1, Threads: 1}, s.dev.launch.paramsAt(k))
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

// launchKernelGraph enqueues a graph with parameters, which are at an address. Earlier launches that
// have not run keep their parameters.
func (s *stream) launchKernelGraph(g *kernelGraph, shape cudart.Launch, params []byte, at uintptr) error {
	a, b := s.dev.api, s.dev.launch
	if g.shape != shape || !bytes.Equal(g.params, params) {
		args := b.args[:3]
		args[0], args[1], args[2] = g.handle, g.node, g.describe(shape, at)
		if err := a.call(a.graphExecSetKernelParams, args...); err != nil {
			return err
		}
		g.shape, g.params = shape, append(g.params[:0], params...)
	}
	args := b.args[:2]
	args[0], args[1] = g.handle, s.handle
	return a.call(a.graphLaunch, args...)
}

// describe fills in the node parameters in the launch block and returns their address.
func (g *kernelGraph) describe(shape cudart.Launch, params uintptr) uintptr {
	b := g.stream.dev.launch
	b.node = kernelNode{
		function:    g.kernel.handle,
		grid:        words3(shape.Grid()),
		block:       words3(shape.Block()),
		sharedBytes: uint32(shape.SharedBytes),
		params:      params,
	}
	return uintptr(unsafe.Pointer(&b.node))
}

func (g *kernelGraph) release() error {
	delete(g.stream.kernelGraphs, g.kernel)
	a := g.stream.dev.api
	var err error
	if g.handle != 0 {
		err = a.call(a.graphExecDestroy, g.handle)
	}
	return errors.Join(err, a.call(a.graphDestroy, g.graph))
}

// closeKernelGraphs closes the graphs that match.
func (d *device) closeKernelGraphs(match func(*kernelGraph) bool) error {
	var failures []error
	for r := range d.owned {
		if g, ok := r.(*kernelGraph); ok && match(g) {
			failures = append(failures, d.closeOwned(g))
		}
	}
	return errors.Join(failures...)
}
