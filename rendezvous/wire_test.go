package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"gpurun/rendezvous/membership"
	"gpurun/rendezvous/store"
	pb "gpurun/rendezvous/v1"
)

func TestErrorsTravel(t *testing.T) {
	tests := []struct {
		err  error
		code codes.Code
	}{
		{&PeerLeft{Rank: 3, Reason: "connection lost"}, codes.Aborted},
		{&Straggler{Op: "join", Missing: []int{2, 5}, Absent: 2, WorldSize: 8}, codes.DeadlineExceeded},
		{&Straggler{Op: "join", Absent: 2, WorldSize: 8}, codes.DeadlineExceeded},
		{&Aborted{Reason: "interrupted"}, codes.Aborted},
		{&MissingKeys{Keys: []string{"a"}, Count: 9}, codes.DeadlineExceeded},
	}
	for _, tt := range tests {
		sent := toStatus(fmt.Errorf("doing this: %w", tt.err))
		if code := status.Code(sent); code != tt.code {
			t.Errorf("%v travels as %v, want %v", tt.err, code, tt.code)
		}
		got := fromStatus(sent)
		if diff := cmp.Diff(tt.err, errors.Unwrap(got)); diff != "" {
			t.Errorf("cause (-want +got):\n%s", diff)
		}
		if want := "doing this: " + tt.err.Error(); got.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRefusalsTravel(t *testing.T) {
	for _, r := range refusals() {
		sent := toStatus(fmt.Errorf("doing this: %w", r.err))
		got := fromStatus(sent)
		want := r.err
		if errors.Is(want, store.ErrInvalid) || errors.Is(want, store.ErrLimit) {
			want = map[error]error{store.ErrInvalid: ErrInvalid, store.ErrLimit: ErrLimit}[want]
		}
		if status.Code(sent) != r.code || !errors.Is(got, want) {
			t.Errorf("%v: got %v with %v", r.err, got, status.Code(sent))
		}
	}
}

func TestOtherStatusesAreExplained(t *testing.T) {
	tests := map[codes.Code]error{
		codes.Unauthenticated:  ErrToken,
		codes.Unavailable:      ErrServerGone,
		codes.DeadlineExceeded: context.DeadlineExceeded,
		codes.Canceled:         context.Canceled,
	}
	for code, want := range tests {
		if err := fromStatus(status.Error(code, "words")); !errors.Is(err, want) {
			t.Errorf("%v: got %v, want %v", code, err, want)
		}
	}
	if err := fromStatus(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
}

func TestMillisecondsAreBounded(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		-1: 0, 0: 0, 1: time.Millisecond, 1<<63 - 1: longestTimeout, -1 << 63: 0,
	} {
		if got := milliseconds(ms); got != want {
			t.Errorf("%d ms: got %v, want %v", ms, got, want)
		}
	}
}

// fuzzState is a complete group of two.
func fuzzState(t *testing.T) *membership.StateMachine {
	t.Helper()
	m, err := membership.New(membership.Config{WorldSize: 2, JoinTimeout: time.Hour, HeartbeatTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	m.Join(0, 0, membership.Member{Rank: 0}, 0)
	m.Join(0, 1, membership.Member{Rank: 1}, 0)
	return m
}

func seed(f *testing.F, messages ...proto.Message) {
	f.Helper()
	for _, message := range messages {
		b, err := proto.Marshal(message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xff, 0xff})
}

// FuzzExchange: whatever two members send, both are answered by the time that
// the longest timeout has passed.
func FuzzExchange(f *testing.F) {
	seed(
		f,
		&pb.ExchangeRequest{Operation: pb.Operation_OPERATION_BARRIER, Name: "ready", TimeoutMs: 1000},
		&pb.ExchangeRequest{Operation: pb.Operation_OPERATION_ALL_GATHER, Name: "uid", Data: []byte("x"), TimeoutMs: 1},
		&pb.ExchangeRequest{
			Operation: pb.Operation_OPERATION_BROADCAST, Name: "uid", Root: 1, Sequence: 1 << 63, TimeoutMs: 1 << 62,
		},
		&pb.ExchangeRequest{Operation: 77, Name: "uid", Root: -1, TimeoutMs: -1},
	)
	f.Fuzz(func(t *testing.T, b []byte) {
		request := &pb.ExchangeRequest{}
		if proto.Unmarshal(b, request) != nil {
			return
		}
		m := fuzzState(t)
		effects := m.Arrive(0, 0, 0, arrivalFromProto(request))
		effects = append(effects, m.Arrive(0, 1, 1,
			membership.Arrival{Op: membership.Barrier, Name: "ready", Timeout: time.Second})...)
		for range 3 {
			if next, ok := m.Next(); ok {
				effects = append(effects, m.Tick(next)...)
			}
		}
		answers := map[membership.CallID]int{}
		for _, effect := range effects {
			switch e := effect.(type) {
			case membership.Deliver:
				answers[e.Call]++
			case membership.Fail:
				answers[e.Call]++
			}
		}
		if diff := cmp.Diff(map[membership.CallID]int{0: 1, 1: 1}, answers); diff != "" {
			t.Errorf("answers to calls (-want +got):\n%s", diff)
		}
	})
}

// FuzzJoin: a newcomer is refused or takes a free seat, and the group becomes
// complete with the members that are missing.
func FuzzJoin(f *testing.F) {
	seed(
		f,
		&pb.Join{Member: &pb.Member{Rank: 1, WorldSize: 2, Host: "node0", Pid: 1, Device: []byte{1}}, TimeoutMs: 5},
		&pb.Join{Member: &pb.Member{Rank: -1}},
		&pb.Join{Member: &pb.Member{Rank: 1 << 30, WorldSize: -1, Pid: -1}, TimeoutMs: -1 << 63},
		&pb.Join{},
	)
	f.Fuzz(func(t *testing.T, b []byte) {
		request := &pb.Join{}
		if proto.Unmarshal(b, request) != nil {
			return
		}
		m, err := membership.New(membership.Config{WorldSize: 2, JoinTimeout: time.Hour, HeartbeatTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		refused := len(m.Join(0, 1, memberFromProto(request.GetMember()), milliseconds(request.GetTimeoutMs()))) > 0
		m.Join(0, 2, membership.Member{Rank: membership.AnyRank}, 0)
		if complete := m.Members() != nil; complete == refused {
			t.Errorf("refused %v, but complete %v", refused, complete)
		}
	})
}
