package rendezvous

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"gpurun/rendezvous/membership"
	"gpurun/rendezvous/store"
	"gpurun/rendezvous/transport"
	pb "gpurun/rendezvous/v1"
)

// The errors by which a group ends, for errors.As.
type (
	// PeerLeft says that a member of the group is gone.
	PeerLeft = membership.PeerLeft
	// Straggler says which members did not arrive in time.
	Straggler = membership.Straggler
	// Aborted says that the server's owner ended the job.
	Aborted = membership.Aborted
	// MissingKeys says which keys did not appear in time.
	MissingKeys = store.MissingKeys
)

// JoinOp is a Straggler's Op when the group did not become complete.
const JoinOp = membership.JoinOp

// The errors for errors.Is.
var (
	ErrInvalid       = membership.ErrInvalid
	ErrLimit         = membership.ErrLimit
	ErrDuplicateRank = membership.ErrDuplicateRank
	ErrWorldSize     = membership.ErrWorldSize
	ErrClosed        = membership.ErrClosed
	ErrNotMember     = membership.ErrNotMember
	ErrMismatch      = membership.ErrMismatch
	ErrAbandoned     = membership.ErrAbandoned
	ErrKeyNotFound   = store.ErrNotFound
	ErrNotANumber    = store.ErrNotANumber

	// ErrToken says that the server did not accept the job's token.
	ErrToken = transport.ErrToken
	// ErrServerGone says that the rendezvous server ended or cannot be reached.
	ErrServerGone = errors.New("rendezvous server is gone")
	// ErrLeft ends the context of a group that this member has left.
	ErrLeft = errors.New("left the group")
)

// refusal is an error in Go, in a status detail, and as a status code.
type refusal struct {
	err  error
	kind pb.Refusal_Kind
	code codes.Code
}

// refusals lists what travels as a Refusal. The first match counts.
func refusals() []refusal {
	return []refusal{
		{ErrInvalid, pb.Refusal_KIND_INVALID, codes.InvalidArgument},
		{store.ErrInvalid, pb.Refusal_KIND_INVALID, codes.InvalidArgument},
		{ErrLimit, pb.Refusal_KIND_LIMIT, codes.ResourceExhausted},
		{store.ErrLimit, pb.Refusal_KIND_LIMIT, codes.ResourceExhausted},
		{ErrDuplicateRank, pb.Refusal_KIND_DUPLICATE_RANK, codes.AlreadyExists},
		{ErrWorldSize, pb.Refusal_KIND_WORLD_SIZE, codes.FailedPrecondition},
		{ErrClosed, pb.Refusal_KIND_CLOSED, codes.FailedPrecondition},
		{ErrNotMember, pb.Refusal_KIND_NOT_MEMBER, codes.FailedPrecondition},
		{ErrMismatch, pb.Refusal_KIND_MISMATCH, codes.InvalidArgument},
		{ErrAbandoned, pb.Refusal_KIND_ABANDONED, codes.Aborted},
		{ErrKeyNotFound, pb.Refusal_KIND_KEY_NOT_FOUND, codes.NotFound},
		{ErrNotANumber, pb.Refusal_KIND_NOT_A_NUMBER, codes.FailedPrecondition},
		{ErrServerGone, pb.Refusal_KIND_SERVER_GONE, codes.Unavailable},
	}
}

// toStatus is the status error by which err travels to a client.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	code, detail := describe(err)
	st := status.New(code, err.Error())
	if detail == nil {
		return st.Err()
	}
	detailed, detailErr := st.WithDetails(detail)
	if detailErr != nil {
		return st.Err()
	}
	return detailed.Err()
}

func describe(err error) (codes.Code, protoadapt.MessageV1) {
	if left := new(PeerLeft); errors.As(err, &left) {
		return codes.Aborted, protoadapt.MessageV1Of(&pb.PeerLeft{Rank: int32(left.Rank), Reason: left.Reason})
	}
	if late := new(Straggler); errors.As(err, &late) {
		return codes.DeadlineExceeded, protoadapt.MessageV1Of(stragglerToProto(late))
	}
	if aborted := new(Aborted); errors.As(err, &aborted) {
		return codes.Aborted, protoadapt.MessageV1Of(&pb.JobAborted{Reason: aborted.Reason})
	}
	if missing := new(MissingKeys); errors.As(err, &missing) {
		return codes.DeadlineExceeded,
			protoadapt.MessageV1Of(&pb.MissingKeys{Keys: missing.Keys, Count: int64(missing.Count)})
	}
	for _, r := range refusals() {
		if errors.Is(err, r.err) {
			return r.code, protoadapt.MessageV1Of(&pb.Refusal{Kind: r.kind})
		}
	}
	return status.FromContextError(err).Code(), nil
}

// fromStatus is what toStatus was given, as far as a client can tell: the
// same message, and the same type or sentinel to errors.As and errors.Is.
func fromStatus(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	for _, detail := range st.Details() {
		if cause := fromDetail(detail); cause != nil {
			return &remoteError{message: st.Message(), cause: cause}
		}
	}
	switch st.Code() {
	case codes.Unauthenticated: // the call did not get so far as to have a detail
		return &remoteError{message: st.Message(), cause: ErrToken}
	case codes.Unavailable:
		return fmt.Errorf("%w: %s", ErrServerGone, st.Message())
	case codes.DeadlineExceeded:
		return &remoteError{message: st.Message(), cause: context.DeadlineExceeded}
	case codes.Canceled:
		return &remoteError{message: st.Message(), cause: context.Canceled}
	}
	return err
}

func fromDetail(detail any) error {
	switch d := detail.(type) {
	case *pb.PeerLeft:
		return &PeerLeft{Rank: int(d.Rank), Reason: d.Reason}
	case *pb.Straggler:
		return stragglerFromProto(d)
	case *pb.JobAborted:
		return &Aborted{Reason: d.Reason}
	case *pb.MissingKeys:
		return &MissingKeys{Keys: d.Keys, Count: int(d.Count)}
	case *pb.Refusal:
		for _, r := range refusals() {
			if r.kind == d.Kind {
				return r.err
			}
		}
	}
	return nil
}

func stragglerToProto(s *Straggler) *pb.Straggler {
	p := &pb.Straggler{Op: s.Op, Name: s.Name, Absent: int32(s.Absent), WorldSize: int32(s.WorldSize)}
	for _, rank := range s.Missing {
		p.Missing = append(p.Missing, int32(rank))
	}
	return p
}

func stragglerFromProto(p *pb.Straggler) *Straggler {
	s := &Straggler{Op: p.Op, Name: p.Name, Absent: int(p.Absent), WorldSize: int(p.WorldSize)}
	for _, rank := range p.Missing {
		s.Missing = append(s.Missing, int(rank))
	}
	return s
}

// remoteError is an error of the server: its words, and its kind.
type remoteError struct {
	message string
	cause   error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.cause }
