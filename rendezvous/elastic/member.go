package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic/rounds"
	pb "gpurun/rendezvous/elastic/v1"
)

// backend finds the agent that serves the rendezvous, or makes this agent serve it.
type backend interface {
	// find returns the server's address, host:port. It may be called again when
	// the server was lost.
	find(ctx context.Context) (string, error)
	// waits says whether a server that cannot be reached may have yet to come up.
	waits() bool
	// serves says whether it is this agent.
	serves() bool
	// over is closed when the job is over, as far as the server in this agent
	// can tell; nil when another agent serves.
	over() <-chan struct{}
	// lost makes of the loss of the server a *Restart if another can take its place.
	lost(err error) error
	// refused ends a sentence with whom the server in this agent has refused; empty: nobody, or another agent serves.
	refused() string
	// close ends this agent's part. It tells the others why if it served them.
	close(reason string) error
}

// Member is an agent's part in a job. It is not safe for concurrent use; its
// Rounds are.
type Member struct {
	config  Config
	backend backend
	session *session
	round   *Round // the last one; nil: none yet
}

// Enter begins an agent's part in a job. If it is this agent that serves the
// others, it does so from now on. The caller closes the Member.
func Enter(ctx context.Context, config Config) (*Member, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := config.Check(); err != nil {
		return nil, err
	}
	m := &Member{config: config}
	switch config.Backend {
	case C10d, Static:
		m.backend, err = newEndpoint(ctx, config)
	case Etcd:
		m.backend, err = newElection(config)
	default:
		err = fmt.Errorf("rendezvous backend %q: want %s, %s or %s", config.Backend, C10d, Static, Etcd)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Check says what is wrong with a configuration on any machine, so that it is an
// error on all nodes and not only on the one that serves.
func (c Config) Check() error {
	if _, err := rounds.New(c.stateMachine()); err != nil {
		return fmt.Errorf("joining a rendezvous: %w", err)
	}
	if c.Backend == Etcd {
		return nil
	}
	_, port, err := splitEndpoint(c.Endpoint)
	if err == nil && port == "0" && c.MaxNodes > 1 {
		err = fmt.Errorf("rendezvous endpoint %q: port 0 is another one on every node; choose one for %d nodes", c.Endpoint,
			c.MaxNodes)
	}
	return err
}

// NextRound waits until this node is part of a round. It returns an *End when
// there will be none for this node, or ErrServerGone or ErrToken.
//
// As a spare it may wait for as long as the job takes; otherwise it ends with
// the join timeout. When ctx ends the node's part ends.
func (m *Member) NextRound(ctx context.Context) (*Round, error) {
	if m.round != nil && m.round.ctx.Err() == nil {
		return nil, errors.New("joining the rendezvous: the last round is not over")
	}
	for {
		round, err := m.try(ctx)
		if err == nil {
			m.round = round
			m.config.Logger.Debug("round begins", zap.Int("round", round.Number),
				zap.Int("group_rank", round.GroupRank), zap.Int("nodes", round.Nodes))
			return round, nil
		}
		if again := new(Restart); !errors.As(err, &again) || ctx.Err() != nil {
			refused := ""
			if errors.Is(err, context.DeadlineExceeded) { // one of them may be the node that is missing
				refused = m.backend.refused()
			}
			return nil, fmt.Errorf("joining the rendezvous at %s: %w%s", m.config.Endpoint, err, refused)
		}
	}
}

// try waits for one round. A *Restart says that it came to nothing.
func (m *Member) try(ctx context.Context) (*Round, error) {
	if err := m.connect(ctx); err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(m.session.target)
	port := m.config.MasterPort
	if m.config.Backend == Static && m.config.NodeRank != 0 {
		port = 0
	}
	at := ""
	if m.config.LocalAddr == "" && isLoopback(host) {
		at = loopbackOf(host)
	}
	master, err := listenMaster(at, port)
	if err != nil {
		return nil, err
	}
	return m.session.next(ctx, m.joinRequest(master), master)
}

func (m *Member) joinRequest(master net.Listener) *pb.Join {
	rank := rounds.AnyRank
	if m.config.Backend == Static {
		rank = m.config.NodeRank
	}
	join := &pb.Join{
		Terms: termsToProto(m.config.terms()),
		Name:  m.config.hostName, Rank: int32(rank),
		Workers: int32(m.config.Workers), Role: m.config.Role,
		MasterHost: m.config.LocalAddr,
	}
	if m.round != nil { // whoever serves from now on may not know
		join.Round, join.Restarts = int32(m.round.Number), int32(m.round.Restarts)
	}
	if at, ok := master.Addr().(*net.TCPAddr); ok {
		join.MasterPort = int32(at.Port)
	}
	return join
}

// connect makes sure that there is a session.
func (m *Member) connect(ctx context.Context) error {
	if m.session != nil {
		if m.session.ctx.Err() == nil {
			return nil
		}
		if err := m.forgetSession(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.config.Timeouts.Join)
	defer cancel()
	for {
		target, err := m.backend.find(ctx)
		if err != nil {
			return err
		}
		m.config.Logger.Info("joining the rendezvous", zap.String("at", target), zap.Bool("serving", m.backend.serves()))
		m.session, err = openSession(ctx, m.config, target, m.backend)
		if err == nil || m.backend.waits() || !errors.Is(err, ErrServerGone) {
			return err
		}
		if pause(ctx, electEvery) != nil {
			return err
		}
	}
}

// forgetSession gives up a session that has ended, if another server can take
// the place of the one that was lost.
func (m *Member) forgetSession(ctx context.Context) error {
	cause := context.Cause(m.session.ctx)
	if !errors.As(cause, new(*Restart)) {
		return cause
	}
	err := m.session.close()
	m.session = nil
	return errors.Join(err, pause(ctx, electEvery)) // the one that goes may take a moment
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends this agent's part. The others see that it has left, and for which
// reason, if the job is not over. An agent that serves them stays until they
// have heard of the job's end, for the close timeout at most.
func (m *Member) Close(reason string) error {
	if m.session != nil && !m.backend.serves() {
		m.session.leave(reason)
	}
	err := m.backend.close(reason)
	if m.session != nil {
		err = errors.Join(err, m.session.close())
		m.session = nil
	}
	return err
}
