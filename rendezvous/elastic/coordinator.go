package elastic

import (
	"context"
	"sync"

	"go.uber.org/zap"

	"gpurun/rendezvous/clock"
	"gpurun/rendezvous/elastic/rounds"
	pb "gpurun/rendezvous/elastic/v1"
)

// outboxSize is how many messages a node may be behind. One that does not read
// so many is as good as gone.
const outboxSize = 256

// nodeStream is the server end of the stream of a node.
type nodeStream struct {
	id     rounds.NodeID
	outbox chan *pb.AttendResponse // closed after the last message
}

// coordinator runs the state: it feeds in the time and what nodes say, and
// carries out the effects.
type coordinator struct {
	clock *clock.Clock
	log   *zap.Logger
	over  chan struct{} // closed when the job is over

	mu         sync.Mutex
	state      *rounds.StateMachine
	lastID     rounds.NodeID
	nodes      map[rounds.NodeID]*nodeStream
	overflowed []rounds.NodeID // whose outbox was full
	streams    int             // that are open
	drained    chan struct{}   // closed when none is open any more; nil: nobody asks
}

func newCoordinator(state *rounds.StateMachine, log *zap.Logger) *coordinator {
	return &coordinator{
		clock: clock.New(),
		log:   log,
		over:  make(chan struct{}),
		state: state,
		nodes: map[rounds.NodeID]*nodeStream{},
	}
}

// attend begins a node's part.
func (c *coordinator) attend() *nodeStream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	c.streams++
	a := &nodeStream{id: c.lastID, outbox: make(chan *pb.AttendResponse, outboxSize)}
	c.nodes[a.id] = a
	return a
}

// left notes that a stream has been closed.
func (c *coordinator) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
	if c.streams == 0 && c.drained != nil {
		close(c.drained)
		c.drained = nil
	}
}

// untilDrained returns a channel that is closed when no stream is open. It is
// called once.
func (c *coordinator) untilDrained() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	drained := make(chan struct{})
	if c.streams == 0 {
		close(drained)
	} else {
		c.drained = drained
	}
	return drained
}

// step gives the state machine one input and carries out what comes of it.
func (c *coordinator) step(input func(m *rounds.StateMachine, now rounds.Time) []rounds.Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, ended := c.clock.Now(), c.state.Ended() != nil
	c.perform(input(c.state, now))
	for len(c.overflowed) > 0 {
		id := c.overflowed[0]
		c.overflowed = c.overflowed[1:]
		c.perform(c.state.Lose(now, id, "does not read its messages"))
	}
	if !ended && c.state.Ended() != nil {
		close(c.over)
	}
	c.clock.Changed()
}

func (c *coordinator) perform(effects []rounds.Effect) {
	var last rounds.Gathered
	var gathered *pb.AttendResponse
	for _, effect := range effects {
		to, message := toProto(effect)
		if g, ok := effect.(rounds.Gathered); ok {
			if gathered == nil || g.Name != last.Name {
				gathered = gatheredToProto(g)
			}
			last, message = g, gathered // all nodes share one message
		}
		c.send(to, message)
		if end, ok := effect.(rounds.Dismiss); ok {
			c.log.Debug("a node's part ends", zap.Uint64("node", uint64(to)), zap.String("reason", end.End.Reason))
			c.release(to)
		}
	}
}

// send queues a message; a node that has too many is released.
func (c *coordinator) send(to rounds.NodeID, message *pb.AttendResponse) {
	a := c.nodes[to]
	if a == nil {
		return
	}
	select {
	case a.outbox <- message:
	default:
		c.release(to)
		c.overflowed = append(c.overflowed, to)
	}
}

// release ends a node's stream once it has read what it was told.
func (c *coordinator) release(id rounds.NodeID) {
	if a := c.nodes[id]; a != nil {
		close(a.outbox)
		delete(c.nodes, id)
	}
}

// answer sends a message that is none of the state machine's business.
func (c *coordinator) answer(a *nodeStream, message *pb.AttendResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[a.id] == a {
		c.send(a.id, message)
	}
}

// lose ends a node's part when its stream has ended.
func (c *coordinator) lose(a *nodeStream, reason string) {
	c.step(func(m *rounds.StateMachine, now rounds.Time) []rounds.Effect {
		c.release(a.id)
		return m.Lose(now, a.id, reason)
	})
}

// run lets the state machine's deadlines expire until ctx ends.
func (c *coordinator) run(ctx context.Context) {
	c.clock.Run(ctx, c.next, func() {
		c.step(func(m *rounds.StateMachine, now rounds.Time) []rounds.Effect { return m.Tick(now) })
	})
}

// next is the state machine's next deadline, if it has one.
func (c *coordinator) next() (rounds.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Next()
}
