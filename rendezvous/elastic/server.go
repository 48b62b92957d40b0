package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"gpurun/rendezvous/elastic/rounds"
	pb "gpurun/rendezvous/elastic/v1"
	"gpurun/rendezvous/transport"
)

// server serves a job's rendezvous, within one of its agents.
type server struct {
	pb.UnimplementedElasticServer
	host         string // by which others reach this host; empty: loopback alone
	closeTimeout time.Duration
	coordinator  *coordinator
	grpc         *grpc.Server
	listener     *transport.Listener
	refused      *transport.Refusals
	stop         context.CancelFunc
	running      errgroup.Group
}

// serve begins to serve on l, which it owns from then on.
func serve(config Config, l net.Listener, host string) (*server, error) {
	state, err := rounds.New(config.stateMachine())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serving the rendezvous: %w", err), l.Close())
	}
	log := config.Logger.Named("rendezvous")
	refused := transport.NewRefusals(log)
	s := &server{
		host:         host,
		closeTimeout: config.Timeouts.Close,
		coordinator:  newCoordinator(state, log),
		grpc:         transport.NewServer(config.TLS.Server(config.Logger, refused), config.Token, false, refused),
		listener:     transport.NewListener(l),
		refused:      refused,
	}
	pb.RegisterElasticServer(s.grpc, s)
	healthpb.RegisterHealthServer(s.grpc, health.NewServer())
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() error {
		s.coordinator.run(ctx)
		return nil
	})
	s.running.Go(func() error { return s.grpc.Serve(s.listener) })
	config.Logger.Debug("serving the rendezvous", zap.Stringer("at", l.Addr()))
	return s, nil
}

// Attend serves a node from its first Join to its end.
func (s *server) Attend(stream grpc.BidiStreamingServer[pb.AttendRequest, pb.AttendResponse]) error {
	a := s.coordinator.attend()
	defer s.coordinator.left()
	joined := make(chan struct{})
	go s.receive(stream, a, joined)
	silence := time.NewTimer(transport.HandshakeTimeout)
	defer silence.Stop()
	for {
		select {
		case <-joined: // from now on the state machine sees to it that it is not silent
			silence.Stop()
			joined = nil
		case <-silence.C:
			s.coordinator.lose(a, "has not joined")
			return status.Errorf(codes.InvalidArgument, "no Join within %v", transport.HandshakeTimeout)
		case message, open := <-a.outbox:
			if !open {
				return nil
			}
			if err := stream.Send(message); err != nil {
				s.coordinator.lose(a, connectionLost)
				return err
			}
		}
	}
}

// connectionLost is all that is known of an agent that was killed.
const connectionLost = "connection lost"

// receive passes on what a node says until its stream ends.
func (s *server) receive(stream grpc.BidiStreamingServer[pb.AttendRequest, pb.AttendResponse], a *nodeStream,
	joined chan<- struct{},
) {
	for {
		request, err := stream.Recv()
		if err != nil {
			s.coordinator.lose(a, connectionLost)
			return
		}
		if request.GetJoin() != nil && joined != nil {
			close(joined)
			joined = nil
		}
		if request.GetHeartbeat() != nil {
			s.coordinator.answer(a, &pb.AttendResponse{What: &pb.AttendResponse_Heartbeat{Heartbeat: &pb.Heartbeat{}}})
		}
		s.coordinator.step(func(m *rounds.StateMachine, now rounds.Time) []rounds.Effect {
			m.Heartbeat(now, a.id)
			return s.handle(stream.Context(), m, now, a.id, request)
		})
	}
}

func (s *server) handle(ctx context.Context, m *rounds.StateMachine, now rounds.Time, id rounds.NodeID,
	r *pb.AttendRequest,
) []rounds.Effect {
	switch what := r.GetWhat().(type) {
	case *pb.AttendRequest_Join:
		effects := m.Join(now, id, nodeFromProto(what.Join, s.masterOf(ctx, what.Join)))
		s.noteRefusal(ctx, effects)
		return effects
	case *pb.AttendRequest_Confirm:
		return m.Confirm(now, id, int(what.Confirm.GetRound()), what.Confirm.GetFailure())
	case *pb.AttendRequest_Contribution:
		c := what.Contribution
		return m.Contribute(now, id, int(c.GetRound()), c.GetName(), c.GetData())
	case *pb.AttendRequest_Tell:
		t := what.Tell
		return m.Tell(id, int(t.GetRound()), int(t.GetTo()), t.GetName(), t.GetData())
	case *pb.AttendRequest_Failure:
		f := what.Failure
		return m.Fail(now, id, int(f.GetRound()), Failure{Reason: f.GetReason(), ExitCode: int(f.GetExitCode())})
	case *pb.AttendRequest_Finish:
		return m.Finish(now, id, int(what.Finish.GetRound()))
	case *pb.AttendRequest_Leave:
		return m.Leave(now, id, what.Leave.GetReason())
	}
	return nil
}

// noteRefusal notes that the node whose Join had these effects was refused, if it was.
func (s *server) noteRefusal(ctx context.Context, effects []rounds.Effect) {
	for _, effect := range effects {
		if d, ok := effect.(rounds.Dismiss); ok && d.End.Kind == rounds.Refused {
			s.refused.NoteCall(ctx, d.End.Reason)
		}
	}
}

// masterOf is where a node would be the master: at the address that it names,
// or from which it comes. Over loopback comes a node on this host: for the
// others it has the host's own name.
func (s *server) masterOf(ctx context.Context, j *pb.Join) string {
	host := j.GetMasterHost()
	if host == "" {
		host = s.host
		if from, ok := peer.FromContext(ctx); ok {
			if at, err := netip.ParseAddrPort(from.Addr.String()); err == nil &&
				(host == "" || !at.Addr().Unmap().IsLoopback()) {
				host = at.Addr().Unmap().String()
			}
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(int(j.GetMasterPort())))
}

// suspend keeps the members as they are: see [rounds.StateMachine.Suspend].
func (s *server) suspend() {
	s.coordinator.step(func(m *rounds.StateMachine, _ rounds.Time) []rounds.Effect {
		m.Suspend()
		return nil
	})
}

// resume ends it.
func (s *server) resume() {
	s.coordinator.step(func(m *rounds.StateMachine, now rounds.Time) []rounds.Effect { return m.Resume(now) })
}

// ended says how the job ended; nil while it has not.
func (s *server) ended() *End {
	s.coordinator.mu.Lock()
	defer s.coordinator.mu.Unlock()
	return s.coordinator.state.Ended()
}

// close ends the server. Agents that are still there learn why, and have
// closeTimeout to take note.
func (s *server) close(reason string) error {
	s.coordinator.step(func(m *rounds.StateMachine, _ rounds.Time) []rounds.Effect {
		return m.Close(End{Kind: Moved, Reason: reason})
	})
	select {
	case <-s.coordinator.untilDrained():
	case <-time.After(s.closeTimeout):
	}
	transport.Stop(s.grpc, s.listener)
	s.stop()
	// ErrServerStopped: it was closed before it had begun.
	if err := s.running.Wait(); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving the rendezvous: %w", err)
	}
	return nil
}
