package elastic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "gpurun/rendezvous/elastic/v1"
	"gpurun/rendezvous/transport"
)

// session is a node's end of its stream. It lives through many rounds.
type session struct {
	config  Config
	target  string
	conn    *grpc.ClientConn
	stream  grpc.BidiStreamingClient[pb.AttendRequest, pb.AttendResponse]
	backend backend

	ctx     context.Context // ends with the reason
	end     context.CancelCauseFunc
	cancel  context.CancelFunc // of the stream
	silence *time.Timer        // fires when the server has not been heard for too long
	tasks   sync.WaitGroup

	sendMu sync.Mutex

	mu    sync.Mutex
	round *Round   // the last one that was assembled
	join  *joining // nil: nobody waits for a round
}

// openSession connects to the server that was found.
func openSession(ctx context.Context, config Config, target string, backend backend) (*session, error) {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	conn, err := transport.Connect("passthrough:///"+target, config.TLS.Client(refuse))
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", target, err)
	}
	s := &session{config: config, target: target, conn: conn, backend: backend}
	streamCtx, cancel := context.WithCancel(transport.WithToken(context.WithoutCancel(ctx), config.Token))
	stop := context.AfterFunc(ctx, cancel)
	s.stream, err = pb.NewElasticClient(conn).Attend(streamCtx, grpc.WaitForReady(backend.waits()))
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, errors.Join(connectError(ctx, target, err), conn.Close())
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.cancel = cancel
	s.silence = time.AfterFunc(config.Timeouts.keepAlive(), func() {
		s.end(s.backend.lost(fmt.Errorf("%w: no heartbeat for %v", ErrServerGone, config.Timeouts.keepAlive())))
		s.cancel()
	})
	s.tasks.Go(s.read)
	s.tasks.Go(s.keepAlive)
	return s, nil
}

// connectError says why a session was not opened.
func connectError(ctx context.Context, target string, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &lateError{fmt.Sprintf("%v, or has not started: no rendezvous answers at %s (%s); "+
			"check that address, and start gpurun there", ErrServerGone, target, lastTry(target))}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fromStatus(err)
}

// lateError is why no session was opened in time.
type lateError struct{ text string }

func (e *lateError) Error() string   { return e.text }
func (e *lateError) Unwrap() []error { return []error{ErrServerGone, context.DeadlineExceeded} }

// lastTry says why an address could not be reached, which gRPC does not tell whom it has wait.
func lastTry(target string) string {
	conn, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		return err.Error()
	}
	conn.Close()
	return "a program listens there, but does not answer as gpurun does"
}

// fromStatus is an error of the transport in this package's terms.
func fromStatus(err error) error {
	switch st, _ := status.FromError(err); st.Code() {
	case codes.Unauthenticated:
		return fmt.Errorf("%w: give all nodes the same token", ErrToken)
	case codes.Unavailable, codes.Canceled:
		return fmt.Errorf("%w: %s", ErrServerGone, st.Message())
	}
	return err
}

func (s *session) send(request *pb.AttendRequest) error {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	if err := s.stream.Send(request); err != nil && !errors.Is(err, io.EOF) { // EOF: read finds out why
		return err
	}
	return nil
}

// keepAlive tells the server at intervals that this agent is there.
func (s *session) keepAlive() {
	ticker := time.NewTicker(s.config.Timeouts.KeepAliveInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// A failed send means that the stream has ended; read sees why.
			_ = s.send(&pb.AttendRequest{What: &pb.AttendRequest_Heartbeat{Heartbeat: &pb.Heartbeat{}}})
		case <-s.ctx.Done():
			return
		}
	}
}

// read handles what the server says until the session is over.
func (s *session) read() {
	err := s.listen()
	s.silence.Stop()
	s.end(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answerJoin(joined{err: context.Cause(s.ctx)})
}

func (s *session) listen() error {
	for {
		response, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return s.backend.lost(fmt.Errorf("%w: it closed the connection without a reason", ErrServerGone))
		}
		if err != nil {
			return s.backend.lost(fromStatus(err))
		}
		s.silence.Reset(s.config.Timeouts.keepAlive())
		if ended := response.GetEnded(); ended != nil {
			end := endFromProto(ended)
			if end.Kind == Moved {
				return s.backend.lost(end)
			}
			return end
		}
		s.handle(response)
	}
}

func (s *session) handle(response *pb.AttendResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch what := response.GetWhat().(type) {
	case *pb.AttendResponse_Standby:
		s.config.Logger.Info("the group is full; waiting as a spare for the place of a node that leaves",
			zap.Int("max_nodes", s.config.MaxNodes))
	case *pb.AttendResponse_Assembled:
		s.assembled(placeFromProto(what.Assembled))
	case *pb.AttendResponse_Begun:
		s.begun(int(what.Begun.GetRound()))
	case *pb.AttendResponse_Stop:
		s.stopped(int(what.Stop.GetRound()), &Restart{Reason: what.Stop.GetReason(), Counts: what.Stop.GetCounts()})
	case *pb.AttendResponse_Told:
		if t := what.Told; s.isCurrent(int(t.GetRound())) {
			s.round.told.put(Message{From: int(t.GetFrom()), Name: t.GetName(), Data: t.GetData()})
		}
	case *pb.AttendResponse_Gathered:
		if s.isCurrent(int(what.Gathered.GetRound())) {
			s.round.deliver(what.Gathered.GetName(), gatheredFromProto(what.Gathered))
		}
	case *pb.AttendResponse_GatherFailed:
		if f := what.GatherFailed; s.isCurrent(int(f.GetRound())) {
			s.round.deliver(f.GetName(), gathered{err: errors.New(f.GetReason())})
		}
	}
}

func (s *session) isCurrent(round int) bool { return s.round != nil && s.round.Number == round }

// leaveTimeout bounds the wait for the server to confirm a Leave.
const leaveTimeout = 2 * time.Second

// leave sends a Leave, if the session is not over.
func (s *session) leave(reason string) {
	if s.ctx.Err() != nil {
		return
	}
	_ = s.send(&pb.AttendRequest{What: &pb.AttendRequest_Leave{Leave: &pb.Leave{Reason: valid(reason)}}})
	select {
	case <-s.ctx.Done():
	case <-time.After(leaveTimeout):
	}
}

// close ends the session and waits for its goroutines.
func (s *session) close() error {
	s.end(&End{Kind: Left, Reason: "left the job"})
	s.silence.Stop()
	s.cancel()
	s.tasks.Wait()
	return s.conn.Close()
}
