package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"gpurun/rendezvous/clock"
	"gpurun/rendezvous/transport"
	pb "gpurun/rendezvous/v1"
)

// clientSession is a member's end of its Session stream. It lives from a
// successful join until the group is over.
type clientSession struct {
	ctx    context.Context // of the group; ends with the cause
	end    context.CancelCauseFunc
	cancel context.CancelFunc // of the stream
	done   sync.WaitGroup     // the reader, the heart and the clock
	awake  *clock.Clock       // does not count the time in which this process was stopped

	mu     sync.Mutex // one sender at a time
	stream grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]
	over   bool // nothing more is sent
}

// waitsForServer says whether a server that cannot be reached may still come.
// Within a host the agent serves before it starts a worker; between
// hosts anyone may be first.
func waitsForServer(target string) bool { return !strings.HasPrefix(target, abstractScheme) }

// openSession joins and waits for the welcome.
func openSession(ctx context.Context, g *Group, who Member, waitForServer bool) (*clientSession, *pb.Welcome, error) {
	streamCtx, cancel := context.WithCancel(outgoing(context.WithoutCancel(ctx), g.options.Token, ""))
	s := &clientSession{cancel: cancel, awake: clock.New()}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.done.Go(func() { s.awake.Run(s.ctx, noDeadline, nil) })
	release := cancelAfter(ctx, cancel, func() bool { return false }, s.awake)
	defer release()
	welcome, stream, err := enter(streamCtx, ctx, g.api, who, waitForServer)
	if err != nil {
		err = joinError(ctx, err)
		s.end(err)
		cancel()
		s.done.Wait()
		return nil, nil, err
	}
	s.stream = stream
	s.done.Go(s.read)
	s.done.Go(func() { s.beat(time.Duration(welcome.GetHeartbeatIntervalMs()) * time.Millisecond) })
	return s, welcome, nil
}

// enter sends Join on a stream that outlives ctx, and waits for the answer.
func enter(streamCtx, ctx context.Context, api pb.RendezvousClient, who Member, waitForServer bool) (
	*pb.Welcome, grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse], error,
) {
	stream, err := api.Session(streamCtx, grpc.WaitForReady(waitForServer))
	if err != nil {
		return nil, nil, err
	}
	join := &pb.Join{Member: memberToProto(who), TimeoutMs: remaining(ctx)}
	err = stream.Send(&pb.SessionRequest{What: &pb.SessionRequest_Join{Join: join}})
	if err != nil && !errors.Is(err, io.EOF) { // EOF: Recv knows why
		return nil, nil, err
	}
	response, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	if response.GetWelcome() == nil {
		return nil, nil, errors.New("the server broke the session protocol: no Welcome")
	}
	return response.GetWelcome(), stream, nil
}

// noDeadline is for a clock that is only read.
func noDeadline() (time.Duration, bool) { return 0, false }

// cancelAfter cancels a call when ctx is canceled, but only after a grace when the
// server's answer is on its way: its deadline is the same as ctx's, and the answer
// says who is missing; and when a member departs, the answer may be what all had
// given before it did. departed reports whether one has. The server's clock does not
// count the time in which the job was stopped, as by SIGSTOP, and ctx's deadline does:
// the rest is waited for by awake.
func cancelAfter(ctx context.Context, cancel context.CancelFunc, departed func() bool, awake *clock.Clock,
) (release func()) {
	stopped := make(chan struct{})
	begun, timeout := awake.Now(), time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(0, time.Until(deadline))
	}
	stop := context.AfterFunc(ctx, func() {
		end := awake.Now()
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			end = begun + timeout + answerGrace
		case departed():
			end += departureGrace
		}
		if awake.Wait(end, stopped) {
			cancel()
		}
	})
	return func() {
		close(stopped)
		stop()
	}
}

// remaining is the time until ctx's deadline in milliseconds, at least one.
func remaining(ctx context.Context) int64 {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline).Milliseconds(), 1)
}

// joinError prefers ctx's reason over the cancellation that it led to.
func joinError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, transport.ErrTLS) {
		return cause
	}
	err = fromStatus(err)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return noAnswer(err, context.Cause(ctx))
	}
	return err
}

// noAnswer says why a call was given up, and what the connection said.
func noAnswer(err, cause error) error {
	if err.Error() == context.Canceled.Error() {
		return fmt.Errorf("no answer from the server: %w", cause)
	}
	return fmt.Errorf("no answer from the server (%s): %w", dialing(err), cause)
}

// dialing is what the operating system has said of a connection, of what gRPC quotes.
func dialing(err error) string {
	_, text, found := strings.Cut(err.Error(), "Error while dialing: ")
	if !found {
		return err.Error()
	}
	text, _, _ = strings.Cut(text, `"`)
	return text
}

// read waits for the end of the stream, which says why the group is over.
func (s *clientSession) read() {
	for {
		_, err := s.stream.Recv()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			s.end(ErrLeft)
		} else {
			s.end(fromStatus(err))
		}
		return
	}
}

// beat tells the server that this process is alive.
func (s *clientSession) beat(interval time.Duration) {
	ticker := time.NewTicker(max(interval, time.Millisecond))
	defer ticker.Stop()
	heartbeat := &pb.SessionRequest{What: &pb.SessionRequest_Heartbeat{Heartbeat: &pb.Heartbeat{}}}
	for {
		select {
		case <-ticker.C:
			// A failed send means that the stream has ended; read sees why.
			_ = s.send(heartbeat, false)
		case <-s.ctx.Done():
			return
		}
	}
}

// send puts a message on the stream, unless the last one has been sent.
func (s *clientSession) send(request *pb.SessionRequest, last bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	s.over = last
	err := s.stream.Send(request)
	if last {
		err = errors.Join(err, s.stream.CloseSend())
	}
	return err
}

// leave tells the server that this member leaves, or with a failure why it ends,
// and waits until the server has confirmed it.
func (s *clientSession) leave(ctx context.Context, failure string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := s.awake.Now() + leaveTimeout
	go func() {
		if s.awake.Wait(end, ctx.Done()) {
			cancel(context.DeadlineExceeded)
		}
	}()
	leave := &pb.SessionRequest{What: &pb.SessionRequest_Leave{Leave: &pb.Leave{Failure: failure}}}
	sendErr := s.send(leave, true)
	select {
	case <-s.ctx.Done():
	case <-ctx.Done():
	}
	if s.ctx.Err() == nil { // the caller's context may end because the group has
		return fmt.Errorf("leaving the group: no answer from the server: %w", errors.Join(sendErr, context.Cause(ctx)))
	}
	if cause := context.Cause(s.ctx); !errors.Is(cause, ErrLeft) {
		return fmt.Errorf("leaving the group: %w", cause)
	}
	return nil
}

// close ends the stream and waits for the goroutines.
func (s *clientSession) close() {
	s.end(ErrLeft)
	s.cancel()
	s.done.Wait()
}
