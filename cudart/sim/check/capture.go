package check

import (
	"slices"

	"gpurun/cudart"
)

// lane is a stream's part in a capture.
type lane struct {
	capture *capture // nil unless the stream is captured
	number  int      // among the streams of the capture
	tail    []int    // the captured nodes that the next one follows
}

// capture is work of one or several streams that is being recorded.
type capture struct {
	streams []*stream // by lane; the first one began it. None when it is over
	nodes   []node
}

// node is a captured command.
type node struct {
	command command
	lane    int   // the stream that captured it; those of a lane run in order
	after   []int // nodes before it, of any lane, that it follows
}

// captureMark is a place in a capture: behind these nodes, and all that they follow.
type captureMark struct {
	capture *capture
	after   []int
}

// Capture records what enqueue puts on this stream, and on those that join it.
func (s *stream) Capture(enqueue func() error) (cudart.Graph, error) {
	if err := s.notCapturing("capturing a stream"); err != nil {
		return nil, err
	}
	c := new(capture)
	c.enter(s, nil)
	err := enqueue()
	lanes := len(c.streams)
	for _, other := range c.streams {
		other.capture = nil
	}
	c.streams = nil
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

// notCapturing refuses what a captured stream cannot do.
func (s *stream) notCapturing(op string) error {
	if s.capture != nil {
		return failure(op, cudart.ErrCaptureForbidden, "the stream is capturing")
	}
	return nil
}

// enter gives a stream a lane of its own, that begins behind some nodes.
func (c *capture) enter(s *stream, after []int) {
	s.lane = lane{capture: c, number: len(c.streams), tail: after}
	c.streams = append(c.streams, s)
}

// add appends work to a stream's lane.
func (c *capture) add(s *stream, work command) {
	c.nodes = append(c.nodes, node{command: work, lane: s.lane.number, after: s.tail})
	s.tail = []int{len(c.nodes) - 1}
}

// join has what a stream enqueues from now on follow a mark.
func (c *capture) join(s *stream, m *captureMark) error {
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
