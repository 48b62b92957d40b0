package sim

import (
	"slices"

	"gpurun/cudart"
)

// node is a captured command.
type node struct {
	command command
	lane    int   // the stream that captured it; those of a lane run in order
	after   []int // nodes before it, of any lane, that it follows
}

// capture is work of one or several streams that is being recorded.
type capture struct {
	streams []*stream // by lane; the first one began it. None when it is over
	nodes   []node
}

// mark is a place in a capture: behind these nodes, and all that they follow.
type mark struct {
	capture *capture
	after   []int
}

// Capture records what enqueue puts on this stream, and on those that join it.
func (s *stream) Capture(enqueue func() error) (cudart.Graph, error) {
	if s.capture != nil {
		return nil, failure("capturing a stream", cudart.ErrCaptureForbidden, "the stream is capturing already")
	}
	c := new(capture)
	c.enter(s, nil)
	err := enqueue()
	lanes := c.end()
	if err != nil {
		return nil, err
	}
	g := &graph{device: s.device, nodes: c.nodes, tail: s.tail}
	if g.open() {
		return nil, failure("ending a capture", cudart.ErrCaptureUnjoined,
			"a stream that joined the capture was not joined back: record an event at its end, "+
				"and let the capturing stream wait for it")
	}
	for range lanes - 1 {
		g.lanes = append(g.lanes, s.device.newStream())
	}
	return g, nil
}

// enter gives a stream a lane of its own, that begins behind some nodes.
func (c *capture) enter(s *stream, after []int) {
	s.capture, s.lane, s.tail = c, len(c.streams), after
	c.streams = append(c.streams, s)
}

// end lets the streams go and returns how many there were.
func (c *capture) end() int {
	lanes := len(c.streams)
	for _, s := range c.streams {
		s.capture = nil
	}
	c.streams = nil
	return lanes
}

// add appends work to a stream's lane.
func (c *capture) add(s *stream, work ...command) {
	for _, w := range work {
		c.nodes = append(c.nodes, node{command: w, lane: s.lane, after: s.tail})
		s.tail = []int{len(c.nodes) - 1}
	}
}

// join has what a stream enqueues from now on follow a mark.
func (c *capture) join(s *stream, m *mark) error {
	const op = "waiting for an event"
	switch {
	case len(c.streams) == 0:
		return failure(op, cudart.ErrCapturedEvent, "the event was last recorded in a capture, which is over")
	case s.capture == nil:
		c.enter(s, m.after)
	case s.capture == c:
		s.tail = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.tail, m.after))))
	default:
		return failure(op, cudart.ErrCaptureMerge, "the event was recorded in another capture")
	}
	return nil
}
