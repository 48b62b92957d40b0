package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	pb "gpurun/rendezvous/elastic/v1"
)

func TestAllNodesAgreeOnARound(t *testing.T) {
	config := job(t, 3, 3)
	members := make([]*Member, 3)
	for n, role := range []string{"trainer", "reader", "trainer"} {
		config.Role, config.Workers = role, n+1
		members[n] = enter(t, config, n)
	}
	rounds := nextAll(t, members)
	master := rounds[0].Master().Addr().String()
	for _, l := range []net.Listener{rounds[1].Master(), rounds[2].Master()} {
		if l != nil {
			t.Errorf("a node that is not the master holds %v", l.Addr())
		}
	}
	want := []Place{
		{Number: 1, GroupRank: 0, Nodes: 3, FirstRank: 0, WorldSize: 6, FirstRoleRank: 0, RoleWorldSize: 4, Master: master},
		{Number: 1, GroupRank: 1, Nodes: 3, FirstRank: 1, WorldSize: 6, FirstRoleRank: 0, RoleWorldSize: 2, Master: master},
		{Number: 1, GroupRank: 2, Nodes: 3, FirstRank: 3, WorldSize: 6, FirstRoleRank: 1, RoleWorldSize: 4, Master: master},
	}
	for n, r := range rounds {
		if diff := cmp.Diff(want[n], r.Place); diff != "" {
			t.Errorf("node %d (-want +got):\n%s", n, diff)
		}
	}
}

