package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"

	"gpurun/rendezvous/transport"
	pb "gpurun/rendezvous/v1"
)

// firstMessageTimeout bounds how long a new session may stay silent.
const firstMessageTimeout = transport.HandshakeTimeout

// connectionLost is all that a server knows of a process that was killed.
const connectionLost = "connection lost"

// groupService serves the gRPC service Rendezvous.
type groupService struct {
	pb.UnimplementedRendezvousServer
	coordinator       *coordinator
	heartbeatInterval time.Duration
	generation        int
	refused           *transport.Refusals
}

type sessionStream = grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]

// Session is a member's life, from Join until it leaves, departs or is
// dismissed.
func (g *groupService) Session(stream sessionStream) error {
	inbox := receive(stream)
	join, err := firstMessage(stream.Context(), inbox)
	if err != nil {
		return toStatus(err)
	}
	s := g.coordinator.join(memberFromProto(join.GetMember()), milliseconds(join.GetTimeoutMs()))
	err = g.attend(stream, s, inbox)
	if isRefusal(err) {
		g.refused.NoteCall(stream.Context(), err.Error())
	}
	return toStatus(err)
}

// isRefusal reports whether a join was refused, and the group goes on without the newcomer.
func isRefusal(err error) bool {
	return slices.ContainsFunc([]error{ErrWorldSize, ErrDuplicateRank, ErrInvalid, ErrLimit, ErrClosed},
		func(refusal error) bool { return errors.Is(err, refusal) })
}

// attend serves a session after its Join.
func (g *groupService) attend(stream sessionStream, s *session, inbox <-chan message) error {
	for {
		select {
		case rank := <-s.welcome:
			if err := stream.Send(g.welcome(s, rank)); err != nil {
				g.coordinator.lose(s, connectionLost)
				return err
			}
		case err := <-s.dismissed:
			return err
		case msg := <-inbox:
			if err := g.handle(s, msg); err != nil {
				return err
			}
		case <-stream.Context().Done():
			g.coordinator.lose(s, connectionLost)
			return context.Cause(stream.Context())
		}
	}
}

// handle passes on one message of a member. After a Leave,
// with a failure or without, the state machine dismisses the session.
func (g *groupService) handle(s *session, msg message) error {
	if errors.Is(msg.err, io.EOF) {
		g.coordinator.lose(s, "ended its session without leaving")
		return nil
	}
	if msg.err != nil {
		g.coordinator.lose(s, connectionLost)
		return nil
	}
	switch what := msg.request.GetWhat().(type) {
	case *pb.SessionRequest_Heartbeat:
		g.coordinator.heartbeat(s)
	case *pb.SessionRequest_Leave:
		g.leave(s, what.Leave.GetFailure())
	default:
		g.coordinator.lose(s, "broke the session protocol")
		return fmt.Errorf("%w: a session carries one Join, then Heartbeat and Leave", ErrInvalid)
	}
	return nil
}

// leave removes a member that leaves, or that reports its failure.
func (g *groupService) leave(s *session, failure string) {
	if failure == "" {
		g.coordinator.leave(s)
	} else {
		g.coordinator.lose(s, failure)
	}
}

func (g *groupService) welcome(s *session, rank int) *pb.SessionResponse {
	w := &pb.Welcome{
		SessionKey:          s.key,
		Rank:                int32(rank),
		Generation:          int64(g.generation),
		HeartbeatIntervalMs: g.heartbeatInterval.Milliseconds(),
	}
	for _, m := range g.coordinator.members() {
		w.Members = append(w.Members, memberToProto(m))
	}
	return &pb.SessionResponse{What: &pb.SessionResponse_Welcome{Welcome: w}}
}

// Exchange serves barriers, all-gathers and broadcasts.
func (g *groupService) Exchange(ctx context.Context, r *pb.ExchangeRequest) (*pb.ExchangeResponse, error) {
	id, err := g.coordinator.caller(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	data, err := g.coordinator.exchange(ctx, id, arrivalFromProto(r))
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.ExchangeResponse{Data: data}, nil
}

// message is what a member sent, or the error that ended the stream.
type message struct {
	request *pb.SessionRequest
	err     error
}

// receive reads a stream until it ends, so that the session can wait for its
// messages and for other things at the same time.
func receive(stream sessionStream) <-chan message {
	inbox := make(chan message)
	go func() {
		for {
			request, err := stream.Recv()
			select {
			case inbox <- message{request, err}:
			case <-stream.Context().Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return inbox
}

func firstMessage(ctx context.Context, inbox <-chan message) (*pb.Join, error) {
	timeout := time.NewTimer(firstMessageTimeout)
	defer timeout.Stop()
	select {
	case msg := <-inbox:
		if msg.err != nil {
			return nil, msg.err
		}
		if join := msg.request.GetJoin(); join != nil {
			return join, nil
		}
		return nil, fmt.Errorf("%w: a session begins with Join", ErrInvalid)
	case <-timeout.C:
		return nil, fmt.Errorf("%w: no Join within %v", ErrInvalid, firstMessageTimeout)
	case <-ctx.Done(): // the process died, or the server closes
		return nil, context.Cause(ctx)
	}
}
