package elastic

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gpurun/rendezvous/porttest"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(agentConfig); config != "" {
		os.Exit(runAgent(config))
	}
	// Parallel tests wait for leases to expire, and hardly compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// testTimeout bounds every wait of a test.
const testTimeout = 60 * time.Second

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	tb.Cleanup(cancel)
	return ctx
}

// say opens a connection and says something.
func say(tb testing.TB, address string) {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		tb.Fatal(err)
	}
}

func number(tb testing.TB, text string) int {
	tb.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// job is what the agents of a test have in common.
func job(tb testing.TB, minNodes, maxNodes int) Config {
	timeouts := DefaultTimeouts()
	timeouts.LastCall = 50 * time.Millisecond
	return Config{
		Backend: C10d, Endpoint: porttest.Endpoint(), RunID: "test", Token: "secret",
		MinNodes: minNodes, MaxNodes: maxNodes, Workers: 2, Role: "default", Timeouts: timeouts,
	}
}

// enter begins the part of the agent on host n.
func enter(tb testing.TB, config Config, n int) *Member {
	tb.Helper()
	config.hostName = fmt.Sprintf("host%04d", n)
	m, err := Enter(testContext(tb), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close("the test ends"); err != nil {
			tb.Error(err)
		}
	})
	return m
}

func enterAll(tb testing.TB, config Config, count int) []*Member {
	tb.Helper()
	members := make([]*Member, count)
	for n := range members {
		members[n] = enter(tb, config, n)
	}
	return members
}

// pendingRound is a NextRound that is under way.
type pendingRound struct {
	done  chan struct{}
	round *Round
	err   error
}

func next(tb testing.TB, m *Member) *pendingRound {
	tb.Helper()
	ctx := testContext(tb)
	p := &pendingRound{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.round, p.err = m.NextRound(ctx)
	}()
	tb.Cleanup(func() {
		<-p.done
		if p.round != nil && p.round.Master() != nil {
			_ = p.round.Master().Close()
		}
	})
	return p
}

func (p *pendingRound) get(tb testing.TB) *Round {
	tb.Helper()
	<-p.done
	if p.err != nil {
		tb.Fatal(p.err)
	}
	return p.round
}

// nextAll lets all agents ask for the next round and returns it.
func nextAll(tb testing.TB, members []*Member) []*Round {
	tb.Helper()
	pending := make([]*pendingRound, len(members))
	for i, m := range members {
		pending[i] = next(tb, m)
	}
	rounds := make([]*Round, len(members))
	for i, p := range pending {
		rounds[i] = p.get(tb)
	}
	return rounds
}

// over waits until a round has ended and returns why.
func over(tb testing.TB, r *Round) error {
	tb.Helper()
	select {
	case <-r.Context().Done():
		return context.Cause(r.Context())
	case <-time.After(testTimeout):
		tb.Fatalf("node %d: the round has not ended", r.GroupRank)
		return nil
	}
}

func wantRestart(tb testing.TB, err error, counts bool, reason string) {
	tb.Helper()
	again := new(Restart)
	if !errors.As(err, &again) {
		tb.Fatalf("got %v, want a restart", err)
	}
	if again.Counts != counts || again.Reason != reason {
		tb.Errorf("got %+v, want %q, counts %v", again, reason, counts)
	}
}

func wantEnd(tb testing.TB, err error, want End) {
	tb.Helper()
	end := new(End)
	if !errors.As(err, &end) {
		tb.Fatalf("got %v, want an End", err)
	}
	if end.Kind != want.Kind || end.Reason != want.Reason {
		tb.Errorf("got %d %q, want %d %q", end.Kind, end.Reason, want.Kind, want.Reason)
	}
	if want.Failure != nil && (end.Failure == nil || *end.Failure != *want.Failure) {
		tb.Errorf("got failure %+v, want %+v", end.Failure, want.Failure)
	}
}

// waitForSpares returns when the agent that serves the others has n spares.
func waitForSpares(tb testing.TB, serving *Member, n int) {
	tb.Helper()
	c := serving.backend.(*endpoint).server.coordinator
	for begin := time.Now(); time.Since(begin) < testTimeout; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		spares := c.state.Spares()
		c.mu.Unlock()
		if spares == n {
			return
		}
	}
	tb.Fatalf("no %d spares have come", n)
}
