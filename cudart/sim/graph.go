package sim

import (
	"slices"

	"gpurun/cudart"
)

// graph is captured work. Each of its lanes is a queue of a stream's own, and
// events order the nodes of different lanes.
type graph struct {
	device *Device
	nodes  []node
	tail   []int     // nodes that the end follows
	lanes  []*stream // of all lanes but the first, which is that of the launch
	last   *point    // the end of the last replay, or nil
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

// Launch enqueues a replay, on all lanes at once, behind the one before it. In a
// capture it adds the graph's work, if that has one lane.
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
	case g.device.sticky() != nil:
		return g.device.sticky()
	}
	r := g.replay()
	g.device.mu.Lock()
	defer g.device.mu.Unlock()
	if err := s.pushLocked(r.queues[0]...); err != nil {
		return err
	}
	for i, lane := range g.lanes {
		if err := lane.pushLocked(r.queues[1+i]...); err != nil {
			return err
		}
	}
	g.last = r.end
	return nil
}

// replay is the commands of a launch of a graph, by lane.
type replay struct {
	graph   *graph
	queues  [][]command
	reached []*point // behind a node, where another lane follows it
	end     *point
}

func (g *graph) replay() *replay {
	r := &replay{
		graph: g, queues: make([][]command, 1+len(g.lanes)), reached: make([]*point, len(g.nodes)), end: new(point),
	}
	if g.last != nil {
		r.add(0, g.last)
	}
	r.fork()
	for i, n := range g.nodes {
		r.follow(n.lane, n.after)
		r.add(n.lane, n.command)
		if r.reached[i] != nil {
			r.add(n.lane, r.reached[i].reach())
		}
	}
	r.follow(0, g.tail)
	r.add(0, r.end.reach())
	return r
}

func (r *replay) add(lane int, c command) { r.queues[lane] = append(r.queues[lane], c) }

// fork has all lanes begin behind what is in the launch's stream, and finds the
// nodes that other lanes follow.
func (r *replay) fork() {
	if len(r.queues) == 1 {
		return
	}
	start := new(point)
	r.add(0, start.reach())
	for lane := 1; lane < len(r.queues); lane++ {
		r.add(lane, start)
	}
	followed := func(lane int, after []int) {
		for _, i := range after {
			if r.graph.nodes[i].lane != lane && r.reached[i] == nil {
				r.reached[i] = new(point)
			}
		}
	}
	for _, n := range r.graph.nodes {
		followed(n.lane, n.after)
	}
	followed(0, r.graph.tail)
}

// follow has a lane wait for nodes of others.
func (r *replay) follow(lane int, after []int) {
	for _, i := range after {
		if r.graph.nodes[i].lane != lane {
			r.add(lane, r.reached[i])
		}
	}
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
