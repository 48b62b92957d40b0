package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"gpurun/rendezvous"
)

// soon is how quickly all members must hear of a failure. It is milliseconds on
// an idle host; the rest is for a busy one, but less than any timeout that
// would end the wait without the push.
const soon = 1900 * time.Millisecond

// ended waits for a group's end and returns its cause.
func ended(t *testing.T, g *rendezvous.Group) error {
	t.Helper()
	return endedWithin(t, g, soon)
}

func endedWithin(t *testing.T, g *rendezvous.Group, limit time.Duration) error {
	t.Helper()
	select {
	case <-g.Context().Done():
		return context.Cause(g.Context())
	case <-time.After(limit):
		t.Fatalf("rank %d: the group has not ended after %v", g.Rank(), limit)
		return nil
	}
}

func wantPeerLeft(t *testing.T, err error, rank int, reason string) {
	t.Helper()
	left := new(rendezvous.PeerLeft)
	if !errors.As(err, &left) {
		t.Errorf("got %v, want a PeerLeft", err)
		return
	}
	if diff := cmp.Diff(&rendezvous.PeerLeft{Rank: rank, Reason: reason}, left); diff != "" {
		t.Errorf("departure (-want +got):\n%s", diff)
	}
}

func TestDepartureIsHeardByAllAtOnce(t *testing.T) {
	t.Parallel()
	const n, victim = 8, 5
	srv := serve(t, rendezvous.ServerConfig{WorldSize: n})
	groups := joinAll(t, srv.Target(), n, rendezvous.Options{})
	ctx := testContext(t)

	// Half of the others wait in a barrier, the other half for a key.
	pending := make([]error, n)
	var started, waiting errgroup.Group
	for rank, g := range groups {
		if rank == victim {
			continue
		}
		waiting.Go(func() error {
			if rank%2 == 0 {
				pending[rank] = g.Barrier(ctx, "ready")
			} else {
				pending[rank] = g.Store().Wait(ctx, "never")
			}
			return nil
		})
		// By the end of a second call most of the first ones wait at the server.
		// Those that come later must hear the same.
		started.Go(func() error { return g.Store().Set(ctx, fmt.Sprint("started/", rank), nil) })
	}
	if err := started.Wait(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := groups[victim].Close(); err != nil { // without Leave
		t.Fatal(err)
	}
	if err := waiting.Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	t.Logf("everybody knew after %v", took)
	if took > soon {
		t.Errorf("it took more than %v", soon)
	}
	for rank, g := range groups {
		if rank == victim {
			continue
		}
		wantPeerLeft(t, pending[rank], victim, "connection lost")
		wantPeerLeft(t, ended(t, g), victim, "connection lost")
		wantPeerLeft(t, g.Barrier(ctx, "after"), victim, "connection lost")
	}
}

func TestLastWordsReachTheOthers(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	if err := groups[1].Fail(testContext(t), errors.New("loading kernel: CUDA_ERROR_INVALID_PTX")); err != nil {
		t.Error(err)
	}
	wantPeerLeft(t, ended(t, groups[0]), 1, "loading kernel: CUDA_ERROR_INVALID_PTX")
}

func TestLeaveIsNoDeparture(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 3})
	groups := joinAll(t, srv.Target(), 3, rendezvous.Options{})
	ctx := testContext(t)
	if err := onEach(3, func(rank int) error { return groups[rank].Barrier(ctx, "last") }); err != nil {
		t.Fatal(err)
	}
	if err := groups[0].Leave(ctx); err != nil {
		t.Fatal(err)
	}
	if err := groups[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := groups[1].Store().Set(ctx, "still", []byte("here")); err != nil {
		t.Errorf("after an orderly leave: %v", err)
	}
	// A barrier without the one that left cannot succeed, and says so.
	wantPeerLeft(t, groups[1].Barrier(ctx, "more"), 0, "left the group")
	if err := groups[1].Context().Err(); err != nil {
		t.Errorf("the group ended: %v", context.Cause(groups[1].Context()))
	}
}

