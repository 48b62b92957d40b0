package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// captureRelaxed is CU_STREAM_CAPTURE_MODE_RELAXED: enqueue may do things that
// are not captured, such as load the module of its kernel.
const captureRelaxed = 2

// capture is the streams that are being captured together; none when it is over.
type capture struct{ streams []*stream }

func (c *capture) join(s *stream) {
	s.capture = c
	c.streams = append(c.streams, s)
}

func (c *capture) end() {
	for _, s := range c.streams {
		s.capture = nil
	}
	c.streams = nil
}

// graph is captured work, instantiated.
type graph struct {
	dev    *device
	handle uintptr // CUgraphExec
}

// Capture records what enqueue puts into the stream, and into those that join
// it by [stream.Wait]. When enqueue fails, its error is returned and nothing is
// kept.
func (s *stream) Capture(enqueue func() error) (cudart.Graph, error) {
	a := s.dev.api
	if err := a.call(a.streamBeginCapture, s.handle, captureRelaxed); err != nil {
		return nil, fmt.Errorf("beginning a capture: %w", err)
	}
	c := new(capture)
	c.join(s)
	enqueueErr := enqueue()
	c.end()
	var captured uintptr // CUgraph
	endErr := a.call(a.streamEndCapture, s.handle, uintptr(unsafe.Pointer(&captured)))
	if captured != 0 {
		defer a.call(a.graphDestroy, captured) // the instance does not need it
	}
	if enqueueErr != nil {
		return nil, enqueueErr // a failure to end the capture follows from it
	}
	if endErr != nil {
		return nil, fmt.Errorf("ending a capture: %w", endErr)
	}
	g := &graph{dev: s.dev}
	if err := a.call(a.graphInstantiate, uintptr(unsafe.Pointer(&g.handle)), captured, 0); err != nil {
		return nil, fmt.Errorf("instantiating a graph: %w", err)
	}
	s.dev.own(g)
	return g, nil
}

// Launch enqueues the captured work.
func (g *graph) Launch(to cudart.Stream) error {
	s, ok := to.(*stream)
	if !ok || s.dev != g.dev {
		return &cudart.Error{Op: "cuGraphLaunch", Code: cudart.ErrInvalidHandle, Detail: "the stream is another device's"}
	}
	args := g.dev.launch.args[:2]
	args[0], args[1] = g.handle, s.handle
	return g.dev.api.call(g.dev.api.graphLaunch, args...)
}

// Close destroys the graph.
func (g *graph) Close() error   { return g.dev.closeOwned(g) }
func (g *graph) release() error { return g.dev.api.call(g.dev.api.graphExecDestroy, g.handle) }
