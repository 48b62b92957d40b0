package check

import (
	"slices"

	"gpurun/cudart"
)

// graph is captured work. Each of its lanes is a stream of its own, and marks order the nodes of different lanes.
type graph struct {
	device *device
	nodes  []node
	tail   []int     // nodes that the end follows
	lanes  []*stream // of all lanes but the first, which is that of the launch
	last   *mark     // the end of the last replay, or nil
	closed bool
}

// open reports whether a lane has nodes that the end does not follow.
func (g *graph) open() bool {
	leaf := slices.Repeat([]bool{true}, len(g.nodes))
	for _, n := range g.nodes {
		for _, before := range n.after {
			leaf[before] = false
		}
	}
	for _, i := range g.tail {
		leaf[i] = false
	}
	return slices.Contains(leaf, true)
}

// Launch enqueues a replay behind the one before it. In a capture it adds the graph's work, if that has one lane.
func (g *graph) Launch(to cudart.Stream) error {
	const op = "launching a graph"
	s, ok := to.(*stream)
	switch {
	case !ok || s.device != g.device:
		return failure(op, cudart.ErrInvalidHandle, "the stream belongs to another device")
	case g.closed:
		return failure(op, cudart.ErrInvalidHandle, "the graph is closed")
	case s.capture != nil && len(g.lanes) > 0:
		return failure(op, cudart.ErrNotSupported, "a graph of several streams cannot be captured in the simulator")
	case s.capture != nil:
		for _, n := range g.nodes {
			s.capture.add(s, n.command)
		}
		return nil
	}
	return g.replay(s)
}

// replay enqueues the nodes on the stream and the other lanes. All lanes begin behind the stream's work, and the stream
// goes on when the nodes at the end are done. A kernel is never launched early across the begin of a graph.
func (g *graph) replay(s *stream) error {
	lanes := slices.Concat([]*stream{s}, g.lanes)
	start, reached := &mark{}, make([]*mark, len(g.nodes))
	for i := range reached {
		reached[i] = &mark{}
	}
	if g.last != nil {
		if err := s.await(g.last); err != nil {
			return err
		}
	}
	if err := s.reach(start); err != nil {
		return err
	}
	for _, lane := range g.lanes {
		if err := lane.await(start); err != nil {
			return err
		}
	}
	follows := func(lane int, after []int) (err error) {
		for _, i := range after {
			if g.nodes[i].lane != lane && err == nil {
				err = lanes[lane].await(reached[i])
			}
		}
		return err
	}
	for i, n := range g.nodes {
		if err := follows(n.lane, n.after); err != nil {
			return err
		}
		lanes[n.lane].queue = append(lanes[n.lane].queue, n.command)
		if g.isFollowed(i) {
			if err := lanes[n.lane].reach(reached[i]); err != nil {
				return err
			}
		}
	}
	g.last = &mark{}
	if err := follows(0, g.tail); err != nil {
		return err
	}
	return s.reach(g.last)
}

// isFollowed reports whether a node, or the end, of another lane follows a node.
func (g *graph) isFollowed(i int) bool {
	if g.nodes[i].lane != 0 && slices.Contains(g.tail, i) {
		return true
	}
	return slices.ContainsFunc(g.nodes, func(n node) bool {
		return n.lane != g.nodes[i].lane && slices.Contains(n.after, i)
	})
}

// Close lets replays under way finish and takes no more.
func (g *graph) Close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	for _, lane := range g.lanes {
		if err := lane.Close(); err != nil {
			return err
		}
	}
	return nil
}
