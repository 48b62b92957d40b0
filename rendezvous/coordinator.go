package rendezvous

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/clock"
	"gpurun/rendezvous/membership"
)

// coordinator runs the membership state: it feeds in the time and what
// members say, and carries out the effects.
type coordinator struct {
	clock *clock.Clock
	log   *zap.Logger

	mu       sync.Mutex
	state    *membership.StateMachine
	lastID   uint64
	sessions map[membership.SessionID]*session
	calls    map[membership.CallID]chan<- outcome
	keys     map[string]membership.SessionID // of members, by session key
}

// session is the server's end of a member's Session stream. Neither channel
// is ever full: each carries at most one value.
type session struct {
	id        membership.SessionID
	key       string
	welcome   chan int   // the rank
	dismissed chan error // nil after Leave
}

// outcome is the answer to an exchange call.
type outcome struct {
	data [][]byte
	err  error
}

func newCoordinator(state *membership.StateMachine, log *zap.Logger) *coordinator {
	return &coordinator{
		clock:    clock.New(),
		log:      log,
		state:    state,
		sessions: map[membership.SessionID]*session{},
		calls:    map[membership.CallID]chan<- outcome{},
		keys:     map[string]membership.SessionID{},
	}
}

// step gives the state machine one input and carries out what comes of it.
func (c *coordinator) step(input func(m *membership.StateMachine, now membership.Time) []membership.Effect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, effect := range input(c.state, c.clock.Now()) {
		c.perform(effect)
	}
	c.clock.Changed()
}

func (c *coordinator) perform(effect membership.Effect) {
	switch e := effect.(type) {
	case membership.Welcome:
		c.log.Debug("member is in", zap.Int("rank", e.Rank))
		s := c.sessions[e.To]
		c.keys[s.key] = s.id
		s.welcome <- e.Rank
	case membership.Dismiss:
		c.log.Debug("session ends", zap.Error(e.Err))
		if s := c.sessions[e.To]; s != nil {
			s.dismissed <- e.Err
			delete(c.sessions, e.To)
		}
	case membership.Deliver:
		c.answer(e.Call, outcome{data: e.Data})
	case membership.Fail:
		c.answer(e.Call, outcome{err: e.Err})
	}
}

func (c *coordinator) answer(call membership.CallID, o outcome) {
	if ch := c.calls[call]; ch != nil {
		ch <- o
		delete(c.calls, call)
	}
}

// run lets the state machine's deadlines expire until ctx ends.
func (c *coordinator) run(ctx context.Context) {
	c.clock.Run(ctx, c.next, func() {
		c.step(func(m *membership.StateMachine, now membership.Time) []membership.Effect { return m.Tick(now) })
	})
}

// next is the state machine's next deadline, if it has one.
func (c *coordinator) next() (membership.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Next()
}

// join begins a session for a newcomer.
func (c *coordinator) join(who membership.Member, timeout time.Duration) *session {
	s := &session{key: randomHex(), welcome: make(chan int, 1), dismissed: make(chan error, 1)}
	c.step(func(m *membership.StateMachine, now membership.Time) []membership.Effect {
		c.lastID++
		s.id = membership.SessionID(c.lastID)
		c.sessions[s.id] = s
		return m.Join(now, s.id, who, timeout)
	})
	return s
}

// heartbeat notes that a member is alive.
func (c *coordinator) heartbeat(s *session) {
	c.step(func(m *membership.StateMachine, now membership.Time) []membership.Effect {
		m.Heartbeat(now, s.id)
		return nil
	})
}

// leave removes a member that leaves.
func (c *coordinator) leave(s *session) {
	c.step(func(m *membership.StateMachine, _ membership.Time) []membership.Effect { return m.Leave(s.id) })
}

// lose removes a member that ended without leaving. It does nothing if the session
// has ended already.
func (c *coordinator) lose(s *session, reason string) {
	c.step(func(m *membership.StateMachine, _ membership.Time) []membership.Effect { return m.Lose(s.id, reason) })
}

// exchange arrives at a collective and waits for the others.
func (c *coordinator) exchange(ctx context.Context, id membership.SessionID, a membership.Arrival) ([][]byte, error) {
	answer := make(chan outcome, 1)
	var call membership.CallID
	c.step(func(m *membership.StateMachine, now membership.Time) []membership.Effect {
		c.lastID++
		call = membership.CallID(c.lastID)
		c.calls[call] = answer
		return m.Arrive(now, id, call, a)
	})
	select {
	case o := <-answer:
		return o.data, o.err
	case <-ctx.Done():
		c.step(func(m *membership.StateMachine, _ membership.Time) []membership.Effect {
			delete(c.calls, call)
			return m.Cancel(call)
		})
		return nil, context.Cause(ctx)
	}
}

// members is the complete group, by rank.
func (c *coordinator) members() []membership.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Members()
}

// lookup finds the session that a key belongs to.
func (c *coordinator) lookup(key string) (membership.SessionID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.keys[key]
	return id, ok
}