func TestGather(t *testing.T) {
	members := enterAll(t, job(t, 4, 4), 4)
	rounds := nextAll(t, members)
	for i := range 3 {
		var all errgroup.Group
		for _, r := range rounds {
			all.Go(func() error {
				got, err := r.Gather(testContext(t), "places", []byte(strconv.Itoa(r.GroupRank*10+i)))
				if err != nil {
					return err
				}
				var want [][]byte
				for n := range 4 {
					want = append(want, []byte(strconv.Itoa(n*10+i)))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					return fmt.Errorf("(-want +got):\n%s", diff)
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestAgentsLeaveTogether(t *testing.T) {
	members := enterAll(t, job(t, 3, 3), 3)
	rounds := nextAll(t, members)
	var all errgroup.Group
	for _, r := range rounds {
		all.Go(func() error { return r.Finish(testContext(t)) })
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	late := enter(t, members[0].config, 7)
	_, err := late.NextRound(testContext(t))
	wantEnd(t, err, End{Kind: Closed, Reason: "the rendezvous is closed: the job has finished"})
}

func TestFailureRestartsAllNodesAndIsCountedOnce(t *testing.T) {
	config := job(t, 2, 3)
	config.MaxRestarts = 1
	members := enterAll(t, config, 3)
	rounds := nextAll(t, members)
	if err := rounds[1].Fail(testContext(t), Failure{Reason: "rank 2 exited with code 3: \xff", ExitCode: 3}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rounds {
		wantRestart(t, over(t, r), true, "node 1 (host0001): rank 2 exited with code 3: \uFFFD")
	}
	rounds[0].Master().Close()
	rounds = nextAll(t, members)
	for n, r := range rounds {
		if r.Number != 2 || r.Restarts != 1 || r.GroupRank != n {
			t.Errorf("second round of node %d: %+v", n, r.Place)
		}
	}
	want := End{
		Kind:    Failed,
		Reason:  "node 2 (host0002): rank 5 was killed; all 1 restarts are used up",
		Failure: &Failure{Reason: "rank 5 was killed", ExitCode: 137},
	}
	wantEnd(t, rounds[2].Fail(testContext(t), *want.Failure), want)
	for _, r := range rounds[:2] {
		wantEnd(t, over(t, r), want)
	}
}

func TestNewcomerRestartsTheGroup(t *testing.T) {
	config := job(t, 1, 2)
	first := enter(t, config, 0)
	alone := next(t, first).get(t)
	second := enter(t, config, 1)
	pending := next(t, second)
	wantRestart(t, over(t, alone), false, "host0001 has joined")
	alone.Master().Close()
	together := next(t, first).get(t)
	want := Place{Number: 2, Nodes: 2, WorldSize: 4, RoleWorldSize: 4, Master: together.Place.Master}
	if diff := cmp.Diff(want, together.Place); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := pending.get(t); r.GroupRank != 1 || r.FirstRank != 2 {
		t.Errorf("the newcomer: %+v", r.Place)
	}
}

func TestSpareTakesThePlaceOfALostNode(t *testing.T) {
	config := job(t, 2, 2)
	members := enterAll(t, config, 2)
	rounds := nextAll(t, members)
	spare := next(t, enter(t, config, 2))
	waitForSpares(t, members[0], 1)
	lost := members[1].session
	lost.cancel() // as when the agent is killed
	wantRestart(t, over(t, rounds[0]), false, "node 1 (host0001) is gone: connection lost")
	rounds[0].Master().Close()
	again := next(t, members[0])
	if r := spare.get(t); r.GroupRank != 1 || r.Nodes != 2 || r.Restarts != 0 {
		t.Errorf("the spare: %+v", r.Place)
	}
	again.get(t)
}

func TestLossOfTheServerEndsTheJobWithAReason(t *testing.T) {
	members := enterAll(t, job(t, 2, 2), 2)
	rounds := nextAll(t, members)
	members[0].backend.(*endpoint).server.grpc.Stop() // as when its agent is killed
	for _, r := range rounds {
		if err := over(t, r); !errors.Is(err, ErrServerGone) {
			t.Errorf("got %v, want %v", err, ErrServerGone)
		}
	}
	if _, err := members[1].NextRound(testContext(t)); !errors.Is(err, ErrServerGone) {
		t.Errorf("the next round: got %v, want %v", err, ErrServerGone)
	}
}

func TestServerThatLeavesSaysSo(t *testing.T) {
	members := enterAll(t, job(t, 2, 2), 2)
	rounds := nextAll(t, members)
	if err := members[0].Close("it was told to by SIGTERM"); err != nil {
		t.Error(err)
	}
	wantEnd(t, over(t, rounds[1]), End{
		Kind:   Moved,
		Reason: "the agent on host0000, which served the rendezvous, has left: it was told to by SIGTERM",
	})
}

// An agent whose workers are done leaves alone after a while, but not the one
// that serves the others.
func TestServerThatFinishesEarlyWaitsForTheOthers(t *testing.T) {
	config := job(t, 2, 2)
	config.Timeouts.Exit = time.Millisecond
	members := enterAll(t, config, 2)
	rounds := nextAll(t, members)
	early := make(chan error, 1)
	go func() {
		err := rounds[0].Finish(testContext(t))
		early <- errors.Join(err, members[0].Close("it is done"))
	}()
	over(t, rounds[0]) // it has waited for long enough
	if err := rounds[1].Finish(testContext(t)); err != nil {
		t.Errorf("the late one: %v", err)
	}
	wantEnd(t, <-early, End{Kind: TimedOut, Reason: "1 other nodes have not finished within 1ms"})
}

func TestNextRoundWhileOneRunsIsAnError(t *testing.T) {
	m := enter(t, job(t, 1, 1), 0)
	next(t, m).get(t)
	if _, err := m.NextRound(testContext(t)); err == nil || !strings.Contains(err.Error(), "the last round is not over") {
		t.Errorf("got %v", err)
	}
}

func TestWhoGivesUpWaitingIsGone(t *testing.T) {
	config := job(t, 2, 2)
	members := enterAll(t, config, 2)
	ctx, cancel := context.WithCancelCause(testContext(t))
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if _, err := members[1].NextRound(ctx); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want %v", err, interrupted)
	}
	nextAll(t, []*Member{members[0], enter(t, config, 2)})
}

func TestManyAgents(t *testing.T) {
	const nodes = 60
	config := job(t, nodes, nodes)
	config.MaxRestarts = 1
	members := enterAll(t, config, nodes)
	rounds := nextAll(t, members)
	if err := rounds[nodes/2].Fail(testContext(t), Failure{Reason: "rank 61 was killed", ExitCode: 137}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rounds {
		wantRestart(t, over(t, r), true, "node 30 (host0030): rank 61 was killed")
	}
	rounds[0].Master().Close()
	var all errgroup.Group
	for _, r := range nextAll(t, members) {
		all.Go(func() error {
			if _, err := r.Gather(testContext(t), "data", make([]byte, 128)); err != nil {
				return err
			}
			return r.Finish(testContext(t))
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

func TestGatheredPartsMustFit(t *testing.T) {
	g := gatheredFromProto(&pb.Gathered{Data: []byte("abc"), Sizes: []uint32{1, 0, 2}})
	if diff := cmp.Diff([][]byte{[]byte("a"), {}, []byte("bc")}, g.data); g.err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", g.err, diff)
	}
	if g := gatheredFromProto(&pb.Gathered{Data: []byte("abc"), Sizes: []uint32{2, 2}}); g.err == nil {
		t.Errorf("got %q", g.data)
	}
}