func TestStragglersAreNamed(t *testing.T) {
	t.Parallel()
	const n = 8
	srv := serve(t, rendezvous.ServerConfig{WorldSize: n})
	groups := joinAll(t, srv.Target(), n, rendezvous.Options{})
	ctx, cancel := context.WithTimeout(testContext(t), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := onEach(n, func(rank int) error {
		if rank == 3 || rank == 6 {
			return nil
		}
		err := groups[rank].Barrier(ctx, "ready")
		late := new(rendezvous.Straggler)
		if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("got %w, want a Straggler", err)
		}
		if diff := cmp.Diff([]int{3, 6}, late.Missing); diff != "" {
			return fmt.Errorf("missing (-want +got):\n%s", diff)
		}
		if want := `barrier "ready": waiting for ranks 3, 6 of 8`; err.Error() != want {
			return fmt.Errorf("got %q, want %q", err, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > soon {
		t.Errorf("a deadline of 200ms took %v", took)
	}
}

func TestCanceledCall(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	ctx, cancel := context.WithCancelCause(testContext(t))
	interrupted := errors.New("interrupted")
	time.AfterFunc(20*time.Millisecond, func() { cancel(interrupted) })
	if err := groups[0].Barrier(ctx, "ready"); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want %v", err, interrupted)
	}
	if err := groups[0].Context().Err(); err != nil {
		t.Errorf("the group ended: %v", context.Cause(groups[0].Context()))
	}
}

// A latecomer's first call of a name must not meet the others' second.
func TestLateCallDoesNotMeetTheNextOne(t *testing.T) {
	t.Parallel()
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	for i := range 2 {
		impatient, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
		if err := groups[0].Barrier(impatient, "ready"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("rank 0, call %d: %v", i, err)
		}
		cancel()
	}
	for i := range 2 {
		if err := groups[1].Barrier(testContext(t), "ready"); !errors.Is(err, rendezvous.ErrAbandoned) {
			t.Errorf("rank 1, call %d: %v", i, err)
		}
	}
	err := onEach(2, func(rank int) error { return groups[rank].Barrier(testContext(t), "ready") })
	if err != nil {
		t.Errorf("third call: %v", err)
	}
}

func TestDisagreementIsAnError(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	ctx := testContext(t)
	errs := make([]error, 2)
	_ = onEach(2, func(rank int) error {
		_, errs[rank] = groups[rank].Broadcast(ctx, "uid", rank, nil)
		return nil
	})
	for rank, err := range errs {
		if !errors.Is(err, rendezvous.ErrMismatch) || !strings.Contains(err.Error(), "from root 1") {
			t.Errorf("rank %d: got %v", rank, err)
		}
	}
}

func TestAbortEndsEveryGroup(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	srv.Abort("rank 1 exited with code 3")
	for _, g := range groups {
		aborted := new(rendezvous.Aborted)
		if err := ended(t, g); !errors.As(err, &aborted) || aborted.Reason != "rank 1 exited with code 3" {
			t.Errorf("rank %d: the group ended with %v", g.Rank(), err)
		}
	}
}

func TestServerCloseEndsEveryGroup(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := ended(t, g); !errors.Is(err, rendezvous.ErrServerGone) {
			t.Errorf("rank %d: the group ended with %v", g.Rank(), err)
		}
		if err := g.Barrier(testContext(t), "ready"); !errors.Is(err, rendezvous.ErrServerGone) {
			t.Errorf("rank %d: barrier: %v", g.Rank(), err)
		}
	}
}

func TestSilentMemberDeparts(t *testing.T) {
	t.Parallel()
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2, HeartbeatTimeout: time.Second})
	silent := joinSilently(t, srv.Target(), 1, 2)
	defer silent.close()
	g, err := rendezvous.Join(testContext(t), srv.Target(), member(0, 2), rendezvous.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	wantPeerLeft(t, endedWithin(t, g, 5*time.Second), 1, "no heartbeat for 1s")
}

func TestMembersBeat(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second // a loaded host may stop us for a while
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2, HeartbeatTimeout: timeout})
	groups := joinAll(t, srv.Target(), 2, rendezvous.Options{})
	select {
	case <-groups[0].Context().Done():
		t.Errorf("the group ended: %v", context.Cause(groups[0].Context()))
	case <-time.After(timeout * 5 / 4):
	}
}

// A member whose stream fails while its connection stands has departed too.
func TestOversizedSessionMessageIsADeparture(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 2})
	huge := joinSilently(t, srv.Target(), 1, 2)
	defer huge.close()
	g, err := rendezvous.Join(testContext(t), srv.Target(), member(0, 2), rendezvous.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	huge.shout(t, 17<<20)
	wantPeerLeft(t, ended(t, g), 1, "connection lost")
}
